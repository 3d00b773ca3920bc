#include "judge/rule/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "judge/rule/hedges.h"

namespace kb {
namespace {

// Times of one distribution, or of all but the natural one ("stressed").
std::vector<TimedRound> TimesOf(const Timings& timings, const std::string& distribution) {
  std::vector<TimedRound> timed;
  std::string last;
  for (const TimedCalls& round : timings.rounds) {
    if (!IsOf(round, distribution) || !round.void_reason.empty()) continue;
    const bool apart = std::exchange(last, round.plan.distribution) != round.plan.distribution;
    timed.push_back(
        {round.plan.index, timings.CandidateUs(round), timings.BaselineUs(round), round.plan.scored, apart});
  }
  return timed;
}

EstimateOptions OptionsOf(const Protocol& protocol, double floor) {
  EstimateOptions options;
  options.statistic = protocol.statistic == "mean" ? Statistic::kMean : Statistic::kMedian;
  options.confidence = Protocol::kConfidence;
  options.floor = floor;
  return options;
}

Speedup HedgedFor(const std::string& distribution, Timings* timings) {
  timings->headline = distribution;
  timings->speedup = EstimateFor(*timings, distribution);
  HedgeAgainstSlowedBaseline(timings);
  return *timings->speedup;
}

}  // namespace

double LaunchFloor(const Timings& timings, const std::string& distribution) {
  std::vector<double> launch_us, baseline_us;
  for (const TimedCalls& round : timings.rounds) {
    if (!round.plan.scored || !round.void_reason.empty() || !IsOf(round, distribution)) continue;
    launch_us.push_back(round.baseline.launch_us);
    baseline_us.push_back(round.baseline_us);
  }
  const double time_us = baseline_us.empty() ? timings.undisturbed.us : Median(baseline_us);
  const double host_us = launch_us.empty() ? timings.undisturbed.launch_us : Median(launch_us);
  return time_us > 0 ? std::min(1.0, timings.calibration.hosts_differ * host_us / time_us) : 0;
}

double FloorOf(const Timings& timings, const std::string& distribution) {
  const Calibration& calibration = timings.calibration;
  if (timings.DeviceBound()) return calibration.device_bound_floor;
  return std::max(timings.setting.floor.relative, LaunchFloor(timings, distribution));
}

Speedup EstimateFor(const Timings& timings, const std::string& distribution) {
  EstimateOptions options = OptionsOf(timings.protocol, FloorOf(timings, distribution));
  options.looks = timings.protocol.round_checks.size();
  options.offset_uncertainty_us = timings.OffsetUncertaintyUs();
  return EstimateSpeedup(TimesOf(timings, distribution), options);
}

void ChooseHeadline(Timings* timings) {
  const Speedup natural = HedgedFor("natural", timings);
  std::vector<std::string> others;
  for (const TimedCalls& round : timings->rounds) {
    if (round.plan.scored && round.plan.distribution != "natural" &&
        std::find(others.begin(), others.end(), round.plan.distribution) == others.end()) {
      others.push_back(round.plan.distribution);
    }
  }
  if (!others.empty()) others.push_back("stressed");
  for (const std::string& name : others) {
    const Speedup other = EstimateFor(*timings, name);
    if (other.rounds < kStressedRounds || other.high >= natural.low) continue;
    timings->AddNote(fmt::format("slower_elsewhere: {:.2f}x on natural inputs, {:.2f}x [{:.2f}, {:.2f}] on {} ones, "
                                 "which therefore count",
                                 natural.speedup, other.speedup, other.low, other.high, name),
                     {{"natural", natural.speedup}, {"speedup", other.speedup}, {"distribution", name}});
    HedgedFor(name, timings);
    return;
  }
}

namespace {

// A number that its interval does not bear out.
bool IsDoubtful(const Timings& timings) {
  return !timings.calibration.on_host && timings.speedup->speedup > 2 * timings.speedup->low;
}

void HedgedHeadline(Timings* timings) {
  ChooseHeadline(timings);
  HedgeAgainstEvents(timings);
}

}  // namespace

void ConcludeSpeedup(Timings* timings) {
  HedgedHeadline(timings);
  if (!IsDoubtful(*timings) || timings->protocol.TimedByEvents()) return;
  const double by_events = timings->speedup->speedup;
  timings->by_clock = true;
  HedgedHeadline(timings);
  if (IsDoubtful(*timings)) {
    timings->by_clock = false;  // samples are told as ever
    timings->no_speedup = "too_short";
    return;
  }
  timings->AddNote(
      fmt::format(
          "by_clock: by the candidate's events it would be {:.2f}x, more than twice what is certain; the judge's "
          "clock counts for both sides",
          by_events),
      {{"by_events", by_events}});
}

void TimeByEvents(Timings* timings) {
  std::vector<TimedRound> timed;
  for (const TimedCalls& round : timings->rounds) {
    const bool natural = round.plan.distribution == "natural";
    if (!natural || !round.void_reason.empty() || !(round.candidate_event_us > 0) || !(round.baseline.event_us > 0))
      continue;
    timed.push_back({round.plan.index, round.candidate_event_us, round.baseline.event_us, round.plan.scored});
  }
  if (timed.empty()) return;
  timings->AddNote(
      fmt::format("timing_by_candidate: timing={} believes the candidate's own events; the judge's clock says {:.2f}x",
                  timings->protocol.timing, timings->speedup->speedup),
      {{"timing", timings->protocol.timing}, {"by_clock", timings->speedup->speedup}});
  timings->headline = "natural";
  timings->speedup = EstimateSpeedup(timed, OptionsOf(timings->protocol, timings->setting.floor.relative));
  HedgeAgainstSlowedBaseline(timings);
}

}  // namespace kb
