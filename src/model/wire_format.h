// The two languages that providers speak over HTTP: what a request is written as, and how an answer is read.
#ifndef MODEL_WIRE_FORMAT_H_
#define MODEL_WIRE_FORMAT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/provider.h"
#include "model/settings.h"
#include "model/sse.h"

namespace kb {

// What is wrong with an answer whose status is 200.
struct StreamFault {
  std::string message;
  bool retry = true;
};

// Puts one answer together: of a stream, or of one JSON object.
class AnswerReader {
 public:
  virtual ~AnswerReader() = default;
  // `data` of the event need not be JSON, nor UTF-8.
  std::optional<StreamFault> Read(const SseEvent& event);
  // The whole of an answer that was no stream, which is not finished() if this is not one.
  std::optional<StreamFault> ReadWhole(const std::string& body);
  // The stream's end mark has come.
  bool ended() const { return ended_; }
  // The provider has said why the answer ends, so its text is whole. What may follow is its usage and the end mark,
  // which `transformers serve` never sends. A stream that ends before this is broken.
  bool finished() const { return finished_ || ended_; }
  // Bytes of text and reasoning so far.
  size_t size() const { return completion_.text.size() + completion_.reasoning.size(); }
  Completion Take() { return std::move(completion_); }

 protected:
  // An event of a stream, or a whole answer.
  virtual std::optional<StreamFault> ReadJson(const nlohmann::json& event) = 0;
  virtual bool IsEndMark(const SseEvent&) const { return false; }

  Completion completion_;
  bool ended_ = false;
  bool finished_ = false;
};

struct WireFormat {
  const char* path;  // after base_url
  std::vector<std::string> (*headers)(const std::string& key);
  // kUsage where the request cannot be put this way.
  Result<nlohmann::json> (*body)(const CompletionRequest& request, const ModelSettings& settings);
  std::unique_ptr<AnswerReader> (*reader)(const ModelSettings& settings);
};

// chat_completions.cc: POST /chat/completions of OpenAI and of all who follow it.
const WireFormat& ChatCompletions();
// anthropic_messages.cc: POST /messages.
const WireFormat& AnthropicMessages();

const WireFormat& FormatOf(ProviderKind kind);

// The request's body with what the settings leave out and add, and without options of a stream where it asks for none.
std::string FinishBody(nlohmann::json body, const ModelSettings& settings);

// Members of JSON that someone else wrote: empty, or nothing, if they are not there or of another type.
const nlohmann::json& MemberOf(const nlohmann::json& object, const char* key);  // null if absent
std::string TextOf(const nlohmann::json& object, const char* key);
std::optional<int64_t> CountOf(const nlohmann::json& object, const char* key);  // whole and not negative

// The message of a provider's error object, in the shapes that are in use, and whether to try again.
StreamFault FaultOf(const nlohmann::json& body);

// The indices of the messages to mark for the cache, the last four of those wanted: providers take no more.
std::vector<size_t> CacheMarks(const std::vector<Message>& messages);

}  // namespace kb

#endif  // MODEL_WIRE_FORMAT_H_
