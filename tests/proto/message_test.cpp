#include "proto/message.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "proto/limits.hpp"
#include "proto/text.hpp"
#include "tests/proto/wire_samples.hpp"

namespace lyk::wire::test {
namespace {

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

TEST(ParseCall, RefusesWhatIsNoCall) {
  struct Row {
    std::string text;
    std::string message;
  };
  const std::vector<Row> rows{
      {"", "message: not JSON"},
      {"{", "message: not JSON"},
      {"{} trailing", "message: not JSON"},
      {"{\"method\":\"a.b\xff\"}", "message: not JSON"},
      {R"({"method":"a.B","parameters":{"n":1e999}})", "message: not JSON"},
      {R"({"method":"a.B","parameters":{"n":NaN}})", "message: not JSON"},
      {"[]", "message: not a JSON object"},
      {"7", "message: not a JSON object"},
      {"{}", "message: a call without 'method'"},
      {R"({"method":7})", "message: a call without 'method'"},
      {R"({"method":null})", "message: a call without 'method'"},
      {R"({"method":"Resolve"})", "message: 'method' is not interface.Method"},
      {R"({"method":"a."})", "message: 'method' is not interface.Method"},
      {R"({"method":".B"})", "message: 'method' is not interface.Method"},
      {R"({"method":"a.B","parameters":[]})", "message: 'parameters' is not an object"},
      {R"({"method":"a.B","more":1})", "message: 'more' is not true or false"},
      {R"({"method":"a.B","oneway":"yes"})", "message: 'oneway' is not true or false"},
      {R"({"method":"a.B","upgrade":true})", "message: 'upgrade' is not offered"},
      {R"({"method":"a.B","more":true,"oneway":true})",
       "message: 'more' and 'oneway' exclude each other"},
      {str(R"({"method":"a.B","parameters":{"x":)", nested(limits::json_depth_max), "}}"),
       "message: nested deeper than 32"},
      {str(R"({"method":"a.B","parameters":{"x":[1)", std::string(9000, ','), "]}}"),
       "message: more than 4096 values"},
  };
  for (const auto& row : rows) {
    const auto parsed = parse_call(row.text);
    ASSERT_FALSE(parsed) << row.text;
    EXPECT_EQ(parsed.error().code, Code::protocol);
    EXPECT_EQ(parsed.error().message, row.message);
  }
}

TEST(ParseCall, TakesAbsentAndNullAlike) {
  for (const char* text : {R"({"method":"a.b.C"})",
                           R"({"method":"a.b.C","parameters":null,"more":null,"oneway":false})"}) {
    const auto parsed = parse_call(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parsed->interface, "a.b");
    EXPECT_EQ(parsed->method, "C");
    EXPECT_EQ(parsed->flow, Flow::single);
    EXPECT_TRUE(decode_parameters<StatusCall>(*parsed));
  }
}

TEST(ParseCall, ReadsTheFlow) {
  EXPECT_EQ(parse_call(R"({"method":"a.B","more":true})")->flow, Flow::more);
  EXPECT_EQ(parse_call(R"({"method":"a.B","oneway":true})")->flow, Flow::oneway);
}

TEST(ParseCall, IsNotFooledByBracketsInStrings) {
  const std::string brackets = std::string(100, '[') + "\\\"" + std::string(100, '{');
  EXPECT_TRUE(parse_call(str(R"({"method":"a.B","parameters":{"x":")", brackets, "\"}}")));
}

TEST(ParseCall, TakesTheLastOfTwoEqualKeys) {
  EXPECT_EQ(parse_call(R"({"method":"a.B","method":"a.C"})")->method, "C");
}

TEST(EncodeCall, MarksOnewayCalls) {
  EXPECT_EQ(encode_call(StatusCall{}, Flow::oneway),
            R"({"method":"com.libreyolo.Kernels.Status","parameters":{},"oneway":true})");
}

TEST(EncodeError, EveryCodeIsAsItsGolden) {
  const ErrorFields fields{.slot = "ms_deform_attn", .refused = {refused_image()}};
  for (const CodeInfo& row : code_table) {
    const Error error{row.code, str("the message of ", row.name)};
    const std::string text = encode_error(error, fields);
    lyk::test::expect_golden(str("wire/error_", row.name, ".json"), text);
    for (const std::string& form : {text, with_unknown_fields(text)}) {
      const auto parsed = parse_reply(form);
      ASSERT_TRUE(parsed) << form;
      ASSERT_TRUE(parsed->error);
      EXPECT_EQ(parsed->error->code, row.code);
      EXPECT_EQ(parsed->error->message, error.message);
      EXPECT_EQ(encode_error(*parsed->error, parsed->error_fields), text);
    }
  }
}

TEST(EncodeError, FieldsAreOnlyWhereTheInterfaceHasThem) {
  const ErrorFields fields{.slot = "s", .refused = {refused_image()}};
  const std::string plain = encode_error({Code::network, "m"}, fields);
  EXPECT_EQ(plain.find("\"slot\""), std::string::npos);
  const std::string offline = encode_error({Code::offline, "m"}, fields);
  EXPECT_NE(offline.find("\"slot\""), std::string::npos);
  EXPECT_EQ(offline.find("\"refused\""), std::string::npos);
}

TEST(ParseReply, TurnsForeignErrorsIntoOurs) {
  struct Row {
    const char* text;
    Code code;
    const char* message;
  };
  const std::vector<Row> rows{
      {R"({"error":"com.libreyolo.Kernels.Tired","parameters":{"message":"of it all"}})",
       Code::protocol, "the service answers 'Tired': of it all"},
      {R"({"error":"com.libreyolo.Kernels.Busy"})", Code::busy, "the service gives no reason"},
      {R"({"error":"com.libreyolo.Kernels.Busy","parameters":{"message":7}})", Code::busy,
       "the service gives no reason"},
      {R"({"error":"org.varlink.service.InvalidParameter","parameters":{"parameter":"slot"}})",
       Code::invalid_argument, "parameter 'slot': refused"},
      {R"({"error":"org.varlink.service.MethodNotFound","parameters":{"method":"x.Y"}})",
       Code::protocol, "the service does not know 'x.Y'; it is of another release"},
      {R"({"error":"org.varlink.service.InterfaceNotFound","parameters":{"interface":"x"}})",
       Code::protocol, "the service does not know 'x'; it is of another release"},
      {R"({"error":"org.varlink.service.PermissionDenied","parameters":{}})", Code::refused,
       "the service denies this call"},
      {R"({"error":"org.varlink.service.ExpectedMore","parameters":{}})", Code::protocol,
       "the service answers 'org.varlink.service.ExpectedMore'"},
      {R"({"error":"nonsense"})", Code::protocol, "the service answers 'nonsense'"},
      {R"({"error":"io.systemd.System","parameters":{"errno":5}})", Code::protocol,
       "the service answers 'io.systemd.System'"},
  };
  for (const auto& row : rows) {
    const auto parsed = parse_reply(row.text);
    ASSERT_TRUE(parsed) << row.text;
    ASSERT_TRUE(parsed->error) << row.text;
    EXPECT_EQ(parsed->error->code, row.code) << row.text;
    EXPECT_EQ(parsed->error->message, row.message);
  }
}

TEST(ParseReply, LeavesOutMalformedFieldsOfAnError) {
  const auto parsed = parse_reply(
      R"({"error":"com.libreyolo.Kernels.NoImage","parameters":{"message":"m","slot":7,"refused":[1]}})");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->error->code, Code::no_image);
  EXPECT_FALSE(parsed->error_fields.slot);
  EXPECT_TRUE(parsed->error_fields.refused.empty());
}

