// What a program in a box may ask for in each wire, and what of it goes on to the provider.
//
// A request is read and written anew, so the provider is sent what was checked, and members that are not known here
// stay behind. Nothing passes that the provider would fetch, look up, run or keep by itself: it would leave the box.
#ifndef AGENTS_RELAY_DIALECT_H_
#define AGENTS_RELAY_DIALECT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/settings.h"
#include "model/wire_format.h"

namespace kb {

// Why a request, or a part of it, is not passed on: a short sentence for whoever wrote it. Nothing: it is.
using Denial = std::optional<std::string>;

struct Dialect {
  const char* name;        // "chat completions"
  const char* path;        // "/chat/completions", after /v1 or at once
  const char* messages;    // the member that holds the conversation
  const char* system;      // the member that holds the system prompt; "": it is a message
  const char* options;     // the member that holds how to answer, which has `option_members`; "": the request itself
  const char* max_tokens;  // the member that the provider's format has, unless settings name another
  std::vector<std::string_view> members;    // that go on as they are
  std::vector<std::string_view> forbidden;  // that would change what is asked if they stayed behind
  std::vector<std::string_view> option_members;
  Denial (*check_message)(const WireJson& message);
  Denial (*check_system)(const WireJson& system);
  Denial (*check_tool)(const WireJson& tool);
  std::string (*error_body)(int status, std::string_view message);
  // An event of a stream that has begun and cannot go on.
  std::string (*error_event)(std::string_view message);
};

const Dialect& ChatDialect();       // chat_dialect.cc
const Dialect& MessagesDialect();   // messages_dialect.cc
const Dialect& ResponsesDialect();  // responses_dialect.cc
const Dialect& GeminiDialect();     // gemini_dialect.cc
const Dialect& DialectOf(Wire wire);

// What a path asks for, where the body does not say it.
struct RelayPath {
  std::string model;
  std::optional<bool> stream;
};
// Nothing: it is not this dialect's.
std::optional<RelayPath> ReadPath(const Dialect& dialect, const std::string& path);

// What goes on to the provider.
struct Relayed {
  WireJson body;
  std::string program_model;  // the name that the program gave the model, shortened
  bool stream = false;
  int max_tokens = 0;  // of the answer
  // The first members that stayed behind, their names shortened, but for those that are always set here.
  std::vector<std::string> dropped;
};

// The request in `body` as the settings would have it: their model and at most their tokens; their sampling and effort
// where they set some; `omit` and `extra` as in any call. Errors are kUsage and say what is not passed on.
Result<Relayed> ReadRequest(const Dialect& dialect, const ModelSettings& settings, const std::string& body,
                            const RelayPath& path = {});
// kUsage: such a model cannot be relayed, whatever is asked.
Status CheckRelayed(const ModelSettings& settings);

// ---- For dialects -------------------------------------------------------------------------------------------------

// `content` is a text, or nothing, or a list of parts that `check` has nothing against.
Denial CheckParts(const WireJson& content, Denial (*check)(const WireJson& part));
// That the bytes are there themselves, and not an address that the provider would fetch them from.
Denial CheckInline(const WireJson& url);
// The same of a part with "input_audio", whose data some providers take as an address.
Denial CheckAudio(const WireJson& part);
Denial NotPassedOn(std::string_view what, const std::string& type);
// Of a name that the program chose, so much as a sentence may quote.
std::string_view Quoted(std::string_view name);
bool OneOf(std::string_view word, std::initializer_list<std::string_view> words);
// OpenAI's shape of an error.
std::string OpenAiError(int status, std::string_view message);

}  // namespace kb

#endif  // AGENTS_RELAY_DIALECT_H_
