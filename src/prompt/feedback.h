// What a model is told about its last candidate before it writes the next one. Pure functions over the JSON of an
// evaluation (docs/reference/evaluation.md).
#ifndef PROMPT_FEEDBACK_H_
#define PROMPT_FEEDBACK_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "prompt/extract.h"

namespace kb {

struct BestSoFar {
  std::string source;
  std::string language;  // of its fence: "python", "cpp", "cuda"
  double speedup = 0;
  std::optional<std::pair<double, double>> interval;
};

struct FeedbackContext {
  nlohmann::json profile;         // as `kernelbench profile --json` has it, "profile" or the whole; null: none
  std::optional<BestSoFar> best;  // of earlier turns, the one that is judged here not among them
  size_t most_text = 4000;        // bytes of what compilers, tracebacks and the candidate itself say, each
};

// Verdict and reason, then what there is: the compiler's first errors, signal and traceback, where and how wrong the
// output is, speedup with interval and times, how far from the roofline, kernels, what the notes say; what to look at
// next, only where these data suggest it; and the best so far with its source. Ends without an instruction: the caller
// says what is wanted. Keys that are missing or null are left out.
std::string DescribeFeedback(const nlohmann::json& evaluation, const FeedbackContext& context = {});

// The same for an answer from which no candidate could be taken.
std::string DescribeFailedExtraction(const Extraction& extraction);

}  // namespace kb

#endif  // PROMPT_FEEDBACK_H_
