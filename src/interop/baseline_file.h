// KernelBench's files of baseline times: results/timing/{hardware}/baseline_time_{name}.json. docs/reference/interop.md
// has the format.
#ifndef INTEROP_BASELINE_FILE_H_
#define INTEROP_BASELINE_FILE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb {

// The times of one problem's reference, in milliseconds.
struct BaselineRow {
  int level = 0;        // 1 to 4
  std::string problem;  // file name: "19_ReLU.py"
  double mean_ms = 0;
  std::optional<double> std_ms, min_ms, max_ms;  // absent: not known
  int64_t trials = 0;
  std::string hardware;  // "NVIDIA H200"; empty if the file does not say
  std::string device;    // "cuda:0"; empty if the file does not say
};

// In the order of the file. A problem whose value is null, which KernelBench writes where timing failed, is left out.
// Errors are kUsage and name the file, the level and the problem; a mean must be above zero,
// while the other statistics may be missing.
Result<std::vector<BaselineRow>> ReadBaselineFile(const std::filesystem::path& path);

// The file's text, by level and then by problem number: KernelBench's analysis pairs the times of baselines and
// candidates by position. Of two rows of the same problem the last one counts.
std::string BaselineFileText(std::span<const BaselineRow> rows);

// The number of a problem's file, 19 of "19_ReLU.py"; absent if it does not start with one.
std::optional<int> ProblemNumber(const std::string& file_name);

}  // namespace kb

#endif  // INTEROP_BASELINE_FILE_H_
