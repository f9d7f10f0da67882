#include "client/fatbin_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "client/context.hpp"
#include "client/device_code.hpp"
#include "client/lyk.h"
#include "client/own_file.hpp"
#include "client/shortage.hpp"
#include "kernels/image/bytes.hpp"
#include "kernels/image/choose.hpp"
#include "kernels/image/cubin.hpp"
#include "kernels/image/decompress.hpp"
#include "kernels/image/fatbin.hpp"
#include "kernels/image/image.hpp"
#include "kernels/image/ptx.hpp"
#include "proto/limits.hpp"
#include "proto/text.hpp"
#include "proto/unique.hpp"

namespace lyk::client {

namespace {

Result<std::vector<std::byte>> read_fatbin(const std::string& path) {
  const UniqueFd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!fd)
    return passing_error(errno, str("open ", quoted(path)));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    return os_error(errno, str("look at ", quoted(path)));
  if (status.st_size <= 0 || static_cast<std::size_t>(status.st_size) > limits::image_bytes_max)
    return Error{Code::refused, str(quoted(path), ": ", status.st_size, " bytes are no fatbin")};
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return os_error(errno, str("read ", quoted(path)));
    if (got == 0)
      return Error{Code::size_mismatch, str(quoted(path), ": it became shorter while it was read")};
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

// An entry, as far as the choice among images looks at it: the architecture and the versions.
Result<image::Image> read_entry(image::Bytes fatbin, const image::FatbinEntry& entry) {
  const auto stored = image::piece(fatbin, entry.payload.offset, entry.payload.stored_bytes);
  if (!stored)
    return Error{Code::refused, str("image at ", entry.payload.offset, " is outside the file")};
  LYK_TRY_ASSIGN(const std::vector<std::byte> bytes,
                 image::decompress(*stored, entry.compression, entry.payload.unpacked_bytes));
  image::Image out;
  out.kind = entry.kind;
  out.arch = entry.arch;
  if (entry.kind == image::Kind::cubin) {
    LYK_TRY_ASSIGN(const image::Cubin cubin, image::parse_cubin(bytes));
    out.toolkit = cubin.toolkit;
  } else {
    const std::string_view text = image::as_text(bytes);
    LYK_TRY_ASSIGN(const image::Ptx ptx, image::parse_ptx(text.substr(0, text.find('\0'))));
    out.ptx_version = ptx.version;
  }
  return out;
}

// That the lengths are true, and that something in it is for the device and its driver.
Result<void> check_fatbin(const std::vector<std::byte>& bytes,
                          const std::string& path,
                          const Device& device,
                          std::int32_t number) {
  const auto damaged = [&](Error error) {
    error.code = Code::refused;  // not without an image
    return annotate(std::move(error), quoted(path));
  };
  if (!image::is_fatbin(bytes))
    return Error{Code::refused, str(quoted(path), ": it is no fatbin")};
  auto entries = image::parse_fatbins(bytes);
  if (!entries)
    return damaged(std::move(entries).error());
  // The versions of machine code are read in a fraction of the time.
  std::stable_partition(entries->begin(), entries->end(), [](const image::FatbinEntry& entry) {
    return entry.kind == image::Kind::cubin;
  });
  std::string why;
  for (const image::FatbinEntry& entry : *entries) {
    if (!entry.unusable.empty() || !image::runs_on(entry.kind, entry.arch, device))
      continue;
    auto image = read_entry(bytes, entry);
    if (!image)
      return damaged(std::move(image).error());
    const std::array candidates{image::Candidate{
        .image = &*image, .file = fatbin_name, .file_bytes = 0, .build = std::nullopt}};
    const image::Choice choice = image::choose(candidates, device, nullptr);
    if (choice.chosen)
      return {};
    why += str(why.empty() ? "" : "; ", image::explain(choice, candidates));
  }
  if (why.empty())
    why = str(fatbin_name, " has no code for ", device.arch.capability());
  return Error{Code::no_image, str("device ", number, ": ", why)};
}

// How many blocks of 256 threads the GPU holds of each kernel: a grid is made from that.
Result<void> find_residency(const lyk_cu_functions& cu, std::int32_t number, Module& module) {
  LYK_TRY_ASSIGN(const lyk_cu_device device, find_device(cu, number));
  int multiprocessors = 0;
  LYK_TRY_CUDA(cu, device_get_attribute(&multiprocessors, LYK_CU_MULTIPROCESSOR_COUNT, device),
               "count the multiprocessors");
  constexpr int threads = 256;
  for (Kernel& kernel : module.kernels) {
    int blocks = 0;
    LYK_TRY_CUDA(cu, occupancy(&blocks, kernel.function, threads, 0), "ask for the occupancy");
    kernel.resident_blocks = static_cast<std::uint32_t>(std::max(blocks * multiprocessors, 1));
  }
  return {};
}

}  // namespace

std::string find_fatbin() {
  const std::string own = own_file();
  const std::string folder = own.substr(0, own.rfind('/') + 1);
  const std::array places{str(folder, fatbin_name), str(folder, "../lib/", fatbin_name),
                          std::string{LYK_FATBIN_INSTALLED}};
  const auto* const found = std::find_if(places.begin(), places.end(), [](const auto& place) {
    return place.starts_with('/') && ::access(place.c_str(), R_OK) == 0;
  });
  return found == places.end() ? places.front() : *found;
}

Result<void> FatbinFile::check(const Device& device, std::int32_t number) const {
  LYK_TRY_ASSIGN(const std::vector<std::byte> bytes, read_fatbin(path_));
  return check_fatbin(bytes, path_, device, number);
}

Result<std::unique_ptr<Module>> FatbinFile::load(const Driver& driver,
                                                 std::int32_t number,
                                                 std::span<const std::string_view> symbols) const {
  LYK_TRY_ASSIGN(const Device device, describe_gpu(driver, number));
  LYK_TRY_ASSIGN(const std::vector<std::byte> bytes, read_fatbin(path_));
  LYK_TRY(check_fatbin(bytes, path_, device, number));
  // Around what is taken back as well: an unload ends a capture of another thread.
  LYK_TRY_ASSIGN(const RelaxedCapture relaxed, RelaxedCapture::enter(driver.cu));
  LYK_TRY_ASSIGN(std::unique_ptr<Module> module,
                 load_module(driver, bytes.data(), fatbin_name, symbols));
  if (auto found = find_residency(driver.cu, number, *module); !found) {
    (void)driver.cu.module_unload(module->handle);  // the first failure is the one to be told
    return std::move(found).error();
  }
  module->deterministic = LYK_DETERMINISTIC_FORWARD | LYK_DETERMINISTIC_BACKWARD;
  return module;
}

}  // namespace lyk::client
