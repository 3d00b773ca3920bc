// The judge's clock: monotonic nanoseconds.
#ifndef BASE_CLOCK_H_
#define BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace kb {

inline int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace kb

#endif  // BASE_CLOCK_H_
