#include "tests/fakes/softcuda/image_choice.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "proto/limits.hpp"
#include "proto/text.hpp"
#include "tests/fakes/softcuda/edge.hpp"

namespace softcuda {

namespace {

using lyk::str;
using lyk::image::Container;
using lyk::image::Image;
using lyk::image::Kind;

template <typename T>
T read_at(const std::byte* start, std::size_t offset) {
  T out{};
  std::memcpy(&out, start + offset, sizeof out);
  return out;
}

constexpr std::uint32_t wrapper_magic = 0x466243b1;
constexpr std::uint32_t fatbin_magic = 0xba55ed50;
constexpr std::uint32_t elf_magic = 0x464c457f;

// One past `bytes` bytes at `offset`; the largest number if that is beyond every image.
std::uint64_t end_of(std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t max = lyk::limits::image_bytes_max;
  return offset > max || bytes > max ? std::numeric_limits<std::uint64_t>::max() : offset + bytes;
}

// Whether a header is one that a cubin has. Nothing says how many bytes there are, so what it
// promises is not followed before.
bool is_cubin_header(const std::byte* start) {
  constexpr std::uint16_t machine_cuda = 190;
  constexpr std::uint16_t header_bytes = 64;
  constexpr std::uint16_t section_bytes = 64;
  constexpr std::uint16_t segment_bytes = 56;
  constexpr auto class_64 = std::byte{2};
  const auto segments = read_at<std::uint16_t>(start, 56);
  return start[4] == class_64 && read_at<std::uint16_t>(start, 18) == machine_cuda &&
         read_at<std::uint16_t>(start, 52) == header_bytes &&
         read_at<std::uint16_t>(start, 58) == section_bytes &&
         (segments == 0 || read_at<std::uint16_t>(start, 54) == segment_bytes) &&
         read_at<std::uint64_t>(start, 40) >= header_bytes;
}

// The end of a cubin: of its two tables, or of the last section that has bytes; 0 if it is none.
std::uint64_t elf_bytes(const std::byte* start) {
  constexpr std::size_t section_type_nobits = 8;
  if (!is_cubin_header(start))
    return 0;
  const auto table = read_at<std::uint64_t>(start, 40);
  const std::uint64_t entry_bytes = read_at<std::uint16_t>(start, 58);
  const auto entries = read_at<std::uint16_t>(start, 60);
  std::uint64_t end = end_of(table, entry_bytes * entries);
  const std::uint64_t segment_bytes = read_at<std::uint16_t>(start, 54);
  end = std::max(end, end_of(read_at<std::uint64_t>(start, 32),
                             segment_bytes * read_at<std::uint16_t>(start, 56)));
  if (end > lyk::limits::image_bytes_max)
    return 0;
  for (std::size_t i = 0; i < entries; ++i) {
    const std::byte* const entry = start + table + i * entry_bytes;
    if (read_at<std::uint32_t>(entry, 4) != section_type_nobits)
      end = std::max(end,
                     end_of(read_at<std::uint64_t>(entry, 24), read_at<std::uint64_t>(entry, 32)));
  }
  return end;
}

// What is chosen from: machine code before PTX, the nearest architecture, the narrowest target.
auto fitness(const Image& image) {
  constexpr std::array narrowness{0, 2, 1};  // none, specific, family
  return std::tuple{image.kind == Kind::cubin, image.arch.number(),
                    narrowness[static_cast<std::size_t>(image.arch.variant)]};
}

Status accept_cubin(const Image& image, const DeviceModel& device, const lyk::CudaVersion& driver) {
  if (!runs_machine_code(device, image.arch))
    return refuse(Status::no_binary_for_gpu,
                  str("machine code for ", image.arch.sm(), " does not run on ", device.sm));
  if (image.toolkit && image.toolkit->major > driver.major)
    return refuse(Status::invalid_image,
                  str("built by CUDA ", image.toolkit->text(), ", the driver is ", driver.text()));
  return Status::success;
}

Status accept_ptx(const Image& image, const DeviceModel& device, const lyk::CudaVersion& driver) {
  if (image.ptx_version && *image.ptx_version > ptx_version_of(driver))
    return refuse(Status::unsupported_ptx_version,
                  str("PTX ", image.ptx_version->text(), ", the driver compiles up to ",
                      ptx_version_of(driver).text()));
  if (!compiles_ptx(device, image.arch))
    return refuse(Status::invalid_ptx,
                  str("PTX for ", image.arch.sm(), " cannot be compiled for ", device.sm));
  return Status::success;
}

Status accept(const Image& image, const DeviceModel& device, const lyk::CudaVersion& driver) {
  return image.kind == Kind::cubin ? accept_cubin(image, device, driver)
                                   : accept_ptx(image, device, driver);
}

// The best of several. Where none is accepted, a PTX that is only too new says so, as the driver
// does; any other reason is that there is no binary.
Status choose_among(const std::vector<Image>& images,
                    const DeviceModel& device,
                    const lyk::CudaVersion& driver,
                    const Image*& out) {
  Status why = Status::no_binary_for_gpu;
  for (const Image& image : images) {
    const Status status = accept(image, device, driver);
    if (status == Status::unsupported_ptx_version)
      why = status;
    if (status == Status::success && (out == nullptr || fitness(image) > fitness(*out)))
      out = &image;
  }
  if (out == nullptr)
    return refuse(why, str("none of ", images.size(), " images is for ", device.sm));
  forget_refusal();  // of those that were passed over
  return Status::success;
}

}  // namespace

Status image_bytes_at(const void* image, std::span<const std::byte>& out) {
  if (image == nullptr)
    return refuse(Status::invalid_value, "no image");
  const auto* start = static_cast<const std::byte*>(image);
  const auto* const text = static_cast<const char*>(image);
  std::uint64_t bytes = ::strnlen(text, 4);
  if (bytes < 3)
    return refuse(Status::invalid_image, "neither PTX nor cubin nor fatbin");
  auto magic = bytes == 4 ? read_at<std::uint32_t>(start, 0) : 0;
  if (magic == wrapper_magic) {
    start = read_at<const std::byte*>(start, 8);
    magic = read_at<std::uint32_t>(start, 0);
  }
  if (magic == elf_magic)
    bytes = elf_bytes(start);
  else if (magic == fatbin_magic)
    bytes = read_at<std::uint16_t>(start, 6) + read_at<std::uint64_t>(start, 8);
  else
    bytes = ::strnlen(text, lyk::limits::image_bytes_max);
  if (bytes == 0 || bytes >= lyk::limits::image_bytes_max)
    return refuse(Status::invalid_image, "the image is damaged or has no end");
  out = {start, bytes};
  return Status::success;
}

Status choose_image(std::span<const std::byte> file,
                    const DeviceModel& device,
                    const lyk::CudaVersion& driver,
                    ChosenImage& out) {
  const auto container = lyk::image::recognise(file);
  const bool is_ptx = container == Container::ptx;
  const auto contents = lyk::image::read_contents(file);
  if (!contents)
    return refuse(is_ptx ? Status::invalid_ptx : Status::invalid_image, contents.error().message);
  if (contents->container == Container::library)
    return refuse(Status::invalid_image, "a host library, not a device image");
  if (contents->images.empty())
    return refuse(is_ptx ? Status::invalid_ptx : Status::invalid_image,
                  contents->skipped.empty() ? "no image" : contents->skipped.front().reason);
  const Image* chosen = nullptr;
  if (contents->container == Container::fatbin) {
    SOFTCUDA_TRY(choose_among(contents->images, device, driver, chosen));
  } else {
    chosen = &contents->images.front();
    SOFTCUDA_TRY(accept(*chosen, device, driver));
  }
  auto bytes = lyk::image::extract(file, *chosen);
  if (!bytes)
    return refuse(Status::invalid_image, bytes.error().message);
  out = {.image = *chosen, .bytes = std::move(*bytes)};
  return Status::success;
}

}  // namespace softcuda
