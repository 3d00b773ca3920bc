// When a failed call of a model is tried again, and after how long.
#ifndef MODEL_RETRY_H_
#define MODEL_RETRY_H_

#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace kb {

struct RetryPolicy {
  int attempts = 6;  // calls in all
  std::chrono::milliseconds first_wait{1'000};
  std::chrono::milliseconds longest_wait{60'000};
  std::chrono::milliseconds longest_retry_after{300'000};  // a server that asks for more is asked again after this
  std::chrono::milliseconds total{3'600'000};              // no call begins later than this after the first
};

// How long to wait before attempt `next` (2 for the first repetition). `random` is from [0, 1). Without a Retry-After
// the wait doubles from first_wait to longest_wait and is drawn from its upper half, so that callers who failed
// together do not come back together; with one it is that and up to a tenth more, never less.
std::chrono::milliseconds WaitBefore(int next, const RetryPolicy& policy,
                                     std::optional<std::chrono::milliseconds> retry_after, double random);

// The header's value: seconds (RFC 9110 has whole ones; fractions are taken too) or an HTTP date. A date that has
// passed is zero. Nothing if it is neither.
std::optional<std::chrono::milliseconds> ParseRetryAfter(std::string_view value, std::time_t now);

// Of an HTTP status other than 200: 408, 409, 429 and 5xx.
bool StatusIsRetried(long status);

// Of the type or code that a provider's error object names: true unless it says that the request itself is at fault
// (invalid, not allowed, unpaid), which can come with any status, 200 included.
bool ErrorTypeIsRetried(const std::string& type);

}  // namespace kb

#endif  // MODEL_RETRY_H_
