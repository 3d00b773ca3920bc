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

// From a few microseconds to milliseconds on either kind of device.
struct Case {
  const char* device;  // empty: any
  const char* problem;
  const char* size;
  const char* example;  // empty: a module that is the reference itself
};
constexpr Case kCases[] = {{"", "1/19", "small", ""},
                           {"", "1/23", "small", ""},
                           {"", "1/36", "small", ""},
                           {"", "1/1", "small", ""},
                           {"", "2/40", "small", ""},
                           {"cpu", "1/19", "small", "1_19_relu/plain.cpp"},
                           {"cpu", "1/1", "small", "1_1_matmul/tiled.cpp"},
                           {"cpu", "1/36", "small", "1_36_rmsnorm/fused.cpp"},
                           {"cuda", "1/1", "standard", ""},
                           {"cuda", "1/95", "standard", ""},
                           {"cuda", "1/1", "small", "1_1_matmul/naive.cu"},
                           {"cuda", "1/36", "small", "1_36_rmsnorm/fused.cu"},
                           {"cuda", "1/94", "small", "1_94_mse/fused.cu"},
                           {"cuda", "1/36", "standard", "1_36_rmsnorm/fused.cu"}};
constexpr double kLongUs = 500, kLeast = 0.005, kTooFar = 0.5;
constexpr int kBusyAgain = 5;  // so often what met a busy machine is judged again

// To 1 / `parts`; what rounding left above that is none. Never -0.
double RoundedUp(double value, double parts) { return std::ceil(value * parts - 1e-6) / parts + 0.0; }

struct Known {
  std::string name;
  ProblemFile problem;
  std::string size;
  Candidate candidate;
};

// A candidate that does what the reference does, from its own text.
Result<Candidate> SelfOf(const ProblemFile& problem) {
  KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(problem.path, 16 << 20));
  static const std::regex kModel(R"(\bModel\b)");
  return MakeCandidate("model_new.py", std::regex_replace(source, kModel, "ModelNew"), "cpu");
}

Result<std::vector<Known>> CandidatesFor(const Setup& setup) {
  std::vector<Known> known;
  for (const Case& each : kCases) {
    const std::string_view device = each.device, example = each.example;
    if (!device.empty() && device != setup.device.kind->name) continue;
    KB_ASSIGN_OR_RETURN(ProblemFile problem, FindProblem(setup.installation.problems, each.problem));
    KB_ASSIGN_OR_RETURN(Candidate candidate, example.empty()
                                                 ? SelfOf(problem)
                                                 : ReadCandidate(setup.installation.examples / example, each.device));
    known.push_back({fmt::format("{}@{}, {}", each.problem, each.size, example.empty() ? "module" : "native"),
                     std::move(problem), each.size, std::move(candidate)});
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
      const Request request{known[i].problem, known[i].size, known[i].candidate, protocol};
      auto ratio = RatioOf(evaluator, request);
      for (int again = 0; again < kBusyAgain && !ratio && ratio.error().code == ErrorCode::kUnavailable; ++again) {
        ratio = RatioOf(evaluator, request);
      }
      if (!ratio) return Fail(ratio.error().code, known[i].name + ": " + ratio.error().message);
      ratios[i].push_back(ratio->speedup);
      us[i].push_back(ratio->candidate_us);
      say(fmt::format("{} of {}: {:<21} {:>9.1f} us, ratio {:.3f}", time, times, known[i].name, ratio->candidate_us,
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
