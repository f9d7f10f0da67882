// Device images: what a GPU driver can load, found in the files that kernel repos hold.
//
//   library   an ELF64 host library or program (torch extension); its section .nv_fatbin is a
//             row of fatbin containers, one for each source file
//   fatbin    such a row alone in a file
//   cubin     one ELF64 file of machine EM_CUDA: machine code of one architecture
//   ptx       assembly text that the driver compiles
//
// The files come from the network. Their hash is proven, which says who made them, not that they
// are well formed, so the reader is an attack surface: it trusts no length, offset or count,
// allocates nothing that the limits or the size of the input do not bound, and ends in a value or
// an Error for every input (tests/fuzz/fuzz_image.cpp).
//
// Thread rule: pure functions of their arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/device.hpp"
#include "proto/digest.hpp"
#include "proto/launch_abi.hpp"
#include "proto/result.hpp"

namespace lyk::image {

enum class Kind : std::uint8_t { cubin, ptx };
enum class Container : std::uint8_t { library, fatbin, cubin, ptx };
enum class Compression : std::uint8_t { none, lz4, zstd };

// The words of `inspect --json` and of the index: "cubin", "library", "zstd".
std::string_view name(Kind kind);
std::string_view name(Container container);
std::string_view name(Compression compression);
std::optional<Kind> parse_kind(std::string_view text);
std::optional<Container> parse_container(std::string_view text);
std::optional<Compression> parse_compression(std::string_view text);

using Parameter = KernelParameter;

struct Kernel {
  std::string symbol;                 // mangled, as cuModuleGetFunction wants it
  std::string name;                   // demangled; the symbol itself where that is not possible
  std::vector<Parameter> parameters;  // in the order of the declaration
  auto operator<=>(const Kernel&) const = default;
};

// Where an image lies in its file, as stored there: compressed, or as it is.
struct Location {
  std::uint64_t offset = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t unpacked_bytes = 0;  // after decompression; for PTX with its closing NULs
  auto operator<=>(const Location&) const = default;
};

// `bytes` and `sha256` are of what `extract` returns, and that is what a driver is given: for a
// cubin the ELF file; for PTX the text without its closing NULs. Whoever hands PTX to a driver adds
// one NUL.
struct Image {
  Kind kind = Kind::cubin;
  Container container = Container::cubin;
  Arch arch;
  Compression compression = Compression::none;
  std::uint64_t bytes = 0;
  Digest sha256;
  std::optional<CudaVersion> toolkit;  // that a cubin was built by, where it says so
  std::optional<CudaVersion>
      ptx_version;              // `.version` of PTX; always there for PTX, never for cubins
  std::vector<Kernel> kernels;  // in the order of their symbols, each once
  Location location;
};

// Something that was found but is no image for a driver: link-time IR, relocatable code, a kind or
// an architecture encoding that this release does not know.
struct Skipped {
  std::uint64_t offset = 0;
  std::string reason;
};

struct Contents {
  Container container = Container::library;
  std::vector<Image> images;  // in the order of the file; of identical images only the first
  std::vector<Skipped> skipped;
};

// Everything in `file`. A library without device code has no images, which is no error. Errors are
// no_image (not one of the four kinds, or malformed) and refused (a limit of limits.hpp is
// exceeded).
Result<Contents> read_contents(std::span<const std::byte> file);

// The images alone, for those who index them.
Result<std::vector<Image>> read_images(std::span<const std::byte> file);

// The bytes of `image` out of the file in which it was read, decompressed; their size and hash are
// those of `image`, or the answer is size_mismatch or digest_mismatch.
Result<std::vector<std::byte>> extract(std::span<const std::byte> file, const Image& image);

// What a file is by its first bytes (4 KiB are enough); empty for everything else. `read_contents`
// may still refuse it.
std::optional<Container> recognise(std::span<const std::byte> head);

// True for the paths of a kernel repo that may hold images: build/<variant>/**.so, and
// *.cubin, *.fatbin, *.ptx below images/ or build/.
bool is_image_path(std::string_view repo_path);

}  // namespace lyk::image
