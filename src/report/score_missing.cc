#include "report/score_missing.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/card.h"

namespace kb {
namespace {

// Under `rules`, as a job of the run and model calls them, this is where something was judged.
struct Judged {
  std::string run, model, rules;
  Setting setting;

  auto key() const {
    return std::tie(run, model, rules, setting.device, setting.device_name, setting.protocol, setting.size,
                    setting.baseline);
  }
  bool operator<(const Judged& other) const { return key() < other.key(); }
};

// A row's rules are the keys in the order in which they were set, with values as they were understood, so those of its
// job may read otherwise. Both count.
std::set<Judged> SettingsIn(std::span<const RunJob> jobs, std::span<const ScoreRow> rows) {
  std::unordered_map<std::string, const ScoreRow*> by_id;
  std::set<Judged> judged;
  for (const ScoreRow& row : rows) {
    by_id[row.id] = &row;
    judged.insert({row.run, row.model, row.protocol, SettingOf(row)});
  }
  for (const RunJob& each : jobs) {
    const auto row = by_id.find(each.job.evaluation_id);
    if (row != by_id.end()) judged.insert({each.run, each.job.model, each.job.protocol, SettingOf(*row->second)});
  }
  return judged;
}

// Those with a device's name, if there is one: the others are of candidates that were rejected by their text.
std::vector<Setting> SettingsOf(const RunJob& each, const std::set<Judged>& judged) {
  std::vector<Setting> of_run_and_model, of_run, of_model;
  const auto add = [](const Setting& setting, std::vector<Setting>* settings) {
    if (std::find(settings->begin(), settings->end(), setting) == settings->end()) settings->push_back(setting);
  };
  for (const Judged& there : judged) {
    const Setting& setting = there.setting;
    if (there.rules != each.job.protocol || setting.size != each.job.size) continue;
    if (!MayBeOn(each.job.device, setting.device, setting.device_name)) continue;
    const bool run = there.run == each.run, model = there.model == each.job.model;
    if (run && model) add(setting, &of_run_and_model);
    if (run) add(setting, &of_run);
    if (model) add(setting, &of_model);
  }
  const auto named = [](const Setting& setting) { return !setting.device_name.empty(); };
  for (std::vector<Setting>* settings : {&of_run_and_model, &of_run, &of_model}) {
    if (settings->empty()) continue;
    if (std::any_of(settings->begin(), settings->end(), named)) std::erase_if(*settings, std::not_fn(named));
    return *settings;
  }
  return {Setting{each.job.device, "", each.job.protocol, each.job.size, ""}};
}

std::string NoTime(const ScoreRow& row) {
  if (row.protocol.find("measure=false") != std::string::npos) return "its rules measure none (measure=false)";
  return fmt::format("evaluation {} measured none", row.id);
}

}  // namespace

std::vector<ScoreRow> RowsWithoutVerdict(std::span<const RunJob> jobs, std::span<const ScoreRow> rows) {
  const auto done = [](const RunJob& each) { return each.job.state == "done"; };
  if (std::all_of(jobs.begin(), jobs.end(), done)) return {};
  const std::set<Judged> judged = SettingsIn(jobs, rows);
  std::vector<ScoreRow> missing;
  for (const RunJob& each : jobs) {
    if (done(each)) continue;
    for (const Setting& setting : SettingsOf(each, judged)) {
      ScoreRow row;
      row.run = each.run;
      row.model = each.job.model;
      row.problem = each.job.problem;
      row.size = setting.size;
      row.device = setting.device;
      row.device_name = setting.device_name;
      row.protocol = setting.protocol;
      row.baseline = setting.baseline;
      row.path = each.job.path;
      row.sha256 = each.job.sha256;
      row.problem_sha256 = each.job.problem_sha256;
      row.sample = each.job.sample;
      row.reason = each.why;
      missing.push_back(std::move(row));
    }
  }
  return missing;
}

std::string MissingSample::label() const {
  return fmt::format("{} {}{}: {}: {}", problem, sample ? fmt::format("sample {}", *sample) : path,
                     run.empty() ? "" : ", run " + run, id.empty() ? "no verdict" : "correct, but no time", reason);
}

std::vector<MissingSample> MissingSamples(const ScoreGroup& group) {
  std::vector<MissingSample> missing;
  for (const ProblemSamples& problem : group.problems) {
    if (!problem.facts.unscored.empty()) continue;
    for (const ScoreRow* row : problem.samples) {
      if (!OutcomeOf(*row).missing) continue;
      const bool verdict = !row->verdict.empty();
      missing.push_back({row->problem, row->run, row->path, verdict ? row->id : "", row->sample,
                         verdict ? NoTime(*row) : row->reason});
    }
  }
  return missing;
}

}  // namespace kb
