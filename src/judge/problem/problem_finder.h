// Problems by name, for those that judge many candidates.
#ifndef JUDGE_PROBLEM_PROBLEM_FINDER_H_
#define JUDGE_PROBLEM_PROBLEM_FINDER_H_

#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"
#include "judge/problem/problem_catalog.h"

namespace kb {

// Of the problem's source; "" if it cannot be read, which is for its judge to say.
std::string ProblemTextHash(const ProblemFile& problem);

// Finds each problem once.
class ProblemFinder {
 public:
  explicit ProblemFinder(std::filesystem::path directory) : directory_(std::move(directory)) {}
  const Result<ProblemFile>& Find(const std::string& name);
  const std::string& TextHash(const ProblemFile& problem);  // ProblemTextHash()

 private:
  std::filesystem::path directory_;
  std::map<std::string, Result<ProblemFile>> found_;
  std::map<std::filesystem::path, std::string> texts_;
};

}  // namespace kb

#endif  // JUDGE_PROBLEM_PROBLEM_FINDER_H_
