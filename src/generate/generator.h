// Generates one run: asks models for what strategies propose, within a budget, stores every answer, and hands
// candidates on to be judged. Knows no prompt and no judge: both are functions of the caller's.
//
// Theory of operation. Each model has as many threads as it takes calls at once. A proposal becomes a request in the
// store (generation.h) before it is asked, its answer is stored before it is read, and what the store already has is
// not asked again: so a run goes on wherever it was killed. What is judged comes back through Judged(), and the
// strategy is told. The run is over when nothing is to be asked, in flight or being judged; a spent budget, an
// interrupt or an error only take away what is still to be asked.
#ifndef GENERATE_GENERATOR_H_
#define GENERATE_GENERATOR_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generate/budget.h"
#include "generate/strategy.h"
#include "model/provider.h"
#include "store/store.h"

namespace kb {

struct GeneratorModel {
  std::string name;              // in the store
  Provider* provider = nullptr;  // outlives the generator
  CompletionRequest defaults;    // what every request has: model, limits, temperature
  std::optional<Price> price;
  std::function<std::optional<double>(const Completion&)> cost;  // in US dollars; nothing where it is not known
  int concurrency = 1;                                           // calls at once
};

// A candidate that a new one comes from, or is to be better than.
struct GeneratorParent {
  int candidate = 0;
  std::string source, complaint;  // no source: the complaint says why
  nlohmann::json evaluation;      // null: not judged
  nlohmann::json profile;         // of its kernels, as `kernelbench profile` has it; null: none is shown
};

struct GeneratorPrompt {
  std::string system;
  std::vector<Message> messages;
};

// What an answer holds.
struct GeneratorExtract {
  std::optional<std::string> source;
  std::string language;   // "py", "cpp", "cu"
  std::string complaint;  // why it is to be asked again; empty: it is not
};

// A candidate that is to be judged.
struct GeneratedCandidate {
  size_t model = 0, problem = 0;
  Proposal proposal;
  std::string source_sha256, language, complaint;  // no source: the complaint says why
};

// An answer that takes many calls of the model: an agent's episode (agents/episode.h).
struct EpisodeWork {
  size_t model = 0, problem = 0;
  Proposal proposal;
  GenerationRequest request;  // asked by `owner`
  std::string owner;
  CompletionRequest defaults;  // what every request has
  bool answered = false;       // its answer is stored, but not what became of it
  struct Cost {
    std::optional<double> usd;  // nothing: it is not known
    std::string source;         // where the price is from
  };
  struct Answered {
    Completion completion;
    Cost cost;
  };
  // The most that a call can take, by the bytes of its prompt.
  std::function<CallCost(int64_t prompt_bytes)> most;
  // Asks the model, once the budget has room: right before it does, `begin` is called. Nothing: the budget is spent, or
  // an interrupt.
  using Ask = Result<std::optional<Answered>>(CompletionRequest request, const CallCost& most,
                                              const std::function<Status()>& begin);
  std::function<Ask> ask;
  // The same in parts, for who asks by other means: waits for room, or until `stop`; false as above. Then the end of
  // the call, null if there was no answer, and what it cost; `lost` is what attempts without a counted answer can have
  // taken at most.
  std::function<bool(const CallCost& most, const std::function<bool()>& stop)> admit;
  std::function<Cost(const CallCost& most, const Completion* completion, const CallCost& lost)> settle;
  // Whether the model has given any answer in this run: else what it refuses says nothing about a problem.
  std::function<bool()> model_answers;
  // Whether the budget has room for an evaluation; each that it has is told of once: was it made?
  std::function<bool()> may_evaluate;
  std::function<void(bool made)> evaluated;
};

// What came of it.
struct EpisodeWorkDone {
  GenerationAnswer answer;            // sums of all its calls
  std::optional<std::string> source;  // what is submitted
  std::string language, complaint;    // no source: the complaint says why
};

struct GeneratorOptions {
  std::string run;
  std::string device = {};  // of the jobs whose verdicts are shown to models; empty: of any
  std::vector<GeneratorModel> models;
  std::vector<std::string> problems;   // as the store names them
  std::vector<std::string> replay_as;  // likewise, as a replay does: "level1/19"
  StrategyOptions strategy;
  std::vector<int> turns;  // of each problem, instead of the strategy's; empty: of none
  BudgetCaps caps;
  int regenerate = 0;  // times that an answer with a complaint is sent back
  std::function<Result<GeneratorPrompt>(size_t problem, const Proposal& proposal,
                                        const std::vector<GeneratorParent>& parents)>
      prompt;  // called on several threads at once, as is `extract`
  std::function<GeneratorExtract(size_t problem, const Completion& completion)> extract;
  // Instead of both, with the strategy agent. Nothing: it has not ended, and the next command goes on. Called on
  // several threads at once.
  std::function<Result<std::optional<EpisodeWorkDone>>(const EpisodeWork& work)> work;
  // The verdict on a candidate, if there is one already; only with `judge`.
  std::function<Result<std::optional<Fitness>>(const GeneratedCandidate& candidate)> verdict;
  // Has a candidate judged, which ends in Judged(). Empty: nothing is judged.
  std::function<Status(const GeneratedCandidate& candidate)> judge;
  // When a candidate begins to be judged, and when it is judged; may be empty. Called on several threads at once.
  std::function<void(bool begins)> judging;
  std::function<void(const std::string& line)> say;  // for people
  std::function<bool()> interrupted;
};

// How far a run is.
struct GeneratorCounts {
  int total = 0;     // answers that the strategies want
  int answered = 0;  // of them, earlier commands' included
  int without_code = 0, failed = 0;
  int asked_now = 0;  // calls of this command that were answered
  int64_t tokens = 0;
  double usd = 0;
  int without_cost = 0, without_usage = 0;  // answers of this command
  std::string ended_by;                     // the cap that ended it
};

class Generator {
 public:
  // Reads what the store has of the run. Errors: usage for options that make no run, and the store's.
  static Result<std::unique_ptr<Generator>> Create(GeneratorOptions options, Store* store);
  Generator(const Generator&) = delete;  // threads refer to it
  Generator& operator=(const Generator&) = delete;

