// Rows cut into blocks of some columns, the last of a row perhaps shorter; blocks are numbered row
// after row.
//
// Thread rule: values.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/tasks.hpp"

namespace lyk::cpu {

struct RowBlock {
  std::size_t row = 0;
  std::size_t in_row = 0;  // the block's number there
  std::size_t begin = 0;   // its first element of the tensor
  std::size_t count = 0;
};

// Blocks first to last - 1.
struct BlockRange {
  std::size_t first = 0;
  std::size_t last = 0;
};

struct RowWidths {
  std::size_t columns = 0;  // of a row
  std::size_t block = 0;    // columns of a block
};

class RowBlocks {
public:
  explicit RowBlocks(const RowWidths& widths)
      : columns_(widths.columns),
        width_(widths.block),
        per_row_(slots::groups_in(widths.columns, widths.block)) {}

  std::size_t per_row() const { return per_row_; }

  Units units(std::size_t rows) const {
    return {.count = rows * per_row_, .elements = std::clamp<std::size_t>(columns_, 1, width_)};
  }

  RowBlock at(std::size_t index) const {
    const std::size_t row = index / per_row_;
    const std::size_t in_row = index % per_row_;
    return {.row = row,
            .in_row = in_row,
            .begin = row * columns_ + in_row * width_,
            .count = std::min(width_, columns_ - in_row * width_)};
  }

  // The next one, without a division.
  RowBlock after(const RowBlock& block) const {
    RowBlock next{.row = block.row, .in_row = block.in_row + 1, .begin = block.begin + block.count};
    if (next.in_row == per_row_) {
      ++next.row;
      next.in_row = 0;
    }
    next.count = std::min(width_, columns_ - next.in_row * width_);
    return next;
  }

private:
  std::size_t columns_;
  std::size_t width_;
  std::size_t per_row_;
};

}  // namespace lyk::cpu
