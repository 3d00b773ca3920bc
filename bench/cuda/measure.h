// What the measurements in this folder share.
#ifndef BENCH_CUDA_MEASURE_H_
#define BENCH_CUDA_MEASURE_H_

#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

// Of the runtime or the driver; what fails ends the program.
#define CHECK(call)                                                                                             \
  do {                                                                                                          \
    const auto check_status = (call);                                                                           \
    if (static_cast<int>(check_status) != 0) {                                                                  \
      std::fprintf(stderr, "%s:%d: error %d: %s\n", __FILE__, __LINE__, static_cast<int>(check_status), #call); \
      std::abort();                                                                                             \
    }                                                                                                           \
  } while (0)

inline int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000ll + now.tv_nsec;
}

__device__ inline uint64_t GlobalTimer() {
  uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

#endif  // BENCH_CUDA_MEASURE_H_
