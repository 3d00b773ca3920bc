#include <fmt/format.h>

#include "agents/relay/dialect.h"

namespace kb {
namespace {

Denial CheckChatPart(const WireJson& part) {
  const std::string type = TextOf(part, "type");
  if (type == "image_url") {
    const WireJson& image = MemberOf(part, "image_url");
    return CheckInline(image.is_object() ? MemberOf(image, "url") : image);
  }
  if (type == "input_audio") return CheckAudio(part);
  if (OneOf(type, {"text", "refusal", "thinking", "reasoning"})) return std::nullopt;
  return NotPassedOn("a part", type);
}

Denial CheckChatMessage(const WireJson& message) {
  if (!message.is_object()) return "a message is no JSON object";
  return CheckParts(MemberOf(message, "content"), CheckChatPart);
}

// Whoever offers these runs them itself.
Denial CheckChatTool(const WireJson& tool) {
  const std::string type = TextOf(tool, "type");
  return OneOf(type, {"function", "custom"}) ? std::nullopt : NotPassedOn("a tool", type);
}

std::string ChatErrorEvent(std::string_view message) { return fmt::format("data: {}\n\n", OpenAiError(502, message)); }

}  // namespace

const Dialect& ChatDialect() {
  static const Dialect dialect = {
      .name = "chat completions",
      .path = "/chat/completions",
      .messages = "messages",
      .system = "",
      .options = "",
      .max_tokens = "max_tokens",
      .members = {"messages",
                  "tools",
                  "tool_choice",
                  "parallel_tool_calls",
                  "stop",
                  "temperature",
                  "top_p",
                  "top_k",
                  "min_p",
                  "seed",
                  "frequency_penalty",
                  "presence_penalty",
                  "repetition_penalty",
                  "logit_bias",
                  "response_format",
                  "reasoning_effort",
                  "reasoning",
                  "thinking",
                  "verbosity",
                  "chat_template_kwargs",
                  "prompt_cache_key"},
      .forbidden = {"web_search_options", "plugins", "mcp_servers", "functions", "models"},
      .option_members = {},
      .check_message = CheckChatMessage,
      .check_system = nullptr,
      .check_tool = CheckChatTool,
      .error_body = OpenAiError,
      .error_event = ChatErrorEvent,
  };
  return dialect;
}

}  // namespace kb
