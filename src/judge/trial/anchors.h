// What an answer may err.
#ifndef JUDGE_TRIAL_ANCHORS_H_
#define JUDGE_TRIAL_ANCHORS_H_

#include "judge/evaluation.h"
#include "judge/request.h"
#include "judge/services/services.h"

namespace kb {

// The device process holds the reference against fp64, on inputs of every distribution; once a problem and tolerance.
// Notes go to the evaluation. An error where the reference itself is too far off to judge anything by.
Status AnchorBudgets(const Request& request, const ops::Problem& problem, Services* services, Evaluation* evaluation);

}  // namespace kb

#endif  // JUDGE_TRIAL_ANCHORS_H_
