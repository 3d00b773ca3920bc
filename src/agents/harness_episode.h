// An episode of a program that drives the model by itself: its calls of the model come through a relay, those of the
// judge through a socket, and each call of the model is a turn in the store. Where a process was killed, the next one
// starts the program anew in the folder as it was.
#ifndef AGENTS_HARNESS_EPISODE_H_
#define AGENTS_HARNESS_EPISODE_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agents/episode_account.h"
#include "agents/harness_run.h"
#include "agents/kept_folder.h"
#include "agents/relay/relay.h"
#include "agents/stored_turn.h"
#include "store/store.h"

namespace kb {

struct HarnessEpisodeOptions {
  std::string harness;  // its name
  Conversation::Opening opening;
  Snapshot folder;
  EpisodeLimits limits;
  uint64_t kept_bytes = kMostKeptBytes;  // of files, in the store
  EpisodeCounts counts;
};

class HarnessEpisode : public RelayOwner {
 public:
  // What it is given outlives it.
  HarnessEpisode(HarnessEpisodeOptions options, const EpisodeWork& work, Store* store, AgentJudge* judge)
      : options_(std::move(options)), work_(work), store_(*store), judge_(*judge) {}

  // The program, from its start to its end, then that of the relay, which `stop_relay` waits for. Nothing: the run's
  // budget is spent, and the next command goes on. So it does after errors: kInterrupted, the store's, kUnavailable
  // where the model or the judge failed.
  Result<std::optional<EpisodeWorkDone>> Run(HarnessRun* run, AgentTools* tools,
                                             const std::function<void()>& stop_relay);
  // HarnessRunOptions' functions of these names.
  std::optional<HarnessLimit> Over();
  std::string ModelError();

  std::optional<std::string> Admit(const RelayCall& call) override;
  void Told(RelayCall call) override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Asked {
    Turn turn;
    CallCost most;
  };

  Status Load();
  Status GiveUp(Turn turn, const CallCost& most);
  Result<HarnessEnd> RunProgram();
  Result<std::optional<EpisodeWorkDone>> Settle(const HarnessEnd& end);
  Result<EpisodeWorkDone> Done(const HarnessEnd& end);
  Result<ToolOutcome> Call(const ToolCall& call);
  void Keep(TurnVerdict verdict);
  std::optional<std::string> AwaitRoom(const RelayCall& call, std::unique_lock<std::mutex>* lock);
  std::optional<std::string> Closed() const;
  Status Begin(const RelayCall& call, const CallCost& most);
  void CloseCall(const CallCost& most);
  void CountToolTime();
  Status FinishAnswered(bool all);
  void Fail(const Error& error);

  const HarnessEpisodeOptions options_;
  const EpisodeWork& work_;
  Store& store_;
  AgentJudge& judge_;
  HarnessRun* run_ = nullptr;
  AgentTools* tools_ = nullptr;
  std::optional<HarnessEnd> ended_;  // by an earlier process, which stored its answer

  std::mutex mutex_;                 // of what follows
  std::condition_variable changed_;  // a call has ended, or the program has
  bool running_ = false;             // the program is, and may call the model
  EpisodeAccount account_;
  int number_ = 0;                     // newest turn
  int open_calls_ = 0;                 // that are asked, or wait for the budget
  CallCost open_most_;                 // of them
  std::map<int64_t, Asked> asked_;     // by the relay's number
  std::map<int, Turn> answered_;       // by number; what follows on them is not known yet
  Clock::time_point idle_since_;       // no call is open
  double tool_seconds_ = 0;            // since the last turn that is done
  std::vector<TurnVerdict> verdicts_;  // likewise
  KeptFolder kept_{options_.kept_bytes};
  std::optional<AgentCandidate> submitted_;
  std::string model_error_;            // of the last answer
  bool model_refuses_ = false;         // likewise: it would not do better
  int model_failures_ = 0;             // in a row
  std::vector<std::string> denied_;    // calls since the last turn was asked: why
  std::optional<HarnessLimit> limit_;  // a call was refused for it
  bool budget_spent_ = false;
  Status status_;  // of the store
};

}  // namespace kb

#endif  // AGENTS_HARNESS_EPISODE_H_
