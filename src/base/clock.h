// The judge's clock: monotonic nanoseconds. And the date, for people.
#ifndef BASE_CLOCK_H_
#define BASE_CLOCK_H_

#include <time.h>

#include <cstdint>
#include <string>

namespace kb {

inline int64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// The date and time in UTC: seconds since 1970, and in a format of strftime. Nothing is measured with it.
int64_t UtcSeconds();
std::string UtcText(int64_t seconds, const char* format);
inline std::string UtcNow(const char* format) { return UtcText(UtcSeconds(), format); }
inline constexpr char kIso8601[] = "%Y-%m-%dT%H:%M:%SZ";

}  // namespace kb

#endif  // BASE_CLOCK_H_
