// An answer of a model and the results of its calls, as a turn in the store has them.
#ifndef AGENTS_STORED_TURN_H_
#define AGENTS_STORED_TURN_H_

#include <string>
#include <vector>

#include "agents/conversation.h"
#include "base/result.h"
#include "model/provider.h"
#include "store/episode.h"

namespace kb {

struct StoredResult {
  ToolResult result;
  std::string name;
  double seconds = 0;
};

struct StoredResults {
  std::vector<StoredResult> results;
  std::string text;  // what follows them
  std::vector<ToolResult> Plain() const;
};

std::string OpeningJson(const Conversation::Opening& opening);
Result<Conversation::Opening> OpeningOf(const std::string& json);

// Answer, usage and seconds of the turn.
void PutAnswer(const Completion& completion, Turn* turn);
Result<Completion> AnswerOf(const Turn& turn);

std::string ResultsJson(const StoredResults& results);
Result<StoredResults> ResultsOf(const std::string& json);

}  // namespace kb

#endif  // AGENTS_STORED_TURN_H_
