#include "server/faces/openenv_observation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "prompt/extract.h"
#include "prompt/feedback.h"

namespace kb::server {

using nlohmann::json;

namespace {

json ValueAt(const json& object, const char* key) { return object.is_object() ? object.value(key, json()) : json(); }

std::string StringAt(const json& object, const char* key) {
  const json member = ValueAt(object, key);
  return member.is_string() ? member.get<std::string>() : "";
}

// "1/1 to 1/100 (100), ...", by deck and level.
std::string Ranges(const json& problems) {
  std::vector<std::string> ranges;
  for (size_t first = 0; first < problems.size();) {
    size_t end = first + 1;
    while (end < problems.size() && problems[end]["deck"] == problems[first]["deck"] &&
           problems[end]["level"] == problems[first]["level"]) {
      ++end;
    }
    const std::string begin = problems[first]["name"], last = problems[end - 1]["name"];
    ranges.push_back(end - first == 1 ? begin : fmt::format("{} to {}", begin, last));
    first = end;
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

constexpr std::string_view kModelName = "Model";

// Where a class at the margin has that name.
std::vector<size_t> NamesOfModel(const std::string& code) {
  constexpr std::string_view kClass = "class ";
  std::vector<size_t> names;
  for (size_t at = code.find(kClass); at != std::string::npos; at = code.find(kClass, at + 1)) {
    if (at > 0 && code[at - 1] != '\n') continue;
    const size_t name = code.find_first_not_of(" \t", at + kClass.size());
    if (name == std::string::npos || code.compare(name, kModelName.size(), kModelName) != 0) continue;
    const size_t after = code.find_first_not_of(" \t", name + kModelName.size());
    if (after != std::string::npos && (code[after] == '(' || code[after] == ':')) names.push_back(name);
  }
  return names;
}

}  // namespace

Result<json> FindProblemId(const json& problems, const std::string& id) {
  static const std::regex forms("(?:L|level)([0-9]+)[_/]([0-9]+)(?:_[A-Za-z0-9_.-]*)?");
  std::smatch parts;
  const std::string name = std::regex_match(id, parts, forms) ? parts[1].str() + "/" + parts[2].str() : id;
  const auto found =
      std::find_if(problems.begin(), problems.end(), [&](const json& problem) { return problem["name"] == name; });
  if (found != problems.end()) return *found;
  return Fail(ErrorCode::kUsage,
              fmt::format("/problem_id: there is no problem {}; there are {}", id, Ranges(problems)));
}

Result<json> ChooseProblem(const json& problems, int level, uint64_t seed) {
  std::vector<const json*> chosen;
  for (const json& problem : problems) {
    const int its = problem["level"];
    if (problem["deck"] == "kernelbench" && (level == 0 ? its <= 3 : its == level)) chosen.push_back(&problem);
  }
  if (chosen.empty()) return Fail(ErrorCode::kUsage, fmt::format("/level: there are only {}", Ranges(problems)));
  return *chosen[seed % chosen.size()];
}

std::string CandidateOf(const std::string& code, const std::string& extension) {
  if (auto found = CodeOfAnswer(code, extension)) return std::move(*found);
  const std::vector<size_t> names = NamesOfModel(code);
  if (extension != ".py" || names.empty() || code.find("ModelNew") != std::string::npos) return code;
  std::string renamed = code;
  for (auto name = names.rbegin(); name != names.rend(); ++name) renamed.insert(*name + kModelName.size(), "New");
  if (auto found = CodeOfAnswer(renamed, extension)) return *found + "\n\nModel = ModelNew\n";
  return code + "\n\nModelNew = Model\n";
}

json EmptyObservation() {
  json observation = {{"turn", 0}, {"judging", false}, {"retryable", false}, {"metadata", json::object()}};
  for (const char* key : {"problem_id", "problem_description", "reference_code", "gpu_info", "max_turns", "feedback",
                          "compilation_success", "compilation_error", "correctness_pass", "max_diff", "speedup",
                          "speedup_interval", "no_speedup", "authorship", "verdict", "reason", "fault"}) {
    observation[key] = nullptr;
  }
  return observation;
}

void AddVerdict(const json& view, json* observation) {
  for (const char* key :
       {"speedup", "speedup_interval", "no_speedup", "authorship", "verdict", "reason", "fault", "retryable"}) {
    (*observation)[key] = ValueAt(view, key);
  }
  const std::string verdict = StringAt(view, "verdict");
  if (verdict.empty()) {
    (*observation)["feedback"] = fmt::format(
        "There is no verdict: {}. That is not the candidate's doing{}.", StringAt(view, "error"),
        ValueAt(view, "retryable") == true ? ", and the same code may fare otherwise if it is sent again" : "");
    return;
  }
  const json evaluation = ValueAt(view, "evaluation"), evidence = ValueAt(evaluation, "evidence");
  const bool built = verdict != "static_rejected" && verdict != "build_failed" && verdict != "load_failed";
  const std::string compiler = StringAt(evidence, "compiler_output");
  (*observation)["compilation_success"] = built;
  if (!built)
    (*observation)["compilation_error"] =
        compiler.empty() ? StringAt(view, "reason") : std::string(CutUtf8(compiler, 4000));
  (*observation)["correctness_pass"] = verdict == "correct";
  (*observation)["max_diff"] = ValueAt(ValueAt(evaluation, "mismatch"), "max_abs_error");
  if (!(*observation)["max_diff"].is_number()) (*observation)["max_diff"] = nullptr;
  (*observation)["feedback"] = DescribeFeedback(evaluation);
}

std::string NoRewardReason(const json& view) {
  const std::string why = StringAt(view, "no_speedup");
  if (why == "machine_busy") return "the machine was too busy for a speedup, which the reward wants";
  if (!why.empty()) return fmt::format("the reward wants a speedup, and there is none: {}", why);
  return fmt::format("there is no verdict: {}", StringAt(view, "error"));
}

}  // namespace kb::server
