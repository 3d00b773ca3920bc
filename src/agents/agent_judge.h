// How an agent's candidates are judged on its way: by the service that judges the run, under the run's rules and on
// fresh inputs each time, without a place in the run.
#ifndef AGENTS_AGENT_JUDGE_H_
#define AGENTS_AGENT_JUDGE_H_

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "agents/agent_lease.h"
#include "agents/freezer.h"
#include "base/result.h"
#include "server/ask.h"
#include "store/episode.h"

namespace kb {

struct AgentJudgeOptions {
  server::ApiAsk ask;
  nlohmann::json request;      // of an EvaluationRequest: problem, size, protocol, keys, device, baseline
  Freezer* freezer = nullptr;  // outlives it; there the judge itself is the agent
  // Asked at least every 200 ms, beside Interrupted(). What is being judged then is cancelled.
  std::function<bool()> stop;
  // A service that is overloaded, starting, or has no quota left is asked again until then.
  std::chrono::milliseconds patience{600'000};
  std::chrono::milliseconds pause{5000};  // between two tries, where the service does not say how long
  int tries = 3;                          // of what failed for other reasons than the candidate
};

// A file or folder of the agent's.
struct AgentCandidate {
  std::string name;       // of the file, whose ending says the language; a folder's has none
  std::string text;       // of a folder its packed form
  std::string rejection;  // why there is no text
};

// "py", "cpp" or "cu"; of a folder "py".
std::string LanguageOf(const AgentCandidate& candidate);

// What the judge said.
struct AgentVerdict {
  std::string text;       // for the model: the verdict, what is wrong and where, or what could not be done and why
  bool is_error = false;  // it is no verdict: the service is gone, busy, or the candidate is no candidate
  bool later = false;     // of such: a later call may have one
  // Without `turn` and `call`; its tool is empty where there is nothing to store, its verdict where it compiles.
  TurnVerdict stored;
};

// Of an evaluation: how long it held a device, all tries together. That is what it took without what is built before,
// by the evaluation's own account (`engine_us`).
double DeviceSeconds(const nlohmann::json& engine_us);

// May be used by several threads.
class AgentJudge {
 public:
  explicit AgentJudge(AgentJudgeOptions options) : options_(std::move(options)) {}

  // Each waits for the end. Errors: kInterrupted.
  Result<AgentVerdict> Compile(const AgentCandidate& candidate);
  Result<AgentVerdict> Evaluate(const AgentCandidate& candidate);  // its freezer is held meanwhile
  Result<AgentVerdict> Profile(const AgentCandidate& candidate);   // likewise
  // Waits until the service lends a device, for so many seconds and that share of its memory at most. Errors:
  // kInterrupted; kUsage is a text for the model.
  Result<AgentLease> Lend(double seconds, double memory_share);
  Freezer* freezer() const { return options_.freezer; }

 private:
  struct Kind;
  struct Outcome;
  Result<AgentVerdict> Have(const Kind& kind, const AgentCandidate& candidate);
  Result<Outcome> TryOnce(const Kind& kind, const nlohmann::json& request);
  Result<server::HttpAnswer> Ask(server::Asked asked);
  Result<Outcome> Follow(const Kind& kind, server::HttpAnswer answer);
  // After which a service that cannot serve it now is to be asked again.
  std::optional<std::chrono::milliseconds> PauseAfter(const server::HttpAnswer& answer) const;
  Status Sleep(std::chrono::milliseconds time);
  bool Stopped() const;

  const AgentJudgeOptions options_;
};

}  // namespace kb

#endif  // AGENTS_AGENT_JUDGE_H_
