// What is to be told of a trial's times beside the speedup.
#ifndef JUDGE_RULE_NOTES_H_
#define JUDGE_RULE_NOTES_H_

#include "judge/rule/timings.h"

namespace kb {

// Once the headline and its interval are known.
void AddTimingNotes(Timings* timings);

}  // namespace kb

#endif  // JUDGE_RULE_NOTES_H_
