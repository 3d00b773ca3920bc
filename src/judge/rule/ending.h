// How a trial ended before its rounds were over, as it was seen: what it means says FindingOf() (finding.h).
#ifndef JUDGE_RULE_ENDING_H_
#define JUDGE_RULE_ENDING_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "wire/ops.h"

namespace kb {

enum class EndedBy {
  kCall,          // a call did not end well, or the candidate said so
  kChangedInput,  // the candidate changed an input
  kLate,          // outputs were written after the candidate had said that it was done
  kWrong,         // an output is wrong
  kNotRepeated,   // other outputs on equal inputs
  kNoMemory,      // the candidate took so much of the device's memory that the reference found too little
};
NLOHMANN_JSON_SERIALIZE_ENUM(EndedBy, {{EndedBy::kCall, "call"},
                                       {EndedBy::kChangedInput, "changed_input"},
                                       {EndedBy::kLate, "late"},
                                       {EndedBy::kWrong, "wrong"},
                                       {EndedBy::kNotRepeated, "not_repeated"},
                                       {EndedBy::kNoMemory, "no_memory"}})

struct Ending {
  EndedBy by = EndedBy::kCall;

  // Of a call.
  bool loading = false;  // it loaded or constructed the candidate
  std::string end;       // ops::Called
  std::string malformed;
  ops::Said said;
  std::string limit;  // the time that it had, in words

  // Of a round.
  std::string distribution = "natural";
  int round = 0;
  int input = 0;            // that was changed
  nlohmann::json mismatch;  // of the first output that is wrong (docs/reference/evaluation.md), or null
  nlohmann::json error;     // the largest of all outputs over what is allowed: a number or "inf"

  // Of the device's memory, in bytes.
  int64_t taken = 0, planned = 0;

  // How the runner ended, once it was stopped.
  std::optional<int> signal, exit_code;
  bool out_of_memory = false;  // its control group's limit ended it

  NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(Ending, by, loading, end, malformed, said, limit, distribution, round,
                                              input, mismatch, error, taken, planned, signal, exit_code, out_of_memory)
};

}  // namespace kb

#endif  // JUDGE_RULE_ENDING_H_
