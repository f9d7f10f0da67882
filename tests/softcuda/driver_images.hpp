// The images that the build made of data/*.cu; only where there is nvcc (SOFTCUDA_IMAGES).
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace softcuda {

#ifdef SOFTCUDA_IMAGES
inline std::string image_path(const std::string& name) {
  return std::string{SOFTCUDA_IMAGES "/"} + name;
}

inline std::vector<char> read_image(const std::string& name) {
  std::ifstream stream{image_path(name), std::ios::binary};
  EXPECT_TRUE(stream) << name;
  std::vector<char> out{std::istreambuf_iterator<char>{stream}, {}};
  out.push_back('\0');  // which ends PTX and hurts nothing else
  return out;
}
#endif

}  // namespace softcuda
