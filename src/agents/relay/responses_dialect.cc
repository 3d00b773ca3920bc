#include <fmt/format.h>

#include "agents/relay/dialect.h"
#include "base/json.h"

namespace kb {
namespace {

Denial CheckResponsesPart(const WireJson& part) {
  const std::string type = TextOf(part, "type");
  if (type == "input_image") return CheckInline(MemberOf(part, "image_url"));
  if (type == "input_audio") return CheckAudio(part);
  if (OneOf(type, {"input_text", "output_text", "text", "refusal", "summary_text", "reasoning_text"})) {
    return std::nullopt;
  }
  return NotPassedOn("a part", type);
}

Denial CheckResponsesTool(const WireJson& tool) {
  const std::string type = TextOf(tool, "type");
  if (OneOf(type, {"function", "custom", "local_shell", "apply_patch"})) return std::nullopt;
  if (type == "shell" && TextOf(MemberOf(tool, "environment"), "type") == "local") return std::nullopt;
  if (type == "tool_search" && TextOf(tool, "execution") == "client") return std::nullopt;
  if (type != "namespace") return NotPassedOn("a tool", type);
  const WireJson& inner = MemberOf(tool, "tools");
  for (const WireJson& each : inner.is_array() ? inner : WireJson::array()) {
    const std::string inner_type = TextOf(each, "type");
    if (!OneOf(inner_type, {"function", "custom"})) return NotPassedOn("a tool", inner_type);
  }
  return std::nullopt;
}

Denial CheckItem(const WireJson& item) {
  if (!item.is_object()) return "an item of the input is no JSON object";
  const std::string type = TextOf(item, "type");
  if (type.empty() || type == "message") return CheckParts(MemberOf(item, "content"), CheckResponsesPart);
  if (type == "tool_search_output") {  // offers tools, too
    const WireJson& tools = MemberOf(item, "tools");
    for (const WireJson& tool : tools.is_array() ? tools : WireJson::array()) {
      if (Denial denial = CheckResponsesTool(tool)) return denial;
    }
    return std::nullopt;
  }
  if (OneOf(type, {"function_call_output", "custom_tool_call_output"})) {
    return CheckParts(MemberOf(item, "output"), CheckResponsesPart);
  }
  if (OneOf(type, {"function_call", "custom_tool_call", "reasoning", "compaction", "local_shell_call",
                   "local_shell_call_output", "shell_call", "shell_call_output", "apply_patch_call",
                   "apply_patch_call_output", "tool_search_call"})) {
    return std::nullopt;
  }
  return NotPassedOn("an item", type);
}

Denial CheckInstructions(const WireJson& instructions) {
  return instructions.is_string() ? std::nullopt : Denial("\"instructions\" is no text");
}

std::string ResponsesErrorEvent(std::string_view message) {
  const WireJson event = {
      {"type", "response.failed"},
      {"response",
       {{"object", "response"}, {"status", "failed"}, {"error", {{"code", "server_error"}, {"message", message}}}}}};
  return fmt::format("event: response.failed\ndata: {}\n\n", Dump(event));
}

}  // namespace

const Dialect& ResponsesDialect() {
  static const Dialect dialect = {
      .name = "responses",
      .path = "/responses",
      .messages = "input",
      .system = "instructions",
      .options = "",
      .max_tokens = "max_output_tokens",
      .members = {"input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "temperature", "top_p",
                  "reasoning", "text", "truncation", "prompt_cache_key"},
      .forbidden = {"previous_response_id", "conversation", "prompt", "background"},
      .option_members = {},
      .check_message = CheckItem,
      .check_system = CheckInstructions,
      .check_tool = CheckResponsesTool,
      .error_body = OpenAiError,
      .error_event = ResponsesErrorEvent,
  };
  return dialect;
}

}  // namespace kb