TEST(ParseReply, RefusesWhatIsNoReply) {
  EXPECT_EQ(parse_reply("no").error().message, "message: not JSON");
  EXPECT_EQ(parse_reply("[]").error().message, "message: not a JSON object");
  EXPECT_EQ(parse_reply(R"({"error":7})").error().message, "message: 'error' is not a string");
  EXPECT_EQ(parse_reply(R"({"continues":7})").error().message,
            "message: 'continues' is not true or false");
  EXPECT_EQ(parse_reply(R"({"parameters":"x"})").error().message,
            "message: 'parameters' is not an object");
}

TEST(ParseReply, TakesAReplyWithMoreValuesThanACallMayHave) {
  ListReply reply;
  reply.revisions.assign(1000, revision());
  EXPECT_EQ(decode_parameters<ListReply>(*parse_reply(encode_reply(reply)))->revisions.size(),
            1000U);
}

TEST(Service, InfoAndDescriptionAreAsTheirGoldens) {
  const ServiceInfo info{.vendor = "LibreYOLO",
                         .product = "libreyolo-kernels",
                         .version = "0.1.0",
                         .url = "https://github.com/LibreYOLO/libreyolo-kernels",
                         .interfaces = {"org.varlink.service", "com.libreyolo.Kernels"}};
  lyk::test::expect_golden("wire/service_info_reply.json", encode_service_info(info));
  EXPECT_EQ(encode_interface_description("interface \"x\"\n"),
            R"({"parameters":{"description":"interface \"x\"\n"}})");
}

TEST(Service, ErrorsAreAsTheirGoldens) {
  lyk::test::expect_golden("wire/service_interface_not_found.json",
                           encode_interface_not_found("a.b"));
  lyk::test::expect_golden("wire/service_method_not_found.json",
                           encode_method_not_found("com.libreyolo.Kernels.Fly"));
}

TEST(Service, TheArgumentOfADescriptionIsAString) {
  const auto argument = [](std::string_view parameters) {
    return decode_interface_argument(
        *parse_call(str(R"({"method":"org.varlink.service.GetInterfaceDescription","parameters":)",
                        parameters, "}")));
  };
  EXPECT_EQ(*argument(R"({"interface":"a.b"})"), "a.b");
  EXPECT_EQ(argument("{}").error().message, "parameter 'interface': it is missing");
  EXPECT_EQ(argument(R"({"interface":7})").error().message,
            "parameter 'interface': it must be a string");
}

TEST(Interface, TheEmbeddedTextIsTheFile) {
  const std::filesystem::path folder = std::filesystem::path{LYK_SOURCE_DIR} / "proto";
  EXPECT_EQ(interface_description, lyk::test::read_text(folder / "com.libreyolo.Kernels.varlink"));
  EXPECT_EQ(service_interface_description,
            lyk::test::read_text(folder / "org.varlink.service.varlink"));
}

TEST(Interface, DeclaresExactlyTheErrorsOfTheTable) {
  std::size_t declared = 0;
  for (auto at = interface_description.find("\nerror "); at != std::string_view::npos;
       at = interface_description.find("\nerror ", at + 1))
    ++declared;
  EXPECT_EQ(declared, code_table.size());
  for (const CodeInfo& row : code_table)
    EXPECT_NE(interface_description.find(
                  str("\nerror ", row.varlink, " (message: string, retryable: bool")),
              std::string_view::npos)
        << row.varlink;
}

}  // namespace
}  // namespace lyk::wire::test
