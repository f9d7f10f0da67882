#include "kernels/image/cubin.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/image/demangle.hpp"
#include "kernels/image/elf.hpp"
#include "proto/limits.hpp"

namespace lyk::image {

namespace {

constexpr std::uint8_t os_abi_v1 = 0x33;
constexpr std::uint8_t os_abi_v2 = 0x41;
constexpr std::uint32_t flag_specific_v1 = 0x800;
constexpr std::uint32_t flag_specific_v2 = 0x8;
constexpr std::uint8_t symbol_kernel = 0x10;  // STO_CUDA_ENTRY
constexpr std::string_view info_prefix = ".nv.info.";

constexpr std::uint8_t info_format_value = 4;  // the only one with bytes behind its first four
constexpr std::uint8_t info_parameter = 0x17;
constexpr std::uint8_t info_parameter_v2 = 0x45;
constexpr std::uint8_t info_toolkit = 0x37;
constexpr std::uint8_t compat_format_byte = 2;
constexpr std::uint8_t compat_specific = 9;

// Versions are stored as ten times the version: 0x82 is 13.0. Below 0x50 it is something else: the
// e_version of the ELF standard is 1.
std::optional<CudaVersion> toolkit_version(std::uint32_t number) {
  if (number < 0x50 || number > 999)
    return std::nullopt;
  return CudaVersion{.major = static_cast<int>(number / 10),
                     .minor = static_cast<int>(number % 10)};
}

struct Attribute {
  std::uint8_t format = 0;
  std::uint8_t id = 0;
  std::uint16_t small = 0;  // the value itself; its length for format 4
  Bytes value;              // of format 4
};

// Takes the next attribute off `rest`.
Result<Attribute> next_attribute(Bytes& rest) {
  const auto format = load<std::uint8_t>(rest, 0);
  const auto id = load<std::uint8_t>(rest, 1);
  const auto small = load<std::uint16_t>(rest, 2);
  if (!format || !id || !small)
    return malformed("cubin: an attribute is cut off");
  Attribute out{.format = *format, .id = *id, .small = *small, .value = {}};
  const std::size_t value_bytes = *format == info_format_value ? *small : 0;
  const auto value = piece(rest, 4, value_bytes);
  if (!value)
    return malformed("cubin: attribute ", *id, " of ", value_bytes, " bytes is cut off");
  out.value = *value;
  rest = rest.subspan(4 + value_bytes);
  return out;
}

struct OrderedParameter {
  std::uint16_t ordinal = 0;
  Parameter parameter;
};

Result<OrderedParameter> parameter_of(const Attribute& attribute) {
  const auto ordinal = load<std::uint16_t>(attribute.value, 4);
  const auto offset = load<std::uint16_t>(attribute.value, 6);
  const auto packed = load<std::uint32_t>(attribute.value, 8);
  if (!ordinal || !offset || !packed)
    return malformed("cubin: a parameter's description has ", attribute.value.size(), " bytes");
  const std::uint32_t size = attribute.id == info_parameter ? *packed >> 18U : *packed & 0xffffU;
  return OrderedParameter{.ordinal = *ordinal, .parameter = {.offset = *offset, .size = size}};
}

struct KernelInfo {
  std::vector<Parameter> parameters;
  std::optional<CudaVersion> toolkit;
};

Result<KernelInfo> parse_info(Bytes section) {
  KernelInfo out;
  std::vector<OrderedParameter> found;
  while (!section.empty()) {
    LYK_TRY_ASSIGN(const Attribute attribute, next_attribute(section));
    if (attribute.format != info_format_value)
      continue;
    if (attribute.id == info_toolkit && attribute.value.size() == 4)
      out.toolkit = toolkit_version(*load<std::uint32_t>(attribute.value, 0));
    if (attribute.id != info_parameter && attribute.id != info_parameter_v2)
      continue;
    if (found.size() == limits::parameters_per_kernel_max)
      return too_much("cubin: more than ", limits::parameters_per_kernel_max, " parameters");
    LYK_TRY_ASSIGN(const OrderedParameter parameter, parameter_of(attribute));
    found.push_back(parameter);
  }
  std::ranges::sort(found, {}, &OrderedParameter::ordinal);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].ordinal != i)
      return malformed("cubin: parameters are not numbered from 0 to ", found.size() - 1);
    out.parameters.push_back(found[i].parameter);
  }
  return out;
}

