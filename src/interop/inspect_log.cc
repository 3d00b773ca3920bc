#include "interop/inspect_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "interop/inspect_sample.h"
#include "interop/zip_file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// One file while it is written.
struct Totals {
  std::string first, last;  // when the first and the last sample were made
  std::set<std::string> problems;
  int64_t samples = 0, errors = 0, epochs = 0;
  json usage = json::object();  // by model
  json summaries = json::array();
};

// The same for the same log, and no other.
std::string LogId(const InspectLog& log) {
  Hasher hasher;
  for (const std::string* part :
       {&log.run, &log.model, &log.device, &log.device_name, &log.protocol, &log.size, &log.baseline}) {
    hasher.Add(*part);
  }
  return hasher.Hex().substr(0, 22);
}

// When the first row was made, for the name of the file, or now if none says when.
std::string CreatedOf(const InspectLog& log) {
  std::string first;
  for (const ScoreRow& row : log.rows) {
    const auto time = InspectTime(row.created);
    if (time && (first.empty() || *time < first)) first = *time;
  }
  return first.empty() ? *InspectTime(UtcNow(kIso8601)) : first;
}

std::string FileName(const InspectLog& log) {
  std::string name = CreatedOf(log);
  std::replace(name.begin(), name.end(), ':', '-');
  return fmt::format("{}_kernelbench_{}.eval", name, LogId(log));
}

// Adds each number of `usage` to the one in `sum`.
void AddUsage(const json& usage, json* sum) {
  for (const auto& [key, value] : usage.items()) {
    json& total = (*sum)[key];
    if (value.is_number_integer()) {
      total = (total.is_null() ? 0 : total.get<int64_t>()) + value.get<int64_t>();
    } else {
      total = (total.is_null() ? 0 : total.get<double>()) + value.get<double>();
    }
  }
}

void Count(const json& sample, Totals* totals) {
  totals->problems.insert(sample["id"].get<std::string>());
  totals->epochs = std::max(totals->epochs, sample["epoch"].get<int64_t>());
  ++totals->samples;
  if (sample.contains("error")) ++totals->errors;
  if (const auto usage = sample.find("model_usage"); usage != sample.end()) {
    for (const auto& [model, each] : usage->items()) AddUsage(each, &totals->usage[model]);
  }
  if (const auto time = sample.find("completed_at"); time != sample.end()) {
    const std::string at = *time;
    if (totals->first.empty() || at < totals->first) totals->first = at;
    totals->last = std::max(totals->last, at);
  }
  totals->summaries.push_back(InspectSummary(sample));
}

json MetricsJson(const std::vector<InspectMetric>& metrics) {
  json named = json::object();
  for (const InspectMetric& metric : metrics) {
    json& entry = named[metric.name];
    entry = {{"name", metric.name}, {"value", metric.value}, {"params", json::object()}};
    if (!metric.group.empty()) entry["group"] = metric.group;
    if (metric.p) entry["params"]["p"] = *metric.p;
  }
  return named;
}

json ResultsJson(const InspectLog& log, const Totals& totals) {
  const int64_t scored = totals.samples - totals.errors;
  json scores = json::array();
  const auto add = [&](const std::string& name, const std::vector<InspectMetric>& metrics) {
    scores.push_back({{"name", name},
                      {"scorer", kInspectScorer},
                      {"scored_samples", scored},
                      {"unscored_samples", 0},
                      {"params", json::object()},
                      {"metrics", MetricsJson(metrics)}});
  };
  add(kInspectScorer, log.metrics);
  if (!log.if_all_pass.empty()) add("if_all_pass", log.if_all_pass);
  return {{"total_samples", totals.samples}, {"completed_samples", scored}, {"scores", std::move(scores)}};
}

json SpecJson(const InspectLog& log, const Totals& totals) {
  const std::string id = LogId(log);
  const json setting = {{"protocol", log.protocol},
                        {"size", log.size},
                        {"device", log.device},
                        {"baseline", log.baseline},
                        {"device_name", log.device_name}};
  json metadata = setting;
  metadata["run"] = log.run;
  return {{"eval_id", id},
          {"run_id", id},
          {"task_id", id},
          {"created", CreatedOf(log)},
          {"task", "kernelbench"},
          {"task_args", setting},
          {"dataset", {{"name", "KernelBench"}, {"samples", totals.problems.size()}, {"sample_ids", totals.problems}}},
          {"model", InspectModel(log.model)},
          {"config", {{"epochs", totals.epochs}}},
          {"scorers", json::array({{{"name", kInspectScorer}}})},
          {"metadata", std::move(metadata)}};
}

Status WriteSamples(const Store& store, const InspectLog& log, ZipFile* file, Totals* totals) {
  KB_ASSIGN_OR_RETURN(const Conversations conversations, Conversations::Of(store, log.run));
  std::map<std::string, std::set<int64_t>> taken;  // epochs, by problem
  for (const ScoreRow& row : log.rows) {
    std::set<int64_t>& epochs = taken[row.problem];
    int64_t epoch = row.sample ? std::max<int64_t>(*row.sample, 0) + 1 : 1;
    while (!epochs.insert(epoch).second) ++epoch;
    KB_ASSIGN_OR_RETURN(const json sample, MakeInspectSample(store, conversations, log, row, epoch));
    KB_RETURN_IF_ERROR(file->Add(fmt::format("samples/{}_epoch_{}.json", row.problem, epoch), Dump(sample)));
    Count(sample, totals);
  }
  return {};
}

// Without putting it in place.
Result<ZipFile> WriteLog(const Store& store, const InspectLog& log, const fs::path& path, Totals* totals) {
  KB_ASSIGN_OR_RETURN(ZipFile file, ZipFile::Create(path));
  KB_RETURN_IF_ERROR(WriteSamples(store, log, &file, totals));
  json start = {{"version", 2},
                {"eval", SpecJson(log, *totals)},
                {"plan", {{"name", "plan"}, {"steps", json::array({{{"solver", "generate"}}})}}}};
  KB_RETURN_IF_ERROR(file.Add("_journal/start.json", Dump(start)));
  KB_RETURN_IF_ERROR(file.Add("summaries.json", Dump(totals->summaries)));
  json header = std::move(start);
  header["status"] = "success";
  header["results"] = ResultsJson(log, *totals);
  header["stats"] = {{"started_at", totals->first}, {"completed_at", totals->last}, {"model_usage", totals->usage}};
  KB_RETURN_IF_ERROR(file.Add("header.json", Dump(header)));
  return file;
}

}  // namespace

Result<WrittenInspectLogs> WriteInspectLogs(const Store& store, std::span<const InspectLog> logs,
                                            const fs::path& directory) {
  if (logs.empty())
    return Fail(ErrorCode::kUsage, "the run has no candidate with a verdict: there is nothing to export");
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    return Fail(ErrorCode::kUsage, fmt::format("cannot make {}: {}", directory.string(), error.message()));
  }
  WrittenInspectLogs written;
  std::vector<ZipFile> files;
  for (const InspectLog& log : logs) {
    Totals totals;
    KB_ASSIGN_OR_RETURN(ZipFile file, WriteLog(store, log, directory / FileName(log), &totals));
    files.push_back(std::move(file));
    written.samples += totals.samples;
    written.errors += totals.errors;
  }
  for (ZipFile& file : files) {
    KB_RETURN_IF_ERROR(file.Commit());
    written.files.push_back(file.path());
  }
  return written;
}

}  // namespace kb
