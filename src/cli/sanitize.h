// `kernelbench eval --sanitize`: candidates under compute-sanitizer instead of before the judge.
#ifndef CLI_SANITIZE_H_
#define CLI_SANITIZE_H_

#include <string>
#include <vector>

#include "judge/evaluate.h"

namespace kb::cli {

// Prints what was found in each; returns an exit code: kNotAllCorrect if anything was.
int SanitizeAll(const std::vector<Request>& requests, EvaluatorOptions options, const std::string& tool, bool as_json,
                bool quiet);

// A result of Evaluator::Sanitize() for people.
std::string DescribeSanitized(const nlohmann::json& result);

}  // namespace kb::cli

#endif  // CLI_SANITIZE_H_
