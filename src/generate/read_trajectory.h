// Trajectories (trajectory.h) and answers out of a store.
#ifndef GENERATE_READ_TRAJECTORY_H_
#define GENERATE_READ_TRAJECTORY_H_

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "generate/trajectory.h"
#include "store/store.h"

namespace kb {

// An empty string means no restriction.
struct TrajectoryFilter {
  std::string run;
  std::string model{}, problem{};
  std::string device{};  // whose verdicts count: a kind, a name, or a card
};

Result<std::vector<GenerationRequest>> ReadRequests(const Store& store, const TrajectoryFilter& filter);

// kUsage: the run was judged on several cards, which are not mixed.
Result<std::vector<Trajectory>> ReadTrajectories(const Store& store, const TrajectoryFilter& filter);

// As `kernelbench trajectory RUN --json` prints them (docs/guide/generate.md).
nlohmann::json TrajectoriesJson(const std::string& run, std::span<const Trajectory> trajectories);
nlohmann::json AnswerJson(const GenerationRequest& request, const GenerationAnswer& answer);

}  // namespace kb

#endif  // GENERATE_READ_TRAJECTORY_H_
