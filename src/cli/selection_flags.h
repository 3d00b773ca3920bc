// The flags by which commands choose problems, and where problems come from.
#ifndef CLI_SELECTION_FLAGS_H_
#define CLI_SELECTION_FLAGS_H_

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/problem/selection.h"

namespace kb::cli {

struct SelectionFlags {
  Selection selection;
  bool without_metr = false;
  std::string problems;  // a checkout or an export; empty: this project's own
};

void AddSelectionFlags(CLI::App* command, SelectionFlags* flags);
void AddProblemsFlag(CLI::App* command, std::string* problems);

// The directory of the problems that --problems names.
Result<std::filesystem::path> ProblemDirectory(const std::string& problems);
Result<std::vector<SelectedProblem>> SelectProblems(const SelectionFlags& flags);

}  // namespace kb::cli

#endif  // CLI_SELECTION_FLAGS_H_
