#include "device/mismatch_map.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
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

// Sizes that are no multiple of 32 or 64, so that cells differ in size and begin within words.
TEST(MapMismatch, CountsEachElementOnce) {
  const std::vector<int64_t> shape{67, 1003};
  const auto is_wrong = [](int64_t i) { return i / 1003 >= 60 && i % 1003 < 100; };
  const MismatchMap map = Map(shape, is_wrong);
  ASSERT_EQ(map.rows, 32);
  ASSERT_EQ(map.columns, 32);
  double sum = 0;
  for (int64_t row = 0; row < 32; ++row) {
    for (int64_t column = 0; column < 32; ++column) {
      const int64_t height = (row + 1) * 67 / 32 - row * 67 / 32;
      const int64_t width = (column + 1) * 1003 / 32 - column * 1003 / 32;
      sum += map.wrong[row * 32 + column] * static_cast<double>(height * width);
    }
  }
  EXPECT_NEAR(sum, 7 * 100, 1e-6);
  EXPECT_EQ(map.wrong[31 * 32], 1);  // within what is wrong
  EXPECT_EQ(map.wrong[31 * 32 + 31], 0);
  EXPECT_EQ(map.wrong[0], 0);
}

}  // namespace
}  // namespace kb
