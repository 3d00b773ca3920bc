#include "device/mismatch_where.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <random>
#include <vector>

namespace kb {
namespace {

using Index = std::vector<int64_t>;

std::string Where(const Index& shape, const std::function<bool(const Index&)>& is_wrong) {
  const int64_t total = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  std::vector<uint64_t> bits((total + 63) / 64, 0);
  Index index(shape.size(), 0);
  for (int64_t i = 0; i < total; ++i) {
    int64_t rest = i;
    for (size_t d = shape.size(); d-- > 0;) {
      index[d] = rest % shape[d];
      rest /= shape[d];
    }
    if (is_wrong(index)) bits[i / 64] |= uint64_t{1} << (i % 64);
  }
  return DescribeWhere(bits, shape);
}

TEST(DescribeWhere, NamesThePattern) {
  std::mt19937 random(1);
  const auto luck = [&](double share) { return random() < share * 4294967296.0; };
  struct Case {
    std::string where;
    Index shape;
    std::function<bool(const Index&)> is_wrong;
  };
  const Case cases[] = {
      {"", {16, 16}, [](const Index&) { return false; }},
      {"every element", {16, 16}, [](const Index&) { return true; }},
      {"every element", {}, [](const Index&) { return true; }},
      {"", {4, 0, 3}, [](const Index&) { return true; }},
      {"one element", {16, 16}, [](const Index& i) { return i[0] == 3 && i[1] == 4; }},
      {"the last 13 elements", {1000}, [](const Index& i) { return i[0] >= 987; }},
      {"the first 13 elements", {1000}, [](const Index& i) { return i[0] < 13; }},
      {"elements 64 to 127", {1000}, [](const Index& i) { return i[0] >= 64 && i[0] < 128; }},
      {"one element in 4, from 3 on", {1000}, [](const Index& i) { return i[0] % 4 == 3; }},
      {"the last 13 elements", {20, 100}, [](const Index& i) { return i[0] == 19 && i[1] >= 87; }},
      {"the last 230 elements", {20, 100}, [](const Index& i) { return i[0] * 100 + i[1] >= 1770; }},
      {"the last 3 rows of dimension 0", {256, 100}, [](const Index& i) { return i[0] >= 253; }},
      {"the last 3 rows of dimension 0", {256, 100}, [&](const Index& i) { return i[0] >= 253 && luck(0.97); }},
      {"the last row of dimension 0", {4, 4}, [](const Index& i) { return i[0] == 3; }},
      {"the first 128 rows of dimension 0", {256, 10}, [](const Index& i) { return i[0] < 128; }},
      {"dimension 1 from 96 on", {64, 100}, [](const Index& i) { return i[1] >= 96; }},
      {"dimension 1 from 96 on", {64, 100}, [&](const Index& i) { return i[1] >= 96 && luck(0.9); }},
      {"dimension 1 up to 7", {64, 100}, [](const Index& i) { return i[1] < 8; }},
      {"only index 5 of dimension 1", {8, 16, 9, 9}, [](const Index& i) { return i[1] == 5; }},
      {"scattered over only index 5 of dimension 1",
       {8, 16, 40, 40},
       [&](const Index& i) { return i[1] == 5 && luck(0.05); }},
      {"one in 4 of dimension 2, from 1 on", {8, 8, 64}, [](const Index& i) { return i[2] % 4 == 1; }},
      {"dimension 0 from 64 to 95 and dimension 1 from 32 to 63",
       {128, 128},
       [](const Index& i) { return i[0] / 32 == 2 && i[1] / 32 == 1; }},
      {"only the edges of dimensions 2 and 3",
       {4, 3, 20, 24},
       [](const Index& i) { return i[2] == 0 || i[2] == 19 || i[3] == 0 || i[3] == 23; }},
      {"only the edges of dimensions 1, 2 and 3",
       {4, 16, 16, 16},
       [](const Index& i) { return i[1] < 2 || i[1] > 13 || i[2] < 2 || i[2] > 13 || i[3] < 2 || i[3] > 13; }},
      {"only the edges of dimension 0", {64, 24}, [](const Index& i) { return i[0] == 0 || i[0] == 63; }},
      {"only both ends", {640}, [](const Index& i) { return i[0] < 3 || i[0] > 636; }},
      {"scattered", {64, 64}, [&](const Index&) { return luck(0.02); }},
      {"scattered", {64, 64}, [&](const Index&) { return luck(0.5); }},
      {"scattered", {64, 64, 64}, [&](const Index&) { return luck(0.001); }},
      {"nearly every element", {64, 64}, [&](const Index&) { return luck(0.95); }},
  };
  for (const Case& test : cases) EXPECT_EQ(Where(test.shape, test.is_wrong), test.where);
}

}  // namespace
}  // namespace kb
