#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "tests/softcuda/driver_calls.hpp"
#include "tests/support/temp_dir.hpp"

namespace softcuda {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream stream{path};
  std::vector<std::string> out;
  for (std::string line; std::getline(stream, line);)
    out.push_back(line);
  return out;
}

TEST(SoftcudaTrace, EachCallIsALineWithItsArgumentsAndItsResult) {
  const lyk::test::TempDir folder;
  const std::string path = (folder.path() / "trace").string();
  with_context({{"SOFTCUDA_TRACE", path}, {"SOFTCUDA_EXECUTE", "0"}}, [](const Cuda& cuda) {
    DevicePointer memory = 0;
    EXPECT_EQ(cuda.cuMemAlloc_v2(&memory, 64), ok);
    EXPECT_EQ(cuda.cuMemFree_v2(memory + 1), Status::invalid_value);
    FunctionHandle function = load_scale(cuda);
    EXPECT_EQ(cuda.cuLaunchKernel(function, 1, 2, 3, 4, 5, 6, 7, nullptr, nullptr, nullptr),
              Status::invalid_value);
  });
  const auto lines = lines_of(path);
  const std::vector<std::string> expected{
      R"(\d+ cuInit flags=0 -> 0)",
      R"(\d+ cuDevicePrimaryCtxRetain device=0 out=0x[0-9a-f]+ -> 0)",
      R"(\d+ cuCtxSetCurrent context=0x[0-9a-f]+ -> 0)",
      R"(\d+ cuMemAlloc_v2 bytes=64 out=0xd0000000000000 -> 0)",
      R"(\d+ cuMemFree_v2 address=0xd0000000000001 -> 1: not the start of live device memory)",
      R"(\d+ cuModuleLoadData image=0x[0-9a-f]+ out=0x[0-9a-f]+ -> 0)",
      R"(\d+ cuModuleGetFunction module=0x[0-9a-f]+ name=scale out=0x[0-9a-f]+ -> 0)",
      (R"(\d+ cuLaunchKernel function=0x[0-9a-f]+ grid_x=1 grid_y=2 grid_z=3 block_x=4 block_y=5 )"
       R"(block_z=6 shared=7 stream=0x0 -> 1: no parameters)"),
  };
  ASSERT_EQ(lines.size(), expected.size());
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_TRUE(std::regex_match(lines[i], std::regex{expected[i]})) << lines[i];
}

TEST(SoftcudaTrace, LinesOfManyThreadsAreWhole) {
  const lyk::test::TempDir folder;
  const std::string path = (folder.path() / "trace").string();
  constexpr int threads = 4;
  constexpr int calls = 200;
  in_child({{"SOFTCUDA_TRACE", path}}, [](const Cuda& cuda) {
    std::vector<std::thread> running;
    for (int i = 0; i < threads; ++i)
      running.emplace_back([&] {
        int version = 0;
        for (int j = 0; j < calls; ++j)
          EXPECT_EQ(cuda.cuDriverGetVersion(&version), ok);
      });
    for (std::thread& thread : running)
      thread.join();
  });
  const auto lines = lines_of(path);
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(threads * calls));
  for (const std::string& line : lines)
    EXPECT_EQ(line.substr(line.find(' ')), " cuDriverGetVersion version=13000 -> 0");
}

TEST(SoftcudaTrace, IsThereAfterACrash) {
  const lyk::test::TempDir folder;
  const std::string path = (folder.path() / "trace").string();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    (void)::setenv("SOFTCUDA_TRACE", path.c_str(), 1);
    const Cuda cuda = load_driver();
    (void)cuda.cuInit(0);
    (void)::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(lines_of(path).size(), 1U);
}

TEST(SoftcudaTrace, TextOfTheCallerCannotBreakALine) {
  const lyk::test::TempDir folder;
  const std::string path = (folder.path() / "trace").string();
  with_context({{"SOFTCUDA_TRACE", path}, {"SOFTCUDA_EXECUTE", "0"}}, [](const Cuda& cuda) {
    ModuleHandle module{};
    const std::string text = scale_ptx("7.5", "sm_75");
    EXPECT_EQ(cuda.cuModuleLoadData(&module, text.c_str()), ok);
    FunctionHandle function{};
    EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "a b\n\x01"), Status::not_found);
    EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, nullptr), Status::invalid_value);
  });
  const auto lines = lines_of(path);
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_NE(lines[4].find("name=a?b?? out=- -> 500"), std::string::npos) << lines[4];
  EXPECT_NE(lines[5].find("name=- out=- -> 1"), std::string::npos) << lines[5];
}

}  // namespace
}  // namespace softcuda
