#include "device/compare_kernels.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "device/clones.h"

namespace kb {

const std::array<double, kHistogramBins> kHistogramBounds = {
    1e-3, 1e-2, 0.1, 0.5, 1, 2, 10, 100, 1e4, std::numeric_limits<double>::infinity()};

namespace {

// Element types: how bits become a number, and as what two of them differ. Wide holds the squares of all of them.
struct Float32 {
  using Bits = uint32_t;
  using Wide = double;
  using Distance = double;
  static constexpr double kEpsilon = 0x1p-23, kSmallest = 0;
  KB_INLINE static float Value(Bits bits) { return std::bit_cast<float>(bits); }
};

struct Float64 {
  using Bits = uint64_t;
  using Wide = long double;
  using Distance = double;
  static constexpr double kEpsilon = 0x1p-52, kSmallest = 0;
  KB_INLINE static double Value(Bits bits) { return std::bit_cast<double>(bits); }
};

struct BFloat16 {
  using Bits = uint16_t;
  using Wide = double;
  using Distance = float;
  static constexpr double kEpsilon = 0x1p-7, kSmallest = 0x1p-133;
  KB_INLINE static float Value(Bits bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

struct Float16 {
  using Bits = uint16_t;
  using Wide = double;
  using Distance = float;
  static constexpr double kEpsilon = 0x1p-10, kSmallest = 0x1p-24;
  KB_INLINE static float Value(Bits bits) {
    const uint32_t sign = (uint32_t{bits} & 0x8000u) << 16;
    const uint32_t magnitude = (uint32_t{bits} & 0x7fffu) << 13;  // exponent and mantissa where fp32 has them
    constexpr uint32_t kNormal = 113u << 23;                      // 2^-14, the smallest normal number of fp16
    const float subnormal = std::bit_cast<float>(magnitude + kNormal) - std::bit_cast<float>(kNormal);
    const uint32_t rebiased =
        magnitude + (magnitude >= 0x0f800000u ? 224u << 23 : 112u << 23);  // infinity, NaN : number
    const uint32_t result = magnitude < 0x00800000u ? std::bit_cast<uint32_t>(subnormal) : rebiased;
    return std::bit_cast<float>(result | sign);
  }
};

struct Float8E5M2 {
  using Bits = uint8_t;
  using Wide = double;
  using Distance = float;
  static constexpr double kEpsilon = 0x1p-2, kSmallest = 0x1p-16;
  KB_INLINE static float Value(Bits bits) { return Float16::Value(static_cast<uint16_t>(bits << 8)); }
};

// Without infinities: all bits set but the sign is NaN.
struct Float8E4M3 {
  using Bits = uint8_t;
  using Wide = double;
  using Distance = float;
  static constexpr double kEpsilon = 0x1p-3, kSmallest = 0x1p-9;
  KB_INLINE static float Value(Bits bits) {
    const uint32_t sign = (uint32_t{bits} & 0x80u) << 24;
    const uint32_t magnitude = uint32_t{bits} & 0x7fu;
    const float number =
        std::bit_cast<float>(magnitude << 20) * 0x1p120f;  // from fp32's bias of exponents to this one's
    const uint32_t result = magnitude == 0x7fu ? 0x7fc00000u : std::bit_cast<uint32_t>(number);
    return std::bit_cast<float>(result | sign);
  }
};

template <typename T>
struct Integer {
  using Wide = long double;
  using Bits = std::make_unsigned_t<T>;
  KB_INLINE static long double Value(Bits bits) { return static_cast<T>(bits); }
};

template <typename Bits>
KB_INLINE Bits Load(const void* data, int64_t index) {
  Bits bits;
  std::memcpy(&bits, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof bits), sizeof bits);
  return bits;
}

KB_INLINE double Square(double value) { return value * value; }

template <typename Wide>
KB_INLINE double Root(Wide sum, double count) {
  return count == 0 ? 0.0 : static_cast<double>(std::sqrt(sum / count));
}

// Sums only. A NaN or an infinity anywhere shows in the sums, so nothing is tested on the way. What two numbers differ
// by is taken as a Distance.
template <typename T, typename Distance, bool kAllclose>
KB_INLINE BlockStats FastBlock(const void* got, const void* expected, int64_t n, double atol, double rtol) {
  double error_square = 0, error_max = 0, ratio_max = 0, square = 0, sum = 0;
  Distance expected_max = 0;
#pragma omp simd reduction(+ : error_square, square, sum) reduction(max : error_max, ratio_max, expected_max)
  for (int64_t i = 0; i < n; ++i) {
    const Distance number = T::Value(Load<typename T::Bits>(expected, i));
    const double e = number, error = std::fabs(T::Value(Load<typename T::Bits>(got, i)) - number);
    error_square += Square(error);
    square += Square(e);
    sum += e;
    error_max = error > error_max ? error : error_max;
    if constexpr (std::is_same_v<Distance, float>) {  // as of all types of one or two bytes
      expected_max = std::fabs(number) > expected_max ? std::fabs(number) : expected_max;
    }
    if constexpr (kAllclose) {
      const double ratio = error / (atol + rtol * std::fabs(e));  // 0 / 0 is NaN, which no comparison lets through
      ratio_max = ratio > ratio_max ? ratio : ratio_max;
    }
  }
  const auto count = static_cast<int32_t>(n);
  BlockStats stats;
  stats.error_rms = Root(error_square, count);
  stats.error_max = error_max;
  stats.ratio_max = ratio_max;
  stats.expected_rms = Root(square, count);
  stats.expected_mean = n == 0 ? 0 : sum / count;
  stats.compared = count;
  stats.finite = count;
  stats.expected_max = static_cast<float>(expected_max);
  return stats;
}

template <typename Number>
KB_INLINE bool IsFinite(Number value) {
  return std::fabs(value) <= std::numeric_limits<Number>::max();
}

// What two finite numbers differ by: the Distance that FastBlock takes, if there is one.
template <typename Distance>
KB_INLINE double DistanceOf(double a, double b) {
  const Distance narrow = std::fabs(static_cast<Distance>(a) - static_cast<Distance>(b));
  return IsFinite(narrow) ? narrow : std::fabs(a - b);
}

// The same sums where some components are not finite, or where squares may overflow. Against fp64 truth (kAnchor), what
// is not finite on one side only is left out on both: the reference overflowed.
template <typename T, typename Expected, bool kAnchor>
KB_INLINE BlockStats MaskedBlock(const void* got, const void* expected, int64_t n, double atol, double rtol,
                                 typename T::Bits poison) {
  using Wide = typename T::Wide;
  using Distance = std::conditional_t<kAnchor, double, typename T::Distance>;
  Wide error_square = 0, square = 0, sum = 0;
  double error_max = 0, ratio_max = 0, expected_max = 0;
  int32_t compared = 0, finite = 0, mismatched = 0;
#pragma omp simd reduction(+ : error_square, square, sum, compared, finite, mismatched) \
    reduction(max : error_max, ratio_max, expected_max)
  for (int64_t i = 0; i < n; ++i) {
    const auto got_bits = Load<typename T::Bits>(got, i);
    const auto expected_bits = Load<typename Expected::Bits>(expected, i);
    const double g = T::Value(got_bits);
    const double e = Expected::Value(expected_bits);
    const bool both = IsFinite(g) & IsFinite(e);
    const bool use = kAnchor ? both : IsFinite(e);
    const bool unwritten = kAnchor ? false : (got_bits == poison) & (expected_bits != poison);
    const bool same = (g == e) | ((g != g) & (e != e));
    const double error = both ? DistanceOf<Distance>(g, e) : 0.0;
    const double value = use ? e : 0.0;
    error_square += Wide{error} * error;
    square += Wide{value} * value;
    sum += value;
    error_max = error > error_max ? error : error_max;
    expected_max = std::fabs(value) > expected_max ? std::fabs(value) : expected_max;
    const double ratio = error / (atol + rtol * std::fabs(value));
    ratio_max = ratio > ratio_max ? ratio : ratio_max;
    compared += both;
    finite += use;
    mismatched += both ? 0 : int32_t{unwritten | !same};
  }
  BlockStats stats;
  stats.error_rms = Root(error_square, compared);
  stats.error_max = error_max;
  stats.ratio_max = ratio_max;
  stats.expected_rms = Root(square, finite);
  stats.expected_mean = finite == 0 ? 0 : static_cast<double>(sum / finite);
  stats.compared = compared;
  stats.finite = finite;
  stats.mismatched = mismatched;
  if (sizeof(typename T::Bits) <= 2) stats.expected_max = static_cast<float>(expected_max);
  return stats;
}

// Elements of two bytes become fp32 first: compilers make poor vector code of 16 bits to 64 in one step. What they
// differ by stays fp32, rounded by 2^-24 at most, because on a GPU that is what makes comparing as quick as memory.
template <typename T, bool kAllclose>
KB_INLINE BlockStats FastBlockBySize(const void* got, const void* expected, int64_t n, double atol, double rtol) {
  if constexpr (sizeof(typename T::Bits) > 2) {
    return FastBlock<T, double, kAllclose>(got, expected, n, atol, rtol);
  } else {
    float got_values[kBlockElements];
    float expected_values[kBlockElements];
    for (int64_t i = 0; i < n; ++i) {
      got_values[i] = T::Value(Load<typename T::Bits>(got, i));
      expected_values[i] = T::Value(Load<typename T::Bits>(expected, i));
    }
    return FastBlock<Float32, float, kAllclose>(got_values, expected_values, n, atol, rtol);
  }
}

template <typename T>
KB_CLONES static BlockStats Fast(const void* got, const void* expected, int64_t n, const BlockRule&) {
  return FastBlockBySize<T, false>(got, expected, n, 0, 0);
}

template <typename T>
KB_CLONES static BlockStats FastAllclose(const void* got, const void* expected, int64_t n, const BlockRule& rule) {
  return FastBlockBySize<T, true>(got, expected, n, rule.atol, rule.rtol);
}

template <typename T>
KB_CLONES static BlockStats Masked(const void* got, const void* expected, int64_t n, const BlockRule& rule) {
  return MaskedBlock<T, T, false>(got, expected, n, rule.atol, rule.rtol, static_cast<typename T::Bits>(rule.poison));
}

template <typename T>
KB_CLONES static BlockStats Anchor(const void* got, const void* expected, int64_t n, const BlockRule&) {
  return MaskedBlock<T, Float64, true>(got, expected, n, 0, 0, 0);
}

template <typename T>
BlockStats SameBits(const void* got, const void* expected, int64_t n, const BlockRule&) {
  BlockStats stats;
  stats.mismatched = std::memcmp(got, expected, n * sizeof(T)) != 0;
  return stats;
}

// One pair of components, in full.
struct Pair {
  double got, expected;
  double error = 0;  // |got - expected|; 0 unless `compared`
  double ratio = 0;  // error over allowed error
  bool compared = true, wrong = false, mismatched = false, poisoned = false;
};

KB_INLINE double Ratio(double error, double allowed) { return error == 0 ? 0.0 : error / allowed; }

template <typename T>
KB_INLINE Pair ComparePair(typename T::Bits got, typename T::Bits expected, const BlockRule& rule) {
  Pair pair;
  pair.got = T::Value(got);
  pair.expected = T::Value(expected);
  pair.poisoned = got == static_cast<typename T::Bits>(rule.poison) && got != expected;
  if (IsFinite(pair.got) && IsFinite(pair.expected)) {
    pair.error = DistanceOf<typename T::Distance>(pair.got, pair.expected);
    const double allowed = rule.allclose ? rule.atol + rule.rtol * std::fabs(pair.expected) : rule.allowed;
    pair.ratio = Ratio(pair.error, allowed);
    pair.wrong = pair.ratio > 1 || (!rule.allclose && pair.error >= rule.force);
    return pair;
  }
  const bool same = pair.got == pair.expected || (std::isnan(pair.got) && std::isnan(pair.expected));
  pair.compared = false;
  pair.mismatched = pair.wrong = !same || pair.poisoned;
  if (pair.wrong) pair.ratio = std::numeric_limits<double>::infinity();
  return pair;
}

// Integers must be equal; half a unit is what "allowed error" means for them.
template <typename T>
KB_INLINE Pair CompareIntegers(typename T::Bits got, typename T::Bits expected, const BlockRule& rule) {
  Pair pair;
  pair.got = static_cast<double>(T::Value(got));
  pair.expected = static_cast<double>(T::Value(expected));
  pair.error = static_cast<double>(std::fabs(T::Value(got) - T::Value(expected)));
  pair.ratio = 2 * pair.error;
  pair.wrong = got != expected;
  // In a byte or two, poison is a number like any other.
  pair.poisoned = sizeof got >= 4 && pair.wrong && got == static_cast<typename T::Bits>(rule.poison);
  return pair;
}

KB_INLINE int BinOf(double ratio) {
  int bin = 0;
  for (int i = 0; i < kHistogramBins - 1; ++i) bin += ratio > kHistogramBounds[i];
  return bin;
}

template <typename T>
KB_INLINE Pair PairAt(const void* got, const void* expected, int64_t index, const BlockRule& rule) {
  const auto g = Load<typename T::Bits>(got, index);
  const auto e = Load<typename T::Bits>(expected, index);
  if constexpr (requires { T::kEpsilon; }) {
    return ComparePair<T>(g, e, rule);
  } else {
    return CompareIntegers<T>(g, e, rule);
  }
}

template <typename T, int kComponents>
void Elements(const void* got, const void* expected, int64_t first, int64_t n, const BlockRule& shared_rule,
              uint64_t* wrong, ElementStats& total) {
  const BlockRule rule = shared_rule;  // copies, so that the compiler may keep them in registers
  ElementStats stats = total;
  typename T::Wide error_square = 0;
  for (int64_t i = 0; i < n; ++i) {
    Pair worst;
    bool element_wrong = false, mismatched = false, poisoned = true;
    for (int c = 0; c < kComponents; ++c) {
      const Pair pair = PairAt<T>(got, expected, (first + i) * kComponents + c, rule);
      element_wrong |= pair.wrong;
      mismatched |= pair.mismatched;
      poisoned &= pair.poisoned;
      stats.compared += pair.compared;
      stats.error_max = pair.error > stats.error_max ? pair.error : stats.error_max;
      error_square += typename T::Wide{pair.error} * pair.error;
      if (c == 0 || pair.ratio > worst.ratio) worst = pair;
    }
    stats.unwritten += poisoned;
    stats.non_finite += mismatched;
    stats.wrong += element_wrong;
    wrong[i / 64] |= uint64_t{element_wrong} << (i % 64);
    if (worst.ratio > stats.worst) {
      stats.worst = worst.ratio;
      stats.worst_index = first + i;
      stats.expected = worst.expected;
      stats.got = worst.got;
    }
    ++stats.histogram[BinOf(worst.ratio)];
  }
  stats.error_square += error_square;
  total = stats;
}

template <typename T, int kComponents>
constexpr CompareKernels FloatingKernels() {
  return {true,       kComponents, sizeof(typename T::Bits), T::kEpsilon, T::kSmallest, &Fast<T>, &FastAllclose<T>,
          &Masked<T>, &Anchor<T>,  &Elements<T, kComponents>};
}

template <typename T>
constexpr CompareKernels IntegerKernels() {
  return {false, 1, sizeof(T), 0, 0, &SameBits<T>, &SameBits<T>, &SameBits<T>, nullptr, &Elements<Integer<T>, 1>};
}

struct Entry {
  uint8_t code, bits;
  CompareKernels kernels;
};

const Entry kEntries[] = {
    {KB_FLOAT, 32, FloatingKernels<Float32, 1>()},
    {KB_FLOAT, 64, FloatingKernels<Float64, 1>()},
    {KB_FLOAT, 16, FloatingKernels<Float16, 1>()},
    {KB_BFLOAT, 16, FloatingKernels<BFloat16, 1>()},
    {KB_COMPLEX, 64, FloatingKernels<Float32, 2>()},
    {KB_COMPLEX, 128, FloatingKernels<Float64, 2>()},
    {KB_FLOAT8_E4M3FN, 8, FloatingKernels<Float8E4M3, 1>()},
    {KB_FLOAT8_E5M2, 8, FloatingKernels<Float8E5M2, 1>()},
    {KB_INT, 8, IntegerKernels<int8_t>()},
    {KB_INT, 16, IntegerKernels<int16_t>()},
    {KB_INT, 32, IntegerKernels<int32_t>()},
    {KB_INT, 64, IntegerKernels<int64_t>()},
    {KB_UINT, 8, IntegerKernels<uint8_t>()},
    {KB_UINT, 16, IntegerKernels<uint16_t>()},
    {KB_UINT, 32, IntegerKernels<uint32_t>()},
    {KB_UINT, 64, IntegerKernels<uint64_t>()},
    {KB_BOOL, 8, IntegerKernels<uint8_t>()},
};

}  // namespace

const CompareKernels* FindCompareKernels(kb_dtype dtype) {
  for (const Entry& entry : kEntries) {
    if (entry.code == dtype.code && entry.bits == dtype.bits && dtype.lanes == 1) return &entry.kernels;
  }
  return nullptr;
}

bool Usable(const CompareKernels& kernels, const BlockStats& stats) {
  if (!kernels.floating) return true;
  if (!std::isfinite(stats.error_rms) || !std::isfinite(stats.expected_rms)) return false;
  return kernels.component_size < 8 || stats.expected_rms > 1e-100 || stats.error_max == 0;
}

}  // namespace kb
