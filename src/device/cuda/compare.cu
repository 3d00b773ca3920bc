// The comparison's kernels, which compare.cc launches. Compiled behind memory.cu, whose names they use.

// As kb::BlockStats (compare_kernels.h).
struct BlockStats {
  double error_rms, error_max, ratio_max, expected_rms, expected_mean;
  int compared, finite, mismatched;
  float expected_max;  // of types of one or two bytes
};

// Element types. value(): fp32 for those of 16 bits, so that what two of them differ by is rounded to fp32, which takes
// a fraction of the time; the CPU does the same.
struct F32 {
  typedef u32 Bits;
  static __device__ double value(u32 bits) { return __uint_as_float(bits); }
};
struct F64 {
  typedef u64 Bits;
  static __device__ double value(u64 bits) { return __longlong_as_double(static_cast<i64>(bits)); }
};
struct BF16 {
  typedef u16 Bits;
  static __device__ float value(u16 bits) { return __uint_as_float(static_cast<u32>(bits) << 16); }
};
struct F16 {
  typedef u16 Bits;
  static __device__ float value(u16 bits) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
    return wide;
  }
};

struct E5M2 {
  typedef u8 Bits;
  static __device__ float value(u8 bits) { return F16::value(static_cast<u16>(bits << 8)); }
};
struct E4M3 {
  typedef u8 Bits;
  static __device__ float value(u8 bits) {
    const u32 sign = (bits & 0x80u) << 24, magnitude = bits & 0x7fu;
    const float number = __uint_as_float(magnitude << 20) * 1.329227995784916e36f;  // 2^120
    return __uint_as_float((magnitude == 0x7fu ? 0x7fc00000u : __float_as_uint(number)) | sign);
  }
};

static __device__ bool is_finite(double x) { return fabs(x) <= 1.7976931348623157e308; }
static __device__ bool is_finite(float x) { return fabsf(x) <= 3.402823466e38f; }

// What two finite numbers differ by: of two of 16 bits the same fp32 number that FinitePair takes, if there is one.
template <typename T, typename E>
static __device__ __forceinline__ double distance(typename T::Bits a, typename E::Bits b) {
  const auto narrow = fabs(T::value(a) - E::value(b));
  return is_finite(narrow) ? narrow : fabs(static_cast<double>(T::value(a)) - static_cast<double>(E::value(b)));
}
// The larger one; `b` if either is not a number. One comparison, where fmax takes more.
static __device__ __forceinline__ double larger(double a, double b) { return a > b ? a : b; }
static __device__ __forceinline__ float larger(float a, float b) { return fmaxf(a, b); }

#define IS_NARROW(E) (sizeof(typename E::Bits) <= 2)

// Sums in progress over one block, with the largest error in the type in which errors are taken.
template <typename Error>
struct BlockSums {
  double error_square, square, sum, ratio_max;
  Error error_max;
  float expected_max;
  int compared, finite, mismatched;
};

// Any pair. kAnchor: what is not finite on one side only is left out on both. kAllclose: with the ratio of allclose, a
// division.
template <typename T, typename E, bool kAnchor, bool kAllclose>
struct AnyPair {
  typedef double Error;
  static __device__ __forceinline__ void add(BlockSums<Error>& sums, typename T::Bits gb, typename E::Bits eb,
                                             double atol, double rtol, u64 poison) {
    const double g = T::value(gb), e = E::value(eb);
    const bool both = is_finite(g) && is_finite(e);
    const bool use = kAnchor ? both : is_finite(e);
    const double error = both ? distance<T, E>(gb, eb) : 0.0;
    const double value = use ? e : 0.0;
    sums.error_square += error * error;
    sums.square += value * value;
    sums.sum += value;
    sums.error_max = larger(error, sums.error_max);
    if (IS_NARROW(E)) sums.expected_max = larger(static_cast<float>(fabs(value)), sums.expected_max);
    if (kAllclose) sums.ratio_max = larger(error / (atol + rtol * fabs(value)), sums.ratio_max);
    sums.compared += both;
    sums.finite += use;
    if (!both) {
      const bool unwritten = !kAnchor && gb == static_cast<typename T::Bits>(poison) && static_cast<u64>(eb) != poison;
      const bool same = g == e || (g != g && e != e);
      sums.mismatched += unwritten || !same;
    }
  }
};

