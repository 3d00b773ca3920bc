#include "runner/stand_in.h"

#include <gtest/gtest.h>

#include <cstring>

namespace kb::runner {
namespace {

template <typename T>
std::vector<T> Values(kb_dtype dtype, size_t bytes) {
  const std::vector<std::byte> contents = StandIn(dtype, bytes, 7);
  std::vector<T> values(bytes / sizeof(T));
  std::memcpy(values.data(), contents.data(), values.size() * sizeof(T));
  return values;
}

TEST(StandIn, FloatsLieBetweenOneHalfAndOne) {
  for (const float x : Values<float>({KB_FLOAT, 32, 1}, 4000)) EXPECT_TRUE(x >= 0.5F && x < 1) << x;
  for (const float x : Values<float>({KB_COMPLEX, 64, 1}, 4000)) EXPECT_TRUE(x >= 0.5F && x < 1) << x;
  for (const double x : Values<double>({KB_FLOAT, 64, 1}, 4000)) EXPECT_TRUE(x >= 0.5 && x < 1) << x;
  for (const uint16_t x : Values<uint16_t>({KB_FLOAT, 16, 1}, 400)) EXPECT_EQ(x >> 10, 0x3800 >> 10);
  for (const uint16_t x : Values<uint16_t>({KB_BFLOAT, 16, 1}, 400)) EXPECT_EQ(x >> 7, 0x3f00 >> 7);
}

TEST(StandIn, AllElseIsZero) {
  for (const kb_dtype dtype : {kb_dtype{KB_INT, 64, 1}, {KB_UINT, 8, 1}, {KB_BOOL, 8, 1}, {KB_INT, 16, 1}}) {
    for (const auto x : Values<uint8_t>(dtype, 64)) EXPECT_EQ(x, 0);
  }
  EXPECT_TRUE(StandIn({KB_FLOAT, 32, 1}, 0, 1).empty());
}

}  // namespace
}  // namespace kb::runner
