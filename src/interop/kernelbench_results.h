// What KernelBench keeps of an evaluation: eval_results.json, and pass_at_k_results.json over it.
// docs/reference/interop.md has the formats and what each of our verdicts becomes.
#ifndef INTEROP_KERNELBENCH_RESULTS_H_
#define INTEROP_KERNELBENCH_RESULTS_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb {

// In milliseconds; the standard deviation is that of the trials themselves (divided by their number).
struct RuntimeStats {
  double mean_ms = 0, std_ms = 0, min_ms = 0, max_ms = 0;
  int64_t trials = 0;
  std::string hardware, device;
};

struct KernelBenchResult {
  int problem = 0;  // its level is that of the run
  int sample = 0;
  bool compiled = false, correct = false;
  nlohmann::ordered_json metadata = nlohmann::ordered_json::object();
  std::optional<double> runtime_ms;  // mean; absent if not measured, which the file says by -1
  std::optional<RuntimeStats> stats;
};

// What KernelBench would keep of one of our evaluations (docs/reference/evaluation.md). Times are of its scored rounds,
// and of correct candidates only.
KernelBenchResult ToKernelBench(const nlohmann::json& evaluation, int problem, int sample);

// The file's text, by problem number and sample: KernelBench's analysis pairs problems with baselines by position.
std::string EvalResultsText(std::span<const KernelBenchResult> results);

// pass@k over the same results for k of 1, 5 and 10, where a problem has k samples. Averages are over the problems that
// have them.
std::string PassAtKText(std::span<const KernelBenchResult> results);

// An entry of the file that cannot be read.
struct OddResult {
  std::string problem;  // its key in the file
  std::optional<int> sample;
  std::string what;  // is wrong with it, as a sentence
};

// In the order of the file. An entry that cannot be read goes into `odd`. Errors are kUsage and name the file: it holds
// something else, or nothing but odd entries.
Result<std::vector<KernelBenchResult>> ReadEvalResults(const std::filesystem::path& path,
                                                       std::vector<OddResult>* odd = nullptr);

}  // namespace kb

#endif  // INTEROP_KERNELBENCH_RESULTS_H_
