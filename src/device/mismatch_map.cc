#include "device/mismatch_map.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

namespace kb {
namespace {

int64_t Product(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// How many of the bits from `begin` to before `end` are set.
int64_t CountBits(std::span<const uint64_t> bits, int64_t begin, int64_t end) {
  int64_t count = 0;
  for (int64_t i = begin; i < end;) {
    const int64_t next = std::min(end, (i / 64 + 1) * 64);
    uint64_t word = bits[i / 64] >> (i % 64);
    if (next - i < 64) word &= (uint64_t{1} << (next - i)) - 1;
    count += std::popcount(word);
    i = next;
  }
  return count;
}

}  // namespace

MismatchMap MapMismatch(std::span<const uint64_t> wrong, std::span<const int64_t> shape) {
  MismatchMap map;
  int64_t height = 0, width = 0;
  for (size_t split = 0; split <= shape.size(); ++split) {
    const int64_t rows = Product(shape.first(split)), columns = Product(shape.subspan(split));
    const int64_t cell_rows = std::min(rows, kMostMapCells), cell_columns = std::min(columns, kMostMapCells);
    if (split > 0 && cell_rows * cell_columns <= map.rows * map.columns) continue;
    map.split = split;
    map.rows = cell_rows;
    map.columns = cell_columns;
    height = rows;
    width = columns;
  }
  if (height == 0 || width == 0) return {};
  map.wrong.assign(static_cast<size_t>(map.rows * map.columns), 0);
  for (int64_t row = 0; row < map.rows; ++row) {
    const int64_t top = row * height / map.rows, bottom = (row + 1) * height / map.rows;
    for (int64_t column = 0; column < map.columns; ++column) {
      const int64_t left = column * width / map.columns, right = (column + 1) * width / map.columns;
      int64_t count = 0;
      for (int64_t i = top; i < bottom; ++i) count += CountBits(wrong, i * width + left, i * width + right);
      map.wrong[static_cast<size_t>(row * map.columns + column)] =
          static_cast<double>(count) / static_cast<double>((bottom - top) * (right - left));
    }
  }
  return map;
}

}  // namespace kb
