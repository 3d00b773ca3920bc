#include "agents/relay/dialect.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/json_shape.h"
#include "base/utf8.h"

namespace kb {
namespace {

// The names that programs use for the most tokens of an answer.
constexpr const char* kMaxTokens[] = {"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"};
// Of a request: conversations hold the arguments of calls and schemas of tools as they are.
constexpr size_t kDepth = 128;
constexpr int kSmallestThinkingBudget = 1024;
constexpr size_t kLongestName = 64, kMostDropped = 32;  // of what owners keep
constexpr size_t kLongestModel = 256;

// What the settings say about every call, as it is sent, without the conversation.
Result<WireJson> Pins(const Dialect& dialect, const ModelSettings& settings) {
  CompletionRequest request = settings.NewRequest();
  KB_ASSIGN_OR_RETURN(const std::string body, BodyOf(FormatOf(settings.wire), request, settings));
  WireJson pins = WireJson::parse(body);
  pins.erase(dialect.messages);
  return pins;
}

const WireJson& OptionsOf(const Dialect& dialect, const WireJson& request) {
  return *dialect.options == '\0' ? request : MemberOf(request, dialect.options);
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
  for (const char* member : {"n", "candidateCount"}) {
    const WireJson& n = MemberOf(OptionsOf(dialect, request), member);
    if (!n.is_null() && n != 1) return fmt::format("one answer at a time is passed on: leave out \"{}\"", member);
  }
  const WireJson& messages = MemberOf(request, dialect.messages);
  const bool text = messages.is_string() && std::string_view(dialect.messages) == "input";
  if (!text && (!messages.is_array() || messages.empty())) {
    return fmt::format("\"{}\" is no list of messages", dialect.messages);
  }
  if (Denial denial = text ? std::nullopt : CheckAll(messages, dialect.check_message)) return denial;
  if (const WireJson& system = MemberOf(request, dialect.system); !system.is_null()) {
    if (Denial denial = dialect.check_system(system)) return denial;
  }
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
    case Wire::kGemini:
      return GeminiDialect();
    case Wire::kChat:
      break;
  }
  return ChatDialect();
}

std::optional<RelayPath> ReadPath(const Dialect& dialect, const std::string& path) {
  std::string_view rest = path;
  for (const std::string_view version : {"/v1beta/", "/v1/"}) {
    if (rest == path && rest.starts_with(version)) rest.remove_prefix(version.size() - 1);
  }
  const std::string_view wanted = dialect.path;
  if (!wanted.ends_with('/')) return rest == wanted ? std::optional<RelayPath>(RelayPath()) : std::nullopt;
  const size_t colon = rest.rfind(':');
  if (!rest.starts_with(wanted) || colon == std::string_view::npos) return std::nullopt;
  const std::string_view method = rest.substr(colon + 1);
  if (method != "generateContent" && method != "streamGenerateContent") return std::nullopt;
  return RelayPath{std::string(rest.substr(wanted.size(), colon - wanted.size())), method != "generateContent"};
}

namespace {

// Moves what passes of a request, or of its options. Settings say what does not pass, and what is set here in any case.
void Pass(const std::vector<std::string_view>& members, const ModelSettings& settings, const WireJson& pins,
          WireJson* from, Relayed* relayed, WireJson* into) {
  for (auto& [member, value] : from->items()) {
    const bool known = std::find(members.begin(), members.end(), member) != members.end();
    const bool omitted = std::find(settings.omit.begin(), settings.omit.end(), member) != settings.omit.end();
    const bool set_here = pins.contains(member) ||
                          std::count(std::begin(kMaxTokens), std::end(kMaxTokens), member) != 0 ||
                          OneOf(member, {"model", "stream", "stream_options", "n", "candidateCount"});
    if (known && !omitted) {
      (*into)[member] = std::move(value);
    } else if (!set_here && !value.is_null() && relayed->dropped.size() < kMostDropped) {
      relayed->dropped.emplace_back(Quoted(member));
    }
  }
}

// Of a message, a part or a tool, or a list of such. What else they hold is data, such as a call's input.
void EraseTtl(WireJson* value) {
  if (value->is_array()) {
    for (WireJson& each : *value) EraseTtl(&each);
  } else if (value->is_object()) {
    for (const auto& [name, member] : value->items()) {
      if (name == "cache_control" && member.is_object()) member.erase("ttl");
      if (OneOf(name, {"content", "source"})) EraseTtl(&member);
    }
  }
}

// A cache that is kept for an hour costs more to write than one of five minutes, and prices have one `cache_write`.
void ShortenCaches(const Dialect& dialect, WireJson* body) {
  EraseTtl(body);
  for (const char* member : {dialect.messages, dialect.system, "tools"}) {
    if (body->contains(member)) EraseTtl(&(*body)[member]);
  }
}

// What the settings say in place of what was asked for.
void Pin(const Dialect& dialect, const ModelSettings& settings, WireJson pins, Relayed* relayed) {
  const bool nested = *dialect.options != '\0';
  WireJson& options = nested ? pins[dialect.options] : pins;
  for (const char* name : {dialect.max_tokens, settings.max_tokens_name.c_str()}) {
    if (options.contains(name)) options[name] = relayed->max_tokens;
  }
  if (!relayed->stream) {
    pins.erase("stream");
    pins.erase("stream_options");
  }
  if (pins.contains("thinking")) {  // which the API takes without them only
    for (const char* member : {"temperature", "top_p", "top_k"}) relayed->body.erase(member);
  }
  if (nested) {
    WireJson merged = std::move(relayed->body[dialect.options]);
    merged.update(options);
    options = std::move(merged);
  }
  relayed->body.update(pins);
  FitThinking(relayed->max_tokens, &relayed->body);
}

}  // namespace

Result<Relayed> ReadRequest(const Dialect& dialect, const ModelSettings& settings, const std::string& body,
                            const RelayPath& path) {
  if (const Status shape = CheckShape(body, kDepth); !shape) {
    return Fail(ErrorCode::kUsage, "the request cannot be read: " + shape.error().message);
  }
  WireJson request = LenientJson(body);
  if (!request.is_object()) return Fail(ErrorCode::kUsage, "the request is no JSON object");
  if (Denial denial = Check(dialect, request)) return Fail(ErrorCode::kUsage, std::move(*denial));
  KB_ASSIGN_OR_RETURN(WireJson pins, Pins(dialect, settings));

  Relayed relayed;
  relayed.program_model = CutUtf8(path.model.empty() ? TextOf(request, "model") : path.model, kLongestModel);
  relayed.stream = path.stream.value_or(MemberOf(request, "stream") == true);
  if (!path.stream && relayed.stream && MemberOf(pins, "stream") != true) {
    return Fail(ErrorCode::kUsage, "this model answers without a stream: leave out \"stream\"");
  }
  const int most = settings.NewRequest().max_tokens;
  relayed.max_tokens =
      static_cast<int>(std::min<int64_t>(AskedTokens(OptionsOf(dialect, request)).value_or(most), most));
  relayed.body = WireJson::object();
  Pass(dialect.members, settings, pins, &request, &relayed, &relayed.body);
  if (*dialect.options != '\0') {
    WireJson options = std::move(request[dialect.options]);
    WireJson& into = relayed.body[dialect.options] = WireJson::object();
    if (options.is_object()) Pass(dialect.option_members, settings, pins[dialect.options], &options, &relayed, &into);
  }
  ShortenCaches(dialect, &relayed.body);
  Pin(dialect, settings, std::move(pins), &relayed);
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

Denial CheckAudio(const WireJson& part) {
  const WireJson& data = MemberOf(MemberOf(part, "input_audio"), "data");
  const bool address = data.is_string() && data.get_ref<const std::string&>().find(':') != std::string::npos;
  if (data.is_string() && !address) return std::nullopt;
  return "the model's provider fetches nothing from here: give the data of \"input_audio\" as base64";
}

Denial NotPassedOn(std::string_view what, const std::string& type) {
  return fmt::format("{} of type \"{}\" is not passed on to the model", what, Quoted(type));
}

std::string_view Quoted(std::string_view name) { return CutUtf8(name, kLongestName); }

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
