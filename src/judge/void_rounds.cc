#include "judge/void_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "judge/stats/stats.h"

namespace kb {
namespace {

constexpr const char* kBaselineTaken = "something else used the device before the baseline";
constexpr const char* kDeviceTaken = "something else used the device before the candidate was called";
// Undisturbed baselines on one CPU differ by this much.
constexpr double kCpuBaselineSlack = 0.15;

// By how much a baseline may be slower than undisturbed where calls of the latter do not differ by more.
double Slack(const Evaluation& evaluation) {
  return std::max(evaluation.protocol.baseline_slack, evaluation.device == "cpu" ? kCpuBaselineSlack : 0.0);
}

bool IsSlower(const Round& round, const Evaluation& evaluation, double slack) {
  const bool warms = evaluation.device != "cpu" && !evaluation.DeviceBound();
  const double allowed_us = LaunchedLaterUs(round, evaluation) + (warms ? kCudaWarmingUs : 0);
  return round.baseline_us > evaluation.UndisturbedUs(round) * (1 + slack) + allowed_us;
}

}  // namespace

double MostSlower(const Evaluation& evaluation) {
  return std::max(Slack(evaluation), 4 * evaluation.undisturbed.spread);
}

double LaunchedLaterUs(const Round& round, const Evaluation& evaluation) {
  constexpr double kRestUs = 100;  // of a call on the host, after the last launch
  const double undisturbed_us = evaluation.UndisturbedUs(round);
  const double hidden_us = std::max(0.0, undisturbed_us - evaluation.undisturbed.launch_us - kRestUs);
  const double later_us = round.baseline_launch_us - evaluation.undisturbed.launch_us - hidden_us;
  return later_us > undisturbed_us ? 0 : std::max(0.0, later_us);
}

std::string VoidReason(const Round& round, const Evaluation& evaluation) {
  const Protocol& protocol = evaluation.protocol;
  if (round.candidate_gap_us > 0) return kDeviceTaken;
  if (round.baseline_gap_us > 0) return kBaselineTaken;
  // That the candidate's threads waited for a core says nothing: they may have waited for each other.
  if (LostToOtherLoad(round.baseline_waited_us, round.baseline_us, protocol)) return "other load during the baseline";
  if (evaluation.undisturbed.us <= 0) return "";
  if (IsSlower(round, evaluation, MostSlower(evaluation))) return kBaselineSlower;
  return "";
}

Result<Duration> TimesAsLong(const std::string& distribution, const Evaluation& evaluation,
                             const std::function<Result<Round>(const std::string&)>& call) {
  constexpr size_t kPairs = 5;
  const auto disturbed = [&](const Round& round) {
    const std::string reason = VoidReason(round, evaluation);
    return !reason.empty() && reason != kBaselineSlower;
  };
  std::vector<double> ratios;
  double other_us = std::numeric_limits<double>::infinity(), natural_us = other_us;  // the least of each
  for (size_t calls = 0; calls < 4 * kPairs && ratios.size() < kPairs; ++calls) {
    KB_ASSIGN_OR_RETURN(const Round other, call(distribution));
    if (!disturbed(other) && !IsSlower(other, evaluation, Slack(evaluation) / 2)) return Duration{};
    KB_ASSIGN_OR_RETURN(const Round natural, call("natural"));
    other_us = std::min(other_us, other.baseline_us);
    natural_us = std::min(natural_us, natural.baseline_us);
    if (!disturbed(other) && !disturbed(natural)) ratios.push_back(other.baseline_us / natural.baseline_us);
  }
  const bool certain = ratios.size() == kPairs;
  const double times = certain && evaluation.device != "cpu" ? Median(ratios) : other_us / natural_us;
  return Duration{std::max(1.0, times), certain};
}

bool LaunchedSlowly(const Round& round, const Evaluation& evaluation) {
  Round at_once = round;
  at_once.baseline_launch_us = 0;
  return round.plan.scored && round.void_reason.empty() && !VoidReason(at_once, evaluation).empty();
}

std::optional<Finding> StartedEarly(const Evaluation& evaluation) {
  // Runners that start ahead have the device during warm-up.
  int64_t early = 0, scored = 0;
  for (const Round& round : evaluation.rounds) {
    scored += round.plan.scored;
    early += round.plan.scored && round.candidate_gap_us > 0;
  }
  if (evaluation.device_shared || early == 0 || early * 2 < scored) return std::nullopt;
  return Finding{
      Verdict::kTampered,
      fmt::format("the device was used before the call in {} of {} rounds, and never before the candidate was "
                  "loaded",
                  early, scored),
      "", nullptr};
}

bool SlowThroughout(const Evaluation& evaluation) {
  constexpr double kBeyondDoubt = 10;
  const double limit = evaluation.protocol.slow_below / 2;
  int rounds = 0;
  bool one_not_void = false, beyond_doubt = true;
  for (const Round& round : evaluation.rounds) {
    if (!round.plan.scored) continue;
    if (round.candidate_gap_us > 0 || round.baseline_gap_us > 0) return false;
    if (round.plan.distribution != "natural") continue;
    const double baseline_us = std::max(round.baseline_us, evaluation.undisturbed.us);
    if (baseline_us >= limit * evaluation.CandidateUs(round)) return false;
    ++rounds;
    one_not_void |= round.void_reason.empty();
    beyond_doubt &= kBeyondDoubt * baseline_us < limit * evaluation.CandidateUs(round);
  }
  return (one_not_void || beyond_doubt) && rounds >= evaluation.protocol.round_checks.front();
}

namespace {

// Whatever disturbed an admitted round: a candidate may have kept the kernel busy beside the baseline.
void CountAsUndisturbed(Round* round, Evaluation* evaluation) {
  const double undisturbed_us = evaluation->UndisturbedUs(*round);
  if (!(undisturbed_us > 0) || round->baseline_us <= undisturbed_us) return;
  round->disturbed_us = std::max(round->disturbed_us, round->baseline_us);
  round->baseline_us = undisturbed_us;
  evaluation->AddNote(
      "baseline_disturbed: where the baseline was slower than undisturbed that figure counts; the "
      "interval reaches up to what it took");
}

}  // namespace

void CountWith(const Undisturbed::Figure& quicker, Evaluation* evaluation) {
  evaluation->undisturbed = quicker;
  for (Round& round : evaluation->rounds) {
    if (round.void_reason.empty() && !round.admitted) round.void_reason = VoidReason(round, *evaluation);
    if (round.admitted) CountAsUndisturbed(&round, evaluation);
  }
  AdmitVoidRounds(true, evaluation);  // there will be no others in their place
}

void AdmitVoidRounds(bool only_slower, Evaluation* evaluation) {
  for (Round& round : evaluation->rounds) {
    if (round.void_reason.empty() || (only_slower && round.void_reason != kBaselineSlower)) continue;
    CountAsUndisturbed(&round, evaluation);
    if (round.void_reason != kBaselineSlower && round.void_reason != kBaselineTaken) {
      evaluation->AddNote(
          "machine_busy: rounds count in which other programs ran on these cores; the times are less certain than they "
          "look");
    }
    round.void_reason.clear();
    round.admitted = true;
  }
}

}  // namespace kb
