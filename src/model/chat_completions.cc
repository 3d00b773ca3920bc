#include <fmt/format.h>

#include <set>

#include "base/json.h"
#include "base/random.h"
#include "model/wire_format.h"

namespace kb {
namespace {

std::string ChatPath(const ModelSettings&, bool) { return "/chat/completions"; }

std::vector<std::string> BearerHeaders(const std::string& key, const ModelSettings&) {
  if (key.empty()) return {};
  return {"Authorization: Bearer " + key};
}

// OpenRouter takes Anthropic's marks; others cache by themselves and may refuse members that they do not know. A
// content that was marked once stays a list of parts.
void MarkChatMessage(bool marked, WireJson* message) {
  WireJson& content = (*message)["content"];
  if (!content.is_string()) return;
  WireJson part = {{"type", "text"}, {"text", content}};
  if (marked) part["cache_control"] = {{"type", "ephemeral"}};
  content = WireJson::array({std::move(part)});
}

// Appends what is one message here, or one for each result.
Status AddChatMessages(const Message& message, WireJson* messages) {
  if (!message.raw.empty()) {
    KB_ASSIGN_OR_RETURN(WireJson raw, RawOf(message, WireJson::value_t::object));
    messages->push_back(std::move(raw));
    return {};
  }
  for (const ToolResult& result : message.results) {
    messages->push_back({{"role", "tool"}, {"tool_call_id", result.call_id}, {"content", result.text}});
  }
  if (message.results.empty() || !message.text.empty()) {
    const char* role = message.role == Role::kUser ? "user" : "assistant";
    messages->push_back({{"role", role}, {"content", message.text}});
  }
  return {};
}

Result<WireJson> ChatMessages(const CompletionRequest& request, bool takes_marks) {
  WireJson messages = WireJson::array();
  const CacheMarks marks(request);
  if (!request.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", request.system}});
    if (takes_marks && marks.beginning) MarkChatMessage(true, &messages.back());
  }
  bool reasoned = false;  // DeepSeek refuses a conversation in which later answers lack what an earlier one has
  for (size_t i = 0; i < request.messages.size(); ++i) {
    KB_RETURN_IF_ERROR(AddChatMessages(request.messages[i], &messages));
    WireJson& last = messages.back();
    reasoned |= last.contains("reasoning_content");
    if (reasoned && !request.messages[i].raw.empty()) last.emplace("reasoning_content", "");
    if (takes_marks && request.messages[i].cache_until_here) MarkChatMessage(marks.Has(i), &last);
  }
  return messages;
}

Result<WireJson> ChatBody(const CompletionRequest& request, const ModelSettings& settings) {
  const bool openrouter = settings.provider == ProviderKind::kOpenRouter;
  WireJson body = {{"model", request.model},
                   {"stream", true},
                   {"stream_options", {{"include_usage", true}}},
                   {settings.max_tokens_name, request.max_tokens}};
  if (request.temperature) body["temperature"] = *request.temperature;
  if (request.top_p) body["top_p"] = *request.top_p;
  if (request.seed) body["seed"] = *request.seed;
  if (!request.reasoning_effort.empty()) {
    if (openrouter) {
      body["reasoning"] = {{"effort", request.reasoning_effort}};
    } else {
      body["reasoning_effort"] = request.reasoning_effort;
    }
  }
  for (const Tool& tool : request.tools) {
    KB_ASSIGN_OR_RETURN(WireJson function, FunctionOf(tool, "parameters"));
    body["tools"].push_back({{"type", "function"}, {"function", std::move(function)}});
  }
  KB_ASSIGN_OR_RETURN(body["messages"], ChatMessages(request, openrouter));
  return body;
}

// prompt_tokens counts what was read from and written to a cache too; each token is counted once here.
Usage ChatUsage(const WireJson& usage) {
  const WireJson& prompt = MemberOf(usage, "prompt_tokens_details");
  const WireJson& completion = MemberOf(usage, "completion_tokens_details");
  Usage counted;
  counted.cache_read = CountOf(prompt, "cached_tokens");
  if (!counted.cache_read) counted.cache_read = CountOf(usage, "prompt_cache_hit_tokens");  // DeepSeek's own name
  counted.cache_write = CountOf(prompt, "cache_write_tokens");
  counted.reasoning = CountOf(completion, "reasoning_tokens");
  counted.output = CountOf(usage, "completion_tokens");
  const auto prompt_tokens = CountOf(usage, "prompt_tokens");
  if (prompt_tokens) {
    counted.input = *prompt_tokens - counted.cache_read.value_or(0) - counted.cache_write.value_or(0);
    if (*counted.input < 0) counted.input.reset();  // they contradict each other: not known
  }
  // Some count reasoning beside completion_tokens rather than in it; the total tells.
  const auto total = CountOf(usage, "total_tokens");
  if (total && prompt_tokens && counted.output && counted.reasoning && *counted.reasoning > 0 &&
      *total == *prompt_tokens + *counted.output + *counted.reasoning) {
    *counted.output += *counted.reasoning;
  }
  return counted;
}

// What OpenRouter took, and with the user's own key at the server behind it, what that took.
std::optional<double> OpenRouterCost(const WireJson& usage) {
  const WireJson &cost = MemberOf(usage, "cost"), &own_key = MemberOf(usage, "is_byok");
  if (!cost.is_number()) return std::nullopt;
  if (!own_key.is_boolean() || !own_key.get<bool>()) return cost.get<double>();
  const WireJson& upstream = MemberOf(MemberOf(usage, "cost_details"), "upstream_inference_cost");
  if (!upstream.is_number()) return std::nullopt;
  return cost.get<double>() + upstream.get<double>();
}

// The entry of a streamed list that `piece` goes on with, or nothing if it begins one. Pieces have the entry's index,
// but some servers number all calls 0, or none.
WireJson* ChatEntry(const WireJson& piece, WireJson* list) {
  const auto index = CountOf(piece, "index");
  const std::string id = TextOf(piece, "id");
  for (auto entry = list->rbegin(); entry != list->rend(); ++entry) {
    if (index && CountOf(*entry, "index") != index) continue;
    const std::string known = TextOf(*entry, "id");
    const bool another = !id.empty() && !known.empty() && id != known;
    const bool unnumbered = !index && id.empty() && !TextOf(MemberOf(piece, "function"), "name").empty();
    return another || unnumbered ? nullptr : &*entry;
  }
  return nullptr;
}

void MergeChatPiece(const WireJson& piece, WireJson* whole);

void MergeChatList(const WireJson& pieces, bool calls, WireJson* list) {
  for (const WireJson& piece : pieces) {
    const bool continues = piece.is_object() && (calls || piece.contains("index"));
    WireJson* const entry = continues ? ChatEntry(piece, list) : nullptr;
    if (entry != nullptr) {
      MergeChatPiece(piece, entry);
    } else {
      list->push_back(piece);
    }
  }
}

// Members of streamed pieces add up: texts are joined, lists grow, and what says what something is stays as it is. A
// content may be a text in one piece and parts in another.
void MergeChatPiece(const WireJson& piece, WireJson* whole) {
  static const std::set<std::string> fixed = {"id", "type", "role", "name", "format"};
  for (const auto& [key, value] : piece.items()) {
    if (value.is_null() && key != "reasoning_content") continue;  // of the others null says nothing
    WireJson& member = (*whole)[key];
    if (value.is_null()) continue;
    const auto part = [](const WireJson& text) { return WireJson{{"type", "text"}, {"text", text}}; };
    if (value.is_array() && (member.is_null() || member == "")) member = WireJson::array();
    if (value.is_array() && member.is_string()) member = WireJson::array({part(member)});
    if (value.is_array() && member.is_array()) {
      MergeChatList(value, key == "tool_calls", &member);
    } else if (value.is_object() && member.is_object()) {
      MergeChatPiece(value, &member);
    } else if (value.is_string() && member.is_array()) {
      if (value != "") member.push_back(part(value));
    } else if (!value.is_string() || !member.is_string()) {
      member = value;
    } else if (!fixed.contains(key) || member == "") {
      member.get_ref<std::string&>() += value.get_ref<const std::string&>();
    }
  }
}

// A text, or parts of which some are text.
std::string ChatText(const WireJson& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  for (const WireJson& part : content.is_array() ? content : WireJson::array()) text += TextOf(part, "text");
  return text;
}

std::string ChatReasoning(const WireJson& message) {
  const std::string reasoning = TextOf(message, "reasoning_content");
  return reasoning.empty() ? TextOf(message, "reasoning") : reasoning;
}

class ChatReader : public AnswerReader {
 public:
  explicit ChatReader(bool says_cost) : says_cost_(says_cost) {}

