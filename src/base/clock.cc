#include "base/clock.h"

#include <ctime>

namespace kb {

int64_t UtcSeconds() { return std::time(nullptr); }

std::string UtcText(int64_t seconds, const char* format) {
  const std::time_t time = seconds;
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &utc)};
}

}  // namespace kb
