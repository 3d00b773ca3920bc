// The result of one evaluation, and its JSON (docs/reference/evaluation.md).
#ifndef JUDGE_EVALUATION_H_
#define JUDGE_EVALUATION_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "judge/protocol/protocol.h"
#include "judge/rule/rule.h"
#include "judge/verdict/verdict.h"

namespace kb {

// Microseconds spent in each named step, for engine_us.
using StepTimes = std::map<std::string, double>;

struct Evaluation {
  std::string id;
  std::string created;
  std::string problem, problem_sha256, size, device;
  std::string problem_source = "file";  // or "client", who sent its text to a service
  nlohmann::json device_info;
  Protocol protocol;
  nlohmann::json candidate;
  std::string isolation;
  std::vector<std::string> barriers;

  Verdict verdict = Verdict::kNotRun;
  std::string reason;
  nlohmann::json evidence = nlohmann::json::object();
  bool started_early = false;  // why it is `tampered`: the device was in use before calls

  bool tried = false;     // there was a trial: `measured` is of it
  Measurements measured;  // its notes are there also without
  Timings timings;        // what the rule makes of it

  double spent_s = 0;  // by the candidate, loading and in calls, in this attempt and those before
  nlohmann::json figures = nlohmann::json::object();  // bytes and flops of the problem (speed_of_light.h)
  StepTimes engine_us;

  // Adds what the rule says of the trial.
  void Conclude(const Calibration& calibration);

  nlohmann::json ToJson() const;
};

// What the rule says, as keys of an evaluation's JSON: verdict, reason, notes, errors, samples, speedup and what
// belongs to it. `device_info` and `figures`: for the speed of light.
nlohmann::json ConclusionJson(const Conclusion& conclusion, const Measurements& measured,
                              const nlohmann::json& device_info, const nlohmann::json& figures);

}  // namespace kb

#endif  // JUDGE_EVALUATION_H_
