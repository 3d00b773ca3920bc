#include "device/mismatch_map.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

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

// Of each cell, where rows are so short that most cells lie within words: each word is read once.
std::vector<int64_t> CountInShortRows(std::span<const uint64_t> bits, int64_t height, int64_t width,
                                      const MismatchMap& map) {
  std::vector<int64_t> counts(static_cast<size_t>(map.rows * map.columns), 0);
  std::vector<size_t> cell_of(static_cast<size_t>(width));
  for (int64_t cell = 0; cell < map.columns; ++cell) {
    std::fill(cell_of.begin() + cell * width / map.columns, cell_of.begin() + (cell + 1) * width / map.columns,
              static_cast<size_t>(cell));
  }
  int64_t cell_row = 0, bottom = height / map.rows;
  for (size_t at = 0; at < bits.size(); ++at) {
    uint64_t word = bits[at];
    if (word == 0) continue;
    const int64_t first = static_cast<int64_t>(at) * 64;
    int64_t row = first / width, column = first % width;
    for (int before = 0; word != 0; word &= word - 1) {
      const int bit = std::countr_zero(word);
      column += bit - std::exchange(before, bit);
      for (; column >= width; column -= width) ++row;
      while (row >= bottom) bottom = (++cell_row + 1) * height / map.rows;
      ++counts[static_cast<size_t>(cell_row * map.columns) + cell_of[static_cast<size_t>(column)]];
    }
  }
  return counts;
}

// The same where each row of a cell is words.
std::vector<int64_t> CountInLongRows(std::span<const uint64_t> bits, int64_t height, int64_t width,
                                     const MismatchMap& map) {
  std::vector<int64_t> counts;
  for (int64_t row = 0; row < map.rows; ++row) {
    const int64_t top = row * height / map.rows, bottom = (row + 1) * height / map.rows;
    for (int64_t column = 0; column < map.columns; ++column) {
      const int64_t left = column * width / map.columns, right = (column + 1) * width / map.columns;
      int64_t& count = counts.emplace_back(0);
      for (int64_t i = top; i < bottom; ++i) count += CountBits(bits, i * width + left, i * width + right);
    }
  }
  return counts;
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
  const bool is_short = width < 64 * map.columns;
  const std::vector<int64_t> counts =
      is_short ? CountInShortRows(wrong, height, width, map) : CountInLongRows(wrong, height, width, map);
  for (int64_t row = 0; row < map.rows; ++row) {
    const int64_t cell_height = (row + 1) * height / map.rows - row * height / map.rows;
    for (int64_t column = 0; column < map.columns; ++column) {
      const int64_t cell_width = (column + 1) * width / map.columns - column * width / map.columns;
      map.wrong.push_back(static_cast<double>(counts[map.wrong.size()]) /
                          static_cast<double>(cell_height * cell_width));
    }
  }
  return map;
}

}  // namespace kb