// A pair of finite numbers, as nearly all are. A number that is not makes error_square or square infinite or NaN, and
// so does a difference that fp32 cannot hold.
template <typename T, typename E, bool kAllclose>
struct FinitePair {
  typedef decltype(T::value(0) - E::value(0)) Error;
  static __device__ __forceinline__ void add(BlockSums<Error>& sums, typename T::Bits gb, typename E::Bits eb,
                                             double atol, double rtol, u64) {
    const auto expected = E::value(eb);
    const Error narrow = fabs(T::value(gb) - expected);
    const double e = expected, error = narrow;
    sums.error_square += error * error;
    sums.square += e * e;
    sums.sum += e;
    sums.error_max = larger(narrow, sums.error_max);
    if (IS_NARROW(E)) sums.expected_max = larger(static_cast<float>(fabs(expected)), sums.expected_max);
    if (kAllclose) sums.ratio_max = larger(error / (atol + rtol * fabs(e)), sums.ratio_max);
  }
};

// This lane's share of one block of components [first, end), which kLanes lanes share: 16 bytes at a time if everything
// is aligned and whole.
template <int kLanes, typename T, typename E, typename Pair>
static __device__ __forceinline__ BlockSums<typename Pair::Error> sums_of_lane(const void* got, const void* expected,
                                                                               i64 first, i64 end, double atol,
                                                                               double rtol, u64 poison) {
  const typename T::Bits* g = static_cast<const typename T::Bits*>(got) + first;
  const typename E::Bits* e = static_cast<const typename E::Bits*>(expected) + first;
  const int lane = threadIdx.x % kLanes, n = static_cast<int>(end - first);
  constexpr int kWide = 16 / sizeof(typename T::Bits);
  const bool aligned = (reinterpret_cast<u64>(g) | reinterpret_cast<u64>(e)) % 16 == 0;
  BlockSums<typename Pair::Error> sums = {};
  int i = 0;
  if (sizeof(typename T::Bits) == sizeof(typename E::Bits) && aligned) {
#pragma unroll 4
    for (; i + kLanes * kWide <= n; i += kLanes * kWide) {
      const uint4 g_wide = __ldcs(reinterpret_cast<const uint4*>(g + i) + lane);
      const uint4 e_wide = __ldcs(reinterpret_cast<const uint4*>(e + i) + lane);
      const typename T::Bits* g_bits = reinterpret_cast<const typename T::Bits*>(&g_wide);
      const typename E::Bits* e_bits = reinterpret_cast<const typename E::Bits*>(&e_wide);
#pragma unroll
      for (int k = 0; k < kWide; ++k) Pair::add(sums, g_bits[k], e_bits[k], atol, rtol, poison);
    }
  }
  for (i += lane; i < n; i += kLanes) Pair::add(sums, g[i], e[i], atol, rtol, poison);
  return sums;
}

template <typename Number>
static __device__ __forceinline__ Number warp_sum(Number x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(~0u, x, step);
  return x;
}
template <int kLanes, typename Number>
static __device__ __forceinline__ Number max_of_lanes(Number x) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) x = larger(__shfl_xor_sync(~0u, x, step), x);
  return x;
}

// Sums over one block, from those of its kLanes lanes (8 or more). The three sums share the steps: after the first of
// them half of the lanes go on with one sum and half with another, so that the first lane ends with that of squared
// errors, the one in the middle with that of squares and the one after a quarter with that of numbers; one division and
// one root do for all.
template <int kLanes, bool kNarrow, bool kAllclose, typename Error>
static __device__ __forceinline__ BlockStats stats_of(BlockSums<Error> sums) {
  constexpr int kHalf = kLanes / 2, kQuarter = kLanes / 4;
  const int lane = threadIdx.x % kLanes;
  const bool upper = lane & kHalf, mean = lane & kQuarter;
  double mine = upper ? sums.square : sums.error_square;
  mine += __shfl_xor_sync(~0u, upper ? sums.error_square : sums.square, kHalf);
  sums.sum += __shfl_xor_sync(~0u, sums.sum, kHalf);
  const double other = __shfl_xor_sync(~0u, mean ? mine : sums.sum, kQuarter);
  mine = (mean ? sums.sum : mine) + other;
#pragma unroll
  for (int step = kQuarter / 2; step > 0; step /= 2) mine += __shfl_xor_sync(~0u, mine, step);
  sums.error_max = max_of_lanes<kLanes>(sums.error_max);
  if (kNarrow) sums.expected_max = max_of_lanes<kLanes>(sums.expected_max);
  if (kAllclose) sums.ratio_max = max_of_lanes<kLanes>(sums.ratio_max);

  const int count = lane == 0 ? sums.compared : sums.finite;
  const double average = count == 0 ? 0.0 : mine / count, rms = sqrt(average);
  return {rms,
          sums.error_max,
          sums.ratio_max,
          __shfl_sync(~0u, rms, kHalf, kLanes),
          __shfl_sync(~0u, average, kQuarter, kLanes),
          sums.compared,
          sums.finite,
          sums.mismatched,
          sums.expected_max};
}