 protected:
  bool IsEndMark(const SseEvent& event) const override { return event.data == "[DONE]"; }

  std::optional<StreamFault> ReadJson(const WireJson& event) override {
    if (const WireJson& error = MemberOf(event, "error"); !error.is_null()) return FaultOf(event);
    if (const std::string model = TextOf(event, "model"); !model.empty()) completion_.model = model;
    if (const WireJson& usage = MemberOf(event, "usage"); usage.is_object()) {
      completion_.usage = ChatUsage(usage);
      if (says_cost_) completion_.cost_usd = OpenRouterCost(usage);
    }
    const WireJson& choices = MemberOf(event, "choices");
    if (!choices.is_array() || choices.empty()) return std::nullopt;
    return ReadChoice(choices[0]);
  }

  void Conclude() override {
    if (TextOf(message_, "role").empty()) message_["role"] = "assistant";
    ReadCalls();
    completion_.text = ChatText(MemberOf(message_, "content"));
    completion_.reasoning = ChatReasoning(message_);
    const std::string refusal = TextOf(message_, "refusal");
    completion_.text += refusal;
    if (!refusal.empty()) completion_.finish = FinishReason::kRefused;
    // Servers want a content unless there are calls, and some of them no empty one beside calls.
    WireJson& content = message_["content"];
    if (content.is_null() && completion_.calls.empty()) content = "";
    if (content == "" && !completion_.calls.empty()) content = nullptr;
    // A text, for servers that want it back even where it was empty.
    if (message_.contains("reasoning_content") && message_["reasoning_content"].is_null()) {
      message_["reasoning_content"] = "";
    }
    completion_.raw = Dump(message_);
  }

