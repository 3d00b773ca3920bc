#include "interop/original_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "interop/baseline_file.h"
#include "interop/candidates.h"
#include "interop/json_file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

Result<int> LevelOf(const fs::path& directory, const GenerationConfig& config) {
  if (config.level) return *config.level;
  std::set<int> levels;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (const auto name = ParseKernelName(entry->path().filename())) levels.insert(name->level);
  }
  if (levels.size() == 1) return *levels.begin();
  return Fail(ErrorCode::kUsage, fmt::format("{} does not tell its level: give --level", directory.string()));
}

}  // namespace

Result<OriginalRun> ReadOriginalRun(const fs::path& directory, std::optional<int> level, const fs::path& baselines) {
  OriginalRun run;
  const fs::path results = directory / "eval_results.json";
  std::vector<OddResult> odd;
  KB_ASSIGN_OR_RETURN(run.results, ReadEvalResults(results, &odd));
  KB_ASSIGN_OR_RETURN(const GenerationConfig config, ReadGenerationConfig(directory / "generation_config.yaml"));
  std::error_code ignored;
  run.model = config.model.value_or(fs::weakly_canonical(directory, ignored).filename());
  if (level) {
    run.level = *level;
  } else {
    KB_ASSIGN_OR_RETURN(run.level, LevelOf(directory, config));
  }
  for (const OddResult& each : odd) {
    run.notes.push_back(fmt::format("{}: {}/{}{} is left out: {}", results.string(), run.level, each.problem,
                                    each.sample ? fmt::format(" sample {}", *each.sample) : "", each.what));
  }
  if (baselines.empty()) return run;
  KB_ASSIGN_OR_RETURN(const std::vector<BaselineRow> rows, ReadBaselineFile(baselines));
  for (const BaselineRow& row : rows) {
    if (const auto number = ProblemNumber(row.problem); row.level == run.level && number) {
      run.baseline_ms[*number] = row.mean_ms;
    }
  }
  return run;
}

std::vector<SampleBothWays> PairSamples(const OriginalRun& original, std::span<const ScoreRow> ours) {
  std::map<std::pair<int, int>, SampleBothWays> pairs;
  for (const KernelBenchResult& result : original.results) {
    SampleBothWays& pair = pairs[{result.problem, result.sample}];
    pair.original = &result;
    const auto baseline = original.baseline_ms.find(result.problem);
    if (result.correct && result.runtime_ms && baseline != original.baseline_ms.end()) {
      pair.original_speedup = baseline->second / *result.runtime_ms;
    }
  }
  const bool several_models =
      std::any_of(ours.begin(), ours.end(), [&](const ScoreRow& row) { return row.model != ours.front().model; });
  const std::string prefix = fmt::format("{}/", original.level);
  for (const ScoreRow& row : ours) {
    if (!row.problem.starts_with(prefix) || !row.sample || (several_models && row.model != original.model)) continue;
    const auto number = ParseCount(std::string_view(row.problem).substr(prefix.size()));
    if (!number) continue;
    SampleBothWays& pair = pairs[{*number, static_cast<int>(*row.sample)}];
    if (pair.ours == nullptr || pair.ours->created <= row.created) pair.ours = &row;
  }
  std::vector<SampleBothWays> sorted;
  for (auto& [place, pair] : pairs) {
    std::tie(pair.problem, pair.sample) = place;
    sorted.push_back(pair);
  }
  return sorted;
}

}  // namespace kb
