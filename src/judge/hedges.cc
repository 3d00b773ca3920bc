#include "judge/hedges.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "judge/stats/stats.h"
#include "judge/void_rounds.h"

namespace kb {
namespace {

bool IsCpuModule(const Evaluation& evaluation) {
  return evaluation.device == "cpu" && evaluation.candidate.at("kind") == "module";
}

}  // namespace

void HedgeAgainstLoad(Evaluation* evaluation) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  double quietest = kNever, undisturbed = kNever, latest_us = 0;
  bool admitted = false;
  for (const Round& round : evaluation->rounds) {
    if (!evaluation->InHeadline(round)) continue;
    if (evaluation->UndisturbedUs(round) > 0) undisturbed = std::min(undisturbed, evaluation->UndisturbedUs(round));
    quietest = std::min({quietest, undisturbed, round.baseline_us});
    admitted |= round.admitted;
    if (LaunchedSlowly(round, *evaluation)) latest_us = std::max(latest_us, LaunchedLaterUs(round, *evaluation));
  }
  if (latest_us > 0) {
    admitted = true;
    evaluation->AddNote(
        fmt::format("launches_vary: launching the baseline took up to {:.0f} us longer than before loading, and "
                    "such rounds count; the interval reaches down to the undisturbed figure",
                    latest_us));
  }
  Speedup& speedup = *evaluation->speedup;
  const double baseline_us = admitted ? quietest : evaluation->device == "cpu" ? kNever : undisturbed;
  speedup.low = std::min(speedup.low, baseline_us / speedup.candidate_us * std::max(0.0, 1 - speedup.floor));
}

void HedgeAgainstSlowerMachine(Evaluation* evaluation) {
  std::vector<double> disturbed;
  for (const Round& round : evaluation->rounds) {
    if (evaluation->InHeadline(round) && round.admitted && round.disturbed_us > 0)
      disturbed.push_back(round.disturbed_us);
  }
  if (disturbed.empty()) return;
  Speedup& speedup = *evaluation->speedup;
  speedup.high = std::max(speedup.high, Median(disturbed) / speedup.candidate_us * (1 + speedup.floor));
}

void HedgeAgainstHiddenLaunches(Evaluation* evaluation) {
  Speedup& speedup = *evaluation->speedup;
  if (evaluation->device == "cpu" || !(speedup.candidate_us > 0)) return;
  double hidden_us = kCudaHiddenUs + evaluation->AroundCallUs();
  if (evaluation->own_process) {  // launches hide on both sides, and events are the candidate's word
    std::vector<double> clock_us;
    for (const Round& round : evaluation->rounds) {
      if (evaluation->InHeadline(round) && round.void_reason.empty()) clock_us.push_back(evaluation->ClockUs(round));
    }
    hidden_us = clock_us.empty() ? 0 : std::max(0.0, Median(clock_us) - speedup.candidate_us);
  }
  speedup.low *= speedup.candidate_us / (speedup.candidate_us + hidden_us);
}

double CopyUs(const nlohmann::json& problem, const Evaluation& evaluation) {
  double bytes = 0;
  for (const nlohmann::json& tensor : problem.at("outputs")) bytes += tensor.at("bytes").get<double>();
  const double copy_gb_s = evaluation.device_info.value("copy_gb_s", 0.0);
  return copy_gb_s > 0 ? 100 + 1.5 * 2 * bytes / (copy_gb_s * 1e3) : 0;
}

void HedgeAgainstLeftOutCopy(const nlohmann::json& problem, Evaluation* evaluation) {
  Speedup& speedup = *evaluation->speedup;
  if (!IsCpuModule(*evaluation) || !(speedup.candidate_us > 0)) return;
  speedup.low *= speedup.candidate_us / (speedup.candidate_us + CopyUs(problem, *evaluation));
}

double ColdRunnerFactor(const Evaluation& evaluation, double candidate_us) {
  if (!IsCpuModule(evaluation) || !(candidate_us > 0)) return 1;
  return candidate_us / (candidate_us - std::min(kCpuColdModuleUs, candidate_us / 2));
}

void HedgeAgainstColdRunner(Evaluation* evaluation) {
  evaluation->speedup->high *= ColdRunnerFactor(*evaluation, evaluation->speedup->candidate_us);
}

}  // namespace kb
