// Values with every field set, and the checks that each codec's test makes with them.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "proto/message.hpp"
#include "proto/methods.hpp"
#include "tests/support/golden.hpp"

namespace lyk::wire::test {

inline SlotName slot_name() {
  return *SlotName::parse("ms_deform_attn");
}
inline RepoId repo_id() {
  return *RepoId::parse("kernels-community/deformable-detr");
}
inline std::string commit() {
  return "4d2393e5d7879f7cf68db04cc7c9c7342272bc05";
}
inline std::string library_path() {
  return "build/torch210-cxx11-cu130-x86_64-linux/detr.so";
}

inline Digest digest() {
  return *Digest::parse("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
}

inline Image image() {
  return {.container = "library",
          .kind = ImageKind::cubin,
          .arch = "sm_90",
          .compression = "zstd",
          .bytes = 81'920,
          .sha256 = digest(),
          .kernels = {{.symbol = "_Z6im2colIfEvPKT_i",
                       .name = "void im2col<float>(float const*, int)",
                       .parameters = {{.offset = 0, .size = 8}, {.offset = 8, .size = 4}}}}};
}

inline RefusedImage refused_image() {
  return {.image = "build/torch210-cxx11-cu130-x86_64-linux/detr.so sm_80",
          .reason = "another major architecture"};
}

inline Pin pin() {
  return {.slot = "ms_deform_attn",
          .repo = "kernels-community/deformable-detr",
          .repo_types = {"kernel", "model"},
          .revision = commit(),
          .license = "Apache-2.0",
          .abi = "ms_deform_im2col",
          .deterministic = {"forward"},
          .is_public = true,
          .variants = {"torch210-*"},
          .digests = 2,
          .source = "/etc/libreyolo-kernels/pins.d/ms_deform_attn.toml"};
}

inline ParityRecord parity_record() {
  return {.image = digest(),
          .arch = {9, 0, ArchVariant::none},
          .driver = {13, 0},
          .gpu = "NVIDIA H100 PCIe",
          .set = "whole",
          .greatest_error = "1.2e-07"};
}

inline RefusedPin refused_pin() {
  return {.source = "/etc/libreyolo-kernels/pins.d/bad.toml",
          .reason = "unknown key 'repos', meant 'repo'?"};
}

inline File file() {
  return {.path = library_path(), .bytes = 4'194'304, .sha256 = digest(), .images = {image()}};
}

inline Revision revision() {
  return {.slot = "ms_deform_attn",
          .repo = "kernels-community/deformable-detr",
          .repo_type = "kernel",
          .commit = commit(),
          .proof = ProofKind::git,
          .gated = true,
          .files = 3,
          .images = 24,
          .bytes = 12'582'912};
}

inline FetchProgress fetch_progress() {
  return {.slot = "ms_deform_attn",
          .step = FetchStep::downloading,
          .file = library_path(),
          .bytes_done = 1'048'576,
          .bytes_total = 4'194'304,
          .files_done = 0,
          .files_total = 3};
}

// Every object of `json` gets a field that no release has: at its front, and of a type of its own.
inline std::string with_unknown_fields(std::string_view json) {
  std::string out;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    out += json[i];
    if (json[i] == '\\')
      out += json[++i];
    else if (json[i] == '"')
      in_string = !in_string;
    else if (json[i] == '{' && !in_string)
      out += json[i + 1] == '}' ? R"("x_later":[{}])" : R"("x_later":[{"y":null},1.5],)";
  }
  return out;
}

// A message is written as its golden file and read back with nothing lost, also from the form that
// a later release might give it.
template <typename CallType>
void check_call(std::string_view golden, const CallType& call, Flow flow = Flow::single) {
  const std::string text = encode_call(call, flow);
  lyk::test::expect_golden(golden, text);
  for (const std::string& form : {text, with_unknown_fields(text)}) {
    const auto parsed = parse_call(form);
    ASSERT_TRUE(parsed) << parsed.error().message << '\n' << form;
    EXPECT_EQ(parsed->interface, interface_name);
    EXPECT_EQ(parsed->method, CallType::method);
    EXPECT_EQ(parsed->flow, flow);
    const auto decoded = decode_parameters<CallType>(*parsed);
    ASSERT_TRUE(decoded) << decoded.error().message << '\n' << form;
    EXPECT_EQ(encode_call(*decoded, flow), text);
  }
}

template <typename ReplyType>
void check_reply(std::string_view golden,
                 const ReplyType& reply,
                 Continues continues = Continues::no) {
  const std::string text = encode_reply(reply, continues);
  lyk::test::expect_golden(golden, text);
  for (const std::string& form : {text, with_unknown_fields(text)}) {
    const auto parsed = parse_reply(form);
    ASSERT_TRUE(parsed) << parsed.error().message << '\n' << form;
    EXPECT_FALSE(parsed->error);
    EXPECT_EQ(parsed->continues, continues);
    const auto decoded = decode_parameters<ReplyType>(*parsed);
    ASSERT_TRUE(decoded) << decoded.error().message << '\n' << form;
    EXPECT_EQ(encode_reply(*decoded, continues), text);
  }
}

// The error that `parameters` of a call end in, or "" if they are accepted.
template <typename CallType>
std::string refusal(std::string_view parameters) {
  std::string text = R"({"method":"com.libreyolo.Kernels.)";
  text += CallType::method;
  text += R"(","parameters":)";
  text += parameters;
  text += '}';
  const auto parsed = parse_call(text);
  if (!parsed)
    return parsed.error().message;
  const auto decoded = decode_parameters<CallType>(*parsed);
  if (decoded)
    return "";
  EXPECT_EQ(decoded.error().code, Code::invalid_argument);
  return decoded.error().message;
}

}  // namespace lyk::wire::test
