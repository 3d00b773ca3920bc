#include "judge/round/planner.h"

#include <algorithm>

namespace kb {

using nlohmann::json;

Planner::Planner(const Protocol& protocol, const json& problem)
    : protocol_(protocol), weight_sets_(static_cast<int>(problem.at("weight_seeds").size())) {
  for (const json& name : problem.at("distributions")) stress_.push_back(name);
}

RoundPlan Planner::WarmUp(int number, int of) {
  const size_t used = protocol_.comparison == "anchored" ? Stresses() : 0;
  const int turn = protocol_.stress_every > 0 ? number : of - 1 - number;
  RoundPlan plan = Plan(used > 0 ? stress_[static_cast<size_t>(turn) % used] : "natural", false);
  plan.in_place = number == 0 && (of > 1 || protocol_.stress_every > 0);
  return plan;
}

RoundPlan Planner::Natural() {
  RoundPlan plan = Plan("natural", true);
  ++natural_;
  return plan;
}

void Planner::Repeat(const RoundPlan& plan) { --(plan.distribution == "natural" ? natural_ : stressed_); }

bool Planner::StressIsDue() const {
  return protocol_.stress_every > 0 && !stress_.empty() && natural_ > 0 && natural_ % protocol_.stress_every == 0;
}

RoundPlan Planner::Stress() { return Plan(stress_[static_cast<size_t>(stressed_++) % stress_.size()], true); }

RoundPlan Planner::Stress(const std::string& distribution) {
  ++stressed_;
  return Plan(distribution, true);
}

std::vector<std::string> Planner::Distributions() const {
  std::vector<std::string> names = {"natural"};
  names.insert(names.end(), stress_.begin(), stress_.begin() + static_cast<long>(Stresses()));
  return names;
}

size_t Planner::Stresses() const {
  if (protocol_.stress_every > 0) return stress_.size();
  if (protocol_.comparison != "anchored") return 0;
  return std::min(stress_.size(), static_cast<size_t>(protocol_.warmup_rounds));
}

RoundPlan Planner::Plan(const std::string& distribution, bool scored) {
  RoundPlan plan;
  plan.index = index_++;
  plan.distribution = distribution;
  plan.scored = scored;
  // All weight sets have been seen when the interval is first looked at; afterwards the last one stays.
  const int share = std::max(1, protocol_.round_checks.front() / weight_sets_);
  plan.weights = std::min(natural_ / share, weight_sets_ - 1);
  if (!protocol_.input_seeds.empty()) {
    plan.input_seed = protocol_.input_seeds[static_cast<size_t>(plan.index) % protocol_.input_seeds.size()];
  }
  return plan;
}

}  // namespace kb
