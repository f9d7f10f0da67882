#include "kernels/image/ptx.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "kernels/image/bytes.hpp"
#include "kernels/image/demangle.hpp"
#include "kernels/image/ptx_tokens.hpp"
#include "proto/limits.hpp"

namespace lyk::image {

namespace {

struct TypeSize {
  std::string_view type;
  std::uint32_t bytes;
};
// The types that a kernel parameter can have; opaque ones are handles.
constexpr std::array type_sizes{
    TypeSize{".b8", 1},      TypeSize{".u8", 1},     TypeSize{".s8", 1},
    TypeSize{".b16", 2},     TypeSize{".u16", 2},    TypeSize{".s16", 2},
    TypeSize{".f16", 2},     TypeSize{".bf16", 2},   TypeSize{".b32", 4},
    TypeSize{".u32", 4},     TypeSize{".s32", 4},    TypeSize{".f32", 4},
    TypeSize{".f16x2", 4},   TypeSize{".bf16x2", 4}, TypeSize{".b64", 8},
    TypeSize{".u64", 8},     TypeSize{".s64", 8},    TypeSize{".f64", 8},
    TypeSize{".b128", 16},   TypeSize{".texref", 8}, TypeSize{".samplerref", 8},
    TypeSize{".surfref", 8},
};

// The hardware's limit is 32,764 bytes of parameters; larger offsets would only overflow.
constexpr std::uint32_t parameter_space_bytes_max = 1U << 20U;

std::optional<std::uint32_t> number(std::string_view word) {
  std::uint32_t out = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (status != std::errc{} || end != word.data() + word.size() || out > parameter_space_bytes_max)
    return std::nullopt;
  return out;
}

bool is_identifier(std::string_view word) {
  return !word.empty() && !(word.front() >= '0' && word.front() <= '9') &&
         std::ranges::all_of(word, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '$' || c == '%';
         });
}

bool is_power_of_two(std::uint32_t value) {
  return value != 0 && (value & (value - 1)) == 0;
}

struct Declared {
  std::uint32_t size = 0;
  std::uint32_t align = 0;
};

// One parameter, after its `.param`: attributes and type in any order that PTX allows, then the
// name and perhaps an array length. Stops before the ',' or ')'.
//   .align 8 .b8 name[32]    .u64 .ptr .global .align 4 name    .f32 name
Result<Declared> parse_parameter(PtxTokens& tokens) {
  std::uint32_t element = 0;
  std::uint32_t align = 0;
  bool pointee = false;  // after .ptr, .space and .align tell of what is pointed to
  while (tokens.peek().starts_with('.')) {
    const std::string_view word = tokens.next();
    if (word == ".ptr") {
      pointee = true;
    } else if (word == ".align") {
      const auto bytes = number(tokens.next());
      if (!bytes || !is_power_of_two(*bytes))
        return malformed("ptx: alignment of a parameter is not a power of two");
      align = pointee ? align : *bytes;
    } else if (const auto type = std::ranges::find(type_sizes, word, &TypeSize::type);
               type != type_sizes.end()) {
      element = type->bytes;
    } else if (!pointee) {
      return malformed("ptx: parameter of unknown type ", quoted(word));
    }
  }
  if (element == 0 || tokens.next().empty())
    return malformed("ptx: parameter without a type or a name");
  std::uint32_t count = 1;
  if (tokens.take("[")) {
    const auto length = number(tokens.next());
    if (!length || !tokens.take("]"))
      return malformed("ptx: parameter with a bad array length");
    count = *length;
  }
  if (count > parameter_space_bytes_max / element)
    return too_much("ptx: a parameter of ", count, " times ", element, " bytes");
  return Declared{.size = count * element, .align = std::max(align, element)};
}

// After the '(': all parameters, with the ')'.
Result<std::vector<Parameter>> parse_parameters(PtxTokens& tokens) {
  std::vector<Parameter> out;
  if (tokens.take(")"))
    return out;
  std::uint32_t end = 0;
  do {
    if (!tokens.take(".param"))
      return malformed("ptx: expected .param, got ", quoted(tokens.peek()));
    if (out.size() == limits::parameters_per_kernel_max)
      return too_much("ptx: more than ", limits::parameters_per_kernel_max, " parameters");
    LYK_TRY_ASSIGN(const Declared declared, parse_parameter(tokens));
    const std::uint32_t offset = (end + declared.align - 1) / declared.align * declared.align;
    end = offset + declared.size;
    if (end > parameter_space_bytes_max)
      return too_much("ptx: parameters take more than ", parameter_space_bytes_max, " bytes");
    out.push_back({.offset = offset, .size = declared.size});
  } while (tokens.take(","));
  if (!tokens.take(")"))
    return malformed("ptx: expected ) after parameters, got ", quoted(tokens.peek()));
  return out;
}

// After `.entry`: the kernel's name and parameters. The body is left.
Result<Kernel> parse_entry(PtxTokens& tokens) {
  Kernel out;
  out.symbol = tokens.next();
  if (!is_identifier(out.symbol) || out.symbol.size() > limits::symbol_bytes_max)
    return malformed("ptx: a kernel has no usable name");
  if (tokens.take("(")) {
    LYK_TRY_ASSIGN(out.parameters, parse_parameters(tokens));
  }
  return out;
}

// The first three directives, in the order that PTX prescribes.
Result<Ptx> parse_head(PtxTokens& tokens) {
  Ptx out;
  if (!tokens.take(".version"))
    return malformed("ptx: does not begin with .version");
  const auto version = CudaVersion::parse(tokens.next());
  if (!version)
    return malformed("ptx: .version is not a number");
  out.version = *version;
  if (!tokens.take(".target"))
    return malformed("ptx: no .target after .version");
  const auto target = Arch::parse(tokens.next());
  if (!target)
    return malformed("ptx: .target is not an architecture");
  out.target = *target;
  while (tokens.take(","))  // texmode_independent, debug and the like
    (void)tokens.next();
  if (tokens.take(".address_size") && tokens.next() != "64")
    return malformed("ptx: 32-bit");
  return out;
}

}  // namespace

bool is_ptx(std::string_view head) {
  return PtxTokens{head}.next() == ".version";
}

Result<Ptx> parse_ptx(std::string_view text) {
  PtxTokens tokens{text};
  LYK_TRY_ASSIGN(Ptx out, parse_head(tokens));
  Demangler demangler;
  for (std::string_view word = tokens.next(); !word.empty(); word = tokens.next()) {
    if (word == "{" && !tokens.skip_block('{', '}'))
      return malformed("ptx: ends within a block");
    if (word != ".entry")
      continue;
    if (out.kernels.size() == limits::kernels_per_image_max)
      return too_much("ptx: more than ", limits::kernels_per_image_max, " kernels");
    LYK_TRY_ASSIGN(Kernel kernel, parse_entry(tokens));
    kernel.name = demangler.name(kernel.symbol);
    out.kernels.push_back(std::move(kernel));
  }
  // A kernel may be declared before it is defined: the same name and parameters twice.
  std::ranges::sort(out.kernels);
  out.kernels.erase(std::unique(out.kernels.begin(), out.kernels.end()), out.kernels.end());
  const auto differs = std::ranges::adjacent_find(out.kernels, {}, &Kernel::symbol);
  if (differs != out.kernels.end())
    return malformed("ptx: kernel ", quoted(differs->symbol), " is declared in two ways");
  return out;
}

}  // namespace lyk::image
