// Which problems a command is about.
#ifndef JUDGE_PROBLEM_SELECTION_H_
#define JUDGE_PROBLEM_SELECTION_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/problem/metadata.h"
#include "judge/problem/problem_catalog.h"

namespace kb {

struct Selection {
  // What to take, and after "not:" what to leave out again; nothing to take means all. Each is
  //   all | kernelbench | v3 | modern   a deck
  //   level2 | v3:level4                a level
  //   1/19 | v3:4/1 | modern:3          a problem; 1/20-35: a range
  //   subset | metr-removed             a list of problems/selections.toml
  //   a problem's file name, or the path of any problem file
  std::vector<std::string> terms;
  std::string family;   // only problems of this operator family
  bool scored = false;  // only problems that may count for a score
  int sample = 0;       // that many of them, drawn at random, the same ones for the same seed; 0: all
  uint64_t seed = 0;
};

struct SelectedProblem {
  ProblemFile file;
  ProblemMetadata metadata;
};

// In the order of the catalogue, each once. A term that names nothing is a usage error, as is an empty selection.
Result<std::vector<SelectedProblem>> Select(const std::filesystem::path& directory, const Selection& selection);

}  // namespace kb

#endif  // JUDGE_PROBLEM_SELECTION_H_
