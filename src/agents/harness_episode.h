// An episode of a program that drives the model by itself: its calls of the model come through a relay, those of the
// judge through a socket, and each call of the model is a turn in the store. Where a process was killed, the next one
// starts the program anew in the folder as it was.
#ifndef AGENTS_HARNESS_EPISODE_H_
#define AGENTS_HARNESS_EPISODE_H_

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agents/episode_account.h"
#include "agents/harness_run.h"
#include "agents/relay/relay.h"
#include "agents/stored_turn.h"
#include "store/store.h"

namespace kb {

struct HarnessEpisodeOptions {
  std::string harness;  // its name
  Conversation::Opening opening;
  Snapshot folder;
  EpisodeLimits limits;
  EpisodeCounts counts;
};

class HarnessEpisode : public RelayOwner {
 public:
  // What it is given outlives it.
  HarnessEpisode(HarnessEpisodeOptions options, const EpisodeWork& work, Store* store, AgentJudge* judge)
      : options_(std::move(options)), work_(work), store_(*store), judge_(*judge) {}

  // The program, from its start to its end. Nothing: the run's budget is spent, and the next command goes on.
  Result<std::optional<EpisodeWorkDone>> Run(HarnessRun* run, AgentTools* tools);
  // HarnessRunOptions' functions of these names.
  std::optional<HarnessLimit> Over();
  std::string ModelError();

  std::optional<std::string> Admit(const RelayCall& call) override;
  void Told(RelayCall call) override;

 private:
  Status Load();
  Result<HarnessEnd> RunProgram();
  Result<EpisodeWorkDone> Done(const HarnessEnd& end);
  Result<ToolOutcome> Call(const ToolCall& call);
  Result<Turn> Begin(const RelayCall& call, const CallCost& most);
  Status FinishAnswered();
  void Fail(const Error& error);

  const HarnessEpisodeOptions options_;
  const EpisodeWork& work_;
  Store& store_;
  AgentJudge& judge_;
  HarnessRun* run_ = nullptr;
  AgentTools* tools_ = nullptr;

  std::mutex mutex_;  // of what follows
  EpisodeAccount account_;
  int number_ = 0;                                      // newest turn
  std::vector<Turn> open_;                              // asked by a process that was killed
  std::map<int64_t, std::pair<Turn, CallCost>> asked_;  // by the relay's number
  std::vector<Turn> answered_;                          // what follows on them is not known yet
  std::vector<TurnVerdict> verdicts_;                   // since the last turn that is done
  std::vector<Snapshot::File> files_;                   // of the folder, as they are stored
  std::optional<AgentCandidate> submitted_;
  std::string model_error_;
  std::vector<std::string> denied_;    // calls since the last turn was asked: why
  std::optional<HarnessLimit> limit_;  // a call was refused for it
  bool budget_spent_ = false;
  Status status_;  // of the store
};

}  // namespace kb

#endif  // AGENTS_HARNESS_EPISODE_H_
