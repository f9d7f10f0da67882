// From a pointer that a caller passes to the one image in it that the device takes: where it ends,
// what it is, and the rules by which the driver accepts or refuses it.
//
// Thread rule: pure functions; they read what the pointer points to.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/image/image.hpp"
#include "tests/fakes/softcuda/abi.hpp"
#include "tests/fakes/softcuda/devices.hpp"

namespace softcuda {

// The bytes of an image that comes without a size: a cubin by its ELF tables, a fatbin (or the
// wrapper that compilers put around its address) by its header, anything else as text that ends
// with a NUL. Lengths in the headers are believed, as the driver believes them.
Status image_bytes_at(const void* image, std::span<const std::byte>& out);

struct ChosenImage {
  lyk::image::Image image;
  std::vector<std::byte> bytes;
};

// invalid_image for what cannot be read, invalid_ptx for text that is PTX and cannot be read or is
// for a newer device, unsupported_ptx_version, and no_binary_for_gpu.
Status choose_image(std::span<const std::byte> file,
                    const DeviceModel& device,
                    const lyk::CudaVersion& driver,
                    ChosenImage& out);

}  // namespace softcuda
