// Which inputs and weights each round of an evaluation has.
#ifndef JUDGE_ROUND_PLANNER_H_
#define JUDGE_ROUND_PLANNER_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "judge/protocol/protocol.h"
#include "judge/round/round.h"

namespace kb {

// Plans rounds in order: warm-up, then natural ones with a stressed one after every few.
class Planner {
 public:
  // `problem`: its "distributions" beside the natural one, and "weight_seeds".
  Planner(const Protocol& protocol, const nlohmann::json& problem);

  // Warm-up is where precision that was traded away shows first: its rounds are stressed. Where no others are, the last
  // of them has the problem's first distribution, for its time is looked at too (Course::LookElsewhere). The first
  // finds its inputs in place, unless that is this one: what a candidate makes of the first inputs it meets, a scale or
  // a workspace, stays.
  RoundPlan WarmUp(int number, int of);
  RoundPlan Natural();
  // A void round is run again with new inputs of the same distribution and the same weights.
  void Repeat(const RoundPlan& plan);
  bool StressIsDue() const;
  RoundPlan Stress();
  RoundPlan Stress(const std::string& distribution);
  // One that is compared, and nothing else.
  RoundPlan Unscored(const std::string& distribution) { return Plan(distribution, false); }

  // Distributions that rounds of this protocol will use.
  std::vector<std::string> Distributions() const;

 private:
  size_t Stresses() const;
  RoundPlan Plan(const std::string& distribution, bool scored);

  const Protocol& protocol_;
  int weight_sets_;
  std::vector<std::string> stress_;
  int index_ = 0, natural_ = 0, stressed_ = 0;
};

}  // namespace kb

#endif  // JUDGE_ROUND_PLANNER_H_
