// The history of one agent, as its model is sent it. It only grows, so what a provider has in its cache holds. When it
// nears what the model can take, old tool outputs shrink to a line each, many at once; when that frees too little, the
// model is asked to condense what it did, and the history begins anew with that.
#ifndef AGENTS_CONVERSATION_H_
#define AGENTS_CONVERSATION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "model/provider.h"

namespace kb {

class Conversation {
 public:
  struct Opening {
    std::string system;
    std::vector<Tool> tools;
    std::string task;  // the first message
  };

  // `window`: tokens that the model takes, its answer included; `max_tokens`: of an answer.
  Conversation(Opening opening, int64_t window, int max_tokens);

  // What is to be done before the model is asked for its next turn.
  enum class Step { kAsk, kShrink, kCondense };
  Step Next() const;
  // Turns before this one are to shrink.
  int ShrinkBefore() const;
  void Shrink(int before);
  // The next answer is that to the question to condense: it is asked with this message.
  CompletionRequest ToCondense(CompletionRequest request) const;
  // The history is the task and this now.
  void Restart(const std::string& text);

  CompletionRequest ToAsk(CompletionRequest request) const;
  void Answered(int turn, const Completion& completion);
  // Results of all calls of that turn, cut to what there is room for, and what the engine says beside them.
  void Given(int turn, const std::vector<ToolResult>& results, const std::string& text);
  // So many bytes may the results of one turn have.
  size_t ResultBytes() const;

  const Opening& opening() const { return opening_; }
  int64_t Tokens() const;  // of all that would be sent now: as the provider counted, and an estimate of what came since

 private:
  struct Part {
    int turn = 0;  // 0: never shrinks
    Message message;
  };
  static Message Shrunk(const Part& part);
  int64_t High() const;
  int64_t Estimate(int64_t bytes) const;
  int64_t AfterShrink(int before) const;
  void Append(int turn, Message message);

  const Opening opening_;
  const int64_t window_, max_tokens_;
  std::vector<Part> parts_;
  int shrunk_before_ = 0, newest_ = 0;  // turns
  int64_t bytes_ = 0;
  int64_t counted_tokens_ = 0, counted_bytes_ = 0;  // by the provider, and how much that was
};

// A tool's output that is left out.
std::string ShrunkText(const std::string& text);

}  // namespace kb

#endif  // AGENTS_CONVERSATION_H_
