#include "model/retry.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

namespace kb {

using std::chrono::milliseconds;

milliseconds WaitBefore(int next, const RetryPolicy& policy, std::optional<milliseconds> retry_after, double random) {
  if (retry_after) {
    const auto asked = static_cast<double>(std::min(*retry_after, policy.longest_retry_after).count());
    return milliseconds(std::llround(asked * (1 + 0.1 * random)));
  }
  const int doublings = std::clamp(next - 2, 0, 30);
  const double longest = std::min(static_cast<double>(policy.first_wait.count()) * std::exp2(doublings),
                                  static_cast<double>(policy.longest_wait.count()));
  return milliseconds(std::llround(longest * (0.5 + 0.5 * random)));
}

std::optional<milliseconds> ParseRetryAfter(std::string_view value, std::time_t now) {
  const std::string text(value);
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  if (text[0] >= '0' && text[0] <= '9') {
    const double seconds = std::strtod(text.c_str(), &end);
    constexpr double kLongest = 1e9;
    if (*end != '\0' || !std::isfinite(seconds)) return std::nullopt;
    return milliseconds(std::llround(1e3 * std::min(seconds, kLongest)));
  }
  std::tm date{};
  const char* rest = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date);
  if (rest == nullptr || *rest != '\0') return std::nullopt;
  return milliseconds(1000 * std::max<std::time_t>(0, timegm(&date) - now));
}

bool StatusIsRetried(long status) { return status == 408 || status == 409 || status == 429 || status >= 500; }

bool ErrorTypeIsRetried(const std::string& type) {
  static const std::set<std::string> final_types = {
      "authentication_error", "billing_error",    "context_length_exceeded", "insufficient_quota",
      "invalid_api_key",      "invalid_prompt",   "invalid_request_error",   "model_not_found",
      "not_found_error",      "permission_error", "request_too_large"};
  return !final_types.contains(type);
}

}  // namespace kb
