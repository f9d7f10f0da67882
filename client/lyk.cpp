// The C interface: arguments in, statuses out. Everything that can be wrong with an argument is
// said here, by its name in lyk.h; nothing below sees a pointer that was not looked at.
#include "client/lyk.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "client/connection.hpp"
#include "client/settings.hpp"
#include "client/shared_connection.hpp"
#include "proto/device.hpp"
#include "proto/error.hpp"
#include "proto/limits.hpp"
#include "proto/names.hpp"
#include "proto/text.hpp"

struct lyk_client {
  lyk::client::SharedConnection connection;
  std::string forbidden;  // why nobody may be asked; empty: the service may
};

struct lyk_image {
  lyk::client::ResolvedImage resolved;
  std::string sha256;
  std::mutex mutex;      // of `data`
  void* data = nullptr;  // the mapping, once it was asked for
};

namespace {

using lyk::Code;
using lyk::Error;
using lyk::quoted;
using lyk::Result;
using lyk::str;
using lyk::wire::ImageKind;

#define LYK_SAME_STATUS(code, status) \
  static_assert(lyk::info(Code::code).c_status == (status), "lyk.h and proto/error.hpp differ")
LYK_SAME_STATUS(invalid_argument, LYK_INVALID_ARGUMENT);
LYK_SAME_STATUS(not_found, LYK_NOT_FOUND);
LYK_SAME_STATUS(not_pinned, LYK_NOT_PINNED);
LYK_SAME_STATUS(refused, LYK_REFUSED);
LYK_SAME_STATUS(offline, LYK_OFFLINE);
LYK_SAME_STATUS(network, LYK_NETWORK);
LYK_SAME_STATUS(remote_status, LYK_REMOTE_STATUS);
LYK_SAME_STATUS(timeout, LYK_TIMEOUT);
LYK_SAME_STATUS(cancelled, LYK_CANCELLED);
LYK_SAME_STATUS(busy, LYK_BUSY);
LYK_SAME_STATUS(protocol, LYK_PROTOCOL);
LYK_SAME_STATUS(size_mismatch, LYK_SIZE_MISMATCH);
LYK_SAME_STATUS(digest_mismatch, LYK_DIGEST_MISMATCH);
LYK_SAME_STATUS(signature_invalid, LYK_SIGNATURE_INVALID);
LYK_SAME_STATUS(no_space, LYK_NO_SPACE);
LYK_SAME_STATUS(io, LYK_IO);
LYK_SAME_STATUS(corrupt_store, LYK_CORRUPT_STORE);
LYK_SAME_STATUS(no_driver, LYK_NO_DRIVER);
LYK_SAME_STATUS(cuda, LYK_CUDA);
LYK_SAME_STATUS(internal, LYK_INTERNAL);
LYK_SAME_STATUS(not_cached, LYK_NOT_CACHED);
LYK_SAME_STATUS(no_image, LYK_NO_IMAGE);
LYK_SAME_STATUS(not_eligible, LYK_NOT_ELIGIBLE);
static_assert(lyk::code_table.size() == 23, "a new code needs its LYK_* in lyk.h and a line above");

// ---- failures
// -------------------------------------------------------------------------------------

// The calling thread's last failure. An array, not a string: it has nothing to destroy when a
// thread outlives the library.
struct LastFailure {
  const void* handle = nullptr;
  std::array<char, 1024> text{};
};
thread_local LastFailure last_failure;

int fail(const void* handle, Code code, std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), last_failure.text.size() - 1);
  last_failure.handle = handle;
  std::memcpy(last_failure.text.data(), text.data(), length);
  last_failure.text[length] = '\0';
  return lyk::info(code).c_status;
}

// A new handle may have the address of one that was closed; its failures are not the new one's.
void forget_failure(const void* handle) noexcept {
  if (last_failure.handle == handle)
    last_failure = {};
}

