// What the commands have in common when they ask the service: connecting, values out of words, and
// the words of images in tables and documents.
// Thread rule: one thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/json_document.hpp"
#include "client/connection.hpp"
#include "proto/device.hpp"
#include "proto/message.hpp"
#include "proto/methods.hpp"
#include "proto/names.hpp"
#include "proto/result.hpp"

namespace lyk::cli {

Result<client::Connection> connect(const Invocation& invocation,
                                   client::Audience audience = client::Audience::anyone);

Result<std::vector<SlotName>> parse_slots(std::span<const std::string> words);
// Of a command that takes at most one.
Result<std::optional<SlotName>> parse_optional_slot(const Arguments& arguments);

// --arch and --driver as a device. The architecture of a GPU has no variant.
Result<Arch> parse_capability(std::string_view text);
Result<std::optional<CudaVersion>> parse_driver(const Arguments& arguments);
Result<std::optional<Device>> parse_device(const Arguments& arguments);

// A reply as --json prints it, where people want what the wire has.
template <typename ReplyType>
std::string document_of(const ReplyType& reply) {
  return wire::to_json(reply) + '\n';
}

// {"container", "kind", "arch", "compression", "bytes", "sha256", "kernels": [{"symbol", "name",
// "parameters": [[offset, size], ...]}]}, as members of the object that is open.
void add_image_members(JsonDocument& document, const wire::Image& image);
void add_refused(JsonDocument& document, std::span<const wire::RefusedImage> refused);

// What a file or a folder of pins that is refused is told as. Most reasons name it themselves, and
// then it is named once.
std::string refused_pin_text(const wire::RefusedPin& refused);
void add_warnings(Report& report, const std::vector<wire::RefusedPin>& refused);
// Instead of a table of pins that would be empty.
std::string no_pins_text(const std::vector<wire::RefusedPin>& refused);

// "sm_90 cubin".
std::string image_title(const wire::Image& image);

}  // namespace lyk::cli
