// The C interface of clients and images: arguments in, statuses out. Everything that can be wrong
// with an argument is said here, by its name in lyk.h; nothing below sees a pointer that was not
// looked at.
#include "client/lyk.h"

#include <sys/mman.h>

#include <cerrno>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "client/c_interface.hpp"
#include "client/connection.hpp"
#include "client/settings.hpp"
#include "client/shared_connection.hpp"
#include "proto/device.hpp"
#include "proto/error.hpp"
#include "proto/limits.hpp"
#include "proto/names.hpp"
#include "proto/text.hpp"

struct lyk_client {
  explicit lyk_client(lyk::client::Settings settings)
      : forbidden(settings.hub_forbidden), connection(std::move(settings)) {}

  std::string forbidden;  // why nobody may be asked; empty: the service may
  lyk::client::SharedConnection connection;
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
using lyk::client::bad_argument;
using lyk::client::check_flags;
using lyk::client::check_handle;
using lyk::client::forget_failure;
using lyk::client::guarded;
using lyk::client::HandleKind;
using lyk::client::is_open;
using lyk::client::note_closed;
using lyk::client::note_opened;
using lyk::client::read_struct;
using lyk::client::Uncancellable;
using lyk::client::view_struct;
using lyk::wire::ImageKind;

Result<lyk::CudaVersion> read_driver_version(int version) {
  // 1000 * major + 10 * minor, as cuDriverGetVersion has it.
  if (version < 1000 || version > 999'990 || version % 10 != 0)
    return bad_argument("device", str("driver_version ", version, " is not like 13000"));
  return lyk::CudaVersion{version / 1000, version % 1000 / 10};
}

Result<lyk::Device> read_device(const lyk_device* given) {
  lyk_device storage{};
  LYK_TRY_ASSIGN(const lyk_device* known, view_struct(given, "device", storage));
  const lyk_device& device = *known;
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
  LYK_TRY_ASSIGN(const auto options, read_struct(given, "options"));
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
  LYK_TRY_ASSIGN(const auto options, read_struct(given, "options"));
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

// What an image says of itself; what a handle that is not open says is nothing.
template <typename Read>
const char* text_of(const lyk_image* image, const Read& read) {
  return is_open(image, HandleKind::image) ? read(*image) : "";
}

std::size_t mapped_bytes(const lyk_image& image) {
  const lyk::wire::Image& description = image.resolved.reply.image;
  return description.bytes + (description.kind == ImageKind::ptx ? 1 : 0);  // its NUL
}

}  // namespace

// ---- exported

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
  return lyk::client::failure_text(handle);
}

int lyk_client_open(const lyk_client_options* options, lyk_client** client) {
  return guarded(nullptr, [&]() -> Result<void> {
    if (client == nullptr)
      return bad_argument("client", "NULL");
    LYK_TRY_ASSIGN(auto settings, read_client_options(options));
    auto out = std::make_unique<lyk_client>(std::move(settings));
    note_opened(out.get(), HandleKind::client);
    forget_failure(out.get());
    *client = out.release();
    return {};
  });
}

void lyk_client_close(lyk_client* client) {
  const Uncancellable uncancellable;  // to close a descriptor is a cancellation point
  if (note_closed(client, HandleKind::client))
    delete client;
}

int lyk_client_resolve(lyk_client* client,
                       const char* slot,
                       const lyk_device* device,
                       const lyk_resolve_options* options,
                       lyk_image** image) {
  return guarded(client, [&]() -> Result<void> {
    LYK_TRY(check_handle(client, HandleKind::client, "client"));
    if (image == nullptr)
      return bad_argument("image", "NULL");
    LYK_TRY_ASSIGN(const auto call, read_call(slot, device, options));
    if (!client->forbidden.empty())
      return Error{Code::not_eligible, str(client->forbidden, ": the service may not be asked")};
    LYK_TRY_ASSIGN(auto resolved, client->connection.resolve(call));
    auto out = std::make_unique<lyk_image>();
    out->sha256 = resolved.reply.image.sha256.hex();
    out->resolved = std::move(resolved);
    note_opened(out.get(), HandleKind::image);
    forget_failure(out.get());
    *image = out.release();
    return {};
  });
}

int lyk_image_fd(const lyk_image* image) {
  return is_open(image, HandleKind::image) ? image->resolved.fd.get() : -1;
}

uint64_t lyk_image_bytes(const lyk_image* image) {
  return is_open(image, HandleKind::image) ? image->resolved.reply.image.bytes : 0;
}

int lyk_image_data(lyk_image* image, const void** data) {
  return guarded(image, [&]() -> Result<void> {
    LYK_TRY(check_handle(image, HandleKind::image, "image"));
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
  return text_of(image, [](const lyk_image& open) { return open.sha256.c_str(); });
}

const char* lyk_image_kind(const lyk_image* image) {
  return text_of(image, [](const lyk_image& open) {
    return open.resolved.reply.image.kind == ImageKind::ptx ? "ptx" : "cubin";
  });
}

const char* lyk_image_arch(const lyk_image* image) {
  return text_of(image,
                 [](const lyk_image& open) { return open.resolved.reply.image.arch.c_str(); });
}

const char* lyk_image_repo(const lyk_image* image) {
  return text_of(image, [](const lyk_image& open) { return open.resolved.reply.repo.c_str(); });
}

const char* lyk_image_commit(const lyk_image* image) {
  return text_of(image, [](const lyk_image& open) { return open.resolved.reply.commit.c_str(); });
}

const char* lyk_image_file(const lyk_image* image) {
  return text_of(image, [](const lyk_image& open) { return open.resolved.reply.file.c_str(); });
}

void lyk_image_close(lyk_image* image) {
  const Uncancellable uncancellable;  // as of a client
  if (!note_closed(image, HandleKind::image))
    return;
  if (image->data != nullptr)
    (void)::munmap(image->data, mapped_bytes(*image));  // it was mapped so
  delete image;
}
