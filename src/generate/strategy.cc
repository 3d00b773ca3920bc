#include "generate/strategy.h"

#include <fmt/format.h>

#include <map>

#include "generate/evolve.h"

namespace kb {
namespace {

// Best of n: all at once.
class SampleStrategy : public Strategy {
 public:
  explicit SampleStrategy(int samples) : samples_(samples) {}
  std::vector<Proposal> Next() override {
    std::vector<Proposal> all;
    for (; asked_ < samples_; ++asked_) all.push_back({asked_, 0, asked_, ProposalKind::kFresh, {}});
    return all;
  }
  void Tell(int, Fitness) override {}
  int Total() const override { return samples_; }
  bool NeedsVerdicts() const override { return false; }

 private:
  const int samples_;
  int asked_ = 0;
};

// Conversations beside each other: each next turn shows the last candidate and the best one of its conversation.
class RefineStrategy : public Strategy {
 public:
  RefineStrategy(int samples, int turns, int history)
      : samples_(samples), turns_(turns), history_(history), best_(static_cast<size_t>(samples)) {
    for (int sample = 0; sample < samples; ++sample)
      ready_.push_back({sample, 0, sample, ProposalKind::kFresh, {}, {}});
  }
  std::vector<Proposal> Next() override { return std::exchange(ready_, {}); }
  void Tell(int candidate, Fitness fitness) override {
    const int sample = candidate % samples_, turn = candidate / samples_;
    Best& best = best_[static_cast<size_t>(sample)];
    if (best.candidate < 0 || fitness > best.fitness) best = {candidate, fitness};
    if (turn + 1 >= turns_) return;
    Proposal next{sample, turn + 1, (turn + 1) * samples_ + sample, ProposalKind::kRefine, {candidate}, {}};
    if (best.candidate != candidate) next.parents.push_back(best.candidate);
    for (int shown = std::max(0, turn + 1 - history_); shown < turn; ++shown) {
      next.earlier.push_back(shown * samples_ + sample);
    }
    ready_.push_back(std::move(next));
  }
  int Total() const override { return samples_ * turns_; }
  bool NeedsVerdicts() const override { return true; }

 private:
  struct Best {
    int candidate = -1;
    Fitness fitness;
  };
  const int samples_, turns_, history_;
  std::vector<Best> best_;
  std::vector<Proposal> ready_;
};

Status CheckRange(const char* what, int value, int low, int high) {
  if (value >= low && value <= high) return {};
  return Fail(ErrorCode::kUsage, fmt::format("{} is {}: give a number from {} to {}", what, value, low, high));
}

}  // namespace

Fitness FitnessOf(const std::string& verdict, std::optional<double> low) {
  static const std::map<std::string, int> kRanks = {
      {"correct", 5}, {"incorrect", 4},   {"non_finite", 4},    {"wrong_form", 4},   {"timed_out", 3},
      {"crashed", 3}, {"load_failed", 3}, {"out_of_memory", 3}, {"build_failed", 2}, {"static_rejected", 1}};
  const auto found = kRanks.find(verdict);
  if (found == kRanks.end()) return {};
  return {found->second, verdict == "correct" ? low.value_or(0) : 0};
}

Result<std::unique_ptr<Strategy>> MakeStrategy(const StrategyOptions& options) {
  constexpr int kMost = 100'000;
  if (options.name == "sample" || options.name == "agent") {
    KB_RETURN_IF_ERROR(CheckRange("--samples", options.samples, 1, kMost));
    if (options.name == "agent") KB_RETURN_IF_ERROR(CheckRange("--turns", options.turns, 1, 10'000));
    return std::make_unique<SampleStrategy>(options.samples);
  }
  KB_RETURN_IF_ERROR(CheckRange("--turns", options.turns, 1, 10'000));
  if (options.name == "refine") {
    KB_RETURN_IF_ERROR(CheckRange("--samples", options.samples, 1, kMost));
    return std::make_unique<RefineStrategy>(options.samples, options.turns, options.history);
  }
  if (options.name == "evolve") {
    KB_RETURN_IF_ERROR(CheckRange("--islands", options.islands, 1, 1000));
    KB_RETURN_IF_ERROR(CheckRange("--population", options.population, 1, 1000));
    KB_RETURN_IF_ERROR(CheckRange("--migrate-every", options.migrate_every, 1, 10'000));
    if (!(options.combine >= 0 && options.combine <= 1)) {
      return Fail(ErrorCode::kUsage, "--combine is the share of children with two parents: give a number from 0 to 1");
    }
    return MakeEvolve(options);
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("there is no strategy {}: give sample, refine, evolve or agent", options.name));
}

}  // namespace kb
