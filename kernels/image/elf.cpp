#include "kernels/image/elf.hpp"

#include <algorithm>
#include <array>

#include "proto/limits.hpp"
#include "proto/names.hpp"

namespace lyk::image {

namespace {

constexpr std::uint32_t section_symbols = 2;
constexpr std::uint32_t section_no_bits = 8;
constexpr std::uint8_t symbol_function = 2;
// Section names are prefixes of ours (".nv.info.") before symbols.
constexpr std::size_t section_name_bytes_max = limits::symbol_bytes_max + 64;
constexpr std::uint16_t section_index_extended = 0xffff;

struct RawHeader {
  std::array<std::uint8_t, 16> ident;
  std::uint16_t type;
  std::uint16_t machine;
  std::uint32_t version;
  std::uint64_t entry;
  std::uint64_t program_offset;
  std::uint64_t section_offset;
  std::uint32_t flags;
  std::uint16_t header_bytes;
  std::uint16_t program_entry_bytes;
  std::uint16_t program_count;
  std::uint16_t section_entry_bytes;
  std::uint16_t section_count;
  std::uint16_t name_section;
};
static_assert(sizeof(RawHeader) == 64);

struct RawSection {
  std::uint32_t name;
  std::uint32_t type;
  std::uint64_t flags;
  std::uint64_t address;
  std::uint64_t offset;
  std::uint64_t size;
  std::uint32_t link;
  std::uint32_t info;
  std::uint64_t align;
  std::uint64_t entry_bytes;
};
static_assert(sizeof(RawSection) == 64);

struct RawSymbol {
  std::uint32_t name;
  std::uint8_t info;
  std::uint8_t other;
  std::uint16_t section;
  std::uint64_t value;
  std::uint64_t size;
};
static_assert(sizeof(RawSymbol) == 24);

// Names go into JSON and onto terminals. Compilers take UTF-8 in identifiers.
bool is_symbol(std::string_view name) {
  return !name.empty() && is_utf8(name) && std::ranges::all_of(name, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > 0x20 && byte != 0x7f;
  });
}

struct SectionTable {
  Bytes bytes;
  std::size_t count = 0;
  std::uint64_t name_section = 0;

  RawSection at(std::size_t index) const {
    return *load<RawSection>(bytes, index * sizeof(RawSection));  // count was checked
  }
};

Result<SectionTable> section_table(Bytes file, const RawHeader& header) {
  if (header.section_offset == 0)
    return malformed("elf: no section table (stripped), device code cannot be found");
  if (header.section_entry_bytes != sizeof(RawSection))
    return malformed("elf: section entries of ", header.section_entry_bytes, " bytes, not 64");
  const auto first = load<RawSection>(file, header.section_offset);
  if (!first)
    return malformed("elf: section table at ", header.section_offset, " is outside the file");
  // Above 65,279 sections the true numbers stand in the first entry.
  const std::uint64_t count = header.section_count != 0 ? header.section_count : first->size;
  if (count > limits::elf_sections_max)
    return too_much("elf: ", count, " sections, limit ", limits::elf_sections_max);
  const auto bytes = piece(file, header.section_offset, count * sizeof(RawSection));
  if (!bytes || count == 0)
    return malformed("elf: section table of ", count, " entries is outside the file");
  return SectionTable{.bytes = *bytes,
                      .count = count,
                      .name_section = header.name_section == section_index_extended
                                          ? first->link
                                          : header.name_section};
}

}  // namespace

bool is_elf64(Bytes head) {
  constexpr std::array<std::uint8_t, 6> ident{0x7f, 'E', 'L', 'F', 2, 1};  // 64-bit, little-endian
  const auto start = load<std::array<std::uint8_t, 6>>(head, 0);
  return start && *start == ident;
}

Result<ElfHeader> parse_elf_header(Bytes head) {
  const auto raw = load<RawHeader>(head, 0);
  if (!raw || !is_elf64(head))
    return malformed("elf: no little-endian ELF64 header");
  return ElfHeader{.os_abi = raw->ident[7],
                   .abi_version = raw->ident[8],
                   .type = raw->type,
                   .machine = raw->machine,
                   .version = raw->version,
                   .flags = raw->flags};
}

Result<Elf> parse_elf(Bytes file) {
  Elf out;
  LYK_TRY_ASSIGN(out.header, parse_elf_header(file));
  LYK_TRY_ASSIGN(const SectionTable table, section_table(file, *load<RawHeader>(file, 0)));
  if (table.name_section >= table.count)
    return malformed("elf: section names in section ", table.name_section, " of ", table.count);
  const RawSection names_section = table.at(table.name_section);
  const auto names = piece(file, names_section.offset, names_section.size);
  if (!names)
    return malformed("elf: section names are outside the file");

  out.sections.reserve(table.count);
  std::uint64_t total_bytes = 0;
  for (std::size_t i = 0; i < table.count; ++i) {
    const RawSection raw = table.at(i);
    ElfSection section{
        .name = {}, .type = raw.type, .link = raw.link, .offset = raw.offset, .bytes = {}};
    if (i != 0) {  // the first one is no section: its fields extend the header
      const auto name = c_string(*names, raw.name, section_name_bytes_max);
      const auto bytes = raw.type == section_no_bits ? Bytes{} : piece(file, raw.offset, raw.size);
      if (!name || !bytes)
        return malformed("elf: section ", i, " is outside the file");
      section.name = *name;
      section.bytes = *bytes;
      total_bytes += bytes->size();
    }
    out.sections.push_back(section);
  }
  // Each section is read once or more, whatever its neighbours are: together they must not be more
  // than the file, or a small file could be much work.
  if (total_bytes > file.size())
    return malformed("elf: sections overlap");
  return out;
}

Result<std::vector<std::string_view>> elf_functions(const Elf& elf, std::uint8_t other_bits) {
  std::vector<std::string_view> out;
  const auto table = std::ranges::find(elf.sections, section_symbols, &ElfSection::type);
  if (table == elf.sections.end())
    return out;
  if (table->link >= elf.sections.size() || table->bytes.size() % sizeof(RawSymbol) != 0)
    return malformed("elf: symbol table ", quoted(table->name), " is damaged");
  const Bytes names = elf.sections[table->link].bytes;
  std::size_t name_bytes = 0;
  for (std::size_t offset = 0; offset < table->bytes.size(); offset += sizeof(RawSymbol)) {
    const RawSymbol symbol = *load<RawSymbol>(table->bytes, offset);
    const bool wanted = (symbol.info & 0xfU) == symbol_function && symbol.section != 0 &&
                        (symbol.other & other_bits) == other_bits;
    if (!wanted)
      continue;
    const auto name = c_string(names, symbol.name, limits::symbol_bytes_max);
    if (!name || !is_symbol(*name))
      return malformed("elf: symbol ", offset / sizeof(RawSymbol), " has no usable name");
    if (out.size() == limits::kernels_per_image_max)
      return too_much("elf: more than ", limits::kernels_per_image_max, " kernels");
    name_bytes += name->size();
    if (name_bytes > names.size())
      return malformed("elf: names of symbols overlap");
    if (name_bytes > limits::kernel_list_bytes_max)
      return too_much("elf: names of kernels of more than ", limits::kernel_list_bytes_max,
                      " bytes");
    out.push_back(*name);
  }
  return out;
}

}  // namespace lyk::image
