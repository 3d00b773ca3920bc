#include "generate/budget.h"

#include <fmt/format.h>

#include "base/result.h"

namespace kb {

Budget::Budget(const BudgetCaps& caps, CallCost spent, int64_t evaluations, int64_t start_ns)
    : caps_(caps), start_ns_(start_ns), spent_(spent), evaluations_(evaluations) {}

Budget::Reached Budget::Full(bool evaluation) const {
  // Only calls give back tokens and money: who waited for evaluations might wait for the one that it holds itself.
  if (caps_.tokens && spent_.tokens + reserved_.tokens >= *caps_.tokens) {
    return {fmt::format("--max-tokens {}", *caps_.tokens), calls_ > 0};
  }
  if (caps_.usd && spent_.usd + reserved_.usd >= *caps_.usd) {
    return {fmt::format("--max-usd {}", *caps_.usd), calls_ > 0};
  }
  if (evaluation && caps_.evaluations && evaluations_ + evaluations_reserved_ >= *caps_.evaluations) {
    return {fmt::format("--max-evaluations {}", *caps_.evaluations), evaluations_reserved_ > 0};
  }
  return {};
}

Admission Budget::Reserve(const CallCost& most, bool evaluation, int64_t now_ns) {
  if (!ended_by_.empty()) return Admission::kEnded;
  if (caps_.seconds && static_cast<double>(now_ns - start_ns_) / 1e9 >= *caps_.seconds) {
    ended_by_ = fmt::format("--max-time {}", *caps_.seconds);
    return Admission::kEnded;
  }
  if (Reached full = Full(evaluation); !full.cap.empty()) {
    if (full.for_now) return Admission::kWait;
    ended_by_ = std::move(full.cap);
    return Admission::kEnded;
  }
  ++calls_;
  reserved_.tokens += most.tokens;
  reserved_.usd += most.usd;
  evaluations_reserved_ += evaluation ? 1 : 0;
  return Admission::kGranted;
}

void Budget::Settle(const CallCost& most, std::optional<int64_t> tokens, std::optional<double> usd) {
  KB_CHECK(calls_ > 0);
  --calls_;
  reserved_.tokens -= most.tokens;
  reserved_.usd = calls_ == 0 ? 0 : reserved_.usd - most.usd;  // nothing in flight: no remainder of rounding either
  spent_.tokens += tokens.value_or(most.tokens);
  spent_.usd += usd.value_or(most.usd);
}

bool Budget::ReserveEvaluation(bool ends) {
  if (caps_.evaluations && evaluations_ + evaluations_reserved_ >= *caps_.evaluations) {
    if (ends) ended_by_ = fmt::format("--max-evaluations {}", *caps_.evaluations);
    return false;
  }
  ++evaluations_reserved_;
  return true;
}

void Budget::Evaluated(bool made) {
  KB_CHECK(evaluations_reserved_ > 0);
  --evaluations_reserved_;
  evaluations_ += made ? 1 : 0;
}

}  // namespace kb
