// The templates of message.hpp, for the codec_*.cpp files: each describes the calls and replies of
// its topic and then instantiates the templates for them. Internal to proto/codec_*.cpp. Thread
// rule: pure functions of their arguments.
#pragma once

#include "proto/codec.hpp"
#include "proto/message.hpp"

namespace lyk::wire {

// {"parameters":{...}} as a document for people.
std::string indented(const std::string& compact);

template <typename CallType>
std::string encode_call(const CallType& call, Flow flow) {
  std::string out;
  JsonObject message{out};
  append_json(message.key("method"), str(interface_name, '.', CallType::method));
  Codec<CallType>::write(message.key("parameters"), call);
  if (flow == Flow::more)
    message.key("more") += "true";
  if (flow == Flow::oneway)
    message.key("oneway") += "true";
  message.close();
  return out;
}

template <typename CallType>
Result<CallType> decode_parameters(const ParsedCall& call) {
  LYK_CHECK(call.parameters != nullptr);
  return Codec<CallType>::read(call.parameters->json, Place{});
}

template <typename ReplyType>
std::string encode_reply(const ReplyType& reply, Continues continues) {
  std::string out;
  JsonObject message{out};
  Codec<ReplyType>::write(message.key("parameters"), reply);
  if (continues == Continues::yes)
    message.key("continues") += "true";
  message.close();
  return out;
}

template <typename ReplyType>
std::string to_json(const ReplyType& reply) {
  std::string compact;
  Codec<ReplyType>::write(compact, reply);
  return indented(compact);
}

template <typename ReplyType>
Result<ReplyType> decode_parameters(const ParsedReply& reply) {
  LYK_CHECK(reply.parameters != nullptr);
  auto decoded = Codec<ReplyType>::read(reply.parameters->json, Place{});
  if (!decoded)  // what a service sends is not an argument of ours
    return Error{Code::protocol, str("reply of the service: ", decoded.error().message)};
  return decoded;
}

}  // namespace lyk::wire

// The one macro of the codecs: five explicit instantiations for the method `name`.
#define LYK_WIRE_METHOD(name)                                         \
  template std::string encode_call(const name##Call&, Flow);          \
  template Result<name##Call> decode_parameters(const ParsedCall&);   \
  template std::string encode_reply(const name##Reply&, Continues);   \
  template Result<name##Reply> decode_parameters(const ParsedReply&); \
  template std::string to_json(const name##Reply&)
