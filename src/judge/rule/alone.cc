#include "judge/rule/alone.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/rule/headline.h"
#include "judge/rule/timings.h"
#include "judge/rule/void_rounds.h"
#include "judge/stats/stats.h"

namespace kb {
namespace {

constexpr size_t kNew = 2, kKept = 4, kCalls = kKept + kNew;
// On a machine where so many series of calls were disturbed nothing is timed.
constexpr int kMostDisturbedSeries = 10;
// So many calls are tried while other runners of ours start or end.
constexpr int kPatience = 14;
constexpr size_t kAgreeing = 3;  // series of empty calls
constexpr double kAgreeUs = 25;
constexpr double kLongCallUs = 2000;

// What disturbs gets time to pass: 5 ms after the first series that it disturbed, twice as long after each one more.
int PauseAfter(int series) { return 5 << std::clamp(series - 1, 0, 6); }

// Of calls of the baseline that other load disturbed, so many that there is no sense in going on.
bool TooMany(int disturbed) { return disturbed / static_cast<int>(kNew) == kMostDisturbedSeries; }

// Before another call, where the last one was disturbed.
int PauseBetween(int disturbed) {
  constexpr int kSeries = kNew;
  return disturbed % kSeries == 0 ? PauseAfter(disturbed / kSeries) : 0;
}

double MedianUs(std::span<const TimedCalls> calls) {
  std::vector<double> values;
  for (const TimedCalls& call : calls) values.push_back(call.baseline_us);
  return Median(values);
}

// What calls of the baseline are about.
class Series {
 public:
  explicit Series(const Timings& timings) : timings_(timings) {}

  void Add(const AloneCall& alone) {
    if (alone.kept) return Keep(alone.call);
    if (alone.quiet && !quiet_ && calls_ > 0) Forget();
    quiet_ = alone.quiet;
    const bool warms_up = calls_++ == 0;
    lost_ = false;
    if ((alone.call.gap_us > 0 && !alone.quiet) || warms_up) return;
    lost_ = WaitedForOthers(alone.call);
    if (lost_) {
      ++disturbed_;
      return;
    }
    Keep(alone.call);
    ++new_;
    if (new_ == static_cast<int>(kNew) && counting_.size() > kNew && !Agree()) KeepLast(kNew);
  }

  Asked<Alone> Answer() const {
    Asked<Alone> asked{.busy = TooMany(disturbed_),
                       .quiet = quiet_ || timings_.calibration.on_host || calls_ >= kPatience,
                       .draw = calls_ == 0,
                       .pause_ms = lost_ ? PauseBetween(disturbed_) : 0};
    if (asked.busy || counting_.size() < kCalls) return asked;
    const double us = MedianUs(counting_);
    std::vector<double> all, launch;
    for (const TimedCalls& call : counting_) {
      all.push_back(call.baseline_us);
      launch.push_back(call.baseline.launch_us);
    }
    asked.answer = Alone{{us, Median(launch), ScatterUs(all) / us},
                         {raw_.end() - kKept, raw_.end()},
                         counting_.size() > static_cast<size_t>(new_)};
    return asked;
  }

 private:
  void Keep(const CallTimes& call) {
    raw_.push_back(call);
    counting_.push_back(timings_.Read(call));
  }
  void KeepLast(size_t count) {
    raw_.erase(raw_.begin(), raw_.end() - static_cast<std::ptrdiff_t>(count));
    counting_.erase(counting_.begin(), counting_.end() - static_cast<std::ptrdiff_t>(count));
  }
  void Forget() {
    KeepLast(0);
    calls_ = new_ = 0;
  }
  bool Agree() const {
    const std::span<const TimedCalls> all(counting_);
    const double before = MedianUs(all.first(all.size() - kNew));
    const double now = MedianUs(all.last(kNew));
    return std::abs(now / before - 1) <= timings_.calibration.agreement;
  }

