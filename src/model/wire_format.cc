#include "model/wire_format.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/utf8.h"

namespace kb {
namespace {

constexpr size_t kMostMarks = 4;

// Members of a request that have the provider itself search, fetch or execute.
constexpr const char* kServerTools[] = {"tools", "functions", "plugins", "mcp_servers", "web_search_options"};

// A model with tools gets those of the request and no others, lest it look up what it should work out.
Status CheckTools(const CompletionRequest& request, const ModelSettings& settings) {
  if (request.tools.empty()) return {};
  for (const char* member : kServerTools) {
    if (!settings.extra.contains(member)) continue;
    return Fail(ErrorCode::kUsage, fmt::format("the settings of {} add \"{}\", which is not for a model that is given "
                                               "tools here: take it out of extra",
                                               settings.name, member));
  }
  if (request.model.ends_with(":online")) {
    return Fail(ErrorCode::kUsage, fmt::format("{} searches the web, which is not for a model that is given tools "
                                               "here: leave out :online",
                                               request.model));
  }
  return {};
}

}  // namespace

WireJson LenientJson(const std::string& data) {
  const std::string text = ValidUtf8(data);
  WireJson value = WireJson::parse(text, nullptr, false);
  return value.is_discarded() ? WireJson::parse(ReplaceLoneSurrogates(text), nullptr, false) : value;
}

std::optional<StreamFault> AnswerReader::Read(const SseEvent& event) {
  if (IsEndMark(event)) {
    ended_ = true;
    return std::nullopt;
  }
  const WireJson value = LenientJson(event.data);
  if (!value.is_object()) return StreamFault{"the stream holds something that is no JSON: " + ValidUtf8(event.data)};
  return ReadJson(value);
}

std::optional<StreamFault> AnswerReader::ReadWhole(const std::string& body) {
  const WireJson value = LenientJson(body);
  return value.is_object() ? ReadJson(value) : std::nullopt;
}

Completion AnswerReader::Take() {
  Conclude();
  // Some servers say "stop" after calls, too.
  if (completion_.finish == FinishReason::kStop && !completion_.calls.empty()) {
    completion_.finish = FinishReason::kToolCalls;
  }
  return std::move(completion_);
}

const WireFormat& FormatOf(Wire wire) {
  switch (wire) {
    case Wire::kMessages:
      return AnthropicMessages();
    case Wire::kResponses:
      return Responses();
    case Wire::kGemini:
      return Gemini();
    case Wire::kChat:
      break;
  }
  return ChatCompletions();
}

Result<std::string> BodyOf(const WireFormat& format, const CompletionRequest& request, const ModelSettings& settings) {
  KB_RETURN_IF_ERROR(CheckTools(request, settings));
  KB_ASSIGN_OR_RETURN(WireJson body, format.body(request, settings));
  const WireJson extra = settings.extra;
  for (const std::string& member : settings.omit) body.erase(member);
  if (MemberOf(extra, "stream") == false) body.erase("stream_options");  // OpenAI refuses them then
  body.update(extra);
  return Dump(body);
}

const WireJson& MemberOf(const WireJson& object, const char* key) {
  static const WireJson kNull;
  const auto at = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && at != object.end() ? *at : kNull;
}

std::string TextOf(const WireJson& object, const char* key) {
  const WireJson& member = MemberOf(object, key);
  return member.is_string() ? member.get<std::string>() : "";
}

std::optional<int64_t> CountOf(const WireJson& object, const char* key) {
  const WireJson& member = MemberOf(object, key);
  if (!member.is_number_integer() || member < 0) return std::nullopt;
  return member.get<int64_t>();
}

StreamFault FaultOf(const WireJson& body) {
  const WireJson& inner = MemberOf(body, "error");
  const WireJson& error = inner.is_null() ? body : inner;
  StreamFault fault;
  if (error.is_string()) return {error.get<std::string>()};
  for (const char* key : {"message", "detail", "error"}) {
    const WireJson& member = MemberOf(error, key);
    if (fault.message.empty() && !member.is_null()) {
      fault.message = member.is_string() ? member.get<std::string>() : member.dump();
    }
  }
  // OpenRouter hands on what the server behind it said.
  if (const std::string raw = TextOf(MemberOf(error, "metadata"), "raw"); !raw.empty()) fault.message += ": " + raw;
  const std::string type = TextOf(error, "type"), code = TextOf(error, "code");
  const WireJson& number = MemberOf(error, "code");
  const bool status_retried =
      !number.is_number_integer() || number.get<int64_t>() < 400 || StatusIsRetried(number.get<int64_t>());
  fault.retry = status_retried && ErrorTypeIsRetried(type) && ErrorTypeIsRetried(code);
  if (fault.message.empty()) fault.message = body.dump();
  return fault;
}

Result<WireJson> FunctionOf(const Tool& tool, const char* schema) {
  WireJson parameters = WireJson::parse(tool.parameters, nullptr, false);
  if (!parameters.is_object()) {
    return Fail(ErrorCode::kUsage, fmt::format("the parameters of the tool {} are no JSON object", tool.name));
  }
  return WireJson{{"name", tool.name}, {"description", tool.description}, {schema, std::move(parameters)}};
}

Result<WireJson> RawOf(const Message& message, WireJson::value_t type) {
  WireJson raw = WireJson::parse(message.raw, nullptr, false);
  if (raw.type() == type) return raw;
  return Fail(ErrorCode::kUsage, "an answer in the conversation came over another wire: a conversation keeps to one");
}

CacheMarks::CacheMarks(const CompletionRequest& request) {
  for (size_t i = 0; i < request.messages.size(); ++i) {
    if (request.messages[i].cache_until_here) messages.push_back(i);
  }
  beginning = !request.tools.empty();
  const size_t most = beginning ? kMostMarks - 1 : kMostMarks;
  if (messages.size() > most) messages.erase(messages.begin(), messages.end() - static_cast<ptrdiff_t>(most));
}

bool CacheMarks::Has(size_t message) const {
  return std::find(messages.begin(), messages.end(), message) != messages.end();
}

}  // namespace kb
