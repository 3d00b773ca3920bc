// What is to be told of a trial's times beside the speedup.
#ifndef JUDGE_RULE_NOTES_H_
#define JUDGE_RULE_NOTES_H_

#include <string>

#include "judge/rule/timings.h"

namespace kb {

// Once the headline and its interval are known.
void AddTimingNotes(Timings* timings);
// Where the baseline by itself takes so many times as long on inputs of a distribution that it is worth telling.
void NoteSlowerInputs(const std::string& distribution, double times, Timings* timings);

}  // namespace kb

#endif  // JUDGE_RULE_NOTES_H_
