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

// `terms` is how the selection's terms are given: as positional arguments, or with a flag such as "--select".
void AddSelectionFlags(CLI::App* command, SelectionFlags* flags, const std::string& terms = "selection");
void AddProblemsFlag(CLI::App* command, std::string* problems);

// --size; `size` holds its default. ChosenSize() says what auto is.
void AddSizeFlag(CLI::App* command, std::string* size);

// The directory of the problems that --problems names.
Result<std::filesystem::path> ProblemDirectory(const std::string& problems);
Result<std::vector<SelectedProblem>> SelectProblems(const SelectionFlags& flags);
std::vector<ProblemFile> FilesOf(const std::vector<SelectedProblem>& problems);

}  // namespace kb::cli

#endif  // CLI_SELECTION_FLAGS_H_
