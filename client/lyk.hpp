// libreyolo-kernels for C++17: lyk.h with owners, exceptions and callables. Header only, compiled
// into the program that includes it, so that nothing of C++ crosses the library's edge: exceptions
// of a program's implementations and predicates end here and become "no", with one warning.
//
// Everything that lyk.h says holds here too. Functions that return a status there throw a Failure
// here, but for LYK_NOT_ELIGIBLE of a call, which is no failure and makes it return false.
//
//   lyk::Tensor value(pointer, lyk::float32, lyk::cuda(0), {b, s, h, c});
//   lyk_ms_deform_attn_call call = lyk::zeroed<lyk_ms_deform_attn_call>();
//   call.value = value.get();
//   ...
//   if (!lyk::ms_deform_attn_forward(call))
//     my_own_way();
#ifndef LYK_HPP
#define LYK_HPP

#include <lyk.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lyk {

// ---- failures

// A negative status other than LYK_NOT_ELIGIBLE of a call; what() is its text.
class Failure : public std::runtime_error {
public:
  Failure(int status, const std::string& text) : std::runtime_error(text), status_(status) {}
  int status() const noexcept { return status_; }

private:
  int status_;
};

// Throws the calling thread's last failure on `handle` unless `status` is LYK_OK.
inline void check(int status, const void* handle = nullptr) {
  if (status != LYK_OK)
    throw Failure(status, lyk_error_message(handle));
}

// A struct of lyk.h with its size set and everything else at its default.
template <typename Struct>
Struct zeroed() {
  Struct out{};
  out.size = sizeof(Struct);
  return out;
}

// ---- tensors

inline constexpr lyk_dtype float32{LYK_DTYPE_FLOAT, 32, 1};
inline constexpr lyk_dtype float16{LYK_DTYPE_FLOAT, 16, 1};
inline constexpr lyk_dtype bfloat16{LYK_DTYPE_BFLOAT, 16, 1};
inline constexpr lyk_dtype float64{LYK_DTYPE_FLOAT, 64, 1};
inline constexpr lyk_dtype int64{LYK_DTYPE_INT, 64, 1};

inline lyk_tensor_device cuda(std::int32_t number) {
  lyk_tensor_device device{};
  device.device_type = static_cast<decltype(device.device_type)>(LYK_DEVICE_CUDA);
  device.device_id = number;
  return device;
}

// The description of a dense tensor at an address that somebody else owns. Up to 8 dimensions.
class Tensor {
public:
  static constexpr std::size_t dimensions_max = 8;

  Tensor(void* data,
         lyk_dtype dtype,
         lyk_tensor_device device,
         std::initializer_list<std::int64_t> shape) {
    if (shape.size() > dimensions_max)
      throw Failure(LYK_INVALID_ARGUMENT, "shape: more than 8 dimensions");
    std::copy(shape.begin(), shape.end(), shape_.begin());
    tensor_.data = data;
    tensor_.device = device;
    tensor_.dtype = dtype;
    tensor_.ndim = static_cast<std::int32_t>(shape.size());
  }

  // Lives as long as this object and until it is moved or copied over.
  const lyk_tensor* get() {
    tensor_.shape = shape_.data();
    return &tensor_;
  }

private:
  std::array<std::int64_t, dimensions_max> shape_{};
  lyk_tensor tensor_{};
};

// ---- calls

// True: the work is on the stream. False: nothing can take it, lyk_error_message(NULL) says why.
inline bool taken(int status) {
  if (status == LYK_NOT_ELIGIBLE)
    return false;
  check(status);
  return true;
}

inline bool call(const char* slot, const lyk_arguments& arguments) {
  return taken(lyk_call(slot, &arguments));
}

inline bool ms_deform_attn_forward(const lyk_ms_deform_attn_call& call) {
  return taken(lyk_ms_deform_attn_forward(&call));
}

inline bool ms_deform_attn_backward(const lyk_ms_deform_attn_call& call) {
  return taken(lyk_ms_deform_attn_backward(&call));
}

inline std::uint64_t ms_deform_attn_workspace_bytes(const lyk_ms_deform_attn_call& call) {
  std::uint64_t bytes = 0;
  check(lyk_ms_deform_attn_workspace_bytes(&call, &bytes));
  return bytes;
}

// ---- implementations

// What lyk_active tells, in the order of a call.
struct State {
  std::string name;
  bool is_active = false;
  std::string reason;
};

inline std::vector<State> active(const char* slot) {
  struct Collected {
    std::vector<State> states;
    std::exception_ptr failure;
  } collected;
  check(lyk_active(
      slot,
      [](void* user, const lyk_implementation_state* state) {
        auto& into = *static_cast<Collected*>(user);
        try {
          into.states.push_back({state->name, state->is_active != 0, state->reason});
        } catch (...) {
          into.failure = std::current_exception();
        }
      },
      &collected));
  if (collected.failure)
    std::rethrow_exception(collected.failure);
  return std::move(collected.states);
}

// An implementation that is registered for as long as this object lives, and not where the slot has
// one of its name already. Ending it takes nothing else away, whoever has registered that name
// since. The callables may be called by several threads at once and must not end this object.
class Registration {
public:
  // True: the call is done. False: not these arguments, ask the next. An exception other than a
  // Failure is a failure of the implementation: it is off from then on, with one warning. A Failure
  // counts as its status does when a function in C returns it.
  using Run = std::function<bool(const lyk_arguments&)>;
  // Whether it can work in this process at all. An exception is a no, with one warning.
  using Predicate = std::function<bool()>;

