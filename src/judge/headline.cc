#include "judge/headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "judge/hedges.h"
#include "judge/void_rounds.h"

namespace kb {
namespace {

// Systematic error of a ratio between two processes on one CPU, relative: what A/A runs still show after everything
// that can be subtracted is (bench/results/aa_cpu.md).
constexpr double kCpuFloor = 0.08;
// A module's outputs are copied to shared memory on both sides, which takes up to 100 us longer in a runner. Of calls
// below a millisecond what does not grow with them is more than that share (kCpuColdModuleUs).
constexpr double kCpuModuleFloor = 0.12;
// The same on a GPU, where both sides have the device to themselves (bench/results/aa_cuda.md).
constexpr double kCudaFloor = 0.02;
// And where the reference has a process of its own, and the device bounds its calls and not the host
// (bench/results/aa_cuda.md).
constexpr double kDeviceBoundFloor = 0.005;
// Two processes that do the same differ by so much of the time that the host takes to launch it
// (bench/results/host_cost.md, aa_cuda.md). Of a call that launches for 1.3 ms, of which 0.8 hide, that is 13%.
constexpr double kHostsDiffer = 0.05;

// Times of one distribution, or of all but the natural one ("stressed").
std::vector<TimedRound> TimesOf(const Evaluation& evaluation, const std::string& distribution) {
  std::vector<TimedRound> timed;
  std::string last;
  for (const Round& round : evaluation.rounds) {
    if (!IsOf(round, distribution) || !round.void_reason.empty()) continue;
    const bool apart = std::exchange(last, round.plan.distribution) != round.plan.distribution;
    timed.push_back(
        {round.plan.index, evaluation.CandidateUs(round), evaluation.BaselineUs(round), round.plan.scored, apart});
  }
  return timed;
}

EstimateOptions OptionsOf(const Protocol& protocol, double floor) {
  EstimateOptions options;
  options.statistic = protocol.statistic == "mean" ? Statistic::kMean : Statistic::kMedian;
  options.confidence = protocol.confidence;
  options.floor = floor;
  return options;
}

// With what load may have done to its rounds.
Speedup HedgedFor(const std::string& distribution, Evaluation* evaluation) {
  evaluation->headline = distribution;
  evaluation->speedup = EstimateFor(*evaluation, distribution);
  HedgeAgainstLoad(evaluation);
  return *evaluation->speedup;
}

}  // namespace

double LaunchFloor(const Evaluation& evaluation, const std::string& distribution) {
  std::vector<double> launch_us, baseline_us;
  for (const Round& round : evaluation.rounds) {
    if (!round.plan.scored || !round.void_reason.empty() || !IsOf(round, distribution)) continue;
    launch_us.push_back(round.baseline_launch_us);
    baseline_us.push_back(round.baseline_us);
  }
  const double time_us = baseline_us.empty() ? evaluation.undisturbed.us : Median(baseline_us);
  const double host_us = launch_us.empty() ? evaluation.undisturbed.launch_us : Median(launch_us);
  return time_us > 0 ? std::min(1.0, kHostsDiffer * host_us / time_us) : 0;
}

double FloorOf(const Evaluation& evaluation, const std::string& distribution) {
  if (evaluation.device == "cpu") return evaluation.candidate.at("kind") == "module" ? kCpuModuleFloor : kCpuFloor;
  if (evaluation.DeviceBound()) return kDeviceBoundFloor;
  return std::max(kCudaFloor, LaunchFloor(evaluation, distribution));
}

Speedup EstimateFor(const Evaluation& evaluation, const std::string& distribution) {
  EstimateOptions options = OptionsOf(evaluation.protocol, FloorOf(evaluation, distribution));
  options.looks = evaluation.protocol.round_checks.size();
  options.offset_uncertainty_us = evaluation.OffsetUncertaintyUs();
  return EstimateSpeedup(TimesOf(evaluation, distribution), options);
}

void ChooseHeadline(Evaluation* evaluation) {
  const Speedup natural = HedgedFor("natural", evaluation);
  std::vector<std::string> others;
  for (const Round& round : evaluation->rounds) {
    if (round.plan.scored && round.plan.distribution != "natural" &&
        std::find(others.begin(), others.end(), round.plan.distribution) == others.end()) {
      others.push_back(round.plan.distribution);
    }
  }
  if (!others.empty()) others.push_back("stressed");
  for (const std::string& name : others) {
    const Speedup other = EstimateFor(*evaluation, name);
    if (other.rounds < kStressedRounds || other.high >= natural.low) continue;
    evaluation->AddNote(
        fmt::format("slower_elsewhere: {:.2f}x on natural inputs, {:.2f}x [{:.2f}, {:.2f}] on {} ones, "
                    "which therefore count",
                    natural.speedup, other.speedup, other.low, other.high, name));
    HedgedFor(name, evaluation);
    return;
  }
}

namespace {

// A number that its interval does not bear out.
bool IsDoubtful(const Evaluation& evaluation) {
  return evaluation.own_process && evaluation.speedup->speedup > 2 * evaluation.speedup->low;
}

void HedgedHeadline(const nlohmann::json& problem, Evaluation* evaluation) {
  ChooseHeadline(evaluation);
  HedgeAgainstSlowerMachine(evaluation);
  HedgeAgainstHiddenLaunches(evaluation);
  HedgeAgainstLeftOutCopy(problem, evaluation);
  HedgeAgainstColdRunner(evaluation);
}

}  // namespace

void ConcludeSpeedup(const nlohmann::json& problem, Evaluation* evaluation) {
  HedgedHeadline(problem, evaluation);
  if (!IsDoubtful(*evaluation) || evaluation->protocol.TimedByEvents()) return;
  const double by_events = evaluation->speedup->speedup;
  evaluation->by_clock = true;
  HedgedHeadline(problem, evaluation);
  if (IsDoubtful(*evaluation)) {
    evaluation->by_clock = false;  // samples are told as ever
    evaluation->no_speedup = "too_short";
    return;
  }
  evaluation->AddNote(fmt::format(
      "by_clock: by the candidate's events it would be {:.2f}x, more than twice what is certain; the judge's "
      "clock counts for both sides",
      by_events));
}

void TimeByEvents(Evaluation* evaluation) {
  std::vector<TimedRound> timed;
  for (const Round& round : evaluation->rounds) {
    const bool natural = round.plan.distribution == "natural";
    if (!natural || !round.void_reason.empty() || !(round.candidate_event_us > 0) || !(round.baseline_event_us > 0))
      continue;
    timed.push_back({round.plan.index, round.candidate_event_us, round.baseline_event_us, round.plan.scored});
  }
  if (timed.empty()) return;
  evaluation->notes.push_back(
      fmt::format("timing_by_candidate: timing={} believes the candidate's own events; the judge's clock says {:.2f}x",
                  evaluation->protocol.timing, evaluation->speedup->speedup));
  evaluation->headline = "natural";
  evaluation->speedup = EstimateSpeedup(timed, OptionsOf(evaluation->protocol, kCudaFloor));
}

}  // namespace kb
