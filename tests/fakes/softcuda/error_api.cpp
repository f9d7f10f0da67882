// The names and texts of result codes. These work always.
#include <algorithm>
#include <array>

#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

struct ErrorText {
  int code;
  const char* name;
  const char* text;
};

constexpr std::array error_texts{
#define SOFTCUDA_ERROR(code, name, text) ErrorText{code, #name, text},
#include "tests/fakes/softcuda/errors.inc"
#undef SOFTCUDA_ERROR
};

Status find_text(int code, const char* ErrorText::*field, const char** out) {
  if (out == nullptr)
    return Status::invalid_value;
  const auto* const found = std::ranges::find(error_texts, code, &ErrorText::code);
  *out = found == error_texts.end() ? nullptr : (*found).*field;
  return *out == nullptr ? refuse(Status::invalid_value, "no such code") : Status::success;
}

}  // namespace

SOFTCUDA_API Status cuGetErrorName(int code, const char** out) {
  return call(Function::cuGetErrorName, {{"code", code}},
              [&] { return find_text(code, &ErrorText::name, out); });
}

SOFTCUDA_API Status cuGetErrorString(int code, const char** out) {
  return call(Function::cuGetErrorString, {{"code", code}},
              [&] { return find_text(code, &ErrorText::text, out); });
}

}  // namespace softcuda
