#include "generate/evolve.h"

#include <algorithm>
#include <map>
#include <set>

namespace kb {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): a few good bits from any counter.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t generation, uint64_t slot) : state_(seed) {
    state_ = Next() ^ (generation * 0x9e3779b97f4a7c15u);
    state_ = Next() ^ (slot * 0xbf58476d1ce4e5b9u);
  }
  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  size_t Below(size_t n) { return static_cast<size_t>(Unit() * static_cast<double>(n)); }

 private:
  uint64_t state_;
};

class Evolve : public Strategy {
 public:
  explicit Evolve(const StrategyOptions& options)
      : options_(options),
        width_(options.islands * options.population),
        proposed_(static_cast<size_t>(options.islands)) {}

  std::vector<Proposal> Next() override {
    std::vector<Proposal> all;
    for (int island = 0; island < options_.islands; ++island) {
      int& generation = proposed_[static_cast<size_t>(island)];
      while (generation < options_.turns && Ready(island, generation)) Breed(island, generation++, &all);
    }
    return all;
  }
  void Tell(int candidate, Fitness fitness) override { told_[candidate] = fitness; }
  int Total() const override { return width_ * options_.turns; }
  bool NeedsVerdicts() const override { return true; }

 private:
  bool Whole(int island, int generation) const {
    for (int i = 0; i < options_.population; ++i) {
      if (!told_.contains(NumberOf(island, generation, i))) return false;
    }
    return true;
  }
  bool Migrates(int generation) const {
    return options_.islands > 1 && generation > 0 && generation % options_.migrate_every == 0;
  }
  int Neighbour(int island) const { return (island + options_.islands - 1) % options_.islands; }
  bool Ready(int island, int generation) const {
    if (generation == 0) return true;
    return Whole(island, generation - 1) && (!Migrates(generation) || Whole(Neighbour(island), generation - 1));
  }
  int NumberOf(int island, int generation, int member) const {
    return generation * width_ + island * options_.population + member;
  }

  // Numbers of an island's own candidates of the generations before that one.
  std::vector<int> Own(int island, int before) const {
    std::vector<int> own;
    for (int generation = 0; generation < before; ++generation) {
      for (int i = 0; i < options_.population; ++i) own.push_back(NumberOf(island, generation, i));
    }
    return own;
  }
  // Best first; of equals the older, so that the order does not depend on which was told first.
  void Sort(std::vector<int>* candidates) const {
    std::sort(candidates->begin(), candidates->end(), [&](int a, int b) {
      const Fitness& left = told_.at(a);
      const Fitness& right = told_.at(b);
      return left != right ? left > right : a < b;
    });
  }
  std::vector<int> Population(int island, int generation) const {
    std::vector<int> population = Own(island, generation);
    for (int past = 1; past <= generation; ++past) {
      if (!Migrates(past)) continue;
      std::vector<int> neighbours = Own(Neighbour(island), past);
      Sort(&neighbours);
      population.push_back(neighbours.front());
    }
    Sort(&population);
    population.erase(std::unique(population.begin(), population.end()), population.end());
    population.resize(std::min(population.size(), static_cast<size_t>(options_.population)));
    return population;
  }

  void Breed(int island, int generation, std::vector<Proposal>* all) const {
    const std::vector<int> population = generation > 0 ? Population(island, generation) : std::vector<int>();
    for (int i = 0; i < options_.population; ++i) {
      const int slot = island * options_.population + i;
      Proposal child{slot, generation, NumberOf(island, generation, i), ProposalKind::kFresh, {}};
      if (generation > 0) {
        Draws draws(options_.seed, static_cast<uint64_t>(generation), static_cast<uint64_t>(slot));
        const auto tournament = [&] {
          return std::min(draws.Below(population.size()), draws.Below(population.size()));
        };
        const size_t first = tournament();
        child.kind = ProposalKind::kMutate;
        child.parents.push_back(population[first]);
        if (population.size() > 1 && draws.Unit() < options_.combine) {
          size_t second = tournament();
          if (second == first) second = (first + 1) % population.size();
          child.kind = ProposalKind::kCombine;
          child.parents.push_back(population[second]);
        }
      }
      all->push_back(std::move(child));
    }
  }

  const StrategyOptions options_;
  const int width_;            // candidates a generation, of all islands
  std::vector<int> proposed_;  // generations, by island
  std::map<int, Fitness> told_;
};

}  // namespace

std::unique_ptr<Strategy> MakeEvolve(const StrategyOptions& options) { return std::make_unique<Evolve>(options); }

}  // namespace kb
