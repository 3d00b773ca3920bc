#include "agents/relay/dialect.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_shape.h"

namespace kb {
namespace {

// The names that programs use for the most tokens of an answer.
constexpr const char* kMaxTokens[] = {"max_tokens", "max_completion_tokens", "max_output_tokens"};
// Of a request: conversations hold the arguments of calls and schemas of tools as they are.
constexpr size_t kDepth = 128;
constexpr int kSmallestThinkingBudget = 1024;

// What the settings say about every call, as it is sent, without the conversation.
Result<WireJson> Pins(const Dialect& dialect, const ModelSettings& settings) {
  CompletionRequest request = settings.NewRequest();
  KB_ASSIGN_OR_RETURN(const std::string body, BodyOf(FormatOf(settings.wire), request, settings));
  WireJson pins = WireJson::parse(body);
  pins.erase(dialect.messages);
  return pins;
}

Denial CheckAll(const WireJson& list, Denial (*check)(const WireJson&)) {
  for (const WireJson& each : list) {
    if (Denial denial = check(each)) return denial;
  }
  return std::nullopt;
}

Denial Check(const Dialect& dialect, const WireJson& request) {
  for (const std::string_view member : dialect.forbidden) {
    const WireJson& value = MemberOf(request, member.data());
    if (value.is_null() || value == false || value == "" || value == WireJson::array()) continue;
    return fmt::format("\"{}\" is not passed on to the model: leave it out", member);
  }
  if (const WireJson& n = MemberOf(request, "n"); !n.is_null() && n != 1) {
    return "one answer at a time is passed on: leave out \"n\"";
  }
  const WireJson& messages = MemberOf(request, dialect.messages);
  if (!messages.is_array() || messages.empty()) {
    const bool may_be_text = std::string_view(dialect.messages) == "input";
    if (messages.is_string() && may_be_text) return std::nullopt;
    return fmt::format("\"{}\" is no list of messages", dialect.messages);
  }
  if (Denial denial = CheckAll(messages, dialect.check_message)) return denial;
  const WireJson& tools = MemberOf(request, "tools");
  if (!tools.is_null() && !tools.is_array()) return "\"tools\" is no list";
  return tools.is_array() ? CheckAll(tools, dialect.check_tool) : std::nullopt;
}

std::optional<int64_t> AskedTokens(const WireJson& request) {
  for (const char* name : kMaxTokens) {
    if (const auto count = CountOf(request, name); count && *count > 0) return count;
  }
  return std::nullopt;
}

// The API refuses a thinking budget that leaves nothing for the answer.
void FitThinking(int max_tokens, WireJson* body) {
  if (!CountOf(MemberOf(*body, "thinking"), "budget_tokens")) return;
  WireJson& thinking = (*body)["thinking"];
  const int64_t most = std::max(kSmallestThinkingBudget, max_tokens / 4 * 3);
  if (most >= max_tokens) {
    body->erase("thinking");
  } else if (thinking["budget_tokens"] > most) {
    thinking["budget_tokens"] = most;
  }
}

}  // namespace

Status CheckRelayed(const ModelSettings& settings) {
  if (settings.provider == ProviderKind::kReplay) {
    return Fail(ErrorCode::kUsage, "an agent program needs a model that answers over HTTP; a replay has no such");
  }
  CompletionRequest request = settings.NewRequest();
  request.tools.push_back({.name = "any", .description = "", .parameters = "{}"});
  KB_ASSIGN_OR_RETURN(const std::string body, BodyOf(FormatOf(settings.wire), request, settings));
  return {};
}

const Dialect& DialectOf(Wire wire) {
  switch (wire) {
    case Wire::kMessages:
      return MessagesDialect();
    case Wire::kResponses:
      return ResponsesDialect();
    case Wire::kChat:
      break;
  }
  return ChatDialect();
}

Result<Relayed> ReadRequest(const Dialect& dialect, const ModelSettings& settings, const std::string& body) {
  if (const Status shape = CheckShape(body, kDepth); !shape) {
    return Fail(ErrorCode::kUsage, "the request cannot be read: " + shape.error().message);
  }
  WireJson request = LenientJson(body);
  if (!request.is_object()) return Fail(ErrorCode::kUsage, "the request is no JSON object");
  if (Denial denial = Check(dialect, request)) return Fail(ErrorCode::kUsage, std::move(*denial));
  KB_ASSIGN_OR_RETURN(WireJson pins, Pins(dialect, settings));

  Relayed relayed;
  relayed.program_model = TextOf(request, "model");
  relayed.stream = MemberOf(request, "stream") == true;
  if (relayed.stream && MemberOf(pins, "stream") != true) {
    return Fail(ErrorCode::kUsage, "this model answers without a stream: leave out \"stream\"");
  }
  const auto passes = [&](const std::string& member) {
    return std::find(dialect.members.begin(), dialect.members.end(), member) != dialect.members.end() &&
           std::find(settings.omit.begin(), settings.omit.end(), member) == settings.omit.end();
  };
  relayed.body = WireJson::object();
  for (auto& [member, value] : request.items()) {
    const bool set_here =
        pins.contains(member) || OneOf(member, {"model", "stream", "stream_options", "n", "max_tokens",
                                                "max_completion_tokens", "max_output_tokens"});
    if (passes(member)) {
      relayed.body[member] = std::move(value);
    } else if (!set_here && !value.is_null()) {
      relayed.dropped.push_back(member);
    }
  }
  const int most = settings.NewRequest().max_tokens;
  relayed.max_tokens = static_cast<int>(std::min<int64_t>(AskedTokens(request).value_or(most), most));
  for (const char* name : {dialect.max_tokens, settings.max_tokens_name.c_str()}) {
    if (pins.contains(name)) pins[name] = relayed.max_tokens;
  }
  if (relayed.stream) {
    pins["stream"] = true;
  } else {
    pins.erase("stream");
    pins.erase("stream_options");
  }
  if (pins.contains("thinking")) {  // which the API takes without them only
    for (const char* member : {"temperature", "top_p", "top_k"}) relayed.body.erase(member);
  }
  relayed.body.update(pins);
  FitThinking(relayed.max_tokens, &relayed.body);
  return relayed;
}

Denial CheckParts(const WireJson& content, Denial (*check)(const WireJson& part)) {
  if (content.is_null() || content.is_string()) return std::nullopt;
  if (!content.is_array()) return "a message's content is neither a text nor a list of parts";
  return CheckAll(content, check);
}

Denial CheckInline(const WireJson& url) {
  if (url.is_string() && url.get_ref<const std::string&>().starts_with("data:")) return std::nullopt;
  return "the model's provider fetches nothing from here: give images as data: addresses";
}

Denial NotPassedOn(std::string_view what, const std::string& type) {
  return fmt::format("{} of type \"{}\" is not passed on to the model", what, type);
}

bool OneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string OpenAiError(int status, std::string_view message) {
  const char* const type = status == 402   ? "insufficient_quota"
                           : status == 429 ? "rate_limit_error"
                           : status >= 500 ? "server_error"
                                           : "invalid_request_error";
  WireJson error = {{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}};
  if (status == 402) error["code"] = type;
  return Dump(WireJson{{"error", std::move(error)}});
}

}  // namespace kb
