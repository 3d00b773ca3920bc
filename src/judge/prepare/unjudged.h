// What is known of a candidate that is built and not judged.
#ifndef JUDGE_PREPARE_UNJUDGED_H_
#define JUDGE_PREPARE_UNJUDGED_H_

#include "judge/evaluation.h"
#include "judge/prepare/prepare.h"

namespace kb {

// Refused by its text, not built, or not_run: with findings, notes and what the compilers said. Without an id, for it
// is none that is stored.
Evaluation Unjudged(const Prepared& prepared);

}  // namespace kb

#endif  // JUDGE_PREPARE_UNJUDGED_H_