Result<Arch> architecture(const ElfHeader& header) {
  std::uint32_t number = 0;
  std::uint32_t specific = 0;
  if (header.os_abi == os_abi_v1) {
    number = header.flags & 0xffU;
    specific = header.flags & flag_specific_v1;
  } else if (header.os_abi == os_abi_v2) {
    number = (header.flags >> 8U) & 0xffU;
    specific = header.flags & flag_specific_v2;
  } else {
    return malformed("cubin: unknown OS ABI ", header.os_abi, " with ABI version ",
                     header.abi_version);
  }
  if (number < 10)
    return malformed("cubin: architecture ", number, " is none");
  return Arch{.major = static_cast<int>(number / 10),
              .minor = static_cast<int>(number % 10),
              .variant = specific != 0 ? ArchVariant::specific : ArchVariant::none};
}

// CUDA 13 marks `a` in .nv.compat alone.
Result<bool> compat_says_specific(const Elf& elf) {
  const auto compat = std::ranges::find(elf.sections, ".nv.compat", &ElfSection::name);
  if (compat == elf.sections.end())
    return false;
  Bytes rest = compat->bytes;
  while (!rest.empty()) {
    LYK_TRY_ASSIGN(const Attribute attribute, next_attribute(rest));
    if (attribute.format == compat_format_byte && attribute.id == compat_specific)
      return (attribute.small & 0xffU) != 0;
  }
  return false;
}

Result<void> read_kernels(const Elf& elf, Cubin& out) {
  std::map<std::string_view, Bytes> infos;
  for (const ElfSection& section : elf.sections)
    if (section.name.starts_with(info_prefix))
      infos.emplace(section.name.substr(info_prefix.size()), section.bytes);
  LYK_TRY_ASSIGN(std::vector<std::string_view> symbols, elf_functions(elf, symbol_kernel));
  std::ranges::sort(symbols);
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  out.kernels.reserve(symbols.size());
  Demangler demangler;
  std::size_t parameters = 0;
  for (const std::string_view symbol : symbols) {
    KernelInfo info;
    if (const auto found = infos.find(symbol); found != infos.end()) {
      LYK_TRY_ASSIGN(info, parse_info(found->second));
    }
    parameters += info.parameters.size();
    if (parameters > limits::kernel_list_bytes_max / sizeof(Parameter))
      return too_much("cubin: ", parameters, " parameters");
    if (!out.toolkit)
      out.toolkit = info.toolkit;
    out.kernels.push_back({.symbol = std::string{symbol},
                           .name = demangler.name(symbol),
                           .parameters = std::move(info.parameters)});
  }
  return {};
}

}  // namespace

Result<Cubin> parse_cubin(Bytes file) {
  LYK_TRY_ASSIGN(const Elf elf, parse_elf(file));
  if (elf.header.machine != elf_machine_cuda)
    return malformed("cubin: ELF machine ", elf.header.machine, " is not CUDA");
  Cubin out;
  LYK_TRY_ASSIGN(out.arch, architecture(elf.header));
  LYK_TRY_ASSIGN(const bool specific, compat_says_specific(elf));
  if (specific)
    out.arch.variant = ArchVariant::specific;
  if (elf.header.type == elf_type_relocatable)
    out.unusable = "relocatable device code, which nvlink has yet to link";
  out.toolkit = toolkit_version(elf.header.version);
  LYK_TRY(read_kernels(elf, out));
  return out;
}

}  // namespace lyk::image
