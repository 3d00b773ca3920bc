// What the rounds of an evaluation say about its speedup, and which inputs that is told of.
#ifndef JUDGE_RULE_HEADLINE_H_
#define JUDGE_RULE_HEADLINE_H_

#include <string>

#include "judge/rule/timings.h"
#include "judge/stats/stats.h"

namespace kb {

// Rounds on stressed inputs after which an interval of 95% can be told: below that slower ones prove nothing.
inline constexpr int kStressedRounds = 6;

// By how much, relative, a ratio of the two sides is wrong however many rounds of `distribution` there are: what A/A
// runs show.
double FloorOf(const Timings& timings, const std::string& distribution);
// The part of a GPU's that grows with how long the host launches the baseline in those rounds, at most 1: two processes
// that do the same differ by so much where launches do not hide behind the device's being held. 0 on the CPU.
double LaunchFloor(const Timings& timings, const std::string& distribution);

// Of the rounds that count and are of `distribution`; of all but the natural ones for "stressed".
Speedup EstimateFor(const Timings& timings, const std::string& distribution);

// Sets headline and speedup. The natural inputs give the headline, unless others are certainly slower: more than a
// slowed baseline in the natural rounds could make them seem.
void ChooseHeadline(Timings* timings);

// The headline with all that its interval must allow for (hedges.h). On a GPU the candidate's events are its word.
// Where they make the speedup more than twice what is certain, the judge's clock alone tells it; where that is no more
// certain, there is none ("too_short").
void ConcludeSpeedup(Timings* timings);

// KernelBench's way, for comparison: events around each call, of which the candidate's are its own word.
void TimeByEvents(Timings* timings);

}  // namespace kb

#endif  // JUDGE_RULE_HEADLINE_H_
