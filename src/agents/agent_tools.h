// The tools that an agent is offered, and what each does. Named as in KernelBench v3 where that has them.
#ifndef AGENTS_AGENT_TOOLS_H_
#define AGENTS_AGENT_TOOLS_H_

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "agents/agent_judge.h"
#include "agents/box.h"
#include "generate/strategy.h"
#include "model/provider.h"
#include "store/episode.h"

namespace kb {

struct AgentToolLimits {
  CommandLimits command;      // of bash: its time is the most that a call may ask for
  int evaluations = 0;        // of evaluate and profile together; 0: no limit
  double device_seconds = 0;  // likewise, of the time that they took; 0: no limit
};

struct ToolOutcome {
  std::string text;  // for the model
  bool is_error = false;
  double seconds = 0;
  bool touched = false;                // the folder may have changed
  std::optional<TurnVerdict> verdict;  // without `turn` and `call`
  std::optional<AgentCandidate> submitted;
};

// A candidate that was evaluated.
struct AgentTry {
  TurnVerdict verdict;
  Fitness fitness;
};

class AgentTools {
 public:
  // `box` and `judge` outlive it.
  AgentTools(Box* box, AgentJudge* judge, AgentToolLimits limits) : box_(box), judge_(judge), limits_(limits) {}

  // list, read_file, search, write_file, edit_file, bash, compile, evaluate, profile (only where the judge has a GPU),
  // best, submit.
  std::vector<Tool> Offered() const;
  // Those that a program in the box has, which can do all else by itself: compile, evaluate, profile, best, submit.
  std::vector<Tool> OfJudge() const;

  // What a call gives. Whatever the model wrote ends as a text that says what to do: an unknown tool, broken JSON, an
  // argument that is missing. Errors: kInterrupted, and what ends the episode: the box is gone.
  Result<ToolOutcome> Call(const ToolCall& call);

  // What was evaluated in earlier turns, by an earlier process.
  void Remember(const TurnVerdict& verdict);
  // The fastest correct one, else the one that came closest; null: nothing was evaluated.
  const AgentTry* best() const;
  int evaluations() const { return evaluations_; }
  double device_seconds() const { return device_seconds_; }

 private:
  Box* const box_;
  AgentJudge* const judge_;
  const AgentToolLimits limits_;
  std::optional<AgentTry> best_;
  int evaluations_ = 0;
  double device_seconds_ = 0;
};

}  // namespace kb

#endif  // AGENTS_AGENT_TOOLS_H_
