#include "cli/run_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "judge/verdict/verdict.h"
#include "report/text_table.h"

namespace kb::cli {
namespace {

using nlohmann::json;

// "1" of "1/19", "v3:4" of "v3:4/1", "modern" of "modern:3".
std::string LevelOf(const std::string& problem) {
  if (problem.starts_with("modern:")) return "modern";
  const size_t slash = problem.find('/');
  const bool named = slash != std::string::npos && slash <= 4 && problem.find('.') == std::string::npos;
  return named && slash > 0 ? problem.substr(0, slash) : "other";
}

void Add(const ScoreRow& one, RunRow* run) {
  ++run->judged;
  const bool correct = one.verdict == VerdictName(Verdict::kCorrect);
  run->correct += correct ? 1 : 0;
  run->faster += correct && one.low && *one.low > 1 ? 1 : 0;
  run->newest = std::max(run->newest, one.created);
  if (!one.model.empty()) run->models.insert(one.model);
  run->devices.insert(one.device_name.empty() ? one.device : one.device_name);
  run->protocols.insert(one.protocol);
  run->sizes.insert(one.size);
  run->levels.insert(LevelOf(one.problem));
}

// "a, b", or "a and 3 others".
std::string Some(const std::set<std::string>& texts) {
  if (texts.empty()) return "–";
  const std::string first = OneLine(*texts.begin(), 40);
  if (texts.size() == 1) return first;
  return texts.size() == 2 ? first + ", " + OneLine(*std::next(texts.begin()), 40)
                           : fmt::format("{} and {} others", first, texts.size() - 1);
}

}  // namespace

Result<std::vector<RunRow>> RunRows(const Store& store) {
  KB_ASSIGN_OR_RETURN(const std::vector<RunSummary> summaries, store.RunSummaries(0));
  std::map<std::string, RunRow> by_name;
  for (const RunSummary& summary : summaries) {
    RunRow& row = by_name[summary.name];
    row.name = summary.name;
    row.created = summary.created;
    row.models.insert(summary.models.begin(), summary.models.end());
    for (const auto& [state, count] : summary.jobs) {
      row.candidates += count;
      row.failed += state == "failed" ? count : 0;
    }
  }
  KB_ASSIGN_OR_RETURN(const std::vector<ScoreRow> scores, store.Scores());
  for (const ScoreRow& one : scores) {
    const auto run = by_name.find(one.run);
    if (run != by_name.end()) Add(one, &run->second);
  }
  std::vector<RunRow> rows;
  for (auto& [name, row] : by_name) {
    row.candidates = std::max(row.candidates, row.judged);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const RunRow& a, const RunRow& b) {
    return std::max(a.created, a.newest) > std::max(b.created, b.newest);
  });
  return rows;
}

json RunRowJson(const RunRow& row) {
  return {{"schema", 1},
          {"run", row.name},
          {"created", row.created},
          {"newest", row.newest.empty() ? json() : json(row.newest)},
          {"models", row.models},
          {"devices", row.devices},
          {"protocols", row.protocols},
          {"sizes", row.sizes},
          {"levels", row.levels},
          {"candidates", row.candidates},
          {"judged", row.judged},
          {"not_judged", row.failed},
          {"correct", row.correct},
          {"surely_faster", row.faster}};
}

std::string RunTable(const std::vector<RunRow>& rows, size_t columns) {
  TextTable table{
      {{"run", "models", "levels", "device", "protocol", "size", "judged", "correct", "surely faster", "newest (UTC)"}},
      6};
  for (const RunRow& row : rows) {
    std::string newest = row.newest.empty() ? row.created : row.newest;
    newest = newest.substr(0, 16);
    std::replace(newest.begin(), newest.end(), 'T', ' ');
    table.rows.push_back({OneLine(row.name, 60), Some(row.models), Some(row.levels), Some(row.devices),
                          Some(row.protocols), Some(row.sizes), fmt::format("{} of {}", row.judged, row.candidates),
                          std::to_string(row.correct), std::to_string(row.faster), newest});
  }
  return AlignedTable(table, "", columns);
}

}  // namespace kb::cli
