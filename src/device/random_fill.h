// Random numbers for inputs at the speed of memory. A problem's inputs are drawn anew for every round, and a serial
// generator would take longer for that than most candidates for their work.
#ifndef DEVICE_RANDOM_FILL_H_
#define DEVICE_RANDOM_FILL_H_

#include <cstdint>

#include "device/thread_pool.h"

namespace kb {

// Fills `to` with n independent numbers, uniform over the multiples of 2^-24 in [0, 1), as torch.rand does in fp32. The
// same seed gives the same numbers, whatever the number of threads. Generators: xoshiro128++ (Blackman and Vigna 2019),
// many side by side, seeded through SplitMix64.
void FillUniform(ThreadPool& pool, float* to, int64_t n, uint64_t seed);

}  // namespace kb

#endif  // DEVICE_RANDOM_FILL_H_
