#include "base/clock.h"

#include <ctime>

namespace kb {

std::string UtcNow(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[64];
  return {text, std::strftime(text, sizeof text, format, &utc)};
}

}  // namespace kb
