#include "judge/rule/hedges.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "judge/rule/void_rounds.h"
#include "judge/stats/stats.h"

namespace kb {
void HedgeAgainstLoad(Timings* timings) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double quietest = kNever, undisturbed = kNever, latest_us = 0;
  bool admitted = false;
  for (const TimedCalls& round : timings->rounds) {
    if (!timings->InHeadline(round)) continue;
    if (timings->UndisturbedUs(round) > 0) undisturbed = std::min(undisturbed, timings->UndisturbedUs(round));
    quietest = std::min({quietest, undisturbed, round.baseline_us});
    admitted |= round.admitted;
    if (LaunchedSlowly(round, *timings)) latest_us = std::max(latest_us, LaunchedLaterUs(round, *timings));
  }
  if (latest_us > 0) {
    admitted = true;
    timings->AddNote(
        fmt::format("launches_vary: launching the baseline took up to {:.0f} us longer than before loading, and "
                    "such rounds count; the interval reaches down to the undisturbed figure",
                    latest_us));
  }
  Speedup& speedup = *timings->speedup;
  const double baseline_us = admitted ? quietest : timings->calibration.on_host ? kNever : undisturbed;
  speedup.low = std::min(speedup.low, baseline_us / speedup.candidate_us * std::max(0.0, 1 - speedup.floor));
}

void HedgeAgainstSlowerMachine(Timings* timings) {
  std::vector<double> disturbed;
  for (const TimedCalls& round : timings->rounds) {
    if (timings->InHeadline(round) && round.admitted && round.disturbed_us > 0) disturbed.push_back(round.disturbed_us);
  }
  if (disturbed.empty()) return;
  Speedup& speedup = *timings->speedup;
  speedup.high = std::max(speedup.high, Median(disturbed) / speedup.candidate_us * (1 + speedup.floor));
}

void HedgeAgainstEvents(Timings* timings) {
  std::vector<double> clock_us;
  for (const TimedCalls& round : timings->rounds) {
    if (timings->InHeadline(round) && round.void_reason.empty()) clock_us.push_back(timings->ClockUs(round));
  }
  Speedup& speedup = *timings->speedup;
  if (timings->calibration.on_host || clock_us.empty() || !(speedup.candidate_us > 0)) return;
  speedup.low *= speedup.candidate_us / std::max(speedup.candidate_us, Median(clock_us));
}

}  // namespace kb
