#include "tests/cuda/device.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernels/image/image.hpp"
#include "tests/fakes/softcuda/ptx/module.hpp"

namespace lyk::test {
namespace {

namespace ptx = softcuda::ptx;

constexpr std::uint64_t memory_bytes_max = std::uint64_t{1} << 30;

// The kernels under test: those of the build, or of the file that LYK_CUDA_KERNELS names.
const char* file_of_kernels() {
  const char* const given = std::getenv("LYK_CUDA_KERNELS");
  return given != nullptr ? given : LYK_FATBIN;
}

// The newest PTX that a device can take. Throws std::runtime_error where there is none.
std::string ptx_for(const std::string& path, int sm) {
  std::ifstream stream{path, std::ios::binary};
  const std::vector<char> chars{std::istreambuf_iterator<char>{stream}, {}};
  const auto file = std::as_bytes(std::span{chars});
  const auto images = image::read_images(file).value();
  const image::Image* best = nullptr;
  for (const image::Image& found : images)
    if (found.kind == image::Kind::ptx && found.arch.number() <= sm &&
        (best == nullptr || best->arch.number() < found.arch.number()))
      best = &found;
  if (best == nullptr)
    throw std::runtime_error("no PTX for sm_" + std::to_string(sm));
  const auto bytes = image::extract(file, *best).value();
  std::string text(bytes.size(), '\0');
  std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

// Read once in a process: it takes as long as all launches of a test.
std::shared_ptr<const ptx::Module> module_for(const std::string& path, int sm) {
  static std::map<std::pair<std::string, int>, std::shared_ptr<const ptx::Module>> modules;
  auto& module = modules[{path, sm}];
  if (module == nullptr)
    module = std::make_shared<const ptx::Module>(ptx::parse(ptx_for(path, sm)).value());
  return module;
}

}  // namespace

SoftDevice::SoftDevice(std::uint64_t order, int sm, const char* file)
    : order_(order),
      memory_(memory_bytes_max),
      module_(ptx::LoadedModule::load(module_for(file != nullptr ? file : file_of_kernels(), sm),
                                      memory_)
                  .value()) {}

std::uintptr_t SoftDevice::new_bytes(std::size_t bytes) {
  return memory_.allocate(bytes == 0 ? 1 : bytes).value();
}

void SoftDevice::write(std::uintptr_t to, std::span<const std::byte> bytes) {
  EXPECT_TRUE(memory_.copy_in(to, bytes));
}

void SoftDevice::read(std::uintptr_t from, std::span<std::byte> bytes) const {
  EXPECT_TRUE(memory_.copy_out(bytes, from));
}

void SoftDevice::run_bytes(std::string_view kernel,
                           const cuda::Grid& grid,
                           std::span<const std::byte> arguments) {
  const ptx::Kernel* const found = module_.module().kernel(kernel);
  ASSERT_NE(found, nullptr) << kernel;
  ASSERT_EQ(found->parameter_bytes, arguments.size()) << kernel;
  // A compiler that knows no bound may give a thread 255 registers, of which 256 threads can have
  // as many.
  ASSERT_LE(grid.threads, found->threads_max.value_or(256)) << kernel;
  const ptx::Launch launch{.grid = {.x = grid.x, .y = grid.y},
                           .block = {.x = grid.threads},
                           .parameters = arguments,
                           .seed = order_,
                           .checks = {.race = true, .uninitialised = true},
                           .traffic = traffic_};
  const auto fault = ptx::run(module_, *found, launch, memory_);
  EXPECT_FALSE(fault) << kernel << ", order " << order_ << ": " << fault->text;
}

}  // namespace lyk::test
