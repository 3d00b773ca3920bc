#include <fmt/format.h>

#include "agents/relay/dialect.h"
#include "base/json.h"

namespace kb {
namespace {

Denial CheckBlock(const WireJson& block);

// Of an image or a document.
Denial CheckSource(const WireJson& source) {
  const std::string type = TextOf(source, "type");
  if (type == "content") return CheckParts(MemberOf(source, "content"), CheckBlock);
  if (OneOf(type, {"base64", "text"})) return std::nullopt;
  return fmt::format("a source of type \"{}\" is not passed on: the model's provider fetches nothing from here",
                     Quoted(type));
}

Denial CheckBlock(const WireJson& block) {
  const std::string type = TextOf(block, "type");
  if (type == "image" || type == "document") return CheckSource(MemberOf(block, "source"));
  if (type == "tool_result") return CheckParts(MemberOf(block, "content"), CheckBlock);
  if (OneOf(type, {"text", "tool_use", "thinking", "redacted_thinking", "search_result"})) return std::nullopt;
  return NotPassedOn("a block", type);
}

Denial CheckTurn(const WireJson& message) {
  if (!message.is_object()) return "a message is no JSON object";
  return CheckParts(MemberOf(message, "content"), CheckBlock);
}

// The types that are named are Anthropic's descriptions of tools that the program runs, so they stay in the box. Others
// run at the provider.
Denial CheckMessagesTool(const WireJson& tool) {
  const std::string type = TextOf(tool, "type");
  const bool ours = type.empty() || type == "custom" || type.starts_with("bash_") || type.starts_with("text_editor_") ||
                    type.starts_with("memory_");
  return ours ? std::nullopt : NotPassedOn("a tool", type);
}

std::string MessagesError(int status, std::string_view message) {
  const char* const type = status == 402   ? "billing_error"
                           : status == 403 ? "permission_error"
                           : status == 404 ? "not_found_error"
                           : status == 413 ? "request_too_large"
                           : status == 429 ? "rate_limit_error"
                           : status == 504 ? "timeout_error"
                           : status >= 500 ? "api_error"
                                           : "invalid_request_error";
  return Dump(WireJson{{"type", "error"}, {"error", {{"type", type}, {"message", message}}}});
}

std::string MessagesErrorEvent(std::string_view message) {
  return fmt::format("event: error\ndata: {}\n\n", MessagesError(502, message));
}

}  // namespace

const Dialect& MessagesDialect() {
  static const Dialect dialect = {
      .name = "messages",
      .path = "/messages",
      .messages = "messages",
      .system = "system",
      .options = "",
      .max_tokens = "max_tokens",
      .members = {"messages", "system", "tools", "tool_choice", "stop_sequences", "temperature", "top_p", "top_k",
                  "thinking", "output_config", "cache_control"},
      .forbidden = {"mcp_servers", "container"},
      .option_members = {},
      .check_message = CheckTurn,
      .check_system = [](const WireJson& system) { return CheckParts(system, CheckBlock); },
      .check_tool = CheckMessagesTool,
      .error_body = MessagesError,
      .error_event = MessagesErrorEvent,
  };
  return dialect;
}

}  // namespace kb
