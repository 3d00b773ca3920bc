// What a candidate did, in words and as a verdict.
#ifndef JUDGE_RULE_FINDING_H_
#define JUDGE_RULE_FINDING_H_

#include <nlohmann/json.hpp>
#include <string>

#include "judge/rule/ending.h"
#include "judge/verdict/verdict.h"

namespace kb {

struct Finding {
  Verdict verdict = Verdict::kNotRun;
  std::string reason;
  nlohmann::json evidence = nlohmann::json::object();  // traceback, signal or exit_code
};

// `memory_gb`: the limit of the protocol.
Finding FindingOf(const Ending& ending, double memory_gb);

// Whether the candidate raised, by its own word.
bool IsRaised(const Ending& ending);

// Of two errors over what is allowed, each a number or "inf".
nlohmann::json LargerError(const nlohmann::json& a, const nlohmann::json& b);

}  // namespace kb

#endif  // JUDGE_RULE_FINDING_H_
