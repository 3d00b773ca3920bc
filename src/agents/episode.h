// An agent's work on one problem, from its task to what it submits: turn after turn the model is asked, and what it
// calls is done. Each step is in the store before the next begins, so whoever has the request goes on where the last
// one was killed.
#ifndef AGENTS_EPISODE_H_
#define AGENTS_EPISODE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/agent_tools.h"
#include "agents/conversation.h"
#include "agents/episode_account.h"
#include "agents/kept_folder.h"
#include "agents/stored_turn.h"
#include "generate/generator.h"
#include "store/store.h"

namespace kb {

struct EpisodeOptions {
  Conversation::Opening opening;
  Snapshot folder;
  int64_t window = 128'000;  // tokens that the model takes
  bool text_form = false;    // the model has no tools: its calls are text (text_form.h)
  EpisodeLimits limits;
  uint64_t kept_bytes = kMostKeptBytes;  // of files, in the store
  EpisodeCounts counts = {.best = false, .solution = "model_new.py"};
};

class EpisodeRun {
 public:
  // What it is given outlives it.
  EpisodeRun(EpisodeOptions options, const EpisodeWork& work, Store* store, Box* box, AgentJudge* judge,
             AgentTools* tools)
      : options_(std::move(options)), work_(work), store_(*store), box_(*box), judge_(*judge), tools_(*tools) {}

  // Until it ends. Nothing: the run's budget is spent, and the next command goes on. Errors: kInterrupted, the store's,
  // and the model's where it gives no answer; a turn that it still refuses in a third command ends the episode.
  Result<std::optional<EpisodeWorkDone>> Run();

 private:
  Status Load();
  Status Replay(const Turn& turn);
  Status CutOff(Turn* turn, const Completion& completion);
  Turn NextTurn(const std::optional<Turn>& open);
  Result<bool> TakeTurn();
  Result<bool> Refused(Turn turn, const Error& error);
  void Lost(Turn* turn, const CallCost& most);
  Status Condense(Turn* turn, const Completion& completion);
  std::string AfterCondensing(const std::string& summary);
  Status Work(Turn* turn, const Completion& completion);
  Result<ToolOutcome> Call(const ToolCall& call);
  void Submit(const AgentCandidate& candidate);
  void CountIdle(const Completion& completion);
  std::string Nudge(const Completion& completion);
  Status Finish(Turn* turn, StoredResults results, std::vector<TurnVerdict> verdicts, bool touched);
  void Give(int turn, const StoredResults& results);
  void Count(const Turn& turn, const Completion& completion);
  void LookAtLimits();
  std::string LeftText() const;

  const EpisodeOptions options_;
  const EpisodeWork& work_;
  Store& store_;
  Box& box_;
  AgentJudge& judge_;
  AgentTools& tools_;
  std::unique_ptr<Conversation> conversation_;
  std::string opening_json_;
  KeptFolder kept_{options_.kept_bytes};
  std::optional<Turn> open_;   // asked, without an answer
  int number_ = 0, idle_ = 0;  // newest turn; the last ones without a call
  EpisodeAccount account_;
  std::optional<AgentCandidate> submitted_;
  std::string ended_by_, ending_;
};

}  // namespace kb

#endif  // AGENTS_EPISODE_H_
