// Stored baselines as text (docs/reference/baselines.md), and the commands that only read and write them.
#ifndef CLI_BASELINE_TABLE_H_
#define CLI_BASELINE_TABLE_H_

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kb::cli {

std::string BaselineHeading(size_t columns);
std::string BaselineLine(const nlohmann::json& baseline, size_t columns);

// For each kind but eager the geometric mean of eager's time over its own, over the problems that have both, of
// `problems` in all. The baselines are of one device, PyTorch and precision.
std::string BaselineRatios(const std::vector<nlohmann::json>& baselines, size_t problems);

// `baseline list`, `export` and `import`.
void AddBaselineFiles(CLI::App* baseline, int* exit_code);

}  // namespace kb::cli

#endif  // CLI_BASELINE_TABLE_H_
