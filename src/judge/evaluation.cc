#include "judge/evaluation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/evaluation_schema.h"
#include "judge/speed_of_light.h"

namespace kb {
namespace {

using nlohmann::json;

json Positive(double value) { return value > 0 ? json(value) : json(nullptr); }

json SampleJson(const TimedCalls& round, double worst, const Timings& timings) {
  const double candidate = timings.CandidateUs(round), baseline = timings.BaselineUs(round);
  return {{"index", round.plan.index},
          {"distribution", round.plan.distribution},
          {"weights", round.plan.weights},
          {"scored", round.plan.scored},
          {"void", round.void_reason.empty() ? json(nullptr) : json(round.void_reason)},
          {"candidate_us", candidate},
          {"baseline_us", baseline},
          {"candidate_clock_us", timings.ClockUs(round)},
          {"baseline_clock_us", round.baseline_clock_us},
          {"candidate_event_us", Positive(round.candidate_event_us)},
          {"baseline_event_us", Positive(round.baseline.event_us)},
          {"ratio", candidate > 0 ? json(baseline / candidate) : json(nullptr)},
          {"worst", worst}};
}

// By input distribution the largest error that was found, over what is allowed: a number, or "inf".
json ErrorsOf(const Measurements& measured) {
  json errors = json::object();
  const auto add = [&](const std::string& distribution, const json& over_allowed) {
    json& known = errors[distribution];
    known = known.is_null() ? over_allowed : LargerError(known, over_allowed);
  };
  for (const Round& round : measured.rounds) add(round.plan.distribution, round.worst);
  if (measured.ending && measured.ending->mismatch.is_object()) {
    add(measured.ending->distribution, measured.ending->error);
  }
  for (const auto& [distribution, error] : measured.elsewhere) add(distribution, error);
  return errors;
}

}  // namespace

void Evaluation::Conclude(const Calibration& calibration) {
  Conclusion conclusion = kb::Conclude(measured, protocol, calibration);
  verdict = conclusion.verdict;
  reason = std::move(conclusion.reason);
  started_early = conclusion.started_early;
  evidence.update(conclusion.evidence);
  timings = std::move(conclusion.timings);
}

json ConclusionJson(const Conclusion& conclusion, const Measurements& measured, const json& device_info,
                    const json& figures) {
  const Timings& timings = conclusion.timings;
  const Protocol& protocol = timings.protocol;
  json samples = json::array();
  for (size_t i = 0; i < timings.rounds.size(); ++i) {
    samples.push_back(SampleJson(timings.rounds[i], measured.rounds[i].worst, timings));
  }
  json notes = json::array();
  for (const std::string& note : measured.notes) notes.push_back(MakeNote(note));
  for (const Note& note : timings.notes) notes.push_back(note);
  json out = {{"verdict", VerdictName(conclusion.verdict)},
              {"reason", conclusion.reason},
              {"notes", std::move(notes)},
              {"errors", ErrorsOf(measured)},
              {"undisturbed_baseline_us", Positive(timings.undisturbed.us)},
              {"offset_us", Positive(timings.offset_us)},
              {"samples", std::move(samples)}};
  const std::optional<Speedup>& speedup = timings.speedup;
  const bool correct = conclusion.verdict == Verdict::kCorrect;
  const bool told = correct && speedup && timings.no_speedup.empty();
  const std::string why = protocol.measure ? timings.no_speedup : "not_measured";
  const double cap = protocol.speedup_cap > 0 ? protocol.speedup_cap : INFINITY;
  out["no_speedup"] = correct && !told ? json(why) : json(nullptr);
  out["speedup"] = told ? json(std::min(speedup->speedup, cap)) : json(nullptr);
  out["speedup_interval"] = told ? json({std::min(speedup->low, cap), std::min(speedup->high, cap)}) : json(nullptr);
  out["confidence"] = told ? json(speedup->coverage) : json(nullptr);
  out["floor"] = told ? json(speedup->floor) : json(nullptr);
  out["headline"] = told ? json(timings.headline) : json(nullptr);
  out["baseline_us"] = told ? json(speedup->baseline_us) : json(nullptr);
  out["candidate_us"] = told ? json(speedup->candidate_us) : json(nullptr);
  out["speed_of_light"] =
      told ? SpeedOfLight(figures, device_info, protocol.precision, speedup->candidate_us) : json(nullptr);
  out["rounds"] = told ? speedup->rounds : 0;
  return out;
}

json Evaluation::ToJson() const {
  json keys = protocol.ToJson();
  json out = {{"schema", kEvaluationSchema},
              {"id", id},
              {"created", created},
              {"problem", problem},
              {"problem_sha256", problem_sha256},
              {"problem_source", problem_source},
              {"size", size},
              {"device", device},
              {"device_info", device_info},
              {"protocol", protocol.name},
              {"protocol_keys", std::move(keys)},
              {"protocol_changed", protocol.changed},
              {"candidate", candidate},
              {"mismatch", measured.ending ? measured.ending->mismatch : json(nullptr)},
              {"baseline", protocol.baseline},
              {"prepare_us", Positive(measured.prepare_us)},
              {"isolation", isolation},
              {"isolation_info", barriers},
              {"evidence", evidence},
              {"authorship", measured.authorship},
              {"figures", figures},
              {"measurements", tried ? json(measured) : json(nullptr)},
              {"engine_us", engine_us}};
  Conclusion conclusion{.verdict = verdict, .reason = reason, .timings = timings};
  conclusion.timings.protocol = protocol;
  out.update(ConclusionJson(conclusion, measured, device_info, figures));
  return out;
}

}  // namespace kb
