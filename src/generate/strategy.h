// How the answers of one model to one problem are looked for: which are asked for at once, and which only when it is
// known how good others are. A strategy is a state machine that knows neither model nor judge: it is asked what comes
// next and told what came of it. What it does depends on what it was told, not on the order, so a run that is resumed
// goes on as if nothing had happened.
#ifndef GENERATE_STRATEGY_H_
#define GENERATE_STRATEGY_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb {

// How good a candidate is: correct beats wrong beats what did not run beats what did not build beats no candidate at
// all; among the correct ones the slow end of the speedup's interval counts. What tampered is worth nothing.
struct Fitness {
  int rank = 0;
  double low = 0;
  auto operator<=>(const Fitness&) const = default;
};

// `verdict`: as the store has it; "" where there is no candidate. `low`: the slow end of the speedup's interval.
Fitness FitnessOf(const std::string& verdict, std::optional<double> low);

enum class ProposalKind {
  kFresh,    // from the problem alone
  kRefine,   // the next turn of a conversation: the last candidate, and the best one so far
  kMutate,   // another version of one parent
  kCombine,  // the best of two parents
};

// One answer to ask for.
struct Proposal {
  int sample = 0, turn = 0;
  int candidate = 0;  // its number among the candidates of this model and problem: turn by turn
  ProposalKind kind = ProposalKind::kFresh;
  std::vector<int> parents;  // numbers of candidates; the one to work on first
  std::vector<int> earlier;  // of this conversation, before that one, to be shown too; the oldest first
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  // What can be asked for now and was not proposed before.
  virtual std::vector<Proposal> Next() = 0;
  // How good the candidate of that number is. Each is told once.
  virtual void Tell(int candidate, Fitness fitness) = 0;
  // How many answers there are to ask for in all.
  virtual int Total() const = 0;
  // Whether it needs to be told anything at all.
  virtual bool NeedsVerdicts() const = 0;
};

struct StrategyOptions {
  std::string name = "sample";  // sample, refine, evolve, agent
  int samples = 1;              // sample, refine, agent: independent ones
  int turns = 4;                // refine, agent: of a conversation; evolve: generations
  int history = 1;              // refine: so many of the last candidates of a conversation are shown
  int islands = 2;              // evolve
  int population = 4;           // evolve: of an island, and its children a generation
  int migrate_every = 2;        // evolve: generations after which each island gets its neighbour's best
  double combine = 0.5;         // evolve: share of children with two parents
  uint64_t seed = 0;            // evolve
};

// Errors (usage): an unknown name, or numbers that make no search.
Result<std::unique_ptr<Strategy>> MakeStrategy(const StrategyOptions& options);

}  // namespace kb

#endif  // GENERATE_STRATEGY_H_
