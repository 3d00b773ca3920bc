#include "judge/rule/hedges.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "judge/stats/stats.h"

namespace kb {

void HedgeAgainstSlowedBaseline(Timings* timings) {
  Speedup& speedup = *timings->speedup;
  const double alone_us = timings->undisturbed.us;
  if (timings->headline != "natural" || !(alone_us > 0) || !(speedup.candidate_us > 0)) return;
  const double alone = alone_us / speedup.candidate_us;
  const double low = alone * std::max(0.0, 1 - speedup.floor), high = alone * (1 + speedup.floor);
  speedup.low = std::min(speedup.low, low);
  speedup.high = std::max(speedup.high, high);
  speedup.speedup = std::min(speedup.speedup, high);
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
