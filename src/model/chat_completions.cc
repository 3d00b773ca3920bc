#include <fmt/format.h>

#include <algorithm>

#include "model/wire_format.h"

namespace kb {
namespace {

using nlohmann::json;

std::vector<std::string> BearerHeaders(const std::string& key) {
  if (key.empty()) return {};
  return {"Authorization: Bearer " + key};
}

// OpenRouter takes Anthropic's marks; others cache by themselves and may refuse members that they do not know.
json ChatMessage(const Message& message, bool marked) {
  const char* role = message.role == Role::kUser ? "user" : "assistant";
  if (!marked) return {{"role", role}, {"content", message.text}};
  return {{"role", role},
          {"content", {{{"type", "text"}, {"text", message.text}, {"cache_control", {{"type", "ephemeral"}}}}}}};
}

Result<json> ChatBody(const CompletionRequest& request, const ModelSettings& settings) {
  const bool openrouter = settings.provider == ProviderKind::kOpenRouter;
  json messages = json::array();
  if (!request.system.empty()) messages.push_back({{"role", "system"}, {"content", request.system}});
  const std::vector<size_t> marks = openrouter ? CacheMarks(request.messages) : std::vector<size_t>();
  for (size_t i = 0; i < request.messages.size(); ++i) {
    messages.push_back(ChatMessage(request.messages[i], std::find(marks.begin(), marks.end(), i) != marks.end()));
  }
  json body = {{"model", request.model},
               {"messages", std::move(messages)},
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
  return body;
}

// prompt_tokens counts what was read from and written to a cache too; each token is counted once here.
Usage ChatUsage(const json& usage) {
  const json& prompt = MemberOf(usage, "prompt_tokens_details");
  const json& completion = MemberOf(usage, "completion_tokens_details");
  Usage counted;
  counted.cache_read = CountOf(prompt, "cached_tokens");
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
std::optional<double> OpenRouterCost(const json& usage) {
  const json &cost = MemberOf(usage, "cost"), &own_key = MemberOf(usage, "is_byok");
  if (!cost.is_number()) return std::nullopt;
  if (!own_key.is_boolean() || !own_key.get<bool>()) return cost.get<double>();
  const json& upstream = MemberOf(MemberOf(usage, "cost_details"), "upstream_inference_cost");
  if (!upstream.is_number()) return std::nullopt;
  return cost.get<double>() + upstream.get<double>();
}

class ChatReader : public AnswerReader {
 public:
  explicit ChatReader(bool says_cost) : says_cost_(says_cost) {}

 protected:
  bool IsEndMark(const SseEvent& event) const override { return event.data == "[DONE]"; }

  std::optional<StreamFault> ReadJson(const json& event) override {
    if (const json& error = MemberOf(event, "error"); !error.is_null()) return FaultOf(event);
    if (const std::string model = TextOf(event, "model"); !model.empty()) completion_.model = model;
    if (const json& usage = MemberOf(event, "usage"); usage.is_object()) {
      completion_.usage = ChatUsage(usage);
      if (says_cost_) completion_.cost_usd = OpenRouterCost(usage);
    }
    const json& choices = MemberOf(event, "choices");
    if (!choices.is_array() || choices.empty()) return std::nullopt;
    return ReadChoice(choices[0]);
  }

 private:
  std::optional<StreamFault> ReadChoice(const json& choice) {
    const json& message = MemberOf(choice, "message");  // of an answer that is no stream
    const json& delta = message.is_null() ? MemberOf(choice, "delta") : message;
    completion_.text += TextOf(delta, "content");
    const std::string reasoning = TextOf(delta, "reasoning_content");
    completion_.reasoning += reasoning.empty() ? TextOf(delta, "reasoning") : reasoning;
    const std::string refusal = TextOf(delta, "refusal");
    completion_.text += refusal;
    refused_ |= !refusal.empty();
    const std::string reason = TextOf(choice, "finish_reason");
    if (reason == "error") return FaultOf({{"message", "the server behind the provider failed in the middle"}});
    finished_ |= !reason.empty();
    if (reason == "stop") completion_.finish = FinishReason::kStop;
    if (reason == "length") completion_.finish = FinishReason::kLength;
    if (reason == "content_filter" || refused_) completion_.finish = FinishReason::kRefused;
    return std::nullopt;
  }

  bool says_cost_;
  bool refused_ = false;
};

std::unique_ptr<AnswerReader> NewChatReader(const ModelSettings& settings) {
  return std::make_unique<ChatReader>(settings.provider == ProviderKind::kOpenRouter);
}

}  // namespace

const WireFormat& ChatCompletions() {
  static const WireFormat format = {"/chat/completions", BearerHeaders, ChatBody, NewChatReader};
  return format;
}

}  // namespace kb
