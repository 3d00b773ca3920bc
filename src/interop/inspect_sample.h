// One candidate as a sample of Inspect's logs: messages, score, usage, error.
#ifndef INTEROP_INSPECT_SAMPLE_H_
#define INTEROP_INSPECT_SAMPLE_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "interop/inspect_log.h"

namespace kb {

inline constexpr char kInspectScorer[] = "judge";

// The model's name in a log; those without one are nobody's.
std::string InspectModel(const std::string& model);
// A date of ours as Inspect has it, "2026-01-01T10:00:00+00:00"; absent if it is none.
std::optional<std::string> InspectTime(const std::string& created);

// The requests of one run, by model, problem and candidate, for their conversations.
class Conversations {
 public:
  static Result<Conversations> Of(const Store& store, const std::string& run);
  // Of the candidate that the row is about, in the order of the attempts; none if no model was asked for it, or for
  // another text.
  Result<std::vector<GenerationAnswer>> AnswersFor(const Store& store, const ScoreRow& row) const;

 private:
  std::map<std::tuple<std::string, std::string, int64_t>, int64_t> requests_;
};

// The sample of one row, whole. `epoch` counts from 1.
Result<nlohmann::json> MakeInspectSample(const Store& store, const Conversations& conversations, const InspectLog& log,
                                         const ScoreRow& row, int64_t epoch);

// What the log's table shows of it: no messages, and no text above 1 kB.
nlohmann::json InspectSummary(const nlohmann::json& sample);

}  // namespace kb

#endif  // INTEROP_INSPECT_SAMPLE_H_
