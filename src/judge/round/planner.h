// Which inputs and weights each round of an evaluation has.
#ifndef JUDGE_ROUND_PLANNER_H_
#define JUDGE_ROUND_PLANNER_H_

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "judge/protocol/protocol.h"
#include "judge/round/round.h"

namespace kb {

// Draws what each round is, one after the other and each by itself: nothing that came before tells a candidate whether
// its next inputs are natural or of another distribution, or of which one.
class Planner {
 public:
  // `problem`: its "distributions" beside the natural one, and "weight_seeds". `random` gives 64 random bits.
  Planner(const Protocol& protocol, const nlohmann::json& problem, std::function<uint64_t()> random);

  // The next round: one of another distribution in one of stress_every + 1 cases, and one that was not met yet three
  // times as likely as one that was. The very first finds its inputs in place: what a candidate makes of the first
  // inputs it meets, a scale or a workspace, stays.
  RoundPlan Next(bool scored);
  // A round that was void does not count: what comes in its place is drawn anew, with the same weights.
  void Void(const RoundPlan& plan);
  // One that is compared, and nothing else: on natural inputs of a fixed seed, or of a distribution.
  RoundPlan Seeded(int64_t seed);
  RoundPlan Unscored(const std::string& distribution) { return Plan(distribution, false); }

  // Whether there has been a round of each distribution and with each weight set.
  bool AllMet() const { return met_.size() == Distributions().size() && weights_met_ == weight_sets_; }
  // Distributions that rounds of this protocol have. Where few rounds are planned, only the first ones: each is to be
  // met.
  std::vector<std::string> Distributions() const;

 private:
  RoundPlan Plan(const std::string& distribution, bool scored);

  const Protocol& protocol_;
  std::function<uint64_t()> random_;
  int weight_sets_;
  std::vector<std::string> stress_;
  std::set<std::string> met_ = {"natural"};
  int weights_met_ = 0;  // how many sets
  int index_ = 0, natural_ = 0;
};

}  // namespace kb

#endif  // JUDGE_ROUND_PLANNER_H_
