// Tensors of every element type for the tests of the comparison.
#ifndef DEVICE_COMPARE_TEST_UTIL_H_
#define DEVICE_COMPARE_TEST_UTIL_H_

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "device/compare.h"
#include "device/memory_ops.h"

namespace kb {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr kb_dtype kF32 = {KB_FLOAT, 32, 1}, kF64 = {KB_FLOAT, 64, 1}, kF16 = {KB_FLOAT, 16, 1};
inline constexpr kb_dtype kBf16 = {KB_BFLOAT, 16, 1}, kC64 = {KB_COMPLEX, 64, 1}, kC128 = {KB_COMPLEX, 128, 1};
inline constexpr kb_dtype kBool = {KB_BOOL, 8, 1}, kI32 = {KB_INT, 32, 1}, kI64 = {KB_INT, 64, 1},
                          kU64 = {KB_UINT, 64, 1};
inline constexpr uint64_t kSecret = 0x5eed5eed5eed5eed;

using Values = std::vector<double>;

inline ThreadPool& Pool() {
  static ThreadPool pool(2);
  return pool;
}

// fp16 by arithmetic, unlike the code under test: sign, exponent and mantissa as the standard writes them.
inline double DecodeHalf(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int mantissa = bits & 1023;
  const double sign = bits >> 15 ? -1 : 1;
  if (exponent == 31) return mantissa ? kNan : sign * kInf;
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

inline uint16_t EncodeHalf(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return 0x7e00;
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520) return sign | 0x7c00;
  if (magnitude < 0x1p-14) return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  const int exponent = std::ilogb(magnitude);
  const auto mantissa = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));  // 1024 to 2048
  return static_cast<uint16_t>(sign | (((exponent + 15) << 10) + (mantissa - 1024)));
}

inline uint16_t EncodeBrain(double value) {
  if (std::isnan(value)) return 0x7fc0;
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <typename T>
void Append(std::vector<char>& bytes, T value) {
  const size_t at = bytes.size();
  bytes.resize(at + sizeof value);
  std::memcpy(&bytes[at], &value, sizeof value);
}

// Complex types take real and imaginary parts in turn.
inline std::vector<char> Encode(const Values& values, kb_dtype dtype) {
  std::vector<char> bytes;
  for (double value : values) {
    if (dtype.code == KB_BFLOAT) {
      Append(bytes, EncodeBrain(value));
    } else if (dtype.code == KB_FLOAT && dtype.bits == 16) {
      Append(bytes, EncodeHalf(value));
    } else if (dtype.code == KB_FLOAT || dtype.code == KB_COMPLEX) {
      if (dtype.bits == (dtype.code == KB_FLOAT ? 32 : 64)) Append(bytes, static_cast<float>(value));
      if (dtype.bits == (dtype.code == KB_FLOAT ? 64 : 128)) Append(bytes, value);
    } else {
      const auto whole = static_cast<int64_t>(value);
      for (int byte = 0; byte < dtype.bits / 8; ++byte) Append(bytes, static_cast<char>(whole >> (8 * byte)));
    }
  }
  return bytes;
}

inline CompareResult CompareBytes(const std::vector<char>& got, const std::vector<char>& expected, kb_dtype dtype,
                                  const ErrorBudget& budget = {}, const Tolerance& tolerance = {}) {
  const int64_t shape[] = {static_cast<int64_t>(got.size() / ElementSize(dtype))};
  return Compare(Pool(), got.data(), expected.data(), dtype, shape, budget, tolerance, PoisonPattern(dtype, kSecret));
}

inline CompareResult CompareValues(const Values& got, const Values& expected, kb_dtype dtype = kF32,
                                   const ErrorBudget& budget = {}, const Tolerance& tolerance = {}) {
  return CompareBytes(Encode(got, dtype), Encode(expected, dtype), dtype, budget, tolerance);
}

inline ErrorBudget Anchored(const Values& reference, const Values& truth, kb_dtype dtype = kF32) {
  ErrorBudget budget;
  const std::vector<char> bytes = Encode(reference, dtype);
  budget.AddAnchor(Pool(), bytes.data(), dtype, static_cast<int64_t>(bytes.size() / ElementSize(dtype)), truth.data());
  return budget;
}

inline Values Normal(int64_t n, double mean, double deviation, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(mean, deviation);
  Values values(n);
  for (double& value : values) value = normal(random);
  return values;
}

inline Values Plus(Values values, const Values& error) {
  for (size_t i = 0; i < values.size(); ++i) values[i] += error[i];
  return values;
}

inline Tolerance Allclose(double atol, double rtol) {
  return {.mode = Tolerance::Mode::kAllclose, .atol = atol, .rtol = rtol};
}

inline int64_t HistogramSum(const CompareResult& result) {
  return std::accumulate(result.histogram.begin(), result.histogram.end(), int64_t{0});
}

}  // namespace kb

#endif  // DEVICE_COMPARE_TEST_UTIL_H_
