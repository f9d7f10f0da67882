#include "kernels/image/image.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "kernels/image/bytes.hpp"
#include "kernels/image/cubin.hpp"
#include "kernels/image/decompress.hpp"
#include "kernels/image/elf.hpp"
#include "kernels/image/fatbin.hpp"
#include "kernels/image/ptx.hpp"
#include "proto/hash.hpp"
#include "proto/limits.hpp"

namespace lyk::image {

namespace {

// The text of `image` without closing NULs; empty optional if there is a NUL within it.
std::optional<Bytes> without_closing_nuls(Bytes text) {
  const auto end = std::ranges::find(text, std::byte{0});
  if (!std::all_of(end, text.end(), [](std::byte b) { return b == std::byte{0}; }))
    return std::nullopt;
  return text.first(static_cast<std::size_t>(end - text.begin()));
}

// An image as a container holds it; its architecture is what the container says of it, if it does.
struct Stored {
  Kind kind = Kind::cubin;
  std::optional<Arch> arch;
  Compression compression = Compression::none;
  Location location;
};

class Reader {
public:
  Reader(Bytes file, Container container) : file_(file) { contents_.container = container; }

  // Reads the image and adds it, or adds the reason why it is none. An Error means a limit.
  Result<void> add(const Stored& stored);
  void skip(std::uint64_t offset, std::string reason) {
    contents_.skipped.push_back({.offset = offset, .reason = std::move(reason)});
  }
  Contents take() && { return std::move(contents_); }

private:
  Bytes file_;
  Contents contents_;
  std::uint64_t total_bytes_ = 0;
  std::size_t kernel_list_bytes_ = 0;
  std::set<std::pair<Digest, Arch>> seen_;
};

Result<void> read_cubin(Bytes bytes, const std::optional<Arch>& stated, Image& image) {
  LYK_TRY_ASSIGN(Cubin cubin, parse_cubin(bytes));
  if (!cubin.unusable.empty())
    return malformed("cubin: ", cubin.unusable);
  image.arch = cubin.arch;
  if (stated && stated->number() != cubin.arch.number())
    return malformed("cubin: is ", cubin.arch.sm(), " in an entry for ", stated->sm());
  // The entry knows more: a family cubin looks like a plain one.
  if (stated && stated->variant != ArchVariant::none)
    image.arch = *stated;
  image.toolkit = cubin.toolkit;
  image.kernels = std::move(cubin.kernels);
  return {};
}

Result<void> read_ptx(Bytes text, const std::optional<Arch>& stated, Image& image) {
  LYK_TRY_ASSIGN(Ptx ptx, parse_ptx(as_text(text)));
  // The driver goes by .target, whatever surrounds it.
  image.arch = ptx.target;
  if (stated && stated->number() != ptx.target.number())
    return malformed("ptx: is for ", ptx.target.sm(), " in an entry for ", stated->sm());
  image.ptx_version = ptx.version;
  image.kernels = std::move(ptx.kernels);
  return {};
}

// `bytes` is what was stored, decompressed.
Result<Image> read_image(Bytes bytes, const Stored& stored) {
  Image out;
  out.kind = stored.kind;
  out.compression = stored.compression;
  out.location = stored.location;
  if (stored.kind == Kind::ptx) {
    const auto text = without_closing_nuls(bytes);
    if (!text)
      return malformed("ptx: a NUL within the text");
    bytes = *text;
    LYK_TRY(read_ptx(bytes, stored.arch, out));
  } else {
    LYK_TRY(read_cubin(bytes, stored.arch, out));
  }
  out.bytes = bytes.size();
  out.sha256 = sha256(bytes);
  return out;
}

// About what a list of kernels takes in memory.
std::size_t list_bytes(const std::vector<Kernel>& kernels) {
  std::size_t out = kernels.size() * sizeof(Kernel);
  for (const Kernel& kernel : kernels)
    out += kernel.symbol.size() + kernel.name.size() + kernel.parameters.size() * sizeof(Parameter);
  return out;
}

Result<void> Reader::add(const Stored& stored) {
  if (stored.location.unpacked_bytes > limits::image_bytes_max)
    return too_much("image of ", stored.location.unpacked_bytes, " bytes, limit ",
                    limits::image_bytes_max);
  if (stored.location.unpacked_bytes > limits::images_bytes_per_file_max - total_bytes_)
    return too_much("images of more than ", limits::images_bytes_per_file_max, " bytes together");
  total_bytes_ += stored.location.unpacked_bytes;
  const auto bytes = piece(file_, stored.location.offset, stored.location.stored_bytes);
  if (!bytes)
    return malformed("image at ", stored.location.offset, " is outside the file");

  std::vector<std::byte> decompressed;
  if (stored.compression != Compression::none) {
    auto result = decompress(*bytes, stored.compression, stored.location.unpacked_bytes);
    if (!result && result.error().code == Code::no_image) {
      skip(stored.location.offset, std::move(result).error().message);
      return {};
    }
    LYK_TRY_ASSIGN(decompressed, std::move(result));
  }
  auto image =
      read_image(stored.compression == Compression::none ? *bytes : Bytes{decompressed}, stored);
  if (!image && image.error().code == Code::no_image) {
    skip(stored.location.offset, std::move(image).error().message);
    return {};
  }
  LYK_TRY_ASSIGN(Image read, std::move(image));
  read.container = contents_.container;
  kernel_list_bytes_ += list_bytes(read.kernels);
  if (kernel_list_bytes_ > limits::kernel_list_bytes_max)
    return too_much("kernel lists of more than ", limits::kernel_list_bytes_max, " bytes");
  if (seen_.emplace(read.sha256, read.arch).second)
    contents_.images.push_back(std::move(read));
  return {};
}

// The row of containers [base, base + row.size()) of the file.
Result<void> read_fatbins(Bytes row, std::uint64_t base, Reader& reader) {
  LYK_TRY_ASSIGN(const std::vector<FatbinEntry> entries, parse_fatbins(row));
  for (const FatbinEntry& entry : entries) {
    if (!entry.unusable.empty()) {
      reader.skip(base + entry.offset, entry.unusable);
      continue;
    }
    LYK_TRY(reader.add({.kind = entry.kind,
                        .arch = entry.arch,
                        .compression = entry.compression,
                        .location = {.offset = base + entry.payload.offset,
                                     .stored_bytes = entry.payload.stored_bytes,
                                     .unpacked_bytes = entry.payload.unpacked_bytes}}));
  }
  return {};
}

Result<void> read_library(Bytes file, Reader& reader) {
  LYK_TRY_ASSIGN(const Elf elf, parse_elf(file));
  for (const ElfSection& section : elf.sections) {
    if (section.name == ".nv_fatbin") {
      LYK_TRY(read_fatbins(section.bytes, section.offset, reader));
    } else if (section.name == "__nv_relfatbin") {
      reader.skip(section.offset, "relocatable device code, input of nvlink");
    }
  }
  return {};
}

// A file that is one image: what would be a reason to skip it in a container is an Error here.
Result<Contents> read_bare(Bytes file, Kind kind, Reader reader) {
  LYK_TRY(reader.add(
      {.kind = kind,
       .arch = {},
       .location = {.offset = 0, .stored_bytes = file.size(), .unpacked_bytes = file.size()}}));
  Contents out = std::move(reader).take();
  if (!out.skipped.empty())
    return Error{Code::no_image, out.skipped.front().reason};
  return out;
}

}  // namespace

std::optional<Container> recognise(std::span<const std::byte> head) {
  if (is_fatbin(head))
    return Container::fatbin;
  if (const auto header = parse_elf_header(head)) {
    if (header->machine == elf_machine_cuda)
      return Container::cubin;
    const bool host =
        header->machine == elf_machine_x86_64 || header->machine == elf_machine_aarch64;
    return host ? std::optional{Container::library} : std::nullopt;
  }
  return is_ptx(as_text(head)) ? std::optional{Container::ptx} : std::nullopt;
}

Result<Contents> read_contents(std::span<const std::byte> file) {
  const auto container = recognise(file);
  if (!container)
    return malformed("not an ELF64 library for x86-64 or AArch64, a fatbin, a cubin or PTX");
  Reader reader{file, *container};
  switch (*container) {
    case Container::library:
      LYK_TRY(read_library(file, reader));
      break;
    case Container::fatbin:
      LYK_TRY(read_fatbins(file, 0, reader));
      break;
    case Container::cubin:
      return read_bare(file, Kind::cubin, std::move(reader));
    case Container::ptx:
      return read_bare(file, Kind::ptx, std::move(reader));
  }
  return std::move(reader).take();
}

Result<std::vector<Image>> read_images(std::span<const std::byte> file) {
  LYK_TRY_ASSIGN(Contents contents, read_contents(file));
  return std::move(contents.images);
}

Result<std::vector<std::byte>> extract(std::span<const std::byte> file, const Image& image) {
  const auto stored = piece(file, image.location.offset, image.location.stored_bytes);
  if (!stored)
    return Error{Code::size_mismatch,
                 str("image at ", image.location.offset, " of ", image.location.stored_bytes,
                     " bytes: the file has ", file.size())};
  LYK_TRY_ASSIGN(std::vector<std::byte> out,
                 decompress(*stored, image.compression, image.location.unpacked_bytes));
  if (image.kind == Kind::ptx)
    out.resize(static_cast<std::size_t>(std::ranges::find(out, std::byte{0}) - out.begin()));
  if (out.size() != image.bytes)
    return Error{Code::size_mismatch,
                 str("image of ", image.bytes, " bytes: the file holds ", out.size())};
  if (const Digest actual = sha256(out); actual != image.sha256)
    return Error{Code::digest_mismatch,
                 str("image ", image.sha256.hex(), ": the file holds ", actual.hex())};
  return out;
}

bool is_image_path(std::string_view repo_path) {
  const bool build = repo_path.starts_with("build/");
  const bool images = repo_path.starts_with("images/");
  if (build && repo_path.ends_with(".so"))
    return repo_path.find('/', 6) != std::string_view::npos;  // in a variant
  return (build || images) && (repo_path.ends_with(".cubin") || repo_path.ends_with(".fatbin") ||
                               repo_path.ends_with(".ptx"));
}

}  // namespace lyk::image
