#include "generate/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

namespace kb {
namespace {

using ::testing::ElementsAre;

// Runs a strategy to its end, telling results in an order that `seed` shuffles. How good a candidate is comes from
// its parents: a child of two good ones is better.
std::map<int, Proposal> Search(const StrategyOptions& options, uint64_t seed) {
  const auto strategy = MakeStrategy(options).value();
  std::map<int, Proposal> all;
  std::map<int, double> worth;
  std::vector<Proposal> open = strategy->Next();
  std::mt19937_64 random(seed);
  while (!open.empty()) {
    std::swap(open.back(), open[random() % open.size()]);
    const Proposal proposal = open.back();
    open.pop_back();
    EXPECT_TRUE(all.emplace(proposal.candidate, proposal).second) << "proposed twice: " << proposal.candidate;
    double value = 1.0 + 0.01 * (proposal.candidate % 7);
    for (const int parent : proposal.parents) {
      EXPECT_TRUE(worth.contains(parent)) << "a parent nobody has told of";
      value = std::max(value, worth[parent] * 1.1);
    }
    worth[proposal.candidate] = value;
    strategy->Tell(proposal.candidate, FitnessOf("correct", value));
    for (Proposal& next : strategy->Next()) open.push_back(std::move(next));
  }
  EXPECT_EQ(static_cast<int>(all.size()), strategy->Total());
  return all;
}

TEST(StrategyTest, FitnessOrdersVerdictsAndThenTheSlowEnd) {
  const std::vector<std::pair<std::string, std::optional<double>>> kWorstFirst = {
      {"", {}},           {"static_rejected", {}}, {"build_failed", {}}, {"crashed", {}},
      {"incorrect", 9.0}, {"correct", {}},         {"correct", 0.5},     {"correct", 2.0}};
  for (size_t i = 1; i < kWorstFirst.size(); ++i) {
    EXPECT_LT(FitnessOf(kWorstFirst[i - 1].first, kWorstFirst[i - 1].second),
              FitnessOf(kWorstFirst[i].first, kWorstFirst[i].second))
        << kWorstFirst[i].first;
  }
  EXPECT_EQ(FitnessOf("tampered", 100.0), FitnessOf("", {})) << "cheats do not breed";
}

TEST(StrategyTest, SampleAsksForAllAtOnce) {
  const auto strategy = MakeStrategy({.name = "sample", .samples = 3}).value();
  const auto all = strategy->Next();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[2].sample, 2);
  EXPECT_EQ(all[2].candidate, 2);
  EXPECT_TRUE(strategy->Next().empty());
  EXPECT_FALSE(strategy->NeedsVerdicts());
}

TEST(StrategyTest, RefineShowsTheLastAndTheBest) {
  const auto strategy = MakeStrategy({.name = "refine", .samples = 2, .turns = 3}).value();
  ASSERT_EQ(strategy->Next().size(), 2u);
  strategy->Tell(1, FitnessOf("correct", 1.5));
  auto next = strategy->Next();
  ASSERT_EQ(next.size(), 1u) << "the other conversation is not waited for";
  EXPECT_EQ(next[0].sample, 1);
  EXPECT_EQ(next[0].turn, 1);
  EXPECT_EQ(next[0].candidate, 3);
  EXPECT_THAT(next[0].parents, ElementsAre(1));
  strategy->Tell(3, FitnessOf("incorrect", {}));
  next = strategy->Next();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_THAT(next[0].parents, ElementsAre(3, 1)) << "the last, and the best so far";
  strategy->Tell(5, FitnessOf("correct", 2));
  EXPECT_TRUE(strategy->Next().empty());
}

TEST(StrategyTest, EvolutionIsTheSameWhateverTheOrderOfResults) {
  const StrategyOptions options{
      .name = "evolve", .turns = 6, .islands = 3, .population = 4, .migrate_every = 2, .seed = 7};
  const auto expected = Search(options, 0);
  for (uint64_t order = 1; order < 20; ++order) {
    const auto got = Search(options, order);
    for (const auto& [candidate, proposal] : expected) {
      EXPECT_EQ(got.at(candidate).parents, proposal.parents) << candidate;
      EXPECT_EQ(got.at(candidate).kind, proposal.kind);
    }
  }
  StrategyOptions other = options;
  other.seed = 8;
  const auto differs = Search(other, 0);
  EXPECT_TRUE(std::any_of(expected.begin(), expected.end(),
                          [&](const auto& entry) { return differs.at(entry.first).parents != entry.second.parents; }));
}

TEST(StrategyTest, IslandsMixOnlyByMigration) {
  const StrategyOptions options{
      .name = "evolve", .turns = 5, .islands = 2, .population = 3, .migrate_every = 3, .seed = 1};
  const auto island_of = [](int candidate) { return candidate % 6 / 3; };
  int across = 0, combined = 0;
  for (const auto& [candidate, proposal] : Search(options, 0)) {
    combined += proposal.kind == ProposalKind::kCombine ? 1 : 0;
    EXPECT_EQ(proposal.parents.size(), proposal.kind == ProposalKind::kFresh    ? 0u
                                       : proposal.kind == ProposalKind::kMutate ? 1u
                                                                                : 2u);
    for (const int parent : proposal.parents) {
      EXPECT_LT(parent / 6, candidate / 6) << "parents are of earlier generations";
      if (island_of(parent) == island_of(candidate)) continue;
      EXPECT_GE(proposal.turn, 3) << "before the first migration";
      ++across;
    }
    const std::set<int> distinct(proposal.parents.begin(), proposal.parents.end());
    EXPECT_EQ(distinct.size(), proposal.parents.size());
  }
  EXPECT_GT(across, 0);
  EXPECT_GT(combined, 0);
}

TEST(StrategyTest, TheGoodHaveMoreChildren) {
  const auto strategy =
      MakeStrategy({.name = "evolve", .turns = 2, .islands = 1, .population = 64, .combine = 0}).value();
  for (const Proposal& proposal : strategy->Next()) {
    strategy->Tell(proposal.candidate, proposal.candidate < 32 ? FitnessOf("correct", 1.0 + proposal.candidate)
                                                               : FitnessOf("build_failed", {}));
  }
  int good = 0;
  for (const Proposal& child : strategy->Next()) good += child.parents.at(0) < 32 ? 1 : 0;
  EXPECT_GT(good, 38) << "three quarters of 64 are expected";
}

TEST(StrategyTest, NumbersThatMakeNoSearchAreRefused) {
  const StrategyOptions kBad[] = {{.name = "guess"},
                                  {.name = "sample", .samples = 0},
                                  {.name = "refine", .turns = 0},
                                  {.name = "evolve", .islands = 0},
                                  {.name = "evolve", .population = -1},
                                  {.name = "evolve", .combine = 1.5}};
  for (const StrategyOptions& options : kBad) {
    const auto made = MakeStrategy(options);
    ASSERT_FALSE(made) << options.name;
    EXPECT_EQ(made.error().code, ErrorCode::kUsage);
  }
}

TEST(Refine, ShowsTheLastCandidatesOfItsOwnConversation) {
  const auto strategy = MakeStrategy({.name = "refine", .samples = 2, .turns = 4, .history = 3}).value();
  std::map<int, std::vector<int>> earlier;
  for (std::vector<Proposal> next = strategy->Next(); !next.empty(); next = strategy->Next()) {
    for (const Proposal& proposal : next) {
      earlier[proposal.candidate] = proposal.earlier;
      strategy->Tell(proposal.candidate, {});
    }
  }
  EXPECT_EQ(earlier.at(3), std::vector<int>());
  EXPECT_EQ(earlier.at(5), std::vector<int>({1}));
  EXPECT_EQ(earlier.at(7), std::vector<int>({1, 3})) << "and the parent, 5";
}

}  // namespace
}  // namespace kb
