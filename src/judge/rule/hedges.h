// How far a speedup's interval must reach beyond what its samples say, because of what they cannot tell apart.
#ifndef JUDGE_RULE_HEDGES_H_
#define JUDGE_RULE_HEDGES_H_

#include "judge/rule/timings.h"

namespace kb {

// Under load the baseline is slowed more than the candidate, which wakes up rested. If such rounds count, the interval
// reaches down to what the quietest baseline says. On a GPU it always reaches down to the undisturbed one: what a
// baseline may be slower than that without its round being void, a candidate may have caused.
void HedgeAgainstLoad(Timings* timings);
// A baseline that stayed slower counts as if it had not, for the candidate may have slowed it. If the machine did, it
// slowed both: the interval reaches up to what was measured.
void HedgeAgainstSlowerMachine(Timings* timings);
// On a GPU events are the candidate's word: the low end is that of the judge's clock.
void HedgeAgainstEvents(Timings* timings);

}  // namespace kb

#endif  // JUDGE_RULE_HEDGES_H_
