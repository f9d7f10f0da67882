// Builds cubins, fatbins and libraries byte by byte, so that each field can be set and set wrongly.
// It is written from the format's description (kernels/image/{cubin,fatbin}.hpp), not from the
// reader.
#pragma once

#include <lz4.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/image/image.hpp"

namespace lyk::image::test {

using Buffer = std::vector<std::byte>;

template <typename T>
void put(Buffer& out, T value) {
  const auto bytes = std::as_bytes(std::span{&value, 1});
  out.insert(out.end(), bytes.begin(), bytes.end());
}

template <typename T>
void put_at(Buffer& out, std::size_t offset, T value) {
  std::memcpy(out.data() + offset, &value, sizeof(T));
}

inline void append(Buffer& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

inline Buffer bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span{text});
  return {bytes.begin(), bytes.end()};
}

inline void pad(Buffer& out, std::size_t alignment) {
  while (out.size() % alignment != 0)
    out.push_back(std::byte{0});
}

// ---- ELF ----------------------------------------------------------------------------------------

struct SectionSpec {
  std::string name;
  std::uint32_t type = 1;  // PROGBITS
  std::uint32_t link = 0;
  Buffer bytes;
};

struct ElfSpec {
  std::uint8_t os_abi = 0;
  std::uint8_t abi_version = 0;
  std::uint16_t type = 3;      // a shared library
  std::uint16_t machine = 62;  // x86-64
  std::uint32_t version = 1;
  std::uint32_t flags = 0;
  std::vector<SectionSpec> sections;  // without the empty first one and the names
};

// Sections are numbered from 1 in their order; the section of names comes last.
inline Buffer build_elf(const ElfSpec& spec) {
  Buffer names = bytes_of(std::string(1, '\0'));
  Buffer body;
  Buffer table(64);  // the empty first section
  const auto add = [&](const SectionSpec& section) {
    const auto name = static_cast<std::uint32_t>(names.size());
    append(names, bytes_of(section.name + '\0'));
    const bool is_names = section.name == ".shstrtab";
    const Buffer& bytes = is_names ? names : section.bytes;
    pad(body, 8);
    put<std::uint32_t>(table, name);
    put<std::uint32_t>(table, section.type);
    put<std::uint64_t>(table, 0);
    put<std::uint64_t>(table, 0);
    put<std::uint64_t>(table, 64 + body.size());
    put<std::uint64_t>(table, bytes.size());
    put<std::uint32_t>(table, section.link);
    put<std::uint32_t>(table, 0);
    put<std::uint64_t>(table, 1);
    put<std::uint64_t>(table, 0);
    append(body, bytes);
  };
  for (const SectionSpec& section : spec.sections)
    add(section);
  add({.name = ".shstrtab", .type = 3, .link = 0, .bytes = {}});
  pad(body, 8);

  Buffer out = bytes_of({"\177ELF\x02\x01\x01", 7});
  put(out, spec.os_abi);
  put(out, spec.abi_version);
  out.resize(16);
  put(out, spec.type);
  put(out, spec.machine);
  put(out, spec.version);
  put<std::uint64_t>(out, 0);
  put<std::uint64_t>(out, 0);
  put<std::uint64_t>(out, 64 + body.size());  // section table
  put(out, spec.flags);
  put<std::uint16_t>(out, 64);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 0);
  put<std::uint16_t>(out, 64);
  put<std::uint16_t>(out, static_cast<std::uint16_t>(table.size() / 64));
  put<std::uint16_t>(out, static_cast<std::uint16_t>(table.size() / 64 - 1));
  append(out, body);
  append(out, table);
  return out;
}

// ---- cubin --------------------------------------------------------------------------------------

struct CubinSpec {
  int arch = 90;
  bool specific = false;
  bool old_layout = false;      // CUDA 12 and before
  std::uint32_t toolkit = 130;  // ten times the version
  std::uint16_t type = 2;       // executable
  std::vector<Kernel> kernels;
  bool large_parameters = false;  // KPARAM_INFO_V2
};

inline void put_value(Buffer& out, std::uint8_t id, std::span<const std::byte> value) {
  put<std::uint8_t>(out, 4);
  put(out, id);
  put(out, static_cast<std::uint16_t>(value.size()));
  append(out, value);
}