#define TO_DO_AGAIN (-1)  // in place of `compared`

// Sums over each block of `block` components, which kLanes lanes take at a time. What is not all finite is left to
// stats_of_any().
template <int kLanes, typename T, typename E, bool kAllclose>
static __device__ __forceinline__ void stats_of_finite(const void* got, const void* expected, i64 n, int block,
                                                       double atol, double rtol, BlockStats* out) {
  const i64 blocks = (n + block - 1) / block;
  const int lane = threadIdx.x % 32;
  const u32 mine = (kLanes == 32 ? ~0u : (1u << kLanes) - 1) << (lane / kLanes * kLanes);
  // Whole warps go on together: those lanes that are left without a block look at nothing.
  for (i64 b = static_cast<i64>(first_thread() / kLanes); b - lane / kLanes < blocks;
       b += static_cast<i64>(all_threads() / kLanes)) {
    const i64 first = b * block < n ? b * block : n, end = first + block < n ? first + block : n;
    auto sums = sums_of_lane<kLanes, T, E, FinitePair<T, E, kAllclose>>(got, expected, first, end, atol, rtol, 0);
    const u32 finite = __ballot_sync(~0u, is_finite(sums.error_square) && is_finite(sums.square));
    sums.compared = sums.finite = static_cast<int>(end - first);
    BlockStats stats = stats_of<kLanes, IS_NARROW(E), kAllclose>(sums);
    if ((finite & mine) != mine) stats.compared = TO_DO_AGAIN;
    if (lane % kLanes == 0 && b < blocks) out[b] = stats;
  }
}

// Looks for those blocks 32 at a time: as a rule there are none.
template <typename T, typename E, bool kAnchor, bool kAllclose>
static __device__ __forceinline__ void stats_of_any(const void* got, const void* expected, i64 n, int block,
                                                    double atol, double rtol, u64 poison, BlockStats* out) {
  const i64 blocks = (n + block - 1) / block;
  const int lane = threadIdx.x % 32;
  for (i64 group = static_cast<i64>(first_thread()) - lane; group < blocks; group += static_cast<i64>(all_threads())) {
    u32 left = __ballot_sync(~0u, group + lane < blocks && out[group + lane].compared == TO_DO_AGAIN);
    for (; left != 0; left &= left - 1) {
      const i64 b = group + __ffs(static_cast<int>(left)) - 1;
      const i64 first = b * block, end = first + block < n ? first + block : n;
      auto sums =
          sums_of_lane<32, T, E, AnyPair<T, E, kAnchor, kAllclose>>(got, expected, first, end, atol, rtol, poison);
      sums.compared = warp_sum(sums.compared);
      sums.finite = warp_sum(sums.finite);
      sums.mismatched = warp_sum(sums.mismatched);
      const BlockStats stats = stats_of<32, IS_NARROW(E), kAllclose>(sums);
      if (lane == 0) out[b] = stats;
    }
  }
}

// Blocks of small elements are small: a warp takes several, so that it does not spend its time on their ends.
#define LANES(T, E) (sizeof(T::Bits) + sizeof(E::Bits) == 4 ? 8 : 32)

