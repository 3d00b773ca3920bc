#include "device/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/compare_kernels.h"
#include "device/compare_test_util.h"

namespace kb {
namespace {

TEST(Compare, EveryTypeAndSizeFindsOneChange) {
  std::vector<kb_dtype> types = {kF16, kBf16, kF32, kF64, kC64, kC128, kBool};
  for (uint8_t bits : {8, 16, 32, 64}) {
    types.push_back({KB_INT, bits, 1});
    types.push_back({KB_UINT, bits, 1});
  }
  for (const kb_dtype dtype : types) {
    ASSERT_TRUE(IsComparable(dtype));
    const int components = dtype.code == KB_COMPLEX ? 2 : 1;
    for (int64_t size : {0, 1, 2, 1023, 1024, 1025, 2047, 70000}) {
      Values expected(size * components);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] = dtype.code == KB_BOOL ? i % 2 : (i * 7) % 101;
      CompareResult result = CompareValues(expected, expected, dtype);
      EXPECT_TRUE(result.ok);
      EXPECT_EQ(result.total, size);
      EXPECT_EQ(result.blocks, (size + 1023) / 1024);
      EXPECT_EQ(result.worst_index, -1);
      EXPECT_EQ(result.worst, 0);
      for (int64_t at : {int64_t{0}, size / 2, size - 1}) {
        if (size == 0) continue;
        Values got = expected;
        const size_t component = at * components + components - 1;
        got[component] = dtype.code == KB_BOOL ? 1 - got[component] : got[component] + 20;
        result = CompareValues(got, expected, dtype);
        EXPECT_FALSE(result.ok);
        EXPECT_EQ(result.wrong, 1) << int{dtype.code} << " " << int{dtype.bits} << " " << size;
        EXPECT_EQ(result.blocks_wrong, 1);
        EXPECT_EQ(result.worst_index, at);
        EXPECT_EQ(result.got, got[component]);
        EXPECT_EQ(result.expected, expected[component]);
        EXPECT_EQ(result.max_abs_error, dtype.code == KB_BOOL ? 1 : 20);
        EXPECT_NEAR(result.rms_error, result.max_abs_error / std::sqrt(size * components), 1e-9);
        EXPECT_GT(result.worst, 1);
        EXPECT_EQ(result.non_finite, 0);
        EXPECT_EQ(result.unwritten, 0);
        EXPECT_EQ(HistogramSum(result), size);
        EXPECT_EQ(result.where, size == 1 ? "every element" : "one element");
      }
    }
  }
  EXPECT_FALSE(IsComparable({KB_FLOAT, 8, 1}));
  EXPECT_FALSE(IsComparable({KB_FLOAT, 32, 4}));
}

TEST(Compare, DecodesEveryHalf) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const double value = DecodeHalf(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(EncodeHalf(value), half);
    std::vector<char> got;
    Append(got, half);
    const std::vector<char> zero(2, 0);
    const CompareResult result = CompareBytes(got, zero, kF16, {}, Allclose(0, 0));
    ASSERT_EQ(result.ok, value == 0);
    if (value != 0) {
      ASSERT_EQ(result.got, value);
    }
    if (std::isfinite(value)) {
      ASSERT_EQ(result.max_abs_error, std::fabs(value));
    }
  }
}

TEST(Compare, NonFiniteMustMatchInPlace) {
  struct Case {
    double got, expected;
    bool ok;
  };
  const Case cases[] = {{kNan, kNan, true},   {-kNan, kNan, true}, {kInf, kInf, true},  {-kInf, -kInf, true},
                        {kInf, -kInf, false}, {kNan, kInf, false}, {kInf, kNan, false}, {1, kNan, false},
                        {kNan, 1, false},     {kInf, 1, false},    {1, -kInf, false}};
  for (const kb_dtype dtype : {kF16, kBf16, kF32, kF64}) {
    for (const Case& test : cases) {
      for (size_t at : {0, 1023, 1024, 1999}) {
        Values expected = Normal(2000, 0, 1, 7);
        Values got = expected;
        expected[at] = test.expected;
        got[at] = test.got;
        for (const Tolerance& tolerance : {Tolerance{}, Allclose(1e-2, 1e-2)}) {
          const CompareResult result = CompareValues(got, expected, dtype, {}, tolerance);
          EXPECT_EQ(result.ok, test.ok) << test.got << " " << test.expected;
          EXPECT_EQ(result.non_finite, test.ok ? 0 : 1);
          EXPECT_EQ(result.wrong, test.ok ? 0 : 1);
          EXPECT_EQ(result.worst, test.ok ? 0 : kInf);
          EXPECT_EQ(result.worst_index, test.ok ? -1 : static_cast<int64_t>(at));
          EXPECT_EQ(result.max_abs_error, 0);
        }
      }
    }
  }
}

