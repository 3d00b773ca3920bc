// Finds problem files by name. Nothing here executes them.
#ifndef JUDGE_PROBLEM_PROBLEM_CATALOG_H_
#define JUDGE_PROBLEM_PROBLEM_CATALOG_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb {

struct ProblemFile {
  std::string name;  // "2/40"; a path as the user gave it for a file from elsewhere
  std::filesystem::path path;
  std::string title;  // first line of its docstring, or its file name
};

// Every problem below `directory` (level1/19_ReLU.py is 1/19), in order.
std::vector<ProblemFile> ListProblems(const std::filesystem::path& directory);

// `name`: 2/40, level2/40, a file name such as 19_ReLU, or the path of any problem file.
Result<ProblemFile> FindProblem(const std::filesystem::path& directory, const std::string& name);

}  // namespace kb

#endif  // JUDGE_PROBLEM_PROBLEM_CATALOG_H_
