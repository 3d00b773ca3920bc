// How an agent's candidates are judged on its way: by the service that judges the run, under the run's rules and on
// fresh inputs each time, without a place in the run.
#ifndef AGENTS_AGENT_JUDGE_H_
#define AGENTS_AGENT_JUDGE_H_

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "agents/freezer.h"
#include "base/result.h"
#include "server/ask.h"
#include "store/episode.h"

namespace kb {

struct AgentJudgeOptions {
  server::ApiAsk ask;
  nlohmann::json request;      // of an EvaluationRequest: problem, size, protocol, keys, device, baseline
  Freezer* freezer = nullptr;  // outlives it
  std::function<bool()> stop;
};

// A file or folder of the agent's.
struct AgentCandidate {
  std::string name;       // of the file, whose ending says the language; a folder's has none
  std::string text;       // of a folder its packed form
  std::string rejection;  // why there is no text
};

// What the judge said.
struct AgentVerdict {
  std::string text;       // for the model: the verdict, what is wrong and where, or what could not be done and why
  bool is_error = false;  // it is no verdict: the service is gone, busy, or the candidate is no candidate
  TurnVerdict stored;     // without `turn` and `call`; its tool is empty where there is nothing to store
};

class AgentJudge {
 public:
  explicit AgentJudge(AgentJudgeOptions options) : options_(std::move(options)) {}

  // Each waits for the end. Errors: kInterrupted.
  Result<AgentVerdict> Compile(const AgentCandidate& candidate);
  Result<AgentVerdict> Evaluate(const AgentCandidate& candidate);  // boxes are frozen meanwhile
  Result<AgentVerdict> Profile(const AgentCandidate& candidate);   // likewise

 private:
  const AgentJudgeOptions options_;
};

}  // namespace kb

#endif  // AGENTS_AGENT_JUDGE_H_
