// Kernels of the trusted side, compiled by NVRTC for the device that is present (kernels.h says who calls them how).
// Buffers are 16-byte aligned where a comment says so; sizes count what their names say. Launched with any grid: all
// loops stride over it.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

static __device__ u64 first_thread() { return blockIdx.x * static_cast<u64>(blockDim.x) + threadIdx.x; }
static __device__ u64 all_threads() { return static_cast<u64>(gridDim.x) * blockDim.x; }

static __device__ u64 timer() {
  u64 now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

// Fills `bytes` with a pattern of 8 bytes. `to` is 16-byte aligned.
extern "C" __global__ void kb_fill(u8* to, u64 bytes, u64 pattern) {
  ulonglong2* wide = reinterpret_cast<ulonglong2*>(to);
  const ulonglong2 pair = {pattern, pattern};
  for (u64 i = first_thread(); i < bytes / 16; i += all_threads()) wide[i] = pair;
  for (u64 i = bytes / 16 * 16 + first_thread(); i < bytes; i += all_threads()) to[i] = static_cast<u8>(pattern >> (i % 8 * 8));
}

// Sets *different if any bit differs. Both are 16-byte aligned.
extern "C" __global__ void kb_equal(const u8* a, const u8* b, u64 bytes, u32* different) {
  const ulonglong2* x = reinterpret_cast<const ulonglong2*>(a);
  const ulonglong2* y = reinterpret_cast<const ulonglong2*>(b);
  bool differs = false;
  for (u64 i = first_thread(); i < bytes / 16; i += all_threads()) {
    const ulonglong2 p = x[i], q = y[i];
    differs |= (p.x != q.x) | (p.y != q.y);
  }
  for (u64 i = bytes / 16 * 16 + first_thread(); i < bytes; i += all_threads()) differs |= a[i] != b[i];
  if (differs) *different = 1;
}

// The watch: one thread reads the timer for `ns`. gaps[0]: the largest step in ns, gaps[1]: the sum of steps above
// `suspicious` ns, during which something else must have held the device.
extern "C" __global__ void kb_watch(u64 ns, u64 suspicious, u64* gaps) {
  const u64 start = timer();
  u64 last = start, largest = 0, sum = 0;
  while (last - start < ns) {
    const u64 now = timer();
    const u64 gap = now - last;
    largest = gap > largest ? gap : largest;
    if (gap > suspicious) sum += gap;
    last = now;
  }
  gaps[0] = largest;
  gaps[1] = sum;
}

// out[i] = the element of `size` bytes (1, 2, 4, 8 or 16) at positions[i].
extern "C" __global__ void kb_gather(const u8* data, u32 size, const i64* positions, u32 n, u8* out) {
  for (u64 i = first_thread(); i < n; i += all_threads()) {
    const u8* from = data + positions[i] * size;
    switch (size) {
      case 1: out[i] = *from; break;
      case 2: reinterpret_cast<u16*>(out)[i] = *reinterpret_cast<const u16*>(from); break;
      case 4: reinterpret_cast<u32*>(out)[i] = *reinterpret_cast<const u32*>(from); break;
      case 8: reinterpret_cast<u64*>(out)[i] = *reinterpret_cast<const u64*>(from); break;
      case 16:
        reinterpret_cast<u64*>(out)[2 * i] = reinterpret_cast<const u64*>(from)[0];
        reinterpret_cast<u64*>(out)[2 * i + 1] = reinterpret_cast<const u64*>(from)[1];
        break;
    }
  }
}

// As kb::BlockStats (compare_kernels.h).
struct BlockStats {
  double error_rms, error_max, ratio_max, expected_rms, expected_mean;
  int compared, finite, mismatched, padding;
};

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
  static __device__ double value(u16 bits) { return __uint_as_float(static_cast<u32>(bits) << 16); }
};
struct F16 {
  typedef u16 Bits;
  static __device__ double value(u16 bits) {
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));
    return wide;
  }
};

static __device__ bool is_finite(double x) { return fabs(x) <= 1.7976931348623157e308; }
static __device__ double root(double sum, int count) { return count == 0 ? 0.0 : sqrt(sum / count); }

// Sums over each block of `block` components: a warp takes a block at a time.
template <typename T, typename E, bool kAnchor>
static __device__ void stats_of_blocks(const void* got, const void* expected, i64 n, int block, double atol, double rtol,
                                       u64 poison, BlockStats* out) {
  const typename T::Bits* g_bits = static_cast<const typename T::Bits*>(got);
  const typename E::Bits* e_bits = static_cast<const typename E::Bits*>(expected);
  const int lane = threadIdx.x % 32;
  const i64 blocks = (n + block - 1) / block;
  for (i64 b = static_cast<i64>(first_thread() / 32); b < blocks; b += static_cast<i64>(all_threads() / 32)) {
    double error_square = 0, square = 0, sum = 0, error_max = 0, ratio_max = 0;
    int compared = 0, finite = 0, mismatched = 0;
    const i64 end = (b + 1) * block < n ? (b + 1) * block : n;
    for (i64 i = b * block + lane; i < end; i += 32) {
      const typename T::Bits gb = g_bits[i];
      const typename E::Bits eb = e_bits[i];
      const double g = T::value(gb), e = E::value(eb);
      const bool both = is_finite(g) && is_finite(e);
      const bool use = kAnchor ? both : is_finite(e);
      const bool unwritten = !kAnchor && gb == static_cast<typename T::Bits>(poison) && static_cast<u64>(eb) != poison;
      const bool same = g == e || (g != g && e != e);
      const double error = both ? fabs(g - e) : 0.0;
      const double value = use ? e : 0.0;
      error_square += error * error;
      square += value * value;
      sum += value;
      error_max = fmax(error_max, error);
      const double ratio = error / (atol + rtol * fabs(value));
      ratio_max = ratio > ratio_max ? ratio : ratio_max;
      compared += both;
      finite += use;
      mismatched += !both && (unwritten || !same);
    }
    for (int step = 16; step > 0; step /= 2) {
      error_square += __shfl_down_sync(~0u, error_square, step);
      square += __shfl_down_sync(~0u, square, step);
      sum += __shfl_down_sync(~0u, sum, step);
      error_max = fmax(error_max, __shfl_down_sync(~0u, error_max, step));
      ratio_max = fmax(ratio_max, __shfl_down_sync(~0u, ratio_max, step));
      compared += __shfl_down_sync(~0u, compared, step);
      finite += __shfl_down_sync(~0u, finite, step);
      mismatched += __shfl_down_sync(~0u, mismatched, step);
    }
    if (lane == 0) {
      out[b] = {root(error_square, compared), error_max, ratio_max, root(square, finite),
                finite == 0 ? 0.0 : sum / finite, compared, finite, mismatched, 0};
    }
  }
}

#define STATS(name, type)                                                                                             \
  extern "C" __global__ void kb_stats_##name(const void* got, const void* expected, i64 n, int block, double atol,    \
                                             double rtol, u64 poison, BlockStats* out) {                              \
    stats_of_blocks<type, type, false>(got, expected, n, block, atol, rtol, poison, out);                             \
  }                                                                                                                   \
  extern "C" __global__ void kb_anchor_##name(const void* got, const void* expected, i64 n, int block, double, double, \
                                              u64, BlockStats* out) {                                                 \
    stats_of_blocks<type, F64, true>(got, expected, n, block, 0, 0, 0, out);                                          \
  }
STATS(f32, F32)
STATS(f64, F64)
STATS(f16, F16)
STATS(bf16, BF16)

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
