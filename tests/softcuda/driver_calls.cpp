#include "tests/softcuda/driver_calls.hpp"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace softcuda {

// NOLINTNEXTLINE(readability-function-size): a line for each function of the driver
Cuda load_driver() {
  void* const library = ::dlopen(LYK_BINARY_DIR "/softcuda/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << ::dlerror();
  Cuda out;
#define SOFTCUDA_TEST_LOAD(name, ...)                                       \
  out.name = reinterpret_cast<decltype(out.name)>(::dlsym(library, #name)); \
  EXPECT_NE(out.name, nullptr) << #name;
  SOFTCUDA_TEST_CALLS(SOFTCUDA_TEST_LOAD)
#undef SOFTCUDA_TEST_LOAD
  return out;
}

void in_child(const Environment& environment, const std::function<void(const Cuda&)>& body) {
  (void)std::fflush(nullptr);  // or both processes print it
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (const auto& [name, value] : environment)
      (void)::setenv(name.c_str(), value.c_str(), 1);
    const Cuda cuda = load_driver();
    if (!testing::Test::HasFailure())
      body(cuda);
    (void)std::fflush(nullptr);
    ::_exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "the child failed, with wait status " << status;
}

void with_context(const Environment& environment, const std::function<void(const Cuda&)>& body) {
  in_child(environment, [&](const Cuda& cuda) {
    ASSERT_EQ(cuda.cuInit(0), ok);
    (void)use_device(cuda, 0);
    body(cuda);
  });
}

ContextHandle use_device(const Cuda& cuda, int device) {
  ContextHandle context{};
  EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&context, device), ok);
  EXPECT_EQ(cuda.cuCtxSetCurrent(context), ok);
  return context;
}

DevicePointer upload(const Cuda& cuda, const std::vector<float>& values) {
  DevicePointer out = 0;
  EXPECT_EQ(cuda.cuMemAlloc_v2(&out, values.size() * sizeof(float)), ok);
  EXPECT_EQ(cuda.cuMemcpyHtoD_v2(out, values.data(), values.size() * sizeof(float)), ok);
  return out;
}

std::vector<float> download(const Cuda& cuda, DevicePointer from, std::size_t count) {
  std::vector<float> out(count);
  EXPECT_EQ(cuda.cuMemcpyDtoH_v2(out.data(), from, count * sizeof(float)), ok);
  return out;
}

std::string scale_ptx(const std::string& version, const std::string& target) {
  return ".version " + version + "\n.target " + target + R"(
.address_size 64
.visible .entry scale(.param .u64 scale_param_0, .param .f32 scale_param_1, .param .u32 scale_param_2)
{
  .reg .pred %p<2>;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [scale_param_0];
  ld.param.f32 %f1, [scale_param_1];
  ld.param.u32 %r1, [scale_param_2];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra $L__end;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.s32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.f32 %f2, [%rd4];
  mul.f32 %f3, %f2, %f1;
  st.global.f32 [%rd4], %f3;
$L__end:
  ret;
}
)";
}

FunctionHandle load_scale(const Cuda& cuda) {
  ModuleHandle module{};
  const std::string text = scale_ptx("7.5", "sm_75");
  EXPECT_EQ(cuda.cuModuleLoadData(&module, text.c_str()), ok);
  FunctionHandle function{};
  EXPECT_EQ(cuda.cuModuleGetFunction(&function, module, "scale"), ok);
  return function;
}

struct Gate::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_open = false;
};

std::shared_ptr<Gate::State> Gate::make_state() {
  return std::make_shared<State>();
}

void Gate::open() {
  const std::scoped_lock lock{state_->mutex};
  state_->is_open = true;
  state_->changed.notify_all();
}

void Gate::wait_for(void* given) {
  const std::unique_ptr<std::shared_ptr<State>> owned{static_cast<std::shared_ptr<State>*>(given)};
  const std::shared_ptr<State> state = *owned;
  std::unique_lock lock{state->mutex};
  state->changed.wait(lock, [&] { return state->is_open; });
}

}  // namespace softcuda