// Cancelling a thread unwinds it, which must not pass through here and would leave a reply unread.
class Uncancellable {
public:
  Uncancellable() { (void)::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancellable() { (void)::pthread_setcancelstate(before_, nullptr); }  // neither can fail
  Uncancellable(const Uncancellable&) = delete;
  Uncancellable& operator=(const Uncancellable&) = delete;
  Uncancellable(Uncancellable&&) = delete;
  Uncancellable& operator=(Uncancellable&&) = delete;

private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// Runs the body of an exported function: what it returns, or what it throws, becomes a status.
template <typename Body>
int guarded(const void* handle, const Body& body) noexcept {
  const Uncancellable uncancellable;
  try {
    const Result<void> result = body();
    return result ? LYK_OK : fail(handle, result.error().code, result.error().message);
  } catch (const std::exception& exception) {
    return fail(handle, Code::internal, exception.what());
  } catch (...) {
    return fail(handle, Code::internal, "unknown exception");
  }
}

Error bad_argument(std::string_view argument, std::string_view why) {
  return {Code::invalid_argument, str(argument, ": ", why)};
}

// ---- structs of callers
// ---------------------------------------------------------------------------

// A caller's struct as this release knows it. An older caller's is shorter, and the rest is zero; a
// newer caller's is longer, and may ask for nothing that is not known here.
template <typename Struct>
Result<Struct> read_struct(const Struct* given,
                           std::string_view argument,
                           std::size_t first_bytes) {
  Struct out{};
  out.size = sizeof(Struct);
  if (given == nullptr)
    return out;
  const std::size_t size = given->size;
  if (size < first_bytes || size > 4096)
    return bad_argument(argument, str("its size is ", size, ", not its sizeof (", sizeof(Struct),
                                      " in this release)"));
  const auto* bytes = reinterpret_cast<const char*>(given);  // it may be longer than Struct
  if (size > sizeof(Struct) &&
      std::any_of(bytes + sizeof(Struct), bytes + size, [](char byte) { return byte != 0; }))
    return bad_argument(argument, "it asks for what only a later release knows");
  std::memcpy(&out, given, std::min(size, sizeof(Struct)));
  return out;
}

Result<void> check_flags(std::uint32_t flags, std::uint32_t known, std::string_view argument) {
  if ((flags & ~known) != 0)
    return bad_argument(argument, str("flags ", flags, " are not all known"));
  return {};
}

Result<lyk::CudaVersion> read_driver_version(int version) {
  // 1000 * major + 10 * minor, as cuDriverGetVersion has it.
  if (version < 1000 || version > 999'990 || version % 10 != 0)
    return bad_argument("device", str("driver_version ", version, " is not like 13000"));
  return lyk::CudaVersion{version / 1000, version % 1000 / 10};
}

Result<lyk::Device> read_device(const lyk_device* given) {
  if (given == nullptr)
    return bad_argument("device", "NULL");
  LYK_TRY_ASSIGN(const lyk_device device, read_struct(given, "device", sizeof(lyk_device)));
  if (device.compute_major < 1 || device.compute_major > 99 || device.compute_minor < 0 ||
      device.compute_minor > 9)
    return bad_argument("device", str("compute capability ", device.compute_major, ".",
                                      device.compute_minor, " cannot be"));
  lyk::Device out;
  out.arch = {device.compute_major, device.compute_minor, lyk::ArchVariant::none};
  if (device.driver_version != 0) {
    LYK_TRY_ASSIGN(out.driver, read_driver_version(device.driver_version));
  }
  switch (device.tegra) {
    case LYK_TEGRA_AUTO:
      out.tegra = lyk::is_tegra_arch(out.arch);
      return out;
    case LYK_TEGRA_NO:
      return out;
    case LYK_TEGRA_YES:
      out.tegra = true;
      return out;
    default:  // any number can come from C
      return bad_argument("device", str("tegra ", device.tegra, " is none of LYK_TEGRA_*"));
  }
}

Result<lyk::client::Settings> read_client_options(const lyk_client_options* given) {
  LYK_TRY_ASSIGN(const auto options, read_struct(given, "options", sizeof(lyk_client_options)));
  LYK_TRY(check_flags(options.flags, LYK_CLIENT_NO_EXEC, "options"));
  LYK_TRY_ASSIGN(auto settings,
                 lyk::client::parse_settings(lyk::client::Environment::of_process()));
  if ((options.flags & LYK_CLIENT_NO_EXEC) != 0)
    settings.activation = lyk::client::Activation::forbidden;
  if (options.socket != nullptr) {
    settings.socket = options.socket;
    if (settings.socket.empty() || settings.socket.front() != '/')
      return bad_argument("options",
                          str("socket ", quoted(settings.socket), " is not an absolute path"));
  }
  return settings;
}

Result<lyk::wire::ResolveCall> read_call(const char* slot,
                                         const lyk_device* device,
                                         const lyk_resolve_options* given) {
  if (slot == nullptr)
    return bad_argument("slot", "NULL");
  LYK_TRY_ASSIGN(auto name, lyk::SlotName::parse(slot));
  LYK_TRY_ASSIGN(const auto gpu, read_device(device));
  LYK_TRY_ASSIGN(const auto options, read_struct(given, "options", sizeof(lyk_resolve_options)));
  LYK_TRY(check_flags(options.flags, LYK_RESOLVE_OFFLINE | LYK_RESOLVE_NO_WAIT, "options"));
  const bool no_wait = (options.flags & LYK_RESOLVE_NO_WAIT) != 0;
  const auto wait_max = static_cast<std::uint64_t>(lyk::limits::resolve_wait_max.count());
  if (options.wait_ms > wait_max)
    return bad_argument("options", str("wait_ms ", options.wait_ms, " is more than ", wait_max));
  if (no_wait && options.wait_ms != 0)
    return bad_argument("options", "wait_ms together with LYK_RESOLVE_NO_WAIT");
  lyk::wire::ResolveCall call{.slot = std::move(name), .device = gpu, .wait_ms = {}};
  call.offline = (options.flags & LYK_RESOLVE_OFFLINE) != 0;
  if (no_wait || options.wait_ms != 0)
    call.wait_ms = options.wait_ms;
  return call;
}

std::size_t mapped_bytes(const lyk_image& image) {
  const lyk::wire::Image& description = image.resolved.reply.image;
  return description.bytes + (description.kind == ImageKind::ptx ? 1 : 0);  // its NUL
}

}  // namespace

// ---- exported
// -------------------------------------------------------------------------------------

const char* lyk_version(void) {
  return LYK_VERSION;
}

const char* lyk_status_name(int status) {
  if (status == LYK_OK)
    return "ok";
  for (const auto& row : lyk::code_table)
    if (row.c_status == status)
      return row.name.data();  // a literal
  return "unknown";
}

const char* lyk_error_message(const void* handle) {
  return last_failure.handle == handle ? last_failure.text.data() : "";
}

int lyk_client_open(const lyk_client_options* options, lyk_client** client) {
  return guarded(nullptr, [&]() -> Result<void> {
    if (client == nullptr)
      return bad_argument("client", "NULL");
    LYK_TRY_ASSIGN(auto settings, read_client_options(options));
    std::string forbidden = settings.hub_forbidden;
    *client = new lyk_client{lyk::client::SharedConnection{std::move(settings)}, forbidden};
    forget_failure(*client);
    return {};
  });
}

void lyk_client_close(lyk_client* client) {
  delete client;
}

int lyk_client_resolve(lyk_client* client,
                       const char* slot,
                       const lyk_device* device,
                       const lyk_resolve_options* options,
                       lyk_image** image) {
  return guarded(client, [&]() -> Result<void> {
    if (client == nullptr)
      return bad_argument("client", "NULL");
    if (image == nullptr)
      return bad_argument("image", "NULL");
    LYK_TRY_ASSIGN(const auto call, read_call(slot, device, options));
    if (!client->forbidden.empty())
      return Error{Code::not_eligible, str(client->forbidden, ": the service may not be asked")};
    LYK_TRY_ASSIGN(auto resolved, client->connection.resolve(call));
    auto out = std::make_unique<lyk_image>();
    out->sha256 = resolved.reply.image.sha256.hex();
    out->resolved = std::move(resolved);
    *image = out.release();
    forget_failure(*image);
    return {};
  });
}

int lyk_image_fd(const lyk_image* image) {
  return image->resolved.fd.get();
}

uint64_t lyk_image_bytes(const lyk_image* image) {
  return image->resolved.reply.image.bytes;
}

int lyk_image_data(lyk_image* image, const void** data) {
  return guarded(image, [&]() -> Result<void> {
    if (image == nullptr)
      return bad_argument("image", "NULL");
    if (data == nullptr)
      return bad_argument("data", "NULL");
    const std::lock_guard lock{image->mutex};
    if (image->data == nullptr) {
      // Private, since older kernels refuse any shared mapping of what is sealed against writing;
      // the pages are shared all the same.
      void* mapped = ::mmap(nullptr, mapped_bytes(*image), PROT_READ, MAP_PRIVATE,
                            image->resolved.fd.get(), 0);
      if (mapped == MAP_FAILED)
        return lyk::os_error(errno, "map the image");
      image->data = mapped;
    }
    *data = image->data;
    return {};
  });
}

const char* lyk_image_sha256(const lyk_image* image) {
  return image->sha256.c_str();
}

const char* lyk_image_kind(const lyk_image* image) {
  return image->resolved.reply.image.kind == ImageKind::ptx ? "ptx" : "cubin";
}

const char* lyk_image_arch(const lyk_image* image) {
  return image->resolved.reply.image.arch.c_str();
}

const char* lyk_image_repo(const lyk_image* image) {
  return image->resolved.reply.repo.c_str();
}

const char* lyk_image_commit(const lyk_image* image) {
  return image->resolved.reply.commit.c_str();
}

const char* lyk_image_file(const lyk_image* image) {
  return image->resolved.reply.file.c_str();
}

void lyk_image_close(lyk_image* image) {
  if (image != nullptr && image->data != nullptr)
    (void)::munmap(image->data, mapped_bytes(*image));  // it was mapped so
  delete image;
}
