// A language model behind one call: messages in, an answer and its usage out. Who answers (an OpenAI-compatible server,
// an Anthropic one, files) is the provider's matter.
//
// A model with tools is asked in a loop, which only ever appends:
//
//   auto answer = provider->Complete(request, stop);
//   request.messages.push_back(Message::Answer(*answer));
//   request.messages.push_back(Message::Results(results));  // of every call in answer->calls, in their order
//
// What was sent before is sent again in the same bytes, so a provider finds it in its cache.
#ifndef MODEL_PROVIDER_H_
#define MODEL_PROVIDER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kb {

enum class Role { kUser, kAssistant };

// A function that the model may ask to have called. No other kind of tool is ever offered.
struct Tool {
  std::string name;  // letters, digits, _ and -, 64 of them at most
  std::string description;
  std::string parameters;  // the JSON schema of an object; its members stay in this order
};

struct ToolCall {
  std::string id, name;
  std::string arguments;  // as the model wrote them: should be a JSON object, and need not be JSON at all
};

struct ToolResult {
  std::string call_id;
  std::string text;  // says itself that something failed: chat completions and responses have no member for it
  bool is_error = false;
};

struct Completion;

struct Message {
  Role role = Role::kUser;
  std::string text;
  bool cache_until_here = false;         // a provider that caches prompts may keep everything up to this message's end
  std::vector<ToolResult> results = {};  // of a user's message: they come before its text, which may be empty then
  std::string raw = {};                  // of an answer: Completion::raw, which is sent instead of the text

  static Message Answer(const Completion& completion);
  static Message Results(std::vector<ToolResult> results, std::string text = "");  // marked for the cache
};

// What is asked of a model. What is not set is left to the provider's default and not sent.
struct CompletionRequest {
  std::string model;   // the provider's own name for it
  std::string system;  // empty: none
  std::vector<Message> messages;
  std::vector<Tool> tools = {};
  int max_tokens = 16384;  // of the answer, reasoning included
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int64_t> seed;
  std::string reasoning_effort;  // "", "low", "medium", "high"
  // Names the sample among all of its problem, size and model. The replay provider answers by it; others ignore it.
  std::string problem;  // "level1/19"
  int sample = 0;
  int turn = 0;
};

// Tokens as the provider counted them; each is counted in one field only. Nothing where it did not say.
struct Usage {
  std::optional<int64_t> input;        // read neither from nor into a cache
  std::optional<int64_t> cache_read;   // of the prompt, read from a cache
  std::optional<int64_t> cache_write;  // of the prompt, written to a cache
  std::optional<int64_t> output;       // reasoning included
  std::optional<int64_t> reasoning;    // of `output`
};

enum class FinishReason {
  kStop,
  kToolCalls,    // waits for the results of its calls
  kLength,       // reached max_tokens: the last call may be cut off
  kContextFull,  // the same, but of what the model can hold: a larger max_tokens does not help
  kPaused,       // to be sent back as it is, for the model to go on
  kRefused,
  kUnknown,
};

// The answer lacks its end.
inline bool WasCut(FinishReason finish) {
  return finish == FinishReason::kLength || finish == FinishReason::kContextFull;
}

struct Completion {
  std::string text;             // valid UTF-8: bytes that are not are replaced by U+FFFD
  std::string reasoning;        // what the provider showed of it
  std::vector<ToolCall> calls;  // whatever `finish` is, each of them wants its result in the next message
  FinishReason finish = FinishReason::kUnknown;
  std::string finish_word;  // the provider's own for it: "end_turn", "pause_turn"
  std::string raw;          // the answer in the provider's JSON, with all that it wants back; empty of a replay
  Usage usage;
  std::optional<double> cost_usd;  // only where the provider itself says what the call cost
  std::string model;               // what answered, by its own account
  int attempts = 1;                // calls made until one succeeded
  double seconds = 0;              // of the successful call
};

inline Message Message::Answer(const Completion& completion) {
  return {.role = Role::kAssistant, .text = completion.text, .raw = completion.raw};
}

inline Message Message::Results(std::vector<ToolResult> results, std::string text) {
  return {.role = Role::kUser, .text = std::move(text), .cache_until_here = true, .results = std::move(results)};
}

// One provider with its address, key and limits. Complete() may be called from several threads at once; more calls
// than the provider's concurrency wait.
class Provider {
 public:
  virtual ~Provider() = default;
  // Errors: kUsage for what no retry mends (no key, unknown model, request refused), kUnavailable when retries are used
  // up, kInterrupted when `stop` says so. `stop` is asked at least every 200 ms, also during a call and between
  // retries.
  virtual Result<Completion> Complete(const CompletionRequest& request, const std::function<bool()>& stop) = 0;
};

// Price in US dollars per million tokens; nothing where it is not known.
struct Price {
  std::optional<double> input, cache_read, cache_write, output;
  std::string source;  // "provider's listing", "table of 2026-11-01"
};

}  // namespace kb

#endif  // MODEL_PROVIDER_H_
