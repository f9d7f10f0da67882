#include "client/hub.hpp"

#include <string>
#include <vector>

#include "client/device_code.hpp"
#include "client/lyk.h"
#include "proto/text.hpp"

namespace lyk::client {

namespace {

// What the pin marks, as the flags of an implementation; words of a later release are passed over.
std::uint32_t deterministic_flags(const std::vector<std::string>& passes) {
  std::uint32_t out = 0;
  for (const std::string& pass : passes) {
    if (pass == "forward")
      out |= LYK_DETERMINISTIC_FORWARD;
    else if (pass == "backward")
      out |= LYK_DETERMINISTIC_BACKWARD;
  }
  return out;
}

// A failure to get an image. The service says why; what a user can do about bytes that are not
// there is said here. What is wrong with the environment or with the service is not wrong with the
// caller's arguments or context.
Error not_received(Error error, const SlotName& slot) {
  if (error.code == Code::not_cached || error.code == Code::offline)
    error.message += str("; to have it beforehand: libreyolo-kernels fetch ", slot.text());
  if (error.code == Code::invalid_argument || error.code == Code::cuda)
    error.code = Code::refused;
  return error;
}

}  // namespace

void Hub::set_settings(Result<Settings> settings) {
  const std::lock_guard lock{settings_mutex_};
  settings_ = std::move(settings);
}

Result<ResolvedImage> Hub::receive(const Device& device) {
  if (images_)
    return images_(device);
  std::unique_lock lock{settings_mutex_};
  LYK_TRY_ASSIGN(Settings settings, Result<Settings>{settings_});
  lock.unlock();
  // For this once: a service that was started for us has no reason to stay.
  LYK_TRY_ASSIGN(Connection connection, Connection::open(std::move(settings)));
  return connection.resolve({.slot = slot_, .device = device, .wait_ms = {}});
}

Result<std::unique_ptr<Module>> Hub::load(const Driver& driver, std::int32_t number) {
  LYK_TRY_ASSIGN(const Device device, describe_gpu(driver, number));
  auto image = receive(device);
  // Another GPU may have one, so it is said which it is that has none.
  if (!image && image.error().code == Code::no_image)
    return annotate(std::move(image).error(), str("device ", number));
  if (!image)
    return not_received(std::move(image).error(), slot_);
  LYK_TRY_ASSIGN(std::unique_ptr<Module> module, load_module(driver, *image, abi_));
  module->deterministic = deterministic_flags(image->reply.deterministic);
  return module;
}

}  // namespace lyk::client