inline Buffer kernel_info(const Kernel& kernel, const CubinSpec& spec) {
  Buffer out;
  Buffer toolkit;
  put(toolkit, spec.toolkit);
  put_value(out, 0x37, toolkit);
  for (std::size_t i = kernel.parameters.size(); i-- > 0;) {  // as ptxas does: the last one first
    Buffer parameter;
    put<std::uint32_t>(parameter, 0);
    put(parameter, static_cast<std::uint16_t>(i));
    put(parameter, static_cast<std::uint16_t>(kernel.parameters[i].offset));
    if (spec.large_parameters)
      put<std::uint32_t>(parameter, kernel.parameters[i].size | 0x0500'0000U);
    else
      put<std::uint32_t>(parameter, kernel.parameters[i].size << 18U | 0x1'f000U);
    put_value(out, spec.large_parameters ? 0x45 : 0x17, parameter);
  }
  put<std::uint32_t>(out, 0x00ff'1b03);  // MAXREG_COUNT, a value of two bytes
  return out;
}

inline Buffer build_cubin(const CubinSpec& spec) {
  const auto arch = static_cast<std::uint32_t>(spec.arch);
  ElfSpec elf{.os_abi = static_cast<std::uint8_t>(spec.old_layout ? 0x33 : 0x41),
              .abi_version = static_cast<std::uint8_t>(spec.old_layout ? 7 : 8),
              .type = spec.type,
              .machine = 190,
              .version = spec.old_layout ? spec.toolkit : 1,
              .flags = spec.old_layout ? arch | arch << 16U | 0x500U : arch << 8U | 0x600'0004U,
              .sections = {}};
  if (spec.specific && spec.old_layout)
    elf.flags |= 0x800U;
  Buffer names = bytes_of(std::string(1, '\0'));
  Buffer symbols(24);
  for (const Kernel& kernel : spec.kernels) {
    put(symbols, static_cast<std::uint32_t>(names.size()));
    put<std::uint8_t>(symbols, 0x12);  // a global function
    put<std::uint8_t>(symbols, 0x10);  // STO_CUDA_ENTRY
    put<std::uint16_t>(symbols, 3);
    put<std::uint64_t>(symbols, 0);
    put<std::uint64_t>(symbols, 128);
    append(names, bytes_of(kernel.symbol + '\0'));
  }
  elf.sections.push_back({.name = ".strtab", .type = 3, .link = 0, .bytes = names});
  elf.sections.push_back({.name = ".symtab", .type = 2, .link = 1, .bytes = symbols});
  for (const Kernel& kernel : spec.kernels)
    elf.sections.push_back({.name = ".nv.info." + kernel.symbol,
                            .type = 0x7000'0000,
                            .link = 2,
                            .bytes = kernel_info(kernel, spec)});
  if (spec.specific && !spec.old_layout)
    elf.sections.push_back({.name = ".nv.compat",
                            .type = 0x7000'0086,
                            .link = 0,
                            .bytes = bytes_of({"\x02\x09\x01\x00\x03\x07\x01\x01", 8})});
  return build_elf(elf);
}

// ---- fatbin -------------------------------------------------------------------------------------

struct EntrySpec {
  std::uint16_t kind = 2;
  std::uint32_t header_bytes = 64;
  std::uint32_t arch = 90;
  std::uint64_t flags = 0x11;
  Compression compression = Compression::none;
  Buffer payload;  // not compressed
};

inline Buffer compress(const Buffer& payload, Compression compression) {
  Buffer out;
  if (compression == Compression::lz4) {
    out.resize(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(payload.size()))));
    const int size = LZ4_compress_default(
        reinterpret_cast<const char*>(payload.data()), reinterpret_cast<char*>(out.data()),
        static_cast<int>(payload.size()), static_cast<int>(out.size()));
    out.resize(static_cast<std::size_t>(size));
  } else {
    out.resize(ZSTD_compressBound(payload.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), payload.data(), payload.size(), 3));
  }
  return out;
}

inline Buffer build_entry(const EntrySpec& spec) {
  const bool compressed = spec.compression != Compression::none;
  Buffer payload = compressed ? compress(spec.payload, spec.compression) : spec.payload;
  const auto compressed_bytes = static_cast<std::uint32_t>(compressed ? payload.size() : 0);
  pad(payload, 8);
  std::uint64_t flags = spec.flags;
  if (compressed)
    flags |= spec.compression == Compression::lz4 ? 0x2000U : 0x8000U;
  Buffer out;
  put(out, spec.kind);
  put<std::uint16_t>(out, 0x101);
  put(out, spec.header_bytes);
  put<std::uint64_t>(out, payload.size());
  put(out, compressed_bytes);
  put<std::uint32_t>(out, 0);
  put<std::uint32_t>(out, 0x0001'0008);
  put(out, spec.arch);
  put<std::uint64_t>(out, 0);
  put(out, flags);
  put<std::uint64_t>(out, 0);
  put<std::uint64_t>(out, compressed ? spec.payload.size() : 0);
  out.resize(spec.header_bytes);
  append(out, payload);
  return out;
}

inline Buffer build_fatbin(const std::vector<EntrySpec>& entries) {
  Buffer body;
  for (const EntrySpec& entry : entries)
    append(body, build_entry(entry));
  Buffer out;
  put<std::uint32_t>(out, 0xBA55ED50);
  put<std::uint16_t>(out, 1);
  put<std::uint16_t>(out, 16);
  put<std::uint64_t>(out, body.size());
  append(out, body);
  return out;
}

inline Buffer build_library(Buffer fatbins, std::uint16_t machine = 62) {
  return build_elf(
      {.machine = machine,
       .sections = {{.name = ".text", .type = 1, .link = 0, .bytes = Buffer(16)},
                    {.name = ".nv_fatbin", .type = 1, .link = 0, .bytes = std::move(fatbins)}}});
}

inline std::string ptx_text(std::string_view target, std::string_view version = "9.0") {
  return "//\n// made by hand\n//\n\n.version " + std::string{version} + "\n.target " +
         std::string{target} +
         "\n.address_size 64\n\n.visible .entry scale(\n\t.param .u64 .ptr .global .align 4 "
         "scale_param_0,\n\t.param .u32 scale_param_1,\n\t.param .f32 scale_param_2\n)\n{\n\t.reg "
         ".b32 %r<2>;\n\tret;\n}\n";
}

// A kernel `scale(float*, int, float)`.
inline Kernel scale_kernel() {
  return {.symbol = "scale", .name = "scale", .parameters = {{0, 8}, {8, 4}, {12, 4}}};
}

}  // namespace lyk::image::test
