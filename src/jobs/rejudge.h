// Judging some of a run's candidates again, to see how often the answers agree.
#ifndef JOBS_REJUDGE_H_
#define JOBS_REJUDGE_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "jobs/scheduler.h"
#include "judge/problem/problem_finder.h"
#include "store/store.h"

namespace kb {

// An evaluation of the run, and what judging its candidate again said.
struct JudgedTwice {
  nlohmann::json before;
  std::string verdict;  // "" as long as there is none
  std::optional<double> speedup, low, high;

  void Add(const nlohmann::json& evaluation);
  std::optional<double> SpeedupBefore() const;
  bool SameVerdict() const;
  // Both measured, and their intervals have a point in common. Absent: one was not measured.
  std::optional<bool> SameSpeedup() const;
};

struct RejudgeWanted {
  std::string run, device;  // device: "cpu" or "cuda"
  int count = 20;           // drawn at random
  uint64_t seed = 0;
};

// Of the run's evaluations on that kind of device, those of problems whose text is another one now being left out,
// which a sentence in `note` tells. kUsage if none is left.
Result<std::vector<JudgedTwice>> DrawEvaluations(const RejudgeWanted& wanted, const Store& store, ProblemFinder* finder,
                                                 std::string* note);
// How a candidate is judged again, under the rules that the evaluation was made under.
Result<Task> TaskOf(const nlohmann::json& evaluation, ProblemFinder* finder);

}  // namespace kb

#endif  // JOBS_REJUDGE_H_
