#include "judge/evaluation.h"

#include <algorithm>
#include <cmath>

#include "judge/hedges.h"
#include "judge/speed_of_light.h"
#include "judge/stats/stats.h"
#include "judge/void_rounds.h"

namespace kb {
namespace {

using nlohmann::json;

json Positive(double value) { return value > 0 ? json(value) : json(nullptr); }

json SampleJson(const Round& round, const Evaluation& evaluation) {
  const double candidate = evaluation.CandidateUs(round), baseline = evaluation.BaselineUs(round);
  return {{"index", round.plan.index},
          {"distribution", round.plan.distribution},
          {"weights", round.plan.weights},
          {"scored", round.plan.scored},
          {"void", round.void_reason.empty() ? json(nullptr) : json(round.void_reason)},
          {"candidate_us", candidate},
          {"baseline_us", baseline},
          {"candidate_clock_us", evaluation.ClockUs(round)},
          {"baseline_clock_us", round.baseline_clock_us},
          {"candidate_event_us", Positive(round.candidate_event_us)},
          {"baseline_event_us", Positive(round.baseline_event_us)},
          {"ratio", candidate > 0 ? json(baseline / candidate) : json(nullptr)},
          {"worst", round.worst}};
}

}  // namespace

bool IsOf(const Round& round, const std::string& distribution) {
  return distribution == "stressed" ? round.plan.distribution != "natural" : round.plan.distribution == distribution;
}

void Evaluation::AddError(const std::string& distribution, const json& over_allowed) {
  json& known = errors[distribution];
  known = known.is_null() ? over_allowed : LargerError(known, over_allowed);
}

void Evaluation::AddNote(const std::string& note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
}

void Evaluation::MachineBusy() {
  no_speedup = "machine_busy";
  AddNote(
      "machine_busy: other programs disturbed what is measured before or after the rounds; there is no speedup. End "
      "them and judge it again");
}

double Evaluation::CandidateUs(const Round& round) const {
  const double clock_us = ClockUs(round);
  if (!own_process || by_clock) return clock_us;
  const double above_us = OffsetUncertaintyUs(), below_us = above_us + AroundCallUs();
  return Refined(round.candidate_event_us, clock_us, below_us, above_us);
}

double Evaluation::BaselineUs(const Round& round) const {
  return by_clock ? std::min(round.baseline_us, round.baseline_clock_us) : round.baseline_us;
}

double Evaluation::OffsetUncertaintyUs() const {
  if (own_process) {
    const double differ_us = std::abs(offset_us - reference_offset_us);
    return std::max(offset_spread_us + reference_spread_us, differ_us) + kOwnProcessUs;
  }
  return offset_spread_us + (device == "cpu" ? 0 : kCudaWarmingUs);
}

double Evaluation::AroundCallUs() const {
  if (device == "cpu" || candidate.at("kind") != "module") return 0;
  return own_process ? kOwnModuleUs : kCudaModuleUs;
}

double Evaluation::ClockUs(const Round& round) const {
  const double least_us = std::min(offset_us, reference_offset_us) - kNoDeviceUs;
  if (own_process && round.candidate_us < least_us) return round.candidate_us;
  return WithoutOffset(round.candidate_us, offset_us, device == "cpu" ? kCpuOffsetShare : kCudaOffsetShare);
}

bool Evaluation::DeviceBound() const {
  return own_process && undisturbed.launch_us < std::max(kLaunchedAtOnceUs, 0.8 * undisturbed.us);
}

double Evaluation::UndisturbedUs(const Round& round) const {
  const auto slower = slower_inputs.find(round.plan.distribution);
  return undisturbed.us * (slower == slower_inputs.end() ? 1 : slower->second);
}

json Evaluation::ToJson() const {
  json samples = json::array();
  for (const Round& round : rounds) samples.push_back(SampleJson(round, *this));
  json keys = protocol.ToJson();
  json out = {{"schema", 1},
              {"id", id},
              {"created", created},
              {"problem", problem},
              {"problem_sha256", problem_sha256},
              {"size", size},
              {"device", device},
              {"device_info", device_info},
              {"protocol", protocol.name},
              {"protocol_keys", std::move(keys)},
              {"protocol_changed", protocol.changed},
              {"candidate", candidate},
              {"verdict", VerdictName(verdict)},
              {"reason", reason},
              {"notes", notes},
              {"mismatch", mismatch},
              {"errors", errors},
              {"baseline", protocol.baseline},
              {"undisturbed_baseline_us", Positive(undisturbed.us)},
              {"reference_process", own_process ? "own" : "device"},
              {"offset_us", Positive(offset_us)},
              {"prepare_us", Positive(prepare_us)},
              {"samples", std::move(samples)},
              {"isolation", isolation},
              {"isolation_info", barriers},
              {"evidence", evidence},
              {"authorship", authorship},
              {"engine_us", engine_us}};
  const bool correct = verdict == Verdict::kCorrect, measured = correct && speedup && no_speedup.empty();
  const std::string why = protocol.measure ? no_speedup : "not_measured";
  out["no_speedup"] = correct && !measured ? json(why) : json(nullptr);
  const double cap = protocol.speedup_cap > 0 ? protocol.speedup_cap : INFINITY;
  out["speedup"] = measured ? json(std::min(speedup->speedup, cap)) : json(nullptr);
  out["speedup_interval"] =
      measured ? json({std::min(speedup->low, cap), std::min(speedup->high, cap)}) : json(nullptr);
  out["confidence"] = measured ? json(speedup->coverage) : json(nullptr);
  out["floor"] = measured ? json(speedup->floor) : json(nullptr);
  out["headline"] = measured ? json(headline) : json(nullptr);
  out["baseline_us"] = measured ? json(speedup->baseline_us) : json(nullptr);
  out["candidate_us"] = measured ? json(speedup->candidate_us) : json(nullptr);
  out["speed_of_light"] =
      measured ? SpeedOfLight(figures, device_info, protocol.precision, speedup->candidate_us) : json(nullptr);
  out["rounds"] = measured ? speedup->rounds : 0;
  return out;
}

}  // namespace kb