TEST(Compare, MatchingNansHideNothingElse) {
  Values expected = Normal(5000, 0, 1, 8);
  for (size_t i = 0; i < expected.size(); i += 3) expected[i] = kNan;
  Values got = expected;
  EXPECT_TRUE(CompareValues(got, expected).ok);
  got[3001] += 0.01;
  const CompareResult result = CompareValues(got, expected);
  EXPECT_EQ(result.wrong, 1);
  EXPECT_EQ(result.worst_index, 3001);
}

TEST(Compare, CountsWhatWasNotWritten) {
  for (const kb_dtype dtype : {kF16, kBf16, kF32, kF64, kC64, kC128, kI32, kI64}) {
    const int components = dtype.code == KB_COMPLEX ? 2 : 1;
    const Values expected(3000 * components, 5);
    const std::vector<char> right = Encode(expected, dtype);
    std::vector<char> got = right;
    Poison(Pool(), got.data() + 2000 * ElementSize(dtype), 1000 * ElementSize(dtype), dtype, kSecret);
    const CompareResult result = CompareBytes(got, right, dtype);
    EXPECT_EQ(result.unwritten, 1000);
    EXPECT_EQ(result.wrong, 1000);
    EXPECT_EQ(result.non_finite, dtype.code == KB_INT ? 0 : 1000);
    EXPECT_EQ(result.where, "the last 1000 elements");
  }
}

// Every number of a byte, against what its exponent and its mantissa say.
TEST(Compare, ReadsNumbersOfOneByte) {
  struct Format {
    kb_dtype dtype;
    int mantissa, bias, infinity;  // bits; the first of those that are no number
  };
  for (const Format& format :
       {Format{{KB_FLOAT8_E4M3FN, 8, 1}, 3, 7, 0x7f}, Format{{KB_FLOAT8_E5M2, 8, 1}, 2, 15, 0x7c}}) {
    const CompareKernels* kernels = FindCompareKernels(format.dtype);
    ASSERT_NE(kernels, nullptr);
    for (int bits = 0; bits < 256; ++bits) {
      const int magnitude = bits & 0x7f, exponent = magnitude >> format.mantissa;
      const int digits = magnitude - (std::max(exponent - 1, 0) << format.mantissa);
      const double number = std::ldexp(digits, std::max(exponent, 1) - format.bias - format.mantissa);
      const double truth = bits < 0x80 ? number : -number;
      const auto byte = static_cast<uint8_t>(bits);
      const BlockStats stats = kernels->anchor(&byte, &truth, 1, {});
      EXPECT_EQ(stats.compared, magnitude < format.infinity) << bits;
      EXPECT_EQ(stats.error_max, 0) << bits;
    }
  }
}

// 2 and 2^-24 differ by 2 in fp32 and by less in fp64. Whatever else is in the block, the same counts for it and for
// the element, and what fp32 cannot hold is told in fp64.
TEST(Compare, AnElementOf16BitsErrsAsItsBlockDoes) {
  const Tolerance just_below = {.rtol = 1 - 0x1p-26, .rtol_rms = 1e3};
  for (const kb_dtype dtype : {kF16, kBf16}) {
    for (const double elsewhere : {2.0, kNan}) {
      Values expected(1500, 2), got = expected;
      expected[5] = got[5] = elsewhere;
      got[77] = 0x1p-24;
      const CompareResult result = CompareValues(got, expected, dtype, {}, just_below);
      EXPECT_FALSE(result.ok);
      EXPECT_EQ(result.wrong, 1);
      EXPECT_EQ(result.worst_index, 77);
      EXPECT_EQ(result.max_abs_error, 2);
    }
  }
  const CompareResult far = CompareValues({1, 3e38}, {1, -3e38}, kBf16);
  EXPECT_EQ(far.wrong, 1);
  EXPECT_EQ(far.max_abs_error, far.got - far.expected);
}

TEST(Compare, PoisonIsNotTheNanThatIsExpected) {
  const std::vector<char> nans = Encode(Values(100, kNan), kF32);
  std::vector<char> got(nans.size());
  Poison(Pool(), got.data(), got.size(), kF32, kSecret);
  const CompareResult result = CompareBytes(got, nans, kF32);
  EXPECT_EQ(result.unwritten, 100);
  EXPECT_FALSE(result.ok);
}

TEST(Compare, IntegersMustBeEqual) {
  CompareResult result = CompareValues({1, 2, 3, 1LL << 40}, {1, 2, 4, 1LL << 40}, kI64, {}, Allclose(10, 10));
  EXPECT_EQ(result.wrong, 1);
  EXPECT_EQ(result.worst, 2);
  std::vector<char> a, b;  // as doubles they are equal
  Append(a, (uint64_t{1} << 63) + 1);
  Append(b, uint64_t{1} << 63);
  result = CompareBytes(a, b, kU64);
  EXPECT_EQ(result.wrong, 1);
  EXPECT_EQ(result.max_abs_error, 1);
  EXPECT_FALSE(CompareBytes({2}, {1}, kBool).ok);  // true is 1: anything else was not written
}

