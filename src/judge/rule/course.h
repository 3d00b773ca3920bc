// The rounds of a trial, one after the other: which of them count, and which comes next.
#ifndef JUDGE_RULE_COURSE_H_
#define JUDGE_RULE_COURSE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/rule/timings.h"
#include "judge/rule/void_rounds.h"

namespace kb {

// A round that is needed. Its distribution is drawn (PlanRound()): nothing that came before tells a candidate whether
// its next inputs are natural or of another distribution, or of which one.
struct RoundWanted {
  RoundPlan plan;                  // all but the distribution
  int natural_for_one_other = 0;   // on average; 0: it is on natural inputs
  std::vector<std::string> other;  // of which one is drawn; those that were not met yet are in it three times
};

// Distributions that rounds of this protocol have, the natural one first. Where few rounds are planned, only the first
// ones: each is to be met.
std::vector<std::string> DistributionsOf(const TrialSetting& setting, const Protocol& protocol);

class Course {
 public:
  // `timings`: with its figures. Follows the rounds that were run; `timings` holds them from then on, and which count.
  Course(const Measurements& measured, Timings* timings);

  // Nothing where it is enough.
  std::optional<RoundWanted> Next() const;
  // Whether the inputs of the last round are to be given to the candidate again.
  bool WantsRepeat() const;
  // Rounds whose candidate found a device that had not been idle, though it was before loading.
  const Early& early() const { return early_; }

 private:
  void Follow(const Round& round);
  void Count(TimedCalls round);
  void Look();
  bool AllMet() const;
  bool Settled() const;
  bool IsSlower(const TimedCalls& round, double speedup) const;
  RoundWanted Plan(bool scored) const;
  int LeastWarmUp() const;

  const Measurements& measured_;
  const Protocol& protocol_;
  Timings* timings_;
  const std::vector<std::string> distributions_;
  size_t seeded_ = 0;                   // rounds of fixed seeds
  int warm_ = 0, planned_natural_ = 0;  // others that are not scored, and how many were natural
  struct Tally {
    int rounds = 0, counted = 0, disturbed = 0;
  };
  Tally all_;                             // of those that are scored
  std::map<std::string, Tally> tallies_;  // by distribution
  int natural_ = 0;                       // that count
  size_t looks_ = 0;
  bool narrow_ = false;  // no further look is needed
  Early early_;
};

}  // namespace kb

#endif  // JUDGE_RULE_COURSE_H_
