// ELF64, little-endian: the section table and the function symbols. Host libraries and cubins are
// both ELF files; what their sections mean is told in library (image.cpp) and cubin (cubin.hpp).
//
// Everything borrows from the bytes that were parsed.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/image/bytes.hpp"
#include "proto/result.hpp"

namespace lyk::image {

inline constexpr std::uint16_t elf_machine_x86_64 = 62;
inline constexpr std::uint16_t elf_machine_aarch64 = 183;
inline constexpr std::uint16_t elf_machine_cuda = 190;
inline constexpr std::uint16_t elf_type_relocatable = 1;

struct ElfHeader {
  std::uint8_t os_abi = 0;
  std::uint8_t abi_version = 0;
  std::uint16_t type = 0;
  std::uint16_t machine = 0;
  std::uint32_t version = 0;  // 1 by the standard; cubins before CUDA 13 put a toolkit version here
  std::uint32_t flags = 0;
};

struct ElfSection {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint32_t link = 0;
  std::uint64_t offset = 0;  // in the file
  Bytes bytes;               // empty for NOBITS
};

struct Elf {
  ElfHeader header;
  std::vector<ElfSection> sections;
};

// True for the first bytes of a little-endian ELF64 file.
bool is_elf64(Bytes head);

// The header alone; `head` needs its 64 bytes.
Result<ElfHeader> parse_elf_header(Bytes head);

// Header and sections. A file without a section table is an Error: nothing can be found in it.
Result<Elf> parse_elf(Bytes file);

// The names of the defined functions whose st_other has all of these bits, in the order of the
// (first) symbol table; none if there is no table. At most limits::kernels_per_image_max.
Result<std::vector<std::string_view>> elf_functions(const Elf& elf, std::uint8_t other_bits);

}  // namespace lyk::image
