// Which candidates a model was shown when it was asked for another one.
#ifndef GENERATE_PARENTS_H_
#define GENERATE_PARENTS_H_

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "store/generation.h"
#include "store/score_row.h"

namespace kb {

// Their numbers, the one to work on first. A strategy proposes the same whenever it is told the same, so it is asked
// again: `settings` are the run's, `requests` and `rows` those of one model and problem in it. Empty: none, or the
// candidate is none of that strategy's.
std::vector<int> ParentsOf(const nlohmann::json& settings, std::span<const GenerationRequest> requests,
                           std::span<const ScoreRow> rows, int candidate);

}  // namespace kb

#endif  // GENERATE_PARENTS_H_
