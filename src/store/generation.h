// What language models answered in a run. A request is one turn of one sample: it is in exactly one state, whatever
// kills whom: `queued`; `asked`, by a process that says so by its `owner`; `answered`, with what came of it; or
// `failed`, which means that the provider gave no answer, and says nothing about the model. An answer is stored before
// anything is done with it; only then is it settled: is there a candidate in it, or why not?
#ifndef STORE_GENERATION_H_
#define STORE_GENERATION_H_

#include <cstdint>
#include <optional>
#include <string>

namespace kb {

struct GenerationRequest {
  int64_t id = 0;  // in the store
  std::string model, problem;
  int sample = 0, turn = 0;
  int candidate = 0;  // its number among those of its run, model and problem: `sample` of its job and evaluation
  std::string state;
  std::string owner;  // of an asked one: OwnerName()
  std::string error;  // of a failed one, or of its last attempt
};

// One answer to a request. A request has more than one where a first one was sent back with a complaint.
struct GenerationAnswer {
  int64_t id = 0, request = 0;
  int attempt = 0;  // among the answers to its request, from 0
  std::string created;
  std::string prompt;               // JSON: {"system", "messages": [{"role", "text"}]}
  int64_t prompt_bytes = 0;         // of its texts
  std::string response, reasoning;  // as the model gave them
  std::string finish;               // "stop", "length", "refused", "unknown"
  std::string answered_by;          // the model, by its own account
  // Tokens, each counted once; absent where the provider did not say.
  std::optional<int64_t> input, cache_read, cache_write, output, reasoning_tokens;
  std::optional<double> cost_usd;  // absent where it is not known
  std::string price_source;        // where the price is from
  int calls = 1;                   // made until one succeeded
  double seconds = 0;              // of that one
  bool settled = false;
  std::string source_sha256;  // of the candidate in it; empty: there is none
  std::string language;       // of that candidate: "py", "cpp" or "cu"
  std::string complaint;      // why there is no candidate, or what static analysis says against it
};

// All that a run has spent. What is not known is counted, not guessed.
//
// The answer that ends an episode (episode.h) has the sum of its turns. Until it is there the turns themselves count,
// all of an episode as one answer. In both, calls whose answers were lost count with the most that they can have taken,
// their tokens as input.
struct GenerationSpent {
  int64_t answers = 0, input = 0, output = 0;   // input: cached tokens too
  int64_t evaluations = 0;                      // done jobs, and what agents had evaluated or profiled on their way
  int64_t without_usage = 0, without_cost = 0;  // answers
  double usd = 0;                               // of the answers whose cost is known
};

// What agents have spent that are at work: their turns, as long as they have no answer.
struct TurnsSpent {
  int64_t tokens = 0;
  double usd = 0;
};

inline constexpr char kMechanicalAuditor[] = "mechanical";  // the auditor that is no model

// One auditor's answer about one evaluation.
struct EvaluationReview {
  std::string evaluation_id, auditor, created;
  bool passes = false;
  std::optional<double> speedup;  // audited
  std::string findings;           // JSON: what the answer says, or why it says nothing
  std::string exchange;           // JSON: prompt, response, usage, cost
};

}  // namespace kb

#endif  // STORE_GENERATION_H_