  // Until all is asked and judged. The first error of the store or of `judge`, kUsage if a model cannot be asked at
  // all, kInterrupted, or success, which a spent budget is too.
  Status Run();
  // How a candidate was judged; nothing: it could not be. `counts`: an evaluation was made of it now.
  void Judged(const GeneratedCandidate& candidate, const std::optional<Fitness>& fitness, bool counts);
  GeneratorCounts Counts() const;

 private:
  struct Line {  // one model and one problem
    size_t model = 0, problem = 0;
    std::unique_ptr<Strategy> strategy;
  };
  struct Work {
    Line* line = nullptr;
    Proposal proposal;
    bool known = false;  // its answer is in the store
  };
  struct Asked {  // an answer being worked on
    GenerationRequest request;
    GeneratorPrompt prompt;
    bool evaluation_held = false;
  };

  Generator(GeneratorOptions options, Store* store) : options_(std::move(options)), store_(store) {}
  Status Load();
  void Offer(Line* line);
  void Serve(size_t model);
  std::optional<Work> Take(size_t model);
  Status Ask(const Work& work);
  Status AskUntilSettled(const Work& work, Asked* asked, int attempt);
  Result<std::optional<EpisodeWork::Answered>> AskModel(size_t model, const CompletionRequest& request,
                                                        const CallCost& most, const std::function<Status()>& begin);
  CompletionRequest RequestTo(const Work& work) const;
  void Count(size_t model, const CallCost& most, const Usage& usage, std::optional<double> cost_usd,
             const CallCost& lost = {});
  EpisodeWork::Cost SettleCall(size_t model, const CallCost& most, const Completion* completion,
                               const CallCost& lost = {});
  EpisodeWork EpisodeWorkOf(const Work& work, const GenerationRequest& request);
  Status RunEpisode(const Work& work);
  Result<bool> Settle(const Work& work, Asked* asked, int64_t answer, int attempt, const Completion& completion);
  Result<std::vector<GeneratorParent>> Parents(const Line& line, const Proposal& proposal);
  Admission Admit(const CallCost& most, bool evaluation, const std::function<bool()>& stop = nullptr);
  static CallCost MostOf(const GeneratorModel& model, int64_t prompt_bytes);
  CallCost SpentOn(const GenerationAnswer& answer, const std::string& name);
  Status HandOn(Line* line, const Proposal& proposal, const GenerationAnswer& answer, bool evaluation_held);
  GenerationRequest RequestOf(const Line& line, const Proposal& proposal) const;
  bool OverLocked() const;
  void Break(const Error& error);
  void Failed(const Work& work, const Asked& asked, const Error& error);

  const GeneratorOptions options_;
  Store* const store_;
  const std::string owner_ = OwnerName();
  std::vector<std::unique_ptr<Line>> lines_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Budget> budget_;
  std::vector<std::deque<Work>> ready_;            // by model
  std::vector<int> answers_of_;                    // by model: how many it ever gave
  std::map<std::string, GenerationAnswer> known_;  // by earlier commands; by model, problem, candidate; constant
  std::map<std::string, int64_t> requests_;        // ids, by the same
  int in_flight_ = 0, judging_ = 0;
  bool asking_ended_ = false;  // a cap is reached: what is there is still judged
  bool stopping_ = false;      // interrupted, or an error
  Status status_;
  GeneratorCounts counts_;
};

}  // namespace kb

#endif  // GENERATE_GENERATOR_H_