#define STATS_OF(kind, name, T, E, kAnchor, kAllclose)                                                           \
  extern "C" __global__ void __launch_bounds__(THREADS, 3) kb_##kind##_##name(                                   \
      const void* got, const void* expected, i64 n, int block, double atol, double rtol, u64, BlockStats* out) { \
    stats_of_finite<LANES(T, E), T, E, kAllclose>(got, expected, n, block, atol, rtol, out);                     \
  }                                                                                                              \
  extern "C" __global__ void kb_##kind##_again_##name(const void* got, const void* expected, i64 n, int block,   \
                                                      double atol, double rtol, u64 poison, BlockStats* out) {   \
    stats_of_any<T, E, kAnchor, kAllclose>(got, expected, n, block, atol, rtol, poison, out);                    \
  }
#define STATS(name, type)                           \
  STATS_OF(stats, name, type, type, false, false)   \
  STATS_OF(allclose, name, type, type, false, true) \
  STATS_OF(anchor, name, type, F64, true, false)
STATS(f32, F32)
STATS(f64, F64)
STATS(f16, F16)
STATS(bf16, BF16)
STATS(e4m3, E4M3)
STATS(e5m2, E5M2)

// Integers and bool: a block of `block` bytes mismatches if any bit differs.
extern "C" __global__ void kb_stats_bits(const u8* got, const u8* expected, i64 n, int block, double, double, u64,
                                         BlockStats* out) {
  const int lane = threadIdx.x % 32;
  const i64 blocks = (n + block - 1) / block;
  for (i64 b = static_cast<i64>(first_thread() / 32); b < blocks; b += static_cast<i64>(all_threads() / 32)) {
    const i64 end = (b + 1) * block < n ? (b + 1) * block : n;
    bool differs = false;
    for (i64 i = b * block + lane; i < end; i += 32) differs |= got[i] != expected[i];
    const bool any = __any_sync(~0u, differs);
    if (lane == 0) out[b] = {0, 0, 0, 0, 0, 0, 0, any ? 1 : 0, 0};
  }
}

// What a block may err in the whole comparison. As in device/cuda/compare.cc, like the parts below.
struct JudgeRule {
  double rms_factor, max_factor, rtol_rms, rtol, atol, scale_floor, scale_ceiling, epsilon, smallest, cap;
  double pooled_rms, pooled_max;
  u64 poison;
  int kind, padding;  // 0: anchored, 1: allclose, 2: bits
};
struct BlockBudget {
  double rms, max;
};

// The numbers of kb::Moments, and sums of errors.
struct TotalsPart {
  double count, mean, deviation, square, error_square, worst_rms, worst_max;
  i64 compared;
};
struct JudgedPart {
  double worst, error_max, error_square;
  i64 compared, blocks_wrong;
};

#define HISTOGRAM_BINS 10
struct ElementsPart {
  double worst, expected, got, error_max, error_square;
  i64 worst_index, wrong, unwritten, non_finite, compared;
  i64 histogram[HISTOGRAM_BINS];
};

// Chan, Golub and LeVeque's merging of sums of squared deviations.
static __device__ void merge_moments(TotalsPart& to, double count, double mean, double deviation, double square) {
  if (count == 0) return;
  const double shift = mean - to.mean, together = to.count + count;
  to.deviation += deviation + shift * shift * to.count * count / together;
  to.mean += shift * count / together;
  to.square += square;
  to.count = together;
}

static __device__ void merge(TotalsPart& to, const TotalsPart& other) {
  merge_moments(to, other.count, other.mean, other.deviation, other.square);
  to.error_square += other.error_square;
  to.compared += other.compared;
  to.worst_rms = fmax(to.worst_rms, other.worst_rms);
  to.worst_max = fmax(to.worst_max, other.worst_max);
}

template <typename Part>
static __device__ __forceinline__ Part from_lane_after(const Part& mine, int step) {
  Part other;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(Part) / sizeof(u32)); ++i) {
    reinterpret_cast<u32*>(&other)[i] = __shfl_down_sync(~0u, reinterpret_cast<const u32*>(&mine)[i], step);
  }
  return other;
}

// What all threads of a block of THREADS found becomes parts[block].
template <typename Part>
static __device__ __forceinline__ void keep_merged(Part sum, Part* parts) {
  for (int step = 16; step > 0; step /= 2) merge(sum, from_lane_after(sum, step));
  __shared__ Part warps[THREADS / 32];
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < THREADS / 32; ++w) merge(sum, warps[w]);
  parts[blockIdx.x] = sum;
}

