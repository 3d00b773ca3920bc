#include "judge/rule/void_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "judge/stats/stats.h"

namespace kb {
namespace {

constexpr const char* kBaselineTaken = "something else used the device before the baseline";
constexpr const char* kDeviceTaken = "something else used the device before the candidate was called";

// By how much a baseline may be slower than undisturbed where calls of the latter do not differ by more.
double Slack(const Timings& timings) {
  return std::max(timings.protocol.baseline_slack, timings.calibration.baseline_slack);
}

bool IsSlower(const TimedCalls& round, const Timings& timings, double slack) {
  const double allowed_us =
      LaunchedLaterUs(round, timings) + (timings.DeviceBound() ? 0 : timings.calibration.warming_us);
  return round.baseline_us > timings.UndisturbedUs(round) * (1 + slack) + allowed_us;
}

}  // namespace

bool LostToOtherLoad(double waited_us, double span_us, const Protocol& protocol) {
  constexpr double kAlwaysUs = 300;  // wake-ups alone keep threads from running this long
  return waited_us > kAlwaysUs + protocol.load_slack * span_us;
}

double MostSlower(const Timings& timings) { return std::max(Slack(timings), 4 * timings.undisturbed.spread); }

double LaunchedLaterUs(const TimedCalls& round, const Timings& timings) {
  constexpr double kRestUs = 100;  // of a call on the host, after the last launch
  const double undisturbed_us = timings.UndisturbedUs(round);
  const double hidden_us = std::max(0.0, undisturbed_us - timings.undisturbed.launch_us - kRestUs);
  const double later_us = round.baseline.launch_us - timings.undisturbed.launch_us - hidden_us;
  return later_us > undisturbed_us ? 0 : std::max(0.0, later_us);
}

std::string VoidReason(const TimedCalls& round, const Timings& timings) {
  const Protocol& protocol = timings.protocol;
  if (round.candidate.gap_us > 0) return kDeviceTaken;
  if (round.baseline.gap_us > 0) return kBaselineTaken;
  // That the candidate's threads waited for a core says nothing: they may have waited for each other.
  if (LostToOtherLoad(round.baseline.waited_us, round.baseline_us, protocol)) return "other load during the baseline";
  if (timings.undisturbed.us <= 0) return "";
  if (IsSlower(round, timings, MostSlower(timings))) return kBaselineSlower;
  return "";
}

Asked<Duration> AskPairs(std::span<const CallTimes> calls, const Timings& timings) {
  constexpr size_t kPairs = 5, kMostPairs = 4 * kPairs;
  const auto disturbed = [&](const TimedCalls& call) {
    const std::string reason = VoidReason(call, timings);
    return !reason.empty() && reason != kBaselineSlower;
  };
  std::vector<double> ratios;
  double other_us = std::numeric_limits<double>::infinity(), natural_us = other_us;  // the least of each
  size_t pairs = 0;
  for (size_t i = 0; i < calls.size() && ratios.size() < kPairs; i += 2, ++pairs) {
    const TimedCalls other = timings.Read("natural", calls[i]);  // held against what those take
    if (!disturbed(other) && !IsSlower(other, timings, Slack(timings) / 2)) return {.answer = Duration{}};
    if (i + 1 == calls.size()) break;
    const TimedCalls natural = timings.Read("natural", calls[i + 1]);
    other_us = std::min(other_us, other.baseline_us);
    natural_us = std::min(natural_us, natural.baseline_us);
    if (!disturbed(other) && !disturbed(natural)) ratios.push_back(other.baseline_us / natural.baseline_us);
  }
  const bool certain = ratios.size() == kPairs;
  if (!certain && pairs < kMostPairs) return {.quiet = true, .draw = true};
  const double times = certain && !timings.calibration.on_host ? Median(ratios) : other_us / natural_us;
  return {.answer = Duration{std::max(1.0, times), certain}};
}

bool LaunchedSlowly(const TimedCalls& round, const Timings& timings) {
  TimedCalls at_once = round;
  at_once.baseline.launch_us = 0;
  return round.plan.scored && round.void_reason.empty() && !VoidReason(at_once, timings).empty();
}

Early StartedEarly(const Timings& timings) {
  // Runners that start ahead have the device during warm-up.
  Early early;
  for (const TimedCalls& round : timings.rounds) {
    early.of += round.plan.scored;
    early.rounds += round.plan.scored && round.candidate.gap_us > 0;
  }
  return timings.device_shared || early.rounds * 2 < early.of ? Early{} : early;
}

bool SlowThroughout(const Timings& timings) {
  constexpr double kBeyondDoubt = 10;
  const double limit = timings.protocol.slow_below / 2;
  int rounds = 0;
  bool one_not_void = false, beyond_doubt = true;
  for (const TimedCalls& round : timings.rounds) {
    if (!round.plan.scored) continue;
    if (round.candidate.gap_us > 0 || round.baseline.gap_us > 0) return false;
    if (round.plan.distribution != "natural") continue;
    const double baseline_us = std::max(round.baseline_us, timings.undisturbed.us);
    if (baseline_us >= limit * timings.CandidateUs(round)) return false;
    ++rounds;
    one_not_void |= round.void_reason.empty();
    beyond_doubt &= kBeyondDoubt * baseline_us < limit * timings.CandidateUs(round);
  }
  return (one_not_void || beyond_doubt) && rounds >= timings.protocol.round_checks.front();
}

namespace {

// Whatever disturbed an admitted round: a candidate may have kept the kernel busy beside the baseline.
void CountAsUndisturbed(TimedCalls* round, Timings* timings) {
  const double undisturbed_us = timings->UndisturbedUs(*round);
  if (!(undisturbed_us > 0) || round->baseline_us <= undisturbed_us) return;
  round->disturbed_us = std::max(round->disturbed_us, round->baseline_us);
  round->baseline_us = undisturbed_us;
  timings->AddNote(
      "baseline_disturbed: where the baseline was slower than undisturbed that figure counts; the "
      "interval reaches up to what it took");
}

}  // namespace

void CountWith(const AloneFigure& quicker, Timings* timings) {
  timings->undisturbed = quicker;
  for (TimedCalls& round : timings->rounds) {
    if (round.void_reason.empty() && !round.admitted) round.void_reason = VoidReason(round, *timings);
    if (round.admitted) CountAsUndisturbed(&round, timings);
  }
  AdmitVoidRounds(true, timings);  // there will be no others in their place
}

void AdmitVoidRounds(bool only_slower, Timings* timings) {
  for (TimedCalls& round : timings->rounds) {
    if (round.void_reason.empty() || (only_slower && round.void_reason != kBaselineSlower)) continue;
    CountAsUndisturbed(&round, timings);
    if (round.void_reason != kBaselineSlower && round.void_reason != kBaselineTaken) {
      timings->AddNote(
          "machine_busy: rounds count in which other programs ran on these cores; the times are less certain than they "
          "look");
    }
    round.void_reason.clear();
    round.admitted = true;
  }
}

}  // namespace kb
