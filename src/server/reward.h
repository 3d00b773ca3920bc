// Rewards as data (rewards/*.toml): what a trainer gives a candidate for its evaluation. Pure functions.
#ifndef SERVER_REWARD_H_
#define SERVER_REWARD_H_

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb::server {

// The sum of what applies:
//
//   compiled   for a candidate that was built and loaded, whatever it did then
//   correct    for a correct one
//   weight * f(s), f(s) within [least, most], for a correct one with a speedup s
//
// where f is speedup (s), gain (s - 1), log2 (log2 s) or steps (of the last step that s is above; 0 below the first).
struct Reward {
  std::string name, description, source;
  double compiled = 0, correct = 0, weight = 0;
  std::string function = "speedup";
  std::optional<double> least, most;
  struct Step {
    double from = 0, value = 0;
  };
  std::vector<Step> steps;  // ascending
  bool low_end = false;     // s is the low end of the interval, not the estimate
  bool library = true;      // s counts also where a library did the work; else it is as if there were none
  bool increments = false;  // only what is above the best so far
};

// kUsage names the file and what is wrong in it.
Result<std::vector<Reward>> ReadRewards(const std::filesystem::path& directory);

// Of an evaluation (docs/reference/evaluation.md); absent where there is no number for reasons that are not the
// candidate's. `best`: the largest reward so far, for increments.
std::optional<double> RewardOf(const Reward& reward, const nlohmann::json& evaluation, std::optional<double> best = {});

}  // namespace kb::server

#endif  // SERVER_REWARD_H_
