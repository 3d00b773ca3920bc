#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/utf8.h"
#include "model/wire_format.h"

namespace kb {
namespace {

constexpr int kSmallestThinkingBudget = 1024;  // the API refuses less

std::string AnthropicPath(const ModelSettings&, bool) { return "/messages"; }

std::vector<std::string> AnthropicHeaders(const std::string& key, const ModelSettings& settings) {
  std::vector<std::string> headers = {"anthropic-version: 2023-06-01"};
  if (key.empty()) return headers;
  headers.push_back("x-api-key: " + key);
  // Other servers look for the key where chat completions have it.
  if (settings.provider != ProviderKind::kAnthropic) headers.push_back("Authorization: Bearer " + key);
  return headers;
}

bool IsBlank(const std::string& text) { return text.find_first_not_of(" \t\r\n") == std::string::npos; }

// A turn without text, as a model's may have been, would make the API refuse the whole conversation.
std::string TextOrNothing(const std::string& text) { return IsBlank(text) ? "(nothing)" : text; }

WireJson TextBlock(const std::string& text) { return {{"type", "text"}, {"text", TextOrNothing(text)}}; }

void MarkBlock(WireJson* block) {
  const std::string type = TextOf(*block, "type");
  if (type != "thinking" && type != "redacted_thinking") (*block)["cache_control"] = {{"type", "ephemeral"}};
}

Result<WireJson> AnthropicMessage(const Message& message, bool marked) {
  WireJson turn;
  if (message.raw.empty()) {
    WireJson blocks = WireJson::array();
    for (const ToolResult& result : message.results) {
      blocks.push_back(
          {{"type", "tool_result"}, {"tool_use_id", result.call_id}, {"content", TextOrNothing(result.text)}});
      if (result.is_error) blocks.back()["is_error"] = true;
    }
    if (message.results.empty() || !IsBlank(message.text)) blocks.push_back(TextBlock(message.text));
    turn = {{"role", message.role == Role::kUser ? "user" : "assistant"}, {"content", std::move(blocks)}};
  } else {
    KB_ASSIGN_OR_RETURN(turn, RawOf(message, WireJson::value_t::object));
  }
  if (WireJson& content = turn["content"]; marked && content.is_array() && !content.empty()) MarkBlock(&content.back());
  return turn;
}

// A budget is a part of max_tokens, which covers thinking and answer: a quarter, half, three quarters of it.
Status AddThinking(const CompletionRequest& request, const ModelSettings& settings, WireJson* body) {
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

Result<WireJson> AnthropicBody(const CompletionRequest& request, const ModelSettings& settings) {
  WireJson body = {{"model", request.model}, {"max_tokens", request.max_tokens}, {"stream", true}};
  if (!request.reasoning_effort.empty()) {
    KB_RETURN_IF_ERROR(AddThinking(request, settings, &body));  // which the API takes only without a temperature
  } else {
    if (request.temperature) body["temperature"] = *request.temperature;
    if (request.top_p) body["top_p"] = *request.top_p;
  }
  const CacheMarks marks(request);
  for (const Tool& tool : request.tools) {
    KB_ASSIGN_OR_RETURN(WireJson function, FunctionOf(tool, "input_schema"));
    body["tools"].push_back(std::move(function));
  }
  if (!request.system.empty()) body["system"] = request.system;
  if (marks.beginning) {
    if (!request.system.empty()) body["system"] = WireJson::array({TextBlock(request.system)});
    MarkBlock(&body[request.system.empty() ? "tools" : "system"].back());
  }
  WireJson& messages = body["messages"] = WireJson::array();
  for (size_t i = 0; i < request.messages.size(); ++i) {
    KB_ASSIGN_OR_RETURN(WireJson turn, AnthropicMessage(request.messages[i], marks.Has(i)));
    messages.push_back(std::move(turn));
  }
  return body;
}

FinishReason AnthropicFinish(const std::string& reason) {
  static const std::map<std::string, FinishReason> reasons = {
      {"end_turn", FinishReason::kStop},
      {"stop_sequence", FinishReason::kStop},
      {"tool_use", FinishReason::kToolCalls},
      {"max_tokens", FinishReason::kLength},
      {"model_context_window_exceeded", FinishReason::kContextFull},
      {"pause_turn", FinishReason::kPaused},
      {"refusal", FinishReason::kRefused},
  };
  const auto known = reasons.find(reason);
  return known == reasons.end() ? FinishReason::kUnknown : known->second;
}

class AnthropicReader : public AnswerReader {
 protected:
  std::optional<StreamFault> ReadJson(const WireJson& event) override {
    const std::string type = TextOf(event, "type");
    if (type == "error" || !MemberOf(event, "error").is_null()) return FaultOf(event);
    if (type == "message_start") {
      completion_.model = TextOf(MemberOf(event, "message"), "model");
      ReadUsage(MemberOf(MemberOf(event, "message"), "usage"));
    } else if (type == "content_block_start") {
      AddBlock(CountOf(event, "index").value_or(0), MemberOf(event, "content_block"));
    } else if (type == "content_block_delta") {
      ReadDelta(CountOf(event, "index").value_or(0), MemberOf(event, "delta"));
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

  void Conclude() override {
    WireJson content = WireJson::array();
    bool more_than_thinking = false;
    for (Block& each : blocks_) {
      WireJson& block = each.json;
      const std::string type = TextOf(block, "type"), text = TextOf(block, "text");
      completion_.text += text;
      completion_.reasoning += TextOf(block, "thinking");
      if (type == "tool_use") completion_.calls.push_back(CallOf(&each));
      // What the API gives but does not take back: a blank text, and thinking that was cut off before its signature.
      const bool last = &each == &blocks_.back();
      const bool unsigned_thinking = type == "thinking" && TextOf(block, "signature").empty();
      if ((type == "text" && IsBlank(text)) || (unsigned_thinking && last && WasCut(completion_.finish))) continue;
      more_than_thinking |= type != "thinking" && type != "redacted_thinking";
      content.push_back(std::move(block));
    }
    if (!more_than_thinking) content.push_back(TextBlock(""));
    completion_.raw = Dump(WireJson{{"role", "assistant"}, {"content", std::move(content)}});
  }

 private:
  struct Block {
    int64_t index = 0;
    WireJson json;
    std::string input;  // of a streamed call: its JSON so far
  };

  // The whole of an answer that is no stream.
  void ReadMessage(const WireJson& message) {
    completion_.model = TextOf(message, "model");
    ReadUsage(MemberOf(message, "usage"));
    const WireJson& content = MemberOf(message, "content");
    for (size_t i = 0; content.is_array() && i < content.size(); ++i) AddBlock(static_cast<int64_t>(i), content[i]);
    ReadReason(message);
  }

  void ReadReason(const WireJson& said) {
    const std::string reason = TextOf(said, "stop_reason");
    if (reason.empty()) return;
    finished_ = true;
    completion_.finish_word = reason;
    completion_.finish = AnthropicFinish(reason);
  }

  Block* AddBlock(int64_t index, WireJson json) {
    size_ += TextOf(json, "text").size() + TextOf(json, "thinking").size();
    if (const WireJson& input = MemberOf(json, "input"); !input.is_null()) size_ += Dump(input).size();
    blocks_.push_back({index, std::move(json), ""});
    return &blocks_.back();
  }

  void ReadDelta(int64_t index, const WireJson& delta) {
    static const std::map<std::string, std::pair<const char*, const char*>> kinds = {
        // type of the delta -> type of its block, and the member that grows
        {"text_delta", {"text", "text"}},
        {"thinking_delta", {"thinking", "thinking"}},
        {"signature_delta", {"thinking", "signature"}},
        {"input_json_delta", {"tool_use", "partial_json"}}};
    const auto kind = kinds.find(TextOf(delta, "type"));
    if (kind == kinds.end()) return;
    const auto [type, member] = kind->second;
    const std::string piece = TextOf(delta, member);
    const auto at = std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const Block& b) { return b.index == index; });
    Block* block = at == blocks_.rend() ? nullptr : &*at;
    // Some servers neither start nor number their blocks.
    if (block == nullptr || TextOf(block->json, "type") != type) block = AddBlock(index, {{"type", type}});
    size_ += piece.size();
    if (kind->first == "input_json_delta") {
      block->input += piece;
    } else {
      block->json[member] = TextOf(block->json, member) + piece;
    }
  }

  // The API wants an object as input, whatever the model wrote.
  ToolCall CallOf(Block* block) {
    WireJson& input = block->json["input"];
    if (!block->input.empty()) {
      input = LenientJson(block->input);
      if (!input.is_object()) input = {{"INVALID_JSON", ValidUtf8(block->input)}};
    }
    if (!input.is_object()) input = WireJson::object();
    return {TextOf(block->json, "id"), TextOf(block->json, "name"),
            block->input.empty() ? Dump(input) : std::move(block->input)};
  }

  // Counts are cumulative: a later one replaces an earlier one.
  void ReadUsage(const WireJson& usage) {
    const auto update = [&](const char* key, std::optional<int64_t>* count) {
      if (const auto value = CountOf(usage, key)) *count = value;
    };
    update("input_tokens", &completion_.usage.input);
    update("cache_read_input_tokens", &completion_.usage.cache_read);
    update("cache_creation_input_tokens", &completion_.usage.cache_write);
    update("output_tokens", &completion_.usage.output);
  }

  std::vector<Block> blocks_;
};

std::unique_ptr<AnswerReader> NewAnthropicReader(const ModelSettings&) { return std::make_unique<AnthropicReader>(); }

}  // namespace

const WireFormat& AnthropicMessages() {
  static const WireFormat format = {AnthropicPath, AnthropicHeaders, AnthropicBody, NewAnthropicReader};
  return format;
}

}  // namespace kb
