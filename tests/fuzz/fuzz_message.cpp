// Messages: one input as a call and as a reply of every kind. What is accepted must survive being
// written and read again, and nothing may be more than an Error.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/check.hpp"
#include "proto/message.hpp"

namespace {

using namespace lyk;

template <typename CallType>
void as_call(const wire::ParsedCall& parsed) {
  const auto call = wire::decode_parameters<CallType>(parsed);
  if (!call) {
    LYK_CHECK(call.error().code == Code::invalid_argument && !call.error().message.empty());
    return;
  }
  const std::string text = wire::encode_call(*call, parsed.flow);
  const auto again = wire::parse_call(text);
  LYK_CHECK(again.has_value() && again->method == CallType::method && again->flow == parsed.flow);
  const auto decoded = wire::decode_parameters<CallType>(*again);
  LYK_CHECK(decoded.has_value() && wire::encode_call(*decoded, parsed.flow) == text);
}

template <typename ReplyType>
void as_reply(const wire::ParsedReply& parsed) {
  const auto reply = wire::decode_parameters<ReplyType>(parsed);
  if (!reply) {
    LYK_CHECK(reply.error().code == Code::protocol && !reply.error().message.empty());
    return;
  }
  const std::string text = wire::encode_reply(*reply, parsed.continues);
  const auto again = wire::parse_reply(text);
  LYK_CHECK(again.has_value() && !again->error && again->continues == parsed.continues);
  const auto decoded = wire::decode_parameters<ReplyType>(*again);
  LYK_CHECK(decoded.has_value() && wire::encode_reply(*decoded, parsed.continues) == text);
  LYK_CHECK(!wire::to_json(*reply).empty());
}

void try_calls(std::string_view text) {
  const auto parsed = wire::parse_call(text);
  if (!parsed) {
    LYK_CHECK(parsed.error().code == Code::protocol);
    return;
  }
  as_call<wire::ResolveCall>(*parsed);
  as_call<wire::FetchCall>(*parsed);
  as_call<wire::ProbeCall>(*parsed);
  as_call<wire::ListCall>(*parsed);
  as_call<wire::InfoCall>(*parsed);
  as_call<wire::VerifyCall>(*parsed);
  as_call<wire::RemoveCall>(*parsed);
  as_call<wire::PruneCall>(*parsed);
  as_call<wire::PinsCall>(*parsed);
  as_call<wire::StatusCall>(*parsed);
  as_call<wire::RebuildIndexCall>(*parsed);
  (void)wire::decode_interface_argument(*parsed);  // either outcome is right
}

void try_replies(std::string_view text) {
  const auto parsed = wire::parse_reply(text);
  if (!parsed) {
    LYK_CHECK(parsed.error().code == Code::protocol);
    return;
  }
  if (parsed->error) {
    const std::string again = wire::encode_error(*parsed->error, parsed->error_fields);
    const auto read = wire::parse_reply(again);
    LYK_CHECK(read.has_value() && read->error && read->error->code == parsed->error->code);
    LYK_CHECK(wire::encode_error(*read->error, read->error_fields) == again);
  }
  as_reply<wire::ResolveReply>(*parsed);
  as_reply<wire::FetchReply>(*parsed);
  as_reply<wire::ProbeReply>(*parsed);
  as_reply<wire::ListReply>(*parsed);
  as_reply<wire::InfoReply>(*parsed);
  as_reply<wire::VerifyReply>(*parsed);
  as_reply<wire::RemoveReply>(*parsed);
  as_reply<wire::PruneReply>(*parsed);
  as_reply<wire::PinsReply>(*parsed);
  as_reply<wire::StatusReply>(*parsed);
  as_reply<wire::RebuildIndexReply>(*parsed);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  try_calls(text);
  try_replies(text);
  return 0;
}
