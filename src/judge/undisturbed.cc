#include "judge/undisturbed.h"

#include <cmath>
#include <cstddef>
#include <span>

#include "base/result.h"
#include "judge/stats/stats.h"

namespace kb {
namespace {

constexpr size_t kAsked = Undisturbed::kSeries, kKept = 4, kCalls = kKept + kAsked;

void KeepLast(size_t count, std::vector<double>* values) {
  if (values->size() > count) values->erase(values->begin(), values->end() - static_cast<std::ptrdiff_t>(count));
}

}  // namespace

void Undisturbed::Begin(const std::string& baseline) {
  if (baseline != baseline_) Forget();
  baseline_ = baseline;
  KeepLast(kKept, &us_);
  KeepLast(kKept, &launch_us_);
  fresh_ = 0;
}

void Undisturbed::Add(double us, double launch_us) {
  us_.push_back(us);
  launch_us_.push_back(launch_us);
  ++fresh_;
  if (fresh_ != kAsked || us_.size() == kAsked) return;
  const std::span<const double> all(us_);
  const double before = kb::Median(all.first(all.size() - kAsked)), now = kb::Median(all.last(kAsked));
  if (std::abs(now / before - 1) <= agreement_) return;
  KeepLast(kAsked, &us_);
  KeepLast(kAsked, &launch_us_);
}

void Undisturbed::Forget() {
  us_.clear();
  launch_us_.clear();
  fresh_ = 0;
}

bool Undisturbed::Enough() const { return us_.size() >= kCalls; }

bool Undisturbed::Reused() const { return us_.size() > static_cast<size_t>(fresh_); }

Undisturbed::Figure Undisturbed::Median() const {
  KB_CHECK(Enough());
  const double us = kb::Median(us_);
  return {us, kb::Median(launch_us_), 1.4826 * MedianAbsoluteDeviation(us_) / us};
}

}  // namespace kb
