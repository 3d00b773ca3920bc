// An evaluation as clients see it.
#ifndef SERVER_EVALUATION_VIEW_H_
#define SERVER_EVALUATION_VIEW_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "server/fields.h"
#include "store/submission.h"

namespace kb::server {

extern const Table kCandidate, kExtraction, kEvaluation, kEvaluationLine, kEntry;

// Of a job in the store, as far as that knows it: what is prepared counts as judging.
std::string StateOf(const Job& job);

// The error of a job that has failed keeps its code in the store, before its message.
std::string StoredText(const Error& error);
// Of a failed or cancelled job.
Error ErrorOf(const Job& job);

struct EvaluationState {
  std::string state;                           // queued, preparing, judging, done, failed, cancelled
  const nlohmann::json* evaluation = nullptr;  // of a done one
  std::optional<Error> error = {};             // of a failed or cancelled one
};

// `whole`: with the evaluation itself (docs/reference/evaluation.md).
nlohmann::json ViewOf(const Submission& submission, const EvaluationState& state, bool whole);

// Whether what an answer tells of will not change any more.
bool HasEnded(const nlohmann::json& view);

// A line of a list.
nlohmann::json LineOf(const SubmissionSummary& summary, const std::string& state);
// Of what Store::Entries() tells.
nlohmann::json EntryOf(const nlohmann::json& summary);

// Whose fault it is that there is no speedup: candidate, machine, or null.
nlohmann::json FaultOf(const nlohmann::json& evaluation);

}  // namespace kb::server

#endif  // SERVER_EVALUATION_VIEW_H_
