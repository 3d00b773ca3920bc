// The form of evaluations as JSON (docs/reference/evaluation.md), and what earlier forms become when they are read.
#ifndef BASE_EVALUATION_SCHEMA_H_
#define BASE_EVALUATION_SCHEMA_H_

#include <nlohmann/json.hpp>

namespace kb {

inline constexpr int kEvaluationSchema = 2;

// An evaluation of this version or an earlier one in this version's form. What is no evaluation stays as it is.
nlohmann::json CurrentEvaluation(nlohmann::json evaluation);

}  // namespace kb

#endif  // BASE_EVALUATION_SCHEMA_H_
