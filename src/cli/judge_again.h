// Judging stored candidates again without adding to the store, for `rejudge` and `audit --held-out`.
#ifndef CLI_JUDGE_AGAIN_H_
#define CLI_JUDGE_AGAIN_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/result.h"
#include "cli/defaults.h"
#include "judge/problem/problem_finder.h"

namespace kb::cli {

struct AgainFlags {
  std::string devices = ThisDevice();  // as --devices
  std::string isolation = "namespaces";
  int threads = 0, jobs = 0;
  bool quiet = false;
  bool lines = false;  // prints one for each that is judged
};

// Each candidate under the rules of its evaluation, and at the size that this names. `tell` gets the place of the
// evaluation and the new one, on one thread at a time; those that failed for reasons of the engine are not told.
Status JudgeEachAgain(const AgainFlags& flags, std::span<const nlohmann::json> evaluations, ProblemFinder* finder,
                      const std::function<void(size_t, const nlohmann::json&)>& tell);

}  // namespace kb::cli

#endif  // CLI_JUDGE_AGAIN_H_
