#include "judge/problem/problem_finder.h"

#include "base/file.h"
#include "base/hash.h"

namespace kb {

const Result<ProblemFile>& ProblemFinder::Find(const std::string& name) {
  const auto found = found_.find(name);
  if (found != found_.end()) return found->second;
  return found_.emplace(name, FindProblem(directory_, name)).first->second;
}

std::string ProblemTextHash(const ProblemFile& problem) {
  const auto text = ReadFile(problem.path);
  return text ? Sha256(*text) : "";
}

const std::string& ProblemFinder::TextHash(const ProblemFile& problem) {
  const auto [text, first] = texts_.try_emplace(problem.path);
  if (first) text->second = ProblemTextHash(problem);
  return text->second;
}

}  // namespace kb
