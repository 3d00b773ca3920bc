#include <fmt/format.h>

#include <algorithm>

#include "model/wire_format.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr int kSmallestThinkingBudget = 1024;  // the API refuses less

std::vector<std::string> AnthropicHeaders(const std::string& key) {
  std::vector<std::string> headers = {"anthropic-version: 2023-06-01"};
  if (!key.empty()) headers.push_back("x-api-key: " + key);
  return headers;
}

json AnthropicMessage(const Message& message, bool marked) {
  // A turn without text, as a model's may have been, would make the API refuse the whole conversation.
  const bool blank = message.text.find_first_not_of(" \t\r\n") == std::string::npos;
  json block = {{"type", "text"}, {"text", blank ? "(nothing)" : message.text}};
  if (marked) block["cache_control"] = {{"type", "ephemeral"}};
  return {{"role", message.role == Role::kUser ? "user" : "assistant"}, {"content", json::array({std::move(block)})}};
}

// A budget is a part of max_tokens, which covers thinking and answer: a quarter, half, three quarters of it.
Status AddThinking(const CompletionRequest& request, const ModelSettings& settings, json* body) {
  if (settings.thinking == "adaptive") {
    (*body)["thinking"] = {{"type", "adaptive"}};
    (*body)["output_config"] = {{"effort", request.reasoning_effort}};
    return {};
  }
  const int quarters = request.reasoning_effort == "low" ? 1 : request.reasoning_effort == "medium" ? 2 : 3;
  const int budget = std::max(kSmallestThinkingBudget, static_cast<int>(int64_t{request.max_tokens} * quarters / 4));
  if (budget >= request.max_tokens) {
    return Fail(ErrorCode::kUsage, fmt::format("thinking takes at least {} tokens of max_tokens, which is {}: raise it",
                                               kSmallestThinkingBudget, request.max_tokens));
  }
  (*body)["thinking"] = {{"type", "enabled"}, {"budget_tokens", budget}};
  return {};
}

Result<json> AnthropicBody(const CompletionRequest& request, const ModelSettings& settings) {
  json messages = json::array();
  const std::vector<size_t> marks = CacheMarks(request.messages);
  for (size_t i = 0; i < request.messages.size(); ++i) {
    messages.push_back(AnthropicMessage(request.messages[i], std::find(marks.begin(), marks.end(), i) != marks.end()));
  }
  json body = {{"model", request.model},
               {"max_tokens", request.max_tokens},
               {"messages", std::move(messages)},
               {"stream", true}};
  if (!request.system.empty()) body["system"] = request.system;
  if (!request.reasoning_effort.empty()) {
    KB_RETURN_IF_ERROR(AddThinking(request, settings, &body));  // which the API takes only without a temperature
  } else {
    if (request.temperature) body["temperature"] = *request.temperature;
    if (request.top_p) body["top_p"] = *request.top_p;
  }
  return body;
}

FinishReason AnthropicFinish(const std::string& reason) {
  if (reason == "end_turn" || reason == "stop_sequence") return FinishReason::kStop;
  if (reason == "max_tokens" || reason == "model_context_window_exceeded") return FinishReason::kLength;
  return reason == "refusal" ? FinishReason::kRefused : FinishReason::kUnknown;
}

class AnthropicReader : public AnswerReader {
 protected:
  std::optional<StreamFault> ReadJson(const json& event) override {
    const std::string type = TextOf(event, "type");
    if (type == "error" || !MemberOf(event, "error").is_null()) return FaultOf(event);
    if (type == "message_start") {
      completion_.model = TextOf(MemberOf(event, "message"), "model");
      ReadUsage(MemberOf(MemberOf(event, "message"), "usage"));
    } else if (type == "content_block_start") {
      ReadBlock(MemberOf(event, "content_block"));
    } else if (type == "content_block_delta") {
      ReadBlock(MemberOf(event, "delta"));
    } else if (type == "message_delta") {
      ReadUsage(MemberOf(event, "usage"));
      ReadReason(MemberOf(event, "delta"));
    } else if (type == "message_stop") {
      ended_ = true;
    } else if (type == "message") {
      ReadMessage(event);
    }
    return std::nullopt;  // ping, content_block_stop and what may come yet say nothing that is needed
  }

 private:
  // The whole of an answer that is no stream.
  void ReadMessage(const json& message) {
    completion_.model = TextOf(message, "model");
    ReadUsage(MemberOf(message, "usage"));
    for (const json& block : MemberOf(message, "content")) ReadBlock(block);
    ReadReason(message);
  }

  void ReadReason(const json& said) {
    const std::string reason = TextOf(said, "stop_reason");
    finished_ |= !reason.empty();
    if (!reason.empty()) completion_.finish = AnthropicFinish(reason);
  }

  // A block's start and its deltas name their text alike; signatures and encrypted thinking are not kept.
  void ReadBlock(const json& block) {
    completion_.text += TextOf(block, "text");
    completion_.reasoning += TextOf(block, "thinking");
  }

  // Counts are cumulative: a later one replaces an earlier one.
  void ReadUsage(const json& usage) {
    const auto update = [&](const char* key, std::optional<int64_t>* count) {
      if (const auto value = CountOf(usage, key)) *count = value;
    };
    update("input_tokens", &completion_.usage.input);
    update("cache_read_input_tokens", &completion_.usage.cache_read);
    update("cache_creation_input_tokens", &completion_.usage.cache_write);
    update("output_tokens", &completion_.usage.output);
  }
};

std::unique_ptr<AnswerReader> NewAnthropicReader(const ModelSettings&) { return std::make_unique<AnthropicReader>(); }

}  // namespace

const WireFormat& AnthropicMessages() {
  static const WireFormat format = {"/messages", AnthropicHeaders, AnthropicBody, NewAnthropicReader};
  return format;
}

}  // namespace kb
