// How far a speedup's interval must reach beyond what its samples say, because of what they cannot tell apart.
#ifndef JUDGE_RULE_HEDGES_H_
#define JUDGE_RULE_HEDGES_H_

#include "judge/rule/timings.h"

namespace kb {

// On natural inputs the baseline was also measured by itself. Where it took longer in the rounds, the candidate may
// have slowed it, or the machine both of them: the interval's low end is that of the quicker figure, its high end that
// of the slower, and the speedup is at most what the floor allows above the figure by itself.
void HedgeAgainstSlowedBaseline(Timings* timings);
// On a GPU events are the candidate's word: the low end is that of the judge's clock.
void HedgeAgainstEvents(Timings* timings);

}  // namespace kb

#endif  // JUDGE_RULE_HEDGES_H_
