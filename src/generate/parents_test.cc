#include "generate/parents.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "generate/strategy.h"

namespace kb {
namespace {

using nlohmann::json;

struct Searched {
  std::map<int, std::vector<int>> parents;  // as the strategy proposed
  std::vector<GenerationRequest> requests;
  std::vector<ScoreRow> rows;
};

// Every seventh answer holds no candidate; the others are ever faster.
Searched Search(const StrategyOptions& options) {
  Searched searched;
  const auto strategy = MakeStrategy(options).value();
  for (std::vector<Proposal> open = strategy->Next(); !open.empty(); open = strategy->Next()) {
    for (const Proposal& proposal : open) {
      searched.parents[proposal.candidate] = proposal.parents;
      GenerationRequest& request = searched.requests.emplace_back();
      request.sample = proposal.sample;
      request.turn = proposal.turn;
      request.candidate = proposal.candidate;
      request.state = "answered";
      if (proposal.candidate % 7 == 6) {
        strategy->Tell(proposal.candidate, {});
        continue;
      }
      ScoreRow& row = searched.rows.emplace_back();
      row.sample = proposal.candidate;
      row.verdict = proposal.candidate % 3 == 0 ? "incorrect" : "correct";
      row.low = 1 + proposal.candidate % 5;
      strategy->Tell(proposal.candidate, FitnessOf(row.verdict, row.low));
    }
  }
  return searched;
}

TEST(ParentsTest, AreThoseThatTheStrategyProposed) {
  const std::pair<json, StrategyOptions> cases[] = {
      {{{"strategy", "sample"}, {"samples", 3}}, {.name = "sample", .samples = 3}},
      {{{"strategy", "refine"}, {"samples", 2}, {"turns", 5}}, {.name = "refine", .samples = 2, .turns = 5}},
      {{{"strategy", "evolve"}, {"turns", 5}, {"search_seed", 7}, {"population", 3}},
       {.name = "evolve", .turns = 5, .population = 3, .seed = 7}}};
  for (const auto& [settings, options] : cases) {
    const Searched searched = Search(options);
    for (const auto& [candidate, parents] : searched.parents)
      EXPECT_EQ(ParentsOf(settings, searched.requests, searched.rows, candidate), parents)
          << options.name << ' ' << candidate;
  }
}

TEST(ParentsTest, SettingsOfStrangersGiveNone) {
  const Searched searched = Search({.name = "refine", .samples = 1, .turns = 3});
  for (const json& odd : {json(), json::object(), json({{"strategy", 3}}), json({{"strategy", "unheard of"}}),
                          json({{"strategy", "evolve"}, {"islands", -1}})})
    EXPECT_TRUE(ParentsOf(odd, searched.requests, searched.rows, 2).empty()) << odd;
}

}  // namespace
}  // namespace kb
