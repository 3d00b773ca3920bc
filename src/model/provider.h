// A language model behind one call: messages in, text and usage out. Who answers (an OpenAI-compatible server, an
// Anthropic one, files) is the provider's matter.
#ifndef MODEL_PROVIDER_H_
#define MODEL_PROVIDER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb {

enum class Role { kUser, kAssistant };

struct Message {
  Role role = Role::kUser;
  std::string text;
  bool cache_until_here = false;  // a provider that caches prompts may keep everything up to this message's end
};

// What is asked of a model. What is not set is left to the provider's default and not sent.
struct CompletionRequest {
  std::string model;   // the provider's own name for it
  std::string system;  // empty: none
  std::vector<Message> messages;
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

enum class FinishReason { kStop, kLength, kRefused, kUnknown };

struct Completion {
  std::string text;       // valid UTF-8: bytes that are not are replaced by U+FFFD
  std::string reasoning;  // what the provider showed of it
  FinishReason finish = FinishReason::kUnknown;
  Usage usage;
  std::optional<double> cost_usd;  // only where the provider itself says what the call cost
  std::string model;               // what answered, by its own account
  int attempts = 1;                // calls made until one succeeded
  double seconds = 0;              // of the successful call
};

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
