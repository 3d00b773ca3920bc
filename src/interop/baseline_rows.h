// Measured baselines as a file: JSON Lines, each as `baseline list --json` has it (docs/reference/baselines.md).
#ifndef INTEROP_BASELINE_ROWS_H_
#define INTEROP_BASELINE_ROWS_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb {

// By problem, size, precision, kind and device, without where the engine's time went.
std::string BaselineRowsText(std::vector<nlohmann::json> rows);

// kUsage names the line, and what it lacks of a measured baseline.
Result<std::vector<nlohmann::json>> ReadBaselineRows(const std::filesystem::path& path);
// Of all such files of a directory; none where there is no directory.
Result<std::vector<nlohmann::json>> ReadAllBaselineRows(const std::filesystem::path& directory);

}  // namespace kb

#endif  // INTEROP_BASELINE_ROWS_H_
