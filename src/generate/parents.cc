#include "generate/parents.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "generate/strategy.h"

namespace kb {
namespace {

using nlohmann::json;

// Settings may be a stranger's: what is of another type keeps its default.
template <typename T>
void Take(const json& settings, const char* key, T* value) {
  const auto found = settings.find(key);
  if (found != settings.end() && found->is_number()) *value = found->get<T>();
}

StrategyOptions OptionsOf(const json& settings, int turns) {
  StrategyOptions options;
  if (const auto name = settings.find("strategy"); name != settings.end() && name->is_string())
    options.name = name->get<std::string>();
  Take(settings, "samples", &options.samples);
  Take(settings, "history", &options.history);
  Take(settings, "islands", &options.islands);
  Take(settings, "population", &options.population);
  Take(settings, "migrate_every", &options.migrate_every);
  Take(settings, "combine", &options.combine);
  Take(settings, "search_seed", &options.seed);
  options.turns = turns;
  return options;
}

}  // namespace

std::vector<int> ParentsOf(const json& settings, std::span<const GenerationRequest> requests,
                           std::span<const ScoreRow> rows, int candidate) {
  int turns = 1;
  std::map<int, Fitness> known;
  for (const GenerationRequest& request : requests) {
    turns = std::max(turns, request.turn + 1);
    if (request.state == "answered") known[request.candidate] = {};  // perhaps without a candidate
  }
  for (const ScoreRow& row : rows) {
    if (row.sample && !row.verdict.empty()) known[static_cast<int>(*row.sample)] = FitnessOf(row.verdict, row.low);
  }
  if (!settings.is_object()) return {};
  constexpr int kMostTurns = 10'000;
  const auto strategy = MakeStrategy(OptionsOf(settings, std::min(turns, kMostTurns)));
  if (!strategy || (*strategy)->Total() > 1'000'000) return {};
  for (;;) {
    const std::vector<Proposal> proposals = (*strategy)->Next();
    bool told = false;
    for (const Proposal& proposal : proposals) {
      if (proposal.candidate == candidate) return proposal.parents;
    }
    for (const Proposal& proposal : proposals) {
      const auto found = known.find(proposal.candidate);
      if (found == known.end()) continue;
      (*strategy)->Tell(proposal.candidate, found->second);
      told = true;
    }
    if (!told) return {};
  }
}

}  // namespace kb
