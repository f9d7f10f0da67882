// The scenes of ms_deform_attn that the benchmarks time, from the one file that has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "proto/check.hpp"

namespace lyk::bench {

// Sizes of one image; `sides` are its levels, which are squares.
struct Scene {
  std::string name;
  std::size_t queries = 0;
  std::size_t heads = 0;
  std::size_t channels = 0;
  std::size_t points = 0;
  std::vector<std::int64_t> sides;
};

// LYK_BENCH_SCENES is bench/scenes.txt, which tells its format. Ends the program if it is another.
inline std::vector<Scene> read_scenes() {
  std::vector<Scene> scenes;
  std::ifstream file{LYK_BENCH_SCENES};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#'))
      continue;
    std::istringstream words{line};
    Scene& scene = scenes.emplace_back();
    words >> scene.name >> scene.queries >> scene.heads >> scene.channels >> scene.points;
    for (std::int64_t side = 0; words >> side;)
      scene.sides.push_back(side);
    LYK_CHECK(!scene.sides.empty());
  }
  LYK_CHECK(!scenes.empty());
  return scenes;
}

}  // namespace lyk::bench