// Each block of threads merges its share of the blocks.
extern "C" __global__ void kb_totals(const BlockStats* stats, i64 blocks, TotalsPart* parts) {
  TotalsPart sum = {0, 0, 0, 0, 0, 0, 0, 0};
  for (i64 b = first_thread(); b < blocks; b += all_threads()) {
    const BlockStats s = stats[b];
    const double n = s.finite, mean_square = s.expected_rms * s.expected_rms;
    const double variance = fmax(0.0, mean_square - s.expected_mean * s.expected_mean);
    merge(sum, {n, s.expected_mean, variance * n, mean_square * n, s.error_rms * s.error_rms * s.compared, s.error_rms,
                s.error_max, s.compared});
  }
  keep_merged(sum, parts);
}

// The budget of every block grows to what this anchor's reference errs there.
extern "C" __global__ void kb_budget(const BlockStats* stats, i64 blocks, BlockBudget* budget) {
  for (i64 b = first_thread(); b < blocks; b += all_threads()) {
    budget[b].rms = fmax(budget[b].rms, stats[b].error_rms);
    budget[b].max = fmax(budget[b].max, stats[b].error_max);
  }
}

static __device__ double ratio_of(double error, double allowed) { return error == 0 ? 0.0 : error / allowed; }

// The least allowed error of a block of magnitude `scale`.
static __device__ double floor_of(double relative, double scale, const JudgeRule& rule) {
  return fmax(relative * fmin(scale, rule.scale_ceiling), fmin(relative, 2 * rule.epsilon) * scale);
}

// Allowed errors of one block.
static __device__ BlockBudget limits_of(const BlockStats& stats, const BlockBudget* budget, i64 block,
                                        const JudgeRule& rule) {
  const BlockBudget own = budget == nullptr ? BlockBudget{0, 0} : budget[block];
  const double scale = fmax(stats.expected_rms, rule.scale_floor);
  const double rms = fmax((rule.rms_factor + 1) * fmax(own.rms, rule.pooled_rms), floor_of(rule.rtol_rms, scale, rule));
  const double max = fmax((rule.max_factor + 1) * fmax(own.max, rule.pooled_max), floor_of(rule.rtol, scale, rule));
  const BlockBudget limits = {fmin(rms, rule.cap), fmin(max, rule.cap)};
  if (rule.smallest == 0) return limits;
  const double step = fmax(rule.epsilon * scale, rule.smallest);
  const double largest_step = fmax(rule.epsilon * stats.expected_max, rule.smallest);
  const double square = floor_of(rule.rtol_rms, scale, rule) * step +
                        largest_step * fmin(stats.error_max, largest_step) / (stats.compared > 1 ? stats.compared : 1);
  return {fmax(limits.rms, fmin(sqrt(square), rule.cap)), fmax(limits.max, largest_step)};
}

static __device__ void merge(JudgedPart& to, const JudgedPart& other) {
  to.worst = fmax(to.worst, other.worst);
  to.error_max = fmax(to.error_max, other.error_max);
  to.error_square += other.error_square;
  to.compared += other.compared;
  to.blocks_wrong += other.blocks_wrong;
}

// Error over allowed error of every block; each block of threads sums its share up.
extern "C" __global__ void kb_judge(const BlockStats* stats, i64 blocks, const BlockBudget* budget, JudgeRule rule,
                                    JudgedPart* parts) {
  JudgedPart sum = {0, 0, 0, 0, 0};
  for (i64 b = first_thread(); b < blocks; b += all_threads()) {
    const BlockStats s = stats[b];
    double ratio = s.ratio_max;
    if (rule.kind == 0) {
      const BlockBudget limits = limits_of(s, budget, b, rule);
      ratio = fmax(ratio_of(s.error_rms, limits.rms), ratio_of(s.error_max, limits.max));
    }
    if (s.mismatched != 0) ratio = __longlong_as_double(0x7ff0000000000000ll);
    merge(sum, {ratio, s.error_max, s.error_rms * s.error_rms * s.compared, s.compared, !(ratio <= 1)});
  }
  keep_merged(sum, parts);
}

static __device__ int bin_of(double ratio) {
  const double bounds[HISTOGRAM_BINS - 1] = {1e-3, 1e-2, 0.1, 0.5, 1, 2, 10, 100, 1e4};
  int bin = 0;
  for (int i = 0; i < HISTOGRAM_BINS - 1; ++i) bin += ratio > bounds[i];
  return bin;
}

