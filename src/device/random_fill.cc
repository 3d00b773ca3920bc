#include "device/random_fill.h"

#include <algorithm>
#include <bit>

#include "device/clones.h"

namespace kb {
namespace {

constexpr int kLanes = 16;                     // generators side by side: one vector register of the widest kind each
constexpr int64_t kSeeded = int64_t{1} << 18;  // numbers from one seeding
static_assert(kSeeded % kLanes == 0);

uint64_t SplitMix64(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

struct Generators {
  alignas(64) uint32_t s0[kLanes], s1[kLanes], s2[kLanes], s3[kLanes];

  explicit Generators(uint64_t seed) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t a = SplitMix64(&seed), b = SplitMix64(&seed);
      s0[i] = static_cast<uint32_t>(a);
      s1[i] = static_cast<uint32_t>(a >> 32);
      s2[i] = static_cast<uint32_t>(b);
      s3[i] = static_cast<uint32_t>(b >> 32) | 1;  // never all zero
    }
  }

  KB_INLINE void Next(float* out) {
#pragma omp simd
    for (int i = 0; i < kLanes; ++i) {
      const uint32_t sum = s0[i] + s3[i];
      const uint32_t result = (sum << 7 | sum >> 25) + s0[i];
      const uint32_t shifted = s1[i] << 9;
      s2[i] ^= s0[i];
      s3[i] ^= s1[i];
      s1[i] ^= s2[i];
      s0[i] ^= s3[i];
      s2[i] ^= shifted;
      s3[i] = s3[i] << 11 | s3[i] >> 21;
      out[i] = static_cast<float>(static_cast<int32_t>(result >> 8)) * 0x1p-24f;
    }
  }
};

KB_CLONES void FillPiece(float* to, int64_t n, uint64_t seed) {
  Generators generators(seed);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) generators.Next(to + i);
  float rest[kLanes];
  generators.Next(rest);
  std::copy_n(rest, n - i, to + i);
}

}  // namespace

void FillUniform(ThreadPool& pool, float* to, int64_t n, uint64_t seed) {
  pool.Run((n + kSeeded - 1) / kSeeded, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      uint64_t state = seed + static_cast<uint64_t>(piece) * 0xd1342543de82ef95;
      FillPiece(to + piece * kSeeded, std::min(kSeeded, n - piece * kSeeded), SplitMix64(&state));
    }
  });
}

}  // namespace kb
