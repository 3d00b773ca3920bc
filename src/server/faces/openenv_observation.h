// What an environment of OpenEnv says of a problem and of a candidate. Pure functions.
#ifndef SERVER_FACES_OPENENV_OBSERVATION_H_
#define SERVER_FACES_OPENENV_OBSERVATION_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/result.h"

namespace kb::server {

// The problem in a list of GET /v1/problems, by its name or as L1_19_ReLU. kUsage says which there are.
Result<nlohmann::json> FindProblemId(const nlohmann::json& problems, const std::string& id);
// The one that `seed` stands for: of that level of KernelBench, 0: of levels 1 to 3.
Result<nlohmann::json> ChooseProblem(const nlohmann::json& problems, int level, uint64_t seed);

// The candidate in an action: the code in an answer with prose and fences, else what there is. A module that defines
// Model, and mentions ModelNew nowhere, has one class under both names then. `extension`: ".py", ".cpp" or ".cu".
std::string CandidateOf(const std::string& code, const std::string& extension);

// All keys of kOpenEnvObservation, of no candidate yet. `metadata` is empty.
nlohmann::json EmptyObservation();
// Writes what became of a candidate into such a one. `view`: of kEvaluation, with `evaluation` where it is done.
void AddVerdict(const nlohmann::json& view, nlohmann::json* observation);

// Why a candidate has no reward.
std::string NoRewardReason(const nlohmann::json& view);

}  // namespace kb::server

#endif  // SERVER_FACES_OPENENV_OBSERVATION_H_
