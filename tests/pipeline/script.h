// What a fake device process (fake_python.cc) does otherwise than it would: rules, in a file beside the program. Tests
// write them with the structs of wire/ops.h.
#ifndef TESTS_PIPELINE_SCRIPT_H_
#define TESTS_PIPELINE_SCRIPT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "wire/doorbell.h"
#include "wire/ops.h"

namespace kb::pipeline {

using ops::Json;

// What calls take without a script, in us: of the candidate and of the baseline beyond empty ones, empty ones of
// either, and loading.
inline constexpr double kCandidateUs = 50, kBaselineUs = 100, kEmptyUs = 10, kLoadUs = 1000;

// Files in the directory of the program.
inline constexpr char kScriptFile[] = "script.json";
inline constexpr char kStartsFile[] = "starts";  // a byte for each device process that was started
inline constexpr char kAskedFile[] = "asked";    // a line for each operation: its name
inline constexpr char kMetFile[] = "met";        // a line for each operation that met a rule: the rule's number

// The one thing that is asked and no operation: which Python this is.
inline constexpr char kProbe[] = "probe";

enum class Act {
  kAnswer,   // does what it is asked, and answers as the rule says
  kExit,     // ends with an exit code
  kSignal,   // ends by a signal
  kSilence,  // never answers
  kGarbage,  // answers what is no message
  kClose,    // closes the socket and stays
};
NLOHMANN_JSON_SERIALIZE_ENUM(Act, {{Act::kAnswer, "answer"},
                                   {Act::kExit, "exit"},
                                   {Act::kSignal, "signal"},
                                   {Act::kSilence, "silence"},
                                   {Act::kGarbage, "garbage"},
                                   {Act::kClose, "close"}})

struct Rule {
  // For which operations. Those of one process that fit are counted, from 1.
  std::string op;
  Json request = Json::object();  // fields that it has
  int evaluation = 0;             // of the process; 0: any
  int process = 0;                // of those that were started; 0: any
  std::string problem;            // file name of the problem that is loaded; empty: any
  std::string distribution;       // of the inputs that were drawn; empty: any
  int first = 1, last = 1 << 30, every = 1;

  Act act = Act::kAnswer;
  int number = 0;                // the exit code or the signal
  int late_ms = 0;               // before it acts
  Json answer = Json::object();  // laid over its own answer, field by field
  bool whole = false;            // `answer` is all that it answers
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Rule, op, request, evaluation, process, problem, distribution, first, last, every, act,
                                 number, late_ms, answer, whole)
};
using Script = std::vector<Rule>;

// The fields of `changed` that are not as in the other.
inline Json Changed(Json changed, const Json& from) {
  for (const auto& [name, value] : from.items()) {
    if (changed.at(name) == value) changed.erase(name);
  }
  return changed;
}

// Calls of a runner, of one kind.
inline Json OfKind(CallKind kind) { return Changed(ops::Call{.kind = static_cast<int>(kind)}, ops::Call()); }
// The baseline in a round, and by itself.
inline Json InRound() { return Changed(ops::Baseline{.alone = false}, ops::Baseline{.alone = true}); }
inline Json Alone() { return Changed(ops::Baseline{.alone = true}, ops::Baseline()); }

// It answers as it would, but for the fields that are filled in.
template <typename Op>
Rule Answers(const typename Op::Reply& reply, Rule rule = {}) {
  rule.op = Op::kOp;
  rule.answer = Changed(reply, typename Op::Reply());
  return rule;
}

// It answers exactly this.
template <typename Op>
Rule AnswersOnly(const typename Op::Reply& reply, Rule rule = {}) {
  rule.op = Op::kOp;
  rule.answer = reply;
  rule.whole = true;
  return rule;
}

// What is wrong with the problem, as device_host.py says it.
template <typename Op>
Rule Refuses(const std::string& why, bool out_of_memory = false, Rule rule = {}) {
  rule.op = Op::kOp;
  rule.answer = {{"problem_error", why}};
  if (out_of_memory) rule.answer["out_of_memory"] = true;
  rule.whole = true;
  return rule;
}

}  // namespace kb::pipeline

#endif  // TESTS_PIPELINE_SCRIPT_H_
