// What an episode took, added up turn by turn by a process that saw them or reads them, and what its end means.
#ifndef AGENTS_EPISODE_ACCOUNT_H_
#define AGENTS_EPISODE_ACCOUNT_H_

#include <optional>
#include <string>
#include <vector>

#include "agents/agent_judge.h"
#include "agents/agent_tools.h"
#include "agents/folder.h"
#include "generate/generator.h"
#include "model/provider.h"
#include "store/store.h"

namespace kb {

inline constexpr const char* kModelError = "model_error";  // what an episode ended by that its model refuses

// Of one episode; 0: none. Those of evaluations and of the device's time are the tools' (AgentToolLimits).
struct EpisodeLimits {
  int turns = 10;
  int64_t tokens = 0;  // read and written, cached ones too
  double usd = 0;
  double seconds = 0;  // of models and tools
};

// Both kinds of episodes count by this: ours, and programs behind a relay.
struct EpisodeAccount {
  int turns = 0;  // of work, that the model has answered
  CallCost spent;
  double seconds = 0;
  GenerationAnswer sum;  // of all turns

  // A turn that is over but for its tools, with the calls that it lost. What nobody has counted of an answer counts as
  // `most`, or the limit of tokens would limit nothing.
  void Count(const Turn& turn, const Completion& completion, const CallCost& most);
  // Calls of it whose answers never came, counted with the most that they can have taken.
  void AddLost(const Turn& turn);
  struct Reached {
    std::string limit, ending;  // "turns", "the limit of 10 turns was reached"
  };
  std::optional<Reached> Over(const EpisodeLimits& limits) const;

 private:
  void Add(const Turn& turn, const Completion& completion);
};

// What is submitted, kept with its turn as a verdict is.
TurnVerdict SubmissionOf(const AgentCandidate& candidate);
// What the store has of it.
AgentCandidate CandidateOf(const TurnVerdict& verdict);

struct EpisodeCounts {
  bool best = false;     // the best that was evaluated counts, where it is correct
  std::string solution;  // lies in the folder, and counts where nothing was submitted and it builds
};
// A call within what the run may still evaluate.
Result<ToolOutcome> CallWithin(const EpisodeWork& work, AgentTools* tools, const ToolCall& call);

// The model refuses to answer, and would again: an error of kUsage for the next command to ask once more. The third in
// a row ends the episode, where the model is one that answers at all.
Result<EpisodeAccount::Reached> EndOfRefused(const EpisodeWork& work, const EpisodeAccount& account, Store* store,
                                             const std::string& why);

// What came of it, `prompt` being its opening.
EpisodeWorkDone DoneWith(const EpisodeAccount& account, const std::string& prompt, const AgentCandidate& candidate);

// What counts of an episode that has ended. `ending` says how it came to that, where it was not submitted.
// kUnavailable: the judge cannot say now whether what lies there builds.
Result<AgentCandidate> CountingCandidate(const EpisodeCounts& counts, const std::optional<AgentCandidate>& submitted,
                                         const AgentTools& tools, const Folder& folder, AgentJudge* judge,
                                         std::string* ending);

}  // namespace kb

#endif  // AGENTS_EPISODE_ACCOUNT_H_
