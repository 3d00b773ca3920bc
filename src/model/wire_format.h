// The languages that providers speak over HTTP: what a request is written as, and how an answer is read.
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

// Keeps members in their order, so that what came from a provider goes back as it came.
using WireJson = nlohmann::ordered_json;

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
  // Bytes of text, reasoning and arguments of calls so far.
  size_t size() const { return size_; }
  // Of a finished() answer, once. Of another: what has come of it.
  Completion Take();

 protected:
  // An event of a stream, or a whole answer.
  virtual std::optional<StreamFault> ReadJson(const WireJson& event) = 0;
  virtual bool IsEndMark(const SseEvent&) const { return false; }
  // Puts text, reasoning, calls and raw into completion_.
  virtual void Conclude() = 0;

  Completion completion_;
  size_t size_ = 0;
  bool ended_ = false;
  bool finished_ = false;
};

struct WireFormat {
  std::string (*path)(const ModelSettings& settings, bool stream);  // after base_url
  std::vector<std::string> (*headers)(const std::string& key, const ModelSettings& settings);
  // kUsage where the request cannot be put this way. The messages come last, so a longer conversation begins with the
  // bytes of a shorter one.
  Result<WireJson> (*body)(const CompletionRequest& request, const ModelSettings& settings);
  std::unique_ptr<AnswerReader> (*reader)(const ModelSettings& settings);
};

// chat_completions.cc: POST /chat/completions of OpenAI and of all who follow it.
const WireFormat& ChatCompletions();
// anthropic_messages.cc: POST /messages.
const WireFormat& AnthropicMessages();
// responses.cc: POST /responses of OpenAI, without anything kept there.
const WireFormat& Responses();
// gemini.cc: POST /models/MODEL:generateContent of Google. Puts no conversation this way: it is there to pass on what
// an agent program has written.
const WireFormat& Gemini();

const WireFormat& FormatOf(Wire wire);

// The request's body as it is sent, with what the settings leave out and add.
Result<std::string> BodyOf(const WireFormat& format, const CompletionRequest& request, const ModelSettings& settings);

// Members of JSON that someone else wrote: empty, or nothing, if they are not there or of another type.
const WireJson& MemberOf(const WireJson& object, const char* key);  // null if absent
std::string TextOf(const WireJson& object, const char* key);
std::optional<int64_t> CountOf(const WireJson& object, const char* key);  // whole and not negative

// JSON text that may hold bytes that are not UTF-8 and halves of surrogate pairs; discarded if it is none.
WireJson LenientJson(const std::string& data);

// The message of a provider's error object, in the shapes that are in use, and whether to try again.
StreamFault FaultOf(const WireJson& body);

// A tool's name, description and, as `schema`, its parameters. kUsage if these are no JSON object.
Result<WireJson> FunctionOf(const Tool& tool, const char* schema);
// The JSON of an answer that goes back. kUsage if it is nothing of that type: then it is another wire's.
Result<WireJson> RawOf(const Message& message, WireJson::value_t type);

// Which parts of a prompt to mark for the cache: providers take four marks.
struct CacheMarks {
  explicit CacheMarks(const CompletionRequest& request);
  bool Has(size_t message) const;

  bool beginning = false;        // tools and system prompt: with tools, for then the next request repeats them
  std::vector<size_t> messages;  // the last of those that want it
};

}  // namespace kb

#endif  // MODEL_WIRE_FORMAT_H_