TEST(Compare, GarbageInASmallBlockIsFound) {
  Values expected = Normal(64 * 1024, 0, 1, 9);
  for (int i = 0; i < 1024; ++i) expected[20 * 1024 + i] *= 1e-4;
  Values got = expected;
  for (int i = 0; i < 1024; ++i) got[20 * 1024 + i] = 1e-4;  // 2e-7 of the whole output's square
  const CompareResult result = CompareValues(got, expected);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.blocks_wrong, 1);
  EXPECT_EQ(result.where, "elements 20480 to 21503");
}

TEST(Compare, OneWrongElementAmongMillionsIsFound) {
  const int64_t size = int64_t{4} << 20;
  std::vector<float> expected(size);
  std::mt19937 random(10);
  for (float& value : expected) value = static_cast<float>(random()) * 0x1p-32f;
  std::vector<float> got = expected;
  const int64_t shape[] = {2048, 2048};
  for (const Tolerance& tolerance : {Tolerance{}, Allclose(1e-4, 1e-4)}) {
    for (int64_t at : {int64_t{0}, int64_t{1234567}, size - 1}) {
      got[at] += 0.001f;
      const CompareResult result = Compare(Pool(), got.data(), expected.data(), kF32, shape, {}, tolerance, 1);
      EXPECT_EQ(result.wrong, 1);
      EXPECT_EQ(result.worst_index, at);
      EXPECT_EQ(Unravel(at, shape), (std::vector<int64_t>{at / 2048, at % 2048}));
      got[at] = expected[at];
    }
    EXPECT_TRUE(Compare(Pool(), got.data(), expected.data(), kF32, shape, {}, tolerance, 1).ok);
  }
}

TEST(Compare, ZerosPassNowhere) {
  for (const double magnitude : {1e-6, 1.0, 1e-30, 1e30}) {
    const Values expected = Normal(10000, magnitude, magnitude / 4, 11);  // as softmax over a million classes
    const CompareResult result = CompareValues(Values(10000, 0), expected);
    EXPECT_FALSE(result.ok) << magnitude;
    EXPECT_EQ(result.wrong, 10000);
    EXPECT_EQ(result.where, "every element");
    EXPECT_FALSE(CompareValues(Values(10000, magnitude), expected).ok);  // nor does the mean
  }
  EXPECT_TRUE(CompareValues(Values(100, 0), Values(100, 0)).ok);
  EXPECT_FALSE(CompareValues(Values(100, 1e-30), Values(100, 0)).ok);
}

TEST(Compare, DoublesOfAnySizeAreJudged) {
  for (const double magnitude : {1e-300, 1e-200, 1e200, 1e300}) {
    Values expected = Normal(3000, 0, magnitude, 12);
    Values got = expected;
    for (double& value : got) value *= 1 + 1e-6;
    EXPECT_TRUE(CompareValues(got, expected, kF64).ok) << magnitude;
    got[2500] *= 1.5;
    const CompareResult result = CompareValues(got, expected, kF64);
    EXPECT_EQ(result.wrong, 1) << magnitude;
    EXPECT_EQ(result.worst_index, 2500);
    EXPECT_FALSE(CompareValues(Values(3000, 0), expected, kF64).ok) << magnitude;
  }
}

TEST(Compare, AllcloseIsElementByElement) {
  const Tolerance tolerance = Allclose(0.5, 0.25);
  EXPECT_TRUE(CompareValues({1.75, 0.5, -7}, {1, 0, -6}, kF32, {}, tolerance).ok);
  const CompareResult result = CompareValues({1.75, 0.75, -7}, {1, 0, -6}, kF32, {}, tolerance);
  EXPECT_EQ(result.wrong, 1);
  EXPECT_EQ(result.worst_index, 1);
  EXPECT_EQ(result.worst, 1.5);
  EXPECT_EQ(result.histogram, (std::array<int64_t, 10>{0, 0, 0, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_TRUE(CompareValues({1, 0}, {1, 0}, kF32, {}, Allclose(0, 0)).ok);
  EXPECT_EQ(CompareValues({1, 1e-30}, {1, 0}, kF32, {}, Allclose(0, 0)).worst, kInf);
}

TEST(Compare, RmsAloneCanBeWrong) {
  const Values expected = Normal(1024, 0, 1, 13);
  const double scale = std::sqrt(std::inner_product(expected.begin(), expected.end(), expected.begin(), 0.0) / 1024);
  Values got = expected;
  for (int i = 0; i < 1024; ++i) got[i] += (i % 2 ? 6e-5 : 1e-5) * scale;  // RMS 4.3e-5, largest 6e-5
  const CompareResult result = CompareValues(got, expected, kF64, {}, {.rtol = 1e-4, .rtol_rms = 2e-5});
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.wrong, 512);
  EXPECT_EQ(result.where, "one element in 2, from 1 on");
  EXPECT_NEAR(result.worst, std::sqrt((36 + 1) / 2.0) / 2, 1e-6);
}

}  // namespace
}  // namespace kb
