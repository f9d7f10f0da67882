// Pin files. Whatever the bytes are: an Error of one line that begins with the file's name, or a
// pin whose formatted text is an equal pin.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fetcher/pin.hpp"
#include "proto/check.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name is libFuzzer's
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text{data, data + size};
  const auto pin = lyk::fetcher::Pin::parse(text, "pin.toml");
  if (!pin) {
    const std::string& message = pin.error().message;
    LYK_CHECK(pin.error().code == lyk::Code::invalid_argument);
    LYK_CHECK(message.starts_with("pin.toml:") && message.find('\n') == std::string::npos);
    return 0;
  }
  LYK_CHECK(!pin->repo_types.empty());
  const auto again = lyk::fetcher::Pin::parse(pin->format(), "formatted");
  LYK_CHECK(again && *again == *pin);
  return 0;
}