 private:
  std::optional<StreamFault> ReadChoice(const WireJson& choice) {
    const WireJson& message = MemberOf(choice, "message");  // of an answer that is no stream
    if (const WireJson& said = message.is_null() ? MemberOf(choice, "delta") : message; said.is_object()) {
      size_ += ChatText(MemberOf(said, "content")).size() + ChatReasoning(said).size() + TextOf(said, "refusal").size();
      for (const WireJson& call : MemberOf(said, "tool_calls")) {
        size_ += TextOf(MemberOf(call, "function"), "arguments").size();
      }
      if (message.is_object()) {
        message_.update(message);
      } else {
        MergeChatPiece(said, &message_);
      }
    }
    const std::string reason = TextOf(choice, "finish_reason");
    if (reason == "error") return FaultOf({{"message", "the server behind the provider failed in the middle"}});
    if (reason.empty()) return std::nullopt;
    finished_ = true;
    completion_.finish_word = reason;
    completion_.finish = reason == "stop"             ? FinishReason::kStop
                         : reason == "length"         ? FinishReason::kLength
                         : reason == "content_filter" ? FinishReason::kRefused
                                                      : FinishReason::kUnknown;
    return std::nullopt;
  }

  void ReadCalls() {
    if (!MemberOf(message_, "tool_calls").is_array() || message_["tool_calls"].empty()) {
      message_.erase("tool_calls");  // an empty list is refused
      return;
    }
    for (WireJson& call : message_["tool_calls"]) {
      if (!call.is_object()) call = WireJson::object();
      call.erase("index");  // of streams alone
      if (TextOf(call, "id").empty()) call["id"] = fmt::format("call_{:016x}", RandomBits());
      if (TextOf(call, "type").empty()) call["type"] = "function";
      const WireJson& function = MemberOf(call, "function");
      const WireJson& arguments = MemberOf(function, "arguments");
      completion_.calls.push_back({TextOf(call, "id"), TextOf(function, "name"),
                                   arguments.is_object() ? Dump(arguments) : TextOf(function, "arguments")});
    }
    if (completion_.finish_word == "tool_calls") completion_.finish = FinishReason::kToolCalls;
  }

  bool says_cost_;
  WireJson message_ = {{"role", ""}, {"content", nullptr}};
};

std::unique_ptr<AnswerReader> NewChatReader(const ModelSettings& settings) {
  return std::make_unique<ChatReader>(settings.provider == ProviderKind::kOpenRouter);
}

}  // namespace

const WireFormat& ChatCompletions() {
  static const WireFormat format = {ChatPath, BearerHeaders, ChatBody, NewChatReader};
  return format;
}

}  // namespace kb
