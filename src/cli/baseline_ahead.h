// Baselines that are compiled, several at a time, before they are measured one after the other: on the device nothing
// runs beside what is measured.
#ifndef CLI_BASELINE_AHEAD_H_
#define CLI_BASELINE_AHEAD_H_

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "judge/evaluate.h"

namespace kb::cli {

struct BaselineTask {
  ProblemFile problem;
  std::string size;
  Protocol protocol;
  nlohmann::json known;  // the stored baseline, or null
  nlohmann::json eager;  // what is stored of kind eager, or null
};

class CompilesAhead {
 public:
  // `tasks`: those that will be measured, in their order. Of them max-autotune, which tunes for long, and a library,
  // which tunes without Inductor, are left to be compiled by themselves. `jobs`: compilations at the same time; 0: half
  // as many as cores, for Inductor has helpers of its own.
  CompilesAhead(Evaluator* evaluator, std::vector<const BaselineTask*> tasks, int jobs);

  // Compiles this one, if it is not yet, beside the next ones. False: it took too long or failed beside them, and is to
  // be compiled by itself after all others.
  bool Compile(const BaselineTask& task);
  // What that took; nothing if it is not compiled ahead or was in the cache.
  std::optional<double> SecondsOf(const BaselineTask& task) const;

 private:
  void CompileNext();

  Evaluator* evaluator_;
  std::vector<const BaselineTask*> tasks_;
  size_t next_ = 0, jobs_;
  std::map<const BaselineTask*, CompiledAhead> compiled_;
};

}  // namespace kb::cli

#endif  // CLI_BASELINE_AHEAD_H_
