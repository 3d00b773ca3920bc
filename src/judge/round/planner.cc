#include "judge/round/planner.h"

#include <algorithm>

namespace kb {

using nlohmann::json;

constexpr size_t kLotsOfUnmet = 3;

Planner::Planner(const Protocol& protocol, const json& problem, std::function<uint64_t()> random)
    : protocol_(protocol),
      random_(std::move(random)),
      weight_sets_(static_cast<int>(problem.at("weight_seeds").size())) {
  if (protocol.comparison != "anchored" || protocol.stress_every == 0) return;
  const size_t most = std::max<size_t>(1, static_cast<size_t>(protocol.round_checks.front()) / 2);
  for (const json& name : problem.at("distributions")) {
    if (stress_.size() < most) stress_.push_back(name);
  }
}

RoundPlan Planner::Next(bool scored) {
  std::string distribution = "natural";
  if (!stress_.empty() && random_() % static_cast<uint64_t>(protocol_.stress_every + 1) == 0) {
    std::vector<std::string> lots;
    for (const std::string& name : stress_) lots.insert(lots.end(), met_.contains(name) ? 1 : kLotsOfUnmet, name);
    distribution = lots[random_() % lots.size()];
  }
  RoundPlan plan = Plan(distribution, scored);
  plan.in_place = plan.index == 0;
  natural_ += scored && distribution == "natural";
  return plan;
}

void Planner::Void(const RoundPlan& plan) { natural_ -= plan.scored && plan.distribution == "natural"; }

RoundPlan Planner::Seeded(int64_t seed) {
  RoundPlan plan = Plan("natural", false);
  plan.input_seed = seed;
  return plan;
}

std::vector<std::string> Planner::Distributions() const {
  std::vector<std::string> names = {"natural"};
  names.insert(names.end(), stress_.begin(), stress_.end());
  return names;
}

RoundPlan Planner::Plan(const std::string& distribution, bool scored) {
  RoundPlan plan;
  plan.index = index_++;
  plan.distribution = distribution;
  plan.scored = scored;
  // All weight sets have been seen when the interval is first looked at; afterwards the last one stays.
  const int share = std::max(1, protocol_.round_checks.front() / weight_sets_);
  plan.weights = std::min(natural_ / share, weight_sets_ - 1);
  met_.insert(distribution);
  weights_met_ = std::max(weights_met_, plan.weights + 1);
  return plan;
}

}  // namespace kb