static __device__ void keep_worse(ElementsPart& to, double worst, i64 index, double expected, double got) {
  if (worst > to.worst || (worst == to.worst && index < to.worst_index)) {
    to.worst = worst;
    to.worst_index = index;
    to.expected = expected;
    to.got = got;
  }
}

static __device__ void merge(ElementsPart& to, const ElementsPart& other) {
  keep_worse(to, other.worst, other.worst_index, other.expected, other.got);
  to.error_max = fmax(to.error_max, other.error_max);
  to.error_square += other.error_square;
  to.wrong += other.wrong;
  to.unwritten += other.unwritten;
  to.non_finite += other.non_finite;
  to.compared += other.compared;
  for (int i = 0; i < HISTOGRAM_BINS; ++i) to.histogram[i] += other.histogram[i];
}

// Every element of a wrong output, by the rule of its block (ElementRule and ComparePair of the CPU's comparison): bit
// i of `wrong` is set if element i is; each block of threads sums its share up.
template <typename T>
static __device__ void elements_of_blocks(const void* got, const void* expected, i64 n, const BlockStats* stats,
                                          const BlockBudget* budget, const JudgeRule& rule, u32* wrong,
                                          ElementsPart* parts) {
  const typename T::Bits* g_bits = static_cast<const typename T::Bits*>(got);
  const typename T::Bits* e_bits = static_cast<const typename T::Bits*>(expected);
  const int block = 1024, lane = threadIdx.x % 32;
  const double infinity = __longlong_as_double(0x7ff0000000000000ll);
  ElementsPart sum = {-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, {}};
  for (i64 b = static_cast<i64>(first_thread() / 32); b * block < n; b += static_cast<i64>(all_threads() / 32)) {
    const BlockBudget limits = limits_of(stats[b], budget, b, rule);
    const bool only_rms =
        ratio_of(stats[b].error_rms, limits.rms) > 1 && !(ratio_of(stats[b].error_max, limits.max) > 1);
    const double allowed_here = only_rms ? limits.rms : limits.max, force = only_rms ? stats[b].error_max : infinity;
    for (int group = 0; group < block && b * block + group < n; group += 32) {
      const i64 i = b * block + group + lane;
      bool is_wrong = false;
      if (i < n) {
        const typename T::Bits gb = g_bits[i], eb = e_bits[i];
        const double g = T::value(gb), e = T::value(eb);
        const bool both = is_finite(g) && is_finite(e);
        const bool poisoned = gb == static_cast<typename T::Bits>(rule.poison) && gb != eb;
        const bool same = g == e || (g != g && e != e);
        const double error = both ? distance<T, T>(gb, eb) : 0.0;
        const double allowed = rule.kind == 1 ? rule.atol + rule.rtol * fabs(e) : allowed_here;
        const bool mismatched = !both && (!same || poisoned);
        const double ratio = mismatched ? infinity : ratio_of(error, allowed);
        is_wrong = mismatched || (both && (ratio > 1 || (rule.kind == 0 && error >= force)));
        sum.unwritten += poisoned;
        sum.non_finite += mismatched;
        sum.wrong += is_wrong;
        sum.compared += both;
        sum.error_max = fmax(sum.error_max, error);
        sum.error_square += error * error;
        keep_worse(sum, ratio, i, e, g);
        ++sum.histogram[bin_of(ratio)];
      }
      const u32 word = __ballot_sync(~0u, is_wrong);
      if (lane == 0) wrong[(b * block + group) / 32] = word;
    }
  }
  keep_merged(sum, parts);
}

#define ELEMENTS(name, type)                                                                                           \
  extern "C" __global__ void kb_elements_##name(const void* got, const void* expected, i64 n, const BlockStats* stats, \
                                                const BlockBudget* budget, JudgeRule rule, u32* wrong,                 \
                                                ElementsPart* parts) {                                                 \
    elements_of_blocks<type>(got, expected, n, stats, budget, rule, wrong, parts);                                     \
  }
ELEMENTS(f32, F32)
ELEMENTS(f64, F64)
ELEMENTS(f16, F16)
ELEMENTS(bf16, BF16)
ELEMENTS(e4m3, E4M3)
ELEMENTS(e5m2, E5M2)