  Registration(std::string slot,
               std::string name,
               Run run,
               Predicate predicate = nullptr,
               std::uint32_t flags = 0)
      : slot_(std::move(slot)),
        name_(std::move(name)),
        shared_(std::make_unique<Shared>(std::move(run), std::move(predicate)).release()) {
    lyk_implementation implementation = own();
    implementation.flags = flags | LYK_SOLE_OF_ITS_NAME;
    const int status = lyk_register(slot_.c_str(), &implementation);
    if (status != LYK_OK) {
      delete shared_;
      throw Failure(status, lyk_error_message(nullptr));
    }
  }

  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  Registration(Registration&&) = delete;
  Registration& operator=(Registration&&) = delete;

  // Waits for calls that are in the callables. A call may have found them and not come to them yet:
  // it then meets an implementation that says no, for which a few bytes stay behind. In a child of
  // fork nothing is waited for, and the callables stay: what was in them in the parent never ends.
  ~Registration() {
    const lyk_implementation implementation = own();
    (void)lyk_unregister_one(slot_.c_str(), &implementation);  // by name anybody may have done it
    shared_->is_closed = true;
    if (::getpid() != owner_)
      return;
    while (shared_->calls != 0)
      std::this_thread::yield();
    shared_->run = nullptr;
    shared_->predicate = nullptr;
  }

private:
  struct Shared {
    Shared(Run r, Predicate p) : run(std::move(r)), predicate(std::move(p)) {}
    Run run;
    Predicate predicate;
    std::atomic<bool> is_closed{false};
    std::atomic<int> calls{0};
  };

  // Counts a call for its lifetime.
  class Call {
  public:
    explicit Call(Shared& shared) : shared_(shared) { ++shared_.calls; }
    ~Call() { --shared_.calls; }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    Call(Call&&) = delete;
    Call& operator=(Call&&) = delete;

    bool is_late() const { return shared_.is_closed; }

  private:
    Shared& shared_;
  };

  lyk_implementation own() const {
    auto out = zeroed<lyk_implementation>();
    out.name = name_.c_str();
    out.fn = &Registration::run;
    out.predicate = &Registration::ask;
    out.user = shared_;
    return out;
  }

  // The two trampolines: no exception leaves them.
  static int run(void* user, const lyk_arguments* arguments) noexcept {
    auto& shared = *static_cast<Shared*>(user);
    const Call call{shared};
    if (call.is_late())
      return LYK_NOT_ELIGIBLE;
    try {
      return shared.run(*arguments) ? LYK_OK : LYK_NOT_ELIGIBLE;
    } catch (const Failure& failure) {
      lyk_set_error_message(failure.what());
      return failure.status();
    } catch (const std::exception& exception) {
      lyk_set_error_message(exception.what());
    } catch (...) {
      lyk_set_error_message("unknown exception");
    }
    return LYK_INTERNAL;
  }

  static int ask(void* user) noexcept {
    auto& shared = *static_cast<Shared*>(user);
    const Call call{shared};
    if (call.is_late())
      return 0;
    try {
      return !shared.predicate || shared.predicate() ? 1 : 0;
    } catch (const std::exception& exception) {
      lyk_set_error_message(exception.what());
    } catch (...) {
      lyk_set_error_message("unknown exception");
    }
    return -1;
  }

  std::string slot_;
  std::string name_;
  Shared* shared_;
  pid_t owner_ = ::getpid();
};

// ---- images

// A device image. Movable; closed by its destructor.
class Image {
public:
  explicit Image(lyk_image* owned) : image_(owned) {}

  lyk_image* get() const noexcept { return image_.get(); }
  const void* data() const {
    const void* bytes = nullptr;
    check(lyk_image_data(image_.get(), &bytes), image_.get());
    return bytes;
  }
  std::uint64_t bytes() const { return lyk_image_bytes(image_.get()); }
  int fd() const { return lyk_image_fd(image_.get()); }
  const char* sha256() const { return lyk_image_sha256(image_.get()); }
  const char* kind() const { return lyk_image_kind(image_.get()); }
  const char* arch() const { return lyk_image_arch(image_.get()); }
  const char* repo() const { return lyk_image_repo(image_.get()); }
  const char* commit() const { return lyk_image_commit(image_.get()); }
  const char* file() const { return lyk_image_file(image_.get()); }

private:
  struct Close {
    void operator()(lyk_image* image) const noexcept { lyk_image_close(image); }
  };
  std::unique_ptr<lyk_image, Close> image_;
};

// A connection to the service. Movable; closed by its destructor.
class Client {
public:
  explicit Client(const lyk_client_options* options = nullptr) {
    lyk_client* opened = nullptr;
    check(lyk_client_open(options, &opened));
    client_.reset(opened);
  }

  lyk_client* get() const noexcept { return client_.get(); }
  Image resolve(const char* slot,
                const lyk_device& device,
                const lyk_resolve_options* options = nullptr) {
    lyk_image* image = nullptr;
    check(lyk_client_resolve(client_.get(), slot, &device, options, &image), client_.get());
    return Image{image};
  }

private:
  struct Close {
    void operator()(lyk_client* client) const noexcept { lyk_client_close(client); }
  };
  std::unique_ptr<lyk_client, Close> client_;
};

}  // namespace lyk

#endif  // LYK_HPP
