#include "device/mismatch_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace kb {
namespace {

MismatchMap Map(const std::vector<int64_t>& shape, const std::function<bool(int64_t)>& is_wrong) {
  const int64_t total = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<uint64_t> bits((total + 63) / 64, 0);
  for (int64_t i = 0; i < total; ++i) {
    if (is_wrong(i)) bits[i / 64] |= uint64_t{1} << (i % 64);
  }
  return MapMismatch(bits, shape);
}

TEST(MapMismatch, SplitsWhereThereAreMostCells) {
  const auto all = [](int64_t) { return true; };
  const auto form = [&](const std::vector<int64_t>& shape) {
    const MismatchMap map = Map(shape, all);
    EXPECT_EQ(map.wrong, std::vector<double>(map.rows * map.columns, 1.0));
    return std::vector<int64_t>{static_cast<int64_t>(map.split), map.rows, map.columns};
  };
  EXPECT_EQ(form({}), (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(form({5}), (std::vector<int64_t>{0, 1, 5}));
  EXPECT_EQ(form({1000}), (std::vector<int64_t>{0, 1, 32}));
  EXPECT_EQ(form({100, 1}), (std::vector<int64_t>{0, 1, 32}));
  EXPECT_EQ(form({16, 24}), (std::vector<int64_t>{1, 16, 24}));
  EXPECT_EQ(form({2, 3, 40, 41}), (std::vector<int64_t>{3, 32, 32}));
  EXPECT_EQ(form({3, 0, 4}), (std::vector<int64_t>{0, 0, 0}));
}

// Short and long rows; sizes that are no multiple of 32 or 64, so that cells differ in size and begin within words.
TEST(MapMismatch, CountsEachElementOnce) {
  const std::vector<std::pair<int64_t, int64_t>> shapes = {{67, 1003}, {67, 2111}, {40, 2048}, {33, 2047},
                                                           {5003, 3},  {4099, 32}, {700, 65},  {35, 2}};
  for (const auto& shape : shapes) {
    const int64_t height = shape.first, width = shape.second;
    const auto is_wrong = [&](int64_t i) { return i * 7 % 13 < 5 && i / width > height / 3; };
    const MismatchMap map = Map({height, width}, is_wrong);
    ASSERT_EQ(map.split, 1u);
    ASSERT_EQ(map.rows, std::min<int64_t>(height, 32));
    ASSERT_EQ(map.columns, std::min<int64_t>(width, 32));
    for (int64_t cell = 0; cell < map.rows * map.columns; ++cell) {
      const int64_t row = cell / map.columns, column = cell % map.columns;
      int64_t all = 0, count = 0;
      for (int64_t y = row * height / map.rows; y < (row + 1) * height / map.rows; ++y) {
        for (int64_t x = column * width / map.columns; x < (column + 1) * width / map.columns; ++x) {
          ++all;
          count += is_wrong(y * width + x) ? 1 : 0;
        }
      }
      ASSERT_EQ(map.wrong[static_cast<size_t>(cell)], static_cast<double>(count) / static_cast<double>(all))
          << height << " x " << width << ", cell " << cell;
    }
  }
}

}  // namespace
}  // namespace kb
