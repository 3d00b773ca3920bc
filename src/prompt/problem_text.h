// A problem's source as a model gets to see it.
#ifndef PROMPT_PROBLEM_TEXT_H_
#define PROMPT_PROBLEM_TEXT_H_

#include <filesystem>
#include <string>

#include "base/result.h"

namespace kb {

struct ProblemText {
  std::string source;  // see ReadProblemText()
  std::string sizes;   // a sentence about constants that `source` shows with another value; empty: none
};

// The source of a problem file at one of its sizes: module-level constants have the values of that size, and what the
// file tells the judge alone (sizes, distributions, remarks on scoring, the answer in fp64) is left out. A file that
// cannot be parsed comes back as it is. Errors (usage): no such size.
Result<ProblemText> ShowProblem(const std::string& source, const std::string& name, const std::string& size);

// Of a problem whatever its deck: "36_RMSNorm_.py" and "9_RMSNorm.py" are both "rmsnorm". Problems that share it pose
// the same task.
std::string TaskName(const std::filesystem::path& path);

}  // namespace kb

#endif  // PROMPT_PROBLEM_TEXT_H_
