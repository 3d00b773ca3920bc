#include "report/score_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "base/client_problem.h"
#include "report/text.h"
#include "report/view.h"

namespace kb {
namespace {

using SampleRows = std::vector<const ScoreRow*>;

// A group while it is filled.
struct Filling {
  ScoreGroup group;
  std::unordered_map<std::string, SampleRows> problems;
};

void AddOnce(std::vector<std::string>* values, const std::string& value) {
  if (!value.empty() && std::find(values->begin(), values->end(), value) == values->end()) values->push_back(value);
}

void AddRow(Filling* filling, const ScoreRow& row) {
  filling->problems[row.problem].push_back(&row);
  AddOnce(&filling->group.models, row.model);
  AddOnce(&filling->group.runs, row.run);
  AddOnce(&filling->group.torch, row.torch);
}

// Which text of the problem a row is about may be unknown, or not matter.
bool SameProblemText(const ScoreRow* a, const ScoreRow* b) {
  return a->problem_sha256.empty() || b->problem_sha256.empty() || a->problem_sha256 == b->problem_sha256;
}

// Of the same sample. Without a verdict of its own a text has the one that it got before.
bool Newer(const ScoreRow* a, const ScoreRow* b) {
  if (a->verdict.empty() == b->verdict.empty()) return a->created >= b->created;
  const bool same_text = a->sha256 == b->sha256 && !a->sha256.empty() && SameProblemText(a, b);
  return same_text == b->verdict.empty();
}

// The rows of one problem in the order in which they were stored -> the newest of each sample, in order.
SampleRows NewestOfEach(const SampleRows& rows, const std::vector<std::string>& runs) {
  constexpr int64_t kNoNumber = std::numeric_limits<int64_t>::max();
  std::map<std::tuple<int64_t, std::string, size_t>, const ScoreRow*> samples;
  for (const ScoreRow* row : rows) {
    const auto run = static_cast<size_t>(std::find(runs.begin(), runs.end(), row->run) - runs.begin());
    const ScoreRow*& newest = samples[{row->sample.value_or(kNoNumber), row->sample ? "" : row->path, run}];
    if (!newest || Newer(row, newest)) newest = row;
  }
  std::map<std::tuple<int64_t, std::string, std::string>, const ScoreRow*> texts;
  const auto text_of = [](const ScoreRow* row) { return std::tuple(*row->sample, row->model, row->sha256); };
  for (const auto& [key, row] : samples) {
    if (!row->sample || row->sha256.empty()) continue;
    const ScoreRow*& newest = texts[text_of(row)];
    if (!newest || Newer(row, newest)) newest = row;
  }
  SampleRows kept;
  for (const auto& [key, row] : samples) {
    if (!row->sample || row->sha256.empty() || texts[text_of(row)] == row) kept.push_back(row);
  }
  return kept;
}

ScoreGroup Finished(Filling* filling, const ProblemTable& table) {
  ScoreGroup group = std::move(filling->group);
  for (const auto& [problem, rows] : filling->problems)
    group.problems.push_back({problem, FactsOf(table, problem), NewestOfEach(rows, group.runs)});
  std::sort(group.problems.begin(), group.problems.end(),
            [](const auto& a, const auto& b) { return NaturalLess(a.problem, b.problem); });
  return group;
}

}  // namespace

ProblemFacts FactsOf(const ProblemTable& table, const std::string& problem) {
  const auto found = table.find(problem);
  ProblemFacts facts = found == table.end() ? ProblemFacts{} : found->second;
  if (problem.starts_with(kClientsProblem))
    facts.unscored = "a client of a service sent its text, which is whatever it says";
  if (facts.level.empty()) facts.level = "other";
  if (facts.family.empty()) facts.family = "other";
  if (facts.dominated_by.empty()) facts.dominated_by = "other";
  return facts;
}

std::string Setting::label() const {
  const auto or_dash = [](const std::string& text) { return text.empty() ? std::string(kDash) : text; };
  return fmt::format("{} · {} · {} · against {}",
                     device_name.empty() ? or_dash(device) : device_name + " (" + device + ")", or_dash(protocol),
                     or_dash(size), or_dash(baseline));
}

std::vector<ScoreGroup> GroupRows(std::span<const ScoreRow* const> rows, const ProblemTable& problems, GroupBy by) {
  std::vector<Filling> fillings;
  const auto group_of = [&](const ScoreRow& row) -> Filling& {
    const std::string& name = by == GroupBy::kModel ? row.model : row.run;
    const Setting setting = SettingOf(row);
    for (Filling& filling : fillings) {
      if (filling.group.name == name && filling.group.setting == setting) return filling;
    }
    return fillings.emplace_back(Filling{{name, setting, {}, {}, {}, {}}, {}});
  };
  Filling* last = nullptr;
  const ScoreRow* before = nullptr;
  SampleRows nowhere;
  for (const ScoreRow* each : rows) {
    const ScoreRow& row = *each;
    if (row.device_name.empty()) {
      nowhere.push_back(each);
      continue;
    }
    const bool as_before =
        before && before->model == row.model && before->run == row.run && SettingOf(*before) == SettingOf(row);
    if (!as_before) last = &group_of(row);
    AddRow(last, row);
    before = each;
  }
  const size_t on_devices = fillings.size();
  for (const ScoreRow* row : nowhere) {
    const std::string& name = by == GroupBy::kModel ? row->model : row->run;
    bool added = false;
    for (size_t i = 0; i < on_devices; ++i) {
      ScoreGroup& group = fillings[i].group;
      Setting setting = SettingOf(*row);
      setting.device_name = group.setting.device_name;
      const bool same_run =
          row->run.empty() || std::find(group.runs.begin(), group.runs.end(), row->run) != group.runs.end();
      if (group.name != name || group.setting != setting || !same_run) continue;
      AddRow(&fillings[i], *row);
      added = true;
    }
    if (!added) AddRow(&group_of(*row), *row);
  }
  std::vector<ScoreGroup> groups;
  for (Filling& filling : fillings) groups.push_back(Finished(&filling, problems));
  std::stable_sort(groups.begin(), groups.end(), [](const ScoreGroup& a, const ScoreGroup& b) {
    return a.name != b.name ? NaturalLess(a.name, b.name) : a.setting.label() < b.setting.label();
  });
  return groups;
}

std::vector<ScoreGroup> GroupRows(std::span<const ScoreRow> rows, const ProblemTable& problems, GroupBy by) {
  SampleRows each;
  for (const ScoreRow& row : rows) each.push_back(&row);
  return GroupRows(each, problems, by);
}

Setting SettingOf(const ScoreRow& row) { return {row.device, row.device_name, row.protocol, row.size, row.baseline}; }

Outcome OutcomeOf(const ScoreRow& row) {
  Outcome outcome{row.problem, row.verdict == "correct", row.speedup};
  outcome.missing = row.verdict.empty() || (outcome.correct && !Measured(outcome) && row.reason.empty());
  outcome.compiled = !row.verdict.empty() && FindVerdict(row.verdict).reached >= Stage::kBuilt;
  outcome.surely = row.low.value_or(0) > 1;
  outcome.own = row.own;
  return outcome;
}

std::vector<const ScoreRow*> ScoredSamples(const ScoreGroup& group) {
  SampleRows scored;
  for (const ProblemSamples& problem : group.problems) {
    if (problem.facts.unscored.empty()) scored.insert(scored.end(), problem.samples.begin(), problem.samples.end());
  }
  return scored;
}

std::vector<Outcome> ScoredOutcomes(const ScoreGroup& group) {
  std::vector<Outcome> outcomes;
  for (const ScoreRow* row : ScoredSamples(group)) outcomes.push_back(OutcomeOf(*row));
  return outcomes;
}

}  // namespace kb
