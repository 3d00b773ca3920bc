// A run that KernelBench itself has judged, beside our verdicts on the same candidates. Its verdicts are not ours and
// are never stored.
#ifndef INTEROP_ORIGINAL_RUN_H_
#define INTEROP_ORIGINAL_RUN_H_

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "interop/kernelbench_results.h"
#include "store/store.h"

namespace kb {

struct OriginalRun {
  std::string model;
  int level = 0;
  std::vector<KernelBenchResult> results;
  std::map<int, double> baseline_ms;  // by problem number
  std::vector<std::string> notes;     // on each result that is left out: which one, and what is wrong with it
};

// A run directory with eval_results.json, which does not tell its level: `level`, else that of generation_config.yaml,
// else that of the candidates' names. `baselines`: a file of baseline times, or empty. All errors are kUsage.
Result<OriginalRun> ReadOriginalRun(const std::filesystem::path& directory, std::optional<int> level = {},
                                    const std::filesystem::path& baselines = {});

struct SampleBothWays {
  int problem = 0, sample = 0;
  const KernelBenchResult* original = nullptr;  // null: KernelBench has no result
  std::optional<double> original_speedup;       // baseline over candidate; of correct ones with both times
  const ScoreRow* ours = nullptr;               // null: not judged here
};

// By problem and sample. `ours` are the rows of one run; of several rows for a sample the newest counts, and where they
// are several models', only those of the original's model. The result points into both.
std::vector<SampleBothWays> PairSamples(const OriginalRun& original, std::span<const ScoreRow> ours);

}  // namespace kb

#endif  // INTEROP_ORIGINAL_RUN_H_
