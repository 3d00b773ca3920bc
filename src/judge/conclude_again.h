// A stored evaluation under today's rule, or under another protocol.
#ifndef JUDGE_CONCLUDE_AGAIN_H_
#define JUDGE_CONCLUDE_AGAIN_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "judge/protocol/protocol.h"

namespace kb {

struct ConcludedAgain {
  // "same", "changed"; "no_trial": it ended before one (text, build), and no rule changes that; "too_little": what is
  // stored does not tell.
  std::string outcome;
  std::string why;       // of too_little: what is missing
  nlohmann::json after;  // of same and changed: the keys of an evaluation that the rule decides (ConclusionJson())
};

// `evaluation`: as it is stored, with `measurements`; samples and source may be missing. `protocol`: null for the one
// it was judged under. Under another one what was compared must have been compared alike, and against the same
// baseline.
ConcludedAgain ConcludeAgain(const nlohmann::json& evaluation, const Protocol* protocol);

// Of the keys that the rule decides, those in which two evaluations differ.
std::vector<std::string> ChangedKeys(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace kb

#endif  // JUDGE_CONCLUDE_AGAIN_H_
