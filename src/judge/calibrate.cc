#include "judge/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "base/file.h"
#include "judge/problem/problem_catalog.h"
#include "judge/rule/headline.h"
#include "judge/stats/stats.h"

namespace kb {
namespace {

// From a few microseconds to milliseconds at this size.
constexpr const char* kSize = "small";
constexpr const char* kModules[] = {"1/19", "1/23", "1/36", "1/1", "2/40"};
struct Native {
  const char* device;
  const char* problem;
  const char* example;
};
constexpr Native kNative[] = {{"cpu", "1/19", "1_19_relu/plain.cpp"},    {"cpu", "1/1", "1_1_matmul/tiled.cpp"},
                              {"cpu", "1/36", "1_36_rmsnorm/fused.cpp"}, {"cuda", "1/1", "1_1_matmul/naive.cu"},
                              {"cuda", "1/36", "1_36_rmsnorm/fused.cu"}, {"cuda", "1/94", "1_94_mse/fused.cu"}};
constexpr double kLongUs = 500, kLeast = 0.005, kTooFar = 0.5;
constexpr int kBusyAgain = 5;  // so often what met a busy machine is judged again

// To 1 / `parts`; what rounding left above that is none.
double RoundedUp(double value, double parts) { return std::ceil(value * parts - 1e-6) / parts; }

struct Known {
  std::string name, problem;
  Candidate candidate;
};

// A candidate that does what the reference does, from its own text.
Result<Known> SelfOf(const std::filesystem::path& problems, const std::string& name) {
  KB_ASSIGN_OR_RETURN(const ProblemFile file, FindProblem(problems, name));
  KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(file.path, 16 << 20));
  static const std::regex kModel(R"(\bModel\b)");
  KB_ASSIGN_OR_RETURN(Candidate candidate,
                      MakeCandidate("model_new.py", std::regex_replace(source, kModel, "ModelNew"), "cpu"));
  return Known{name + ", module", name, std::move(candidate)};
}

Result<std::vector<Known>> CandidatesFor(const Setup& setup) {
  std::vector<Known> known;
  for (const char* name : kModules) {
    KB_ASSIGN_OR_RETURN(Known self, SelfOf(setup.installation.problems, name));
    known.push_back(std::move(self));
  }
  for (const Native& native : kNative) {
    if (native.device != setup.device.kind->name) continue;
    KB_ASSIGN_OR_RETURN(Candidate candidate,
                        ReadCandidate(setup.installation.examples / native.example, native.device));
    known.push_back({fmt::format("{}, native", native.problem), native.problem, std::move(candidate)});
  }
  return known;
}

// The ratio of one evaluation, before anything is made of it for the floor that is in force.
Result<Speedup> RatioOf(Evaluator* evaluator, const Request& request) {
  KB_RETURN_IF_ERROR(evaluator->MakeReady(request));
  KB_ASSIGN_OR_RETURN(Prepared prepared, evaluator->Prepare(request));
  KB_ASSIGN_OR_RETURN(const Evaluation evaluation, evaluator->EvaluateToTheEnd(&prepared));
  if (evaluation.verdict != Verdict::kCorrect) {
    return Fail(ErrorCode::kEngine, fmt::format("{}: {}", VerdictName(evaluation.verdict), evaluation.reason));
  }
  const std::string& why = evaluation.timings.no_speedup;
  if (why == kMachineBusy) {
    return Fail(ErrorCode::kUnavailable, "other programs use the machine; end them, and calibrate it then");
  }
  if (!why.empty() && why != "too_short") return Fail(ErrorCode::kUnavailable, "it has no time: " + why);
  return EstimateFor(evaluation.timings, "natural");
}

}  // namespace

Floor FloorOf(const std::vector<Calibrated>& seen) {
  double longest_us = 0;
  for (const Calibrated& each : seen) longest_us = std::max(longest_us, each.candidate_us);
  Floor floor{0, kLeast};
  for (const Calibrated& each : seen) {
    if (each.candidate_us < std::min(kLongUs, longest_us)) continue;
    for (const double off : each.off) floor.relative = std::max(floor.relative, off);
  }
  floor.relative = RoundedUp(floor.relative, 1e3);
  for (const Calibrated& each : seen) {
    for (const double off : each.off) floor.us = std::max(floor.us, (off - floor.relative) * each.candidate_us);
  }
  floor.us = RoundedUp(floor.us, 10);
  return floor;
}

Result<std::vector<Calibrated>> Calibrate(Evaluator* evaluator, int times,
                                          const std::function<void(const std::string& line)>& say) {
  const Setup& setup = evaluator->setup();
  KB_ASSIGN_OR_RETURN(const Protocol protocol, Protocol::Load(setup.installation.protocols, "quick"));
  KB_ASSIGN_OR_RETURN(const std::vector<Known> known, CandidatesFor(setup));
  std::vector<Calibrated> seen(known.size());
  std::vector<std::vector<double>> ratios(known.size()), us(known.size());
  for (int time = 1; time <= times; ++time) {  // all in turn: each problem has a new process of the reference then
    for (size_t i = 0; i < known.size(); ++i) {
      KB_ASSIGN_OR_RETURN(const ProblemFile problem, FindProblem(setup.installation.problems, known[i].problem));
      const Request request{problem, kSize, known[i].candidate, protocol};
      auto ratio = RatioOf(evaluator, request);
      for (int again = 0; again < kBusyAgain && !ratio && ratio.error().code == ErrorCode::kUnavailable; ++again) {
        ratio = RatioOf(evaluator, request);
      }
      if (!ratio) return Fail(ratio.error().code, known[i].name + ": " + ratio.error().message);
      ratios[i].push_back(ratio->speedup);
      us[i].push_back(ratio->candidate_us);
      say(fmt::format("{} of {}: {:<14} {:>9.1f} us, ratio {:.3f}", time, times, known[i].name, ratio->candidate_us,
                      ratio->speedup));
    }
  }
  for (size_t i = 0; i < known.size(); ++i) {
    seen[i] = {known[i].name, known[i].candidate.kind == CandidateKind::kModule, Median(us[i]), {}};
    const double truth = seen[i].module ? 1 : Median(ratios[i]);
    for (const double ratio : ratios[i]) seen[i].off.push_back(std::abs(ratio / truth - 1));
    const double most = *std::max_element(seen[i].off.begin(), seen[i].off.end());
    if (most <= kTooFar) continue;
    return Fail(ErrorCode::kUnavailable,
                fmt::format("{}: ratios are off by {:.0f}%, which is no floor but a fault of this "
                            "machine or of what else runs on it",
                            seen[i].name, 100 * most));
  }
  return seen;
}

}  // namespace kb
