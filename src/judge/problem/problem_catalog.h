// Finds problem files by name. Nothing here executes them.
#ifndef JUDGE_PROBLEM_PROBLEM_CATALOG_H_
#define JUDGE_PROBLEM_PROBLEM_CATALOG_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb {

struct ProblemFile {
  std::string name;  // "2/40", "v3:4/1", "modern:3"; a path as the user gave it for a file from elsewhere
  std::filesystem::path path;
  std::string title;  // first line of its docstring, or its file name
  std::string deck;   // "kernelbench", "v3", "modern"; empty for a file from elsewhere
  int level = 0;      // 0: the deck has no levels
  int number = 0;
  bool from_client = false;  // of a service: untrusted, and no file, whatever its path says
  std::string text = {};     // of such a one
};

// The text of a problem.
Result<std::string> TextOf(const ProblemFile& problem);
// The problem that is this text of a client's: it is named by its hash.
ProblemFile ClientsProblem(const std::string& sha256, std::string text);
// Whether it is the name of such a one.
bool IsClientsProblem(const std::string& name);

// Every problem below `directory`, in order: level1/19_ReLU.py is 1/19, v3/level4/1_MLA.py is v3:4/1, and
// modern/3_MMDiT.py is modern:3.
std::vector<ProblemFile> ListProblems(const std::filesystem::path& directory);

// `name`: 2/40, level2/40, v3:4/1, modern:3, a file name such as 19_ReLU, or the path of any problem file.
Result<ProblemFile> FindProblem(const std::filesystem::path& directory, const std::string& name);

}  // namespace kb

#endif  // JUDGE_PROBLEM_PROBLEM_CATALOG_H_
