#include "interop/kernelbench_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "interop/json_file.h"
#include "score/score.h"

namespace kb {
namespace {

using nlohmann::json;

struct Mapping {
  std::string_view verdict;
  bool compiled;
  const char* reason_key;  // of the metadata
};
constexpr Mapping kMappings[] = {
    {"not_run", false, "other_error"},
    {"static_rejected", false, "other_error"},
    {"build_failed", false, "compilation_error"},
    {"load_failed", false, "compilation_error"},  // KernelBench compiles where it loads
    {"crashed", true, "runtime_error"},
    {"timed_out", true, "runtime_error"},
    {"out_of_memory", true, "runtime_error"},
    {"wrong_form", true, "correctness_issue"},
    {"non_finite", true, "correctness_issue"},
    {"incorrect", true, "correctness_issue"},
    {"tampered", true, "other_error"},
    {"correct", true, nullptr},
};

std::string Text(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

json Member(const json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? json() : *found;
}

// Candidate's times in milliseconds, of the rounds that count.
std::vector<double> ScoredTimes(const json& samples) {
  std::vector<double> times;
  for (const json& sample : samples) {
    const json time = Member(sample, "candidate_us");
    if (Member(sample, "scored") == true && Member(sample, "void").is_null() && time.is_number()) {
      times.push_back(time.get<double>() / 1e3);
    }
  }
  return times;
}

RuntimeStats StatsOf(const std::vector<double>& times, const json& evaluation) {
  RuntimeStats stats;
  const auto n = static_cast<double>(times.size());
  for (const double time : times) stats.mean_ms += time / n;
  for (const double time : times) stats.std_ms += (time - stats.mean_ms) * (time - stats.mean_ms) / n;
  stats.std_ms = std::sqrt(stats.std_ms);
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  stats.min_ms = *least;
  stats.max_ms = *most;
  stats.trials = static_cast<int64_t>(times.size());
  stats.hardware = Text(Member(evaluation, "device_info"), "name");
  stats.device = Text(evaluation, "device");
  return stats;
}

void AddReason(const json& evaluation, const char* key, Json* metadata) {
  const json evidence = Member(evaluation, "evidence");
  std::string reason = Text(evaluation, "reason");
  if (const std::string output = Text(evidence, "compiler_output"); key == std::string_view("compilation_error")) {
    reason += (reason.empty() || output.empty() ? "" : "\n") + output;
  }
  (*metadata)[key] = reason;
  if (key != std::string_view("other_error")) (*metadata)[fmt::format("{}_name", key)] = Text(evaluation, "verdict");
  if (const std::string trace = Text(evidence, "traceback"); !trace.empty() && key == std::string_view("runtime_error"))
    (*metadata)["runtime_error_traceback"] = trace;
  if (const json worst = Member(Member(evaluation, "mismatch"), "max_abs_error"); !worst.is_null())
    (*metadata)["max_difference"] = {worst.is_number() ? fmt::format("{:.6f}", worst.get<double>()) : worst.dump()};
}

Json MetadataOf(const json& evaluation, const char* reason_key) {
  Json metadata = {{"hardware", Text(Member(evaluation, "device_info"), "name")},
                   {"device", Text(evaluation, "device")}};
  if (reason_key != nullptr) {
    AddReason(evaluation, reason_key, &metadata);
  } else {
    const json samples = Member(evaluation, "samples");
    const auto compared = std::count_if(samples.begin(), samples.end(),
                                        [](const json& sample) { return Member(sample, "void").is_null(); });
    if (compared > 0) metadata["correctness_trials"] = fmt::format("({} / {})", compared, compared);
  }
  Json& judged = metadata["judged"];
  for (const char* key :
       {"id", "verdict", "reason", "size", "protocol", "baseline", "baseline_us", "speedup", "speedup_interval"}) {
    judged[key] = Member(evaluation, key);
  }
  return metadata;
}

Json StatsJson(const std::optional<RuntimeStats>& stats) {
  if (!stats) return Json::object();
  return {{"mean", stats->mean_ms}, {"std", stats->std_ms},        {"min", stats->min_ms},
          {"max", stats->max_ms},   {"num_trials", stats->trials}, {"hardware", stats->hardware},
          {"device", stats->device}};
}

using ByProblem = std::map<int, std::vector<const KernelBenchResult*>>;

ByProblem Sorted(std::span<const KernelBenchResult> results) {
  ByProblem sorted;
  for (const KernelBenchResult& result : results) sorted[result.problem].push_back(&result);
  for (auto& [problem, samples] : sorted) {
    std::stable_sort(samples.begin(), samples.end(),
                     [](const auto* a, const auto* b) { return a->sample < b->sample; });
  }
  return sorted;
}

// ---- Reading -------------------------------------------------------------------------------------------------------

Result<bool> FlagMember(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_boolean()) {
    return Fail(ErrorCode::kUsage, fmt::format("`{}` is neither true nor false", key));
  }
  return found->get<bool>();
}

Result<std::optional<RuntimeStats>> ReadStats(const Json& object) {
  const auto found = object.find("runtime_stats");
  if (found == object.end() || !found->is_object() || found->empty()) return std::optional<RuntimeStats>();
  RuntimeStats stats;
  for (const auto& [key, value] : {std::pair("mean", &stats.mean_ms), std::pair("std", &stats.std_ms),
                                   std::pair("min", &stats.min_ms), std::pair("max", &stats.max_ms)}) {
    KB_ASSIGN_OR_RETURN(const auto number, NumberMember(*found, key));
    if (!number && !found->contains(key)) {
      return Fail(ErrorCode::kUsage, fmt::format("`runtime_stats` has no `{}`", key));
    }
    if (!number) return std::optional<RuntimeStats>();  // NaN
    *value = *number;
  }
  KB_ASSIGN_OR_RETURN(const auto trials, CountMember(*found, "num_trials"));
  KB_ASSIGN_OR_RETURN(const auto hardware, TextMember(*found, "hardware"));
  KB_ASSIGN_OR_RETURN(const auto device, TextMember(*found, "device"));
  stats.trials = trials.value_or(0);
  stats.hardware = hardware.value_or("");
  stats.device = device.value_or("");
  return std::optional(stats);
}

Result<KernelBenchResult> ReadResult(const Json& entry) {
  if (!entry.is_object()) return Fail(ErrorCode::kUsage, "it is no object");
  KernelBenchResult result;
  KB_ASSIGN_OR_RETURN(const auto sample, CountMember(entry, "sample_id"));
  if (!sample) return Fail(ErrorCode::kUsage, "it has no `sample_id`");
  result.sample = *sample;
  KB_ASSIGN_OR_RETURN(result.compiled, FlagMember(entry, "compiled"));
  KB_ASSIGN_OR_RETURN(result.correct, FlagMember(entry, "correctness"));
  KB_ASSIGN_OR_RETURN(result.runtime_ms, NumberMember(entry, "runtime"));
  if (result.runtime_ms && !(*result.runtime_ms > 0)) result.runtime_ms.reset();
  KB_ASSIGN_OR_RETURN(result.stats, ReadStats(entry));
  if (const auto metadata = entry.find("metadata"); metadata != entry.end() && metadata->is_object()) {
    result.metadata = *metadata;
  }
  return result;
}

}  // namespace

KernelBenchResult ToKernelBench(const json& evaluation, int problem, int sample) {
  const std::string verdict = Text(evaluation, "verdict");
  const auto* mapping = std::find_if(std::begin(kMappings), std::end(kMappings),
                                     [&](const Mapping& each) { return each.verdict == verdict; });
  KB_CHECK(mapping != std::end(kMappings));  // the store knows no other verdict
  KernelBenchResult result;
  result.problem = problem;
  result.sample = sample;
  result.compiled = mapping->compiled;
  result.correct = verdict == "correct";
  result.metadata = MetadataOf(evaluation, mapping->reason_key);
  if (const auto times = ScoredTimes(Member(evaluation, "samples")); result.correct && !times.empty()) {
    result.stats = StatsOf(times, evaluation);
    result.runtime_ms = result.stats->mean_ms;
  }
  return result;
}

std::string EvalResultsText(std::span<const KernelBenchResult> results) {
  Json file = Json::object();
  for (const auto& [problem, samples] : Sorted(results)) {
    Json& entries = file[std::to_string(problem)];
    for (const KernelBenchResult* each : samples) {
      entries.push_back({{"sample_id", each->sample},
                         {"compiled", each->compiled},
                         {"correctness", each->correct},
                         {"metadata", each->metadata},
                         {"runtime", each->runtime_ms.value_or(-1.0)},
                         {"runtime_stats", StatsJson(each->stats)}});
    }
  }
  return FileText(file);
}

std::string PassAtKText(std::span<const KernelBenchResult> results) {
  constexpr int64_t kCounts[] = {1, 5, 10};
  Json problems = Json::object(), averages = Json::object();
  Json metadata = {{"total_problems", 0},
                   {"problems_with_samples", 0},
                   {"total_evaluated_samples", results.size()},
                   {"total_correct_samples", 0}};
  std::map<int64_t, std::vector<double>> chances;
  int64_t all_correct = 0;
  for (const auto& [problem, samples] : Sorted(results)) {
    const auto total = static_cast<int64_t>(samples.size());
    const int64_t correct =
        std::count_if(samples.begin(), samples.end(), [](const auto* each) { return each->correct; });
    all_correct += correct;
    Json& entry = problems[std::to_string(problem)] = {{"total_samples", total}, {"correct_samples", correct}};
    for (const int64_t k : kCounts) {
      const std::optional<double> chance = PassAtK(total, correct, k);
      if (!chance) continue;
      entry[fmt::format("pass@{}", k)] = *chance;
      chances[k].push_back(*chance);
    }
  }
  metadata["total_problems"] = metadata["problems_with_samples"] = problems.size();
  metadata["total_correct_samples"] = all_correct;
  for (const auto& [k, values] : chances) {
    double sum = 0;
    for (const double value : values) sum += value;
    averages[fmt::format("avg_pass@{}", k)] = sum / static_cast<double>(values.size());
    metadata[fmt::format("pass@{}_count", k)] = values.size();
  }
  return FileText({{"averages", averages}, {"metadata", metadata}, {"problems", problems}});
}

Result<std::vector<KernelBenchResult>> ReadEvalResults(const std::filesystem::path& path, std::vector<OddResult>* odd) {
  KB_ASSIGN_OR_RETURN(const Json file, ReadJsonFile(path));
  const auto fail = [&](const std::string& what) {
    return Fail(ErrorCode::kUsage, fmt::format("{} holds no results of KernelBench: {}", path.string(), what));
  };
  if (!file.is_object()) return fail("it is no object of problems");
  std::vector<KernelBenchResult> results;
  std::vector<OddResult> found_odd;
  for (const auto& [key, entries] : file.items()) {
    const std::optional<int> problem = ParseCount(key);
    if (!problem) {
      found_odd.push_back({key, {}, fmt::format("`{}` is no number of a problem", key)});
      continue;
    }
    // Early versions wrote one result without an array.
    for (const Json& entry : entries.is_array() ? entries : Json::array({entries})) {
      auto result = ReadResult(entry);
      if (!result) {
        const auto sample = entry.is_object() ? CountMember(entry, "sample_id") : std::optional<int>();
        found_odd.push_back({key, sample.value_or(std::nullopt), result.error().message});
        continue;
      }
      result->problem = *problem;
      results.push_back(std::move(*result));
    }
  }
  if (results.empty() && !found_odd.empty()) {
    return fail(fmt::format("problem {}: {}", found_odd.front().problem, found_odd.front().what));
  }
  if (odd) odd->insert(odd->end(), found_odd.begin(), found_odd.end());
  return results;
}

}  // namespace kb