  const Timings& timings_;
  std::vector<CallTimes> raw_;
  std::vector<TimedCalls> counting_;
  int calls_ = 0, new_ = 0, disturbed_ = 0;
  bool quiet_ = false, lost_ = false;
};

}  // namespace

Asked<Alone> AskAlone(std::span<const AloneCall> calls, const Timings& timings) {
  Series series(timings);
  for (const AloneCall& call : calls) series.Add(call);
  return series.Answer();
}

bool UsedByOthers(std::span<const AloneCall> calls) {
  return std::any_of(calls.begin(), calls.end(),
                     [](const AloneCall& each) { return !each.kept && each.quiet && each.call.gap_us > 0; });
}

Asked<Alone> AskAgain(std::span<const AloneCall> calls, const Timings& timings) {
  double least_us = std::numeric_limits<double>::infinity();
  size_t alone = 0, next = 0;
  int disturbed = 0;
  bool lost = false;
  for (; next < calls.size() && alone < kNew && !TooMany(disturbed); ++next) {
    least_us = std::min(least_us, timings.Read(calls[next].call).baseline_us);
    lost = WaitedForOthers(calls[next].call);
    lost ? ++disturbed : static_cast<int>(++alone);
  }
  if (alone < kNew) {
    return {.busy = TooMany(disturbed), .quiet = true, .draw = true, .pause_ms = lost ? PauseBetween(disturbed) : 0};
  }
  if (least_us * (1 + std::max(FloorOf(timings, "natural"), 4 * timings.undisturbed.spread)) >= timings.undisturbed.us)
    return {.answer = Alone{timings.undisturbed, {}}};
  Asked<Alone> anew = AskAlone(calls.subspan(next), timings);
  anew.quiet = true;
  if (anew.answer && anew.answer->figure.us >= timings.undisturbed.us) anew.answer->figure = timings.undisturbed;
  return anew;
}

Asked<std::vector<double>> AskEmpty(std::span<const double> calls, const OffsetCalls& wanted) {
  const auto settling = static_cast<size_t>(wanted.settling), in_series = static_cast<size_t>(wanted.in_series);
  if (calls.size() <= settling) return {};
  const std::span<const double> counting = calls.subspan(settling);
  const size_t series = counting.size() / in_series;
  std::vector<double> medians;
  for (size_t i = 0; i < series; ++i) {
    medians.push_back(Median(counting.subspan(i * in_series, in_series)));
    if (medians.size() < kAgreeing) continue;
    const auto [least, most] = std::minmax_element(medians.end() - kAgreeing, medians.end());
    if (*most - *least > wanted.agree_us) continue;
    const auto last = counting.subspan((i + 1 - kAgreeing) * in_series, kAgreeing * in_series);
    std::vector<double> us(last.begin(), last.end());
    std::sort(us.begin(), us.end());
    return {.answer = std::move(us)};
  }
  const bool begins = counting.size() % in_series == 0 && series >= kAgreeing;
  return {.busy = series == kMostDisturbedSeries,
          .pause_ms = begins ? PauseAfter(static_cast<int>(series - kAgreeing) + 1) : 0};
}

OffsetCalls ReferenceOffsetCalls() { return {5, 4, kAgreeUs}; }

// On a GPU the offset is longer than many kernels.
OffsetCalls RunnerOffsetCalls(const Timings& timings) {
  const bool exact = timings.Timed();
  const double agree_us = exact ? std::max(kAgreeUs, timings.protocol.half_width * timings.undisturbed.us)
                                : std::numeric_limits<double>::infinity();
  if (timings.calibration.on_host) return {1, 3, agree_us};
  if (exact && timings.undisturbed.us < kLongCallUs) return {1 + 5, 4, agree_us};
  return {1 + 1, 2, agree_us};
}

double ScatterUs(std::span<const double> us) { return 1.4826 * MedianAbsoluteDeviation(us); }

}  // namespace kb
