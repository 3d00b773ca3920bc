#include "model/wire_format.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/utf8.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr size_t kCacheMarks = 4;

// The JSON of text that may hold bytes that are not UTF-8 and halves of surrogate pairs; discarded if it is none.
json LenientJson(const std::string& data) {
  const std::string text = ValidUtf8(data);
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json::parse(ReplaceLoneSurrogates(text), nullptr, false) : value;
}

}  // namespace

std::optional<StreamFault> AnswerReader::Read(const SseEvent& event) {
  if (IsEndMark(event)) {
    ended_ = true;
    return std::nullopt;
  }
  const json value = LenientJson(event.data);
  if (!value.is_object()) return StreamFault{"the stream holds something that is no JSON: " + ValidUtf8(event.data)};
  return ReadJson(value);
}

std::optional<StreamFault> AnswerReader::ReadWhole(const std::string& body) {
  const json value = LenientJson(body);
  return value.is_object() ? ReadJson(value) : std::nullopt;
}

const WireFormat& FormatOf(ProviderKind kind) {
  return kind == ProviderKind::kAnthropic ? AnthropicMessages() : ChatCompletions();
}

std::string FinishBody(json body, const ModelSettings& settings) {
  for (const std::string& member : settings.omit) body.erase(member);
  if (MemberOf(settings.extra, "stream") == false) body.erase("stream_options");  // OpenAI refuses them then
  body.update(settings.extra);
  return Dump(body);
}

const json& MemberOf(const json& object, const char* key) {
  static const json kNull;
  const auto at = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && at != object.end() ? *at : kNull;
}

std::string TextOf(const json& object, const char* key) {
  const json& member = MemberOf(object, key);
  return member.is_string() ? member.get<std::string>() : "";
}

std::optional<int64_t> CountOf(const json& object, const char* key) {
  const json& member = MemberOf(object, key);
  if (!member.is_number_integer() || member < 0) return std::nullopt;
  return member.get<int64_t>();
}

StreamFault FaultOf(const json& body) {
  const json& inner = MemberOf(body, "error");
  const json& error = inner.is_null() ? body : inner;
  StreamFault fault;
  if (error.is_string()) return {error.get<std::string>()};
  for (const char* key : {"message", "detail", "error"}) {
    const json& member = MemberOf(error, key);
    if (fault.message.empty() && !member.is_null()) {
      fault.message = member.is_string() ? member.get<std::string>() : member.dump();
    }
  }
  // OpenRouter hands on what the server behind it said.
  if (const std::string raw = TextOf(MemberOf(error, "metadata"), "raw"); !raw.empty()) fault.message += ": " + raw;
  const std::string type = TextOf(error, "type"), code = TextOf(error, "code");
  const json& number = MemberOf(error, "code");
  const bool status_retried =
      !number.is_number_integer() || number.get<int64_t>() < 400 || StatusIsRetried(number.get<int64_t>());
  fault.retry = status_retried && ErrorTypeIsRetried(type) && ErrorTypeIsRetried(code);
  if (fault.message.empty()) fault.message = body.dump();
  return fault;
}

std::vector<size_t> CacheMarks(const std::vector<Message>& messages) {
  std::vector<size_t> marks;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].cache_until_here) marks.push_back(i);
  }
  if (marks.size() > kCacheMarks) marks.erase(marks.begin(), marks.end() - kCacheMarks);
  return marks;
}

}  // namespace kb
