// The tools that an agent is offered, and what each does. Named as in KernelBench v3 where that has them.
#ifndef AGENTS_AGENT_TOOLS_H_
#define AGENTS_AGENT_TOOLS_H_

#include <nlohmann/json.hpp>
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
  double device_seconds = 0;  // of the time that they, and commands with a GPU, held a device; 0: no limit
  double gpu_seconds = 60;    // the most that a command with a GPU may have
  double gpu_memory = 0.5;    // and the share of its memory
};

struct AgentToolOptions {
  std::string solution = "model_new.py";  // what the task says to write (SolutionName() of prompt/target.h)
  bool gpu = false;                       // the judge has one
};

struct ToolOutcome {
  std::string text;  // for the model
  bool is_error = false;
  double seconds = 0;
  bool touched = false;                // the folder may have changed
  std::optional<TurnVerdict> verdict;  // without `turn` and `call`; of bash, that it held a device
  std::optional<AgentCandidate> submitted;
};

// A candidate that was evaluated.
struct AgentTry {
  int number = 0;  // among the evaluations, from 1
  TurnVerdict verdict;
  Fitness fitness;
};

class AgentTools {
 public:
  // `box` and `judge` outlive it.
  AgentTools(Box* box, AgentJudge* judge, AgentToolLimits limits, AgentToolOptions options = {})
      : box_(box), judge_(judge), limits_(limits), options_(std::move(options)) {}

  // list, read_file, search, write_file, edit_file, bash, compile, evaluate, profile (only where the judge has a GPU),
  // best, submit.
  std::vector<Tool> Offered() const;
  // Those that a program in the box has, which can do all else by itself: compile, evaluate, profile, best, submit.
  std::vector<Tool> OfJudge() const;
  // What a task says of the latter: TaskFolderRequest::how.
  static std::string HowTo(const AgentToolLimits& limits, const AgentToolOptions& options);

  // What a call gives. Whatever the model wrote ends as a text that says what to do: an unknown tool, broken JSON, an
  // argument that is missing. Texts are clean (report/text.h) and bounded. Errors: kInterrupted, and what ends the
  // episode: the box is gone.
  Result<ToolOutcome> Call(const ToolCall& call);

  // What was judged in earlier turns, by an earlier process; in their order, of what may be the best with its source.
  void Remember(const TurnVerdict& verdict);
  // The fastest correct one, else the last of those that came closest; null: nothing was evaluated that is worth
  // anything.
  const AgentTry* best() const { return best_ ? &*best_ : nullptr; }
  int evaluations() const { return evaluations_; }
  double device_seconds() const { return device_seconds_; }
  // "; 3 of 20 evaluations left": empty where nothing limits them.
  std::string LeftText() const;

 private:
  Result<ToolOutcome> Do(const std::string& name, const nlohmann::json& arguments);
  Result<ToolOutcome> Bash(const nlohmann::json& arguments);
  Result<ToolOutcome> BashOnDevice(const std::string& command, CommandLimits limits);
  Result<ToolOutcome> Judge(const std::string& name, const AgentCandidate& candidate);
  Result<ToolOutcome> Best();
  std::optional<std::string> UsedUp(bool evaluates) const;
  std::string Account(const TurnVerdict& verdict) const;

  Box* const box_;
  AgentJudge* const judge_;
  const AgentToolLimits limits_;
  const AgentToolOptions options_;
  std::optional<AgentTry> best_;
  int tries_ = 0;        // calls of evaluate
  int evaluations_ = 0;  // and of profile
  double device_seconds_ = 0;
};

// The file or folder of a judge's tool. Errors are texts for the model.
Result<AgentCandidate> CandidateAt(const Folder& folder, const std::string& path);

}  // namespace kb

#endif  // AGENTS_AGENT_TOOLS_H_
