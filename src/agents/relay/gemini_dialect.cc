#include <fmt/format.h>

#include "agents/relay/dialect.h"
#include "base/json.h"

namespace kb {
namespace {

// Its parts have no type, but a member that says what they are. Google's servers take each member's name in two
// spellings; the one with underscores is not passed on, so nothing has to be looked for twice.
Denial CheckMembers(std::string_view what, const WireJson& object, std::initializer_list<std::string_view> known) {
  if (!object.is_object()) return fmt::format("{} is no JSON object", what);
  for (const auto& [member, value] : object.items()) {
    if (!OneOf(member, known)) return fmt::format("{} with \"{}\" is not passed on to the model", what, Quoted(member));
  }
  return std::nullopt;
}

Denial CheckData(const WireJson& part) { return CheckMembers("a part of a result", part, {"inlineData"}); }

Denial CheckGeminiPart(const WireJson& part) {
  if (Denial denial = CheckMembers(
          "a part", part, {"text", "thought", "thoughtSignature", "inlineData", "functionCall", "functionResponse"})) {
    return denial;
  }
  const WireJson& result = MemberOf(part, "functionResponse");
  if (result.is_null()) return std::nullopt;
  if (Denial denial = CheckMembers("a result", result, {"id", "name", "response", "parts"})) return denial;
  return CheckParts(MemberOf(result, "parts"), CheckData);
}

Denial CheckContent(const WireJson& content) {
  if (Denial denial = CheckMembers("a message", content, {"role", "parts"})) return denial;
  return CheckParts(MemberOf(content, "parts"), CheckGeminiPart);
}

// Each of the others, such as googleSearch, urlContext and codeExecution, is a tool that Google runs.
Denial CheckGeminiTool(const WireJson& tool) { return CheckMembers("a tool", tool, {"functionDeclarations"}); }

std::string GeminiError(int status, std::string_view message) {
  const char* const name = status == 402 || status == 429 ? "RESOURCE_EXHAUSTED"
                           : status == 403                ? "PERMISSION_DENIED"
                           : status == 404                ? "NOT_FOUND"
                           : status == 504                ? "DEADLINE_EXCEEDED"
                           : status >= 500                ? "UNAVAILABLE"
                                                          : "INVALID_ARGUMENT";
  return Dump(WireJson{{"error", {{"code", status}, {"message", message}, {"status", name}}}});
}

std::string GeminiErrorEvent(std::string_view message) {
  return fmt::format("data: {}\n\n", GeminiError(502, message));
}

}  // namespace

const Dialect& GeminiDialect() {
  static const Dialect dialect = {
      .name = "Gemini",
      .path = "/models/",
      .messages = "contents",
      .system = "systemInstruction",
      .options = "generationConfig",
      .max_tokens = "maxOutputTokens",
      .members = {"contents", "systemInstruction", "tools", "toolConfig"},
      .forbidden = {"cachedContent", "cached_content", "system_instruction"},
      .option_members = {"temperature", "topP", "topK", "seed", "stopSequences", "presencePenalty", "frequencyPenalty",
                         "responseMimeType", "responseSchema", "responseJsonSchema", "thinkingConfig"},
      .check_message = CheckContent,
      .check_system = CheckContent,
      .check_tool = CheckGeminiTool,
      .error_body = GeminiError,
      .error_event = GeminiErrorEvent,
  };
  return dialect;
}

}  // namespace kb
