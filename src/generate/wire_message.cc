#include "generate/wire_message.h"

#include <optional>

#include "base/json.h"
#include "generate/transcript.h"

namespace kb {
namespace {

using nlohmann::json;
using Kind = WirePart::Kind;

const json& MemberOf(const json& object, const char* key) {
  static const json none;
  if (!object.is_object()) return none;
  const auto at = object.find(key);
  return at == object.end() ? none : *at;
}

std::string RoleOf(const std::string& role) {
  if (role == "model") return "assistant";
  if (role == "developer") return "system";
  return role.empty() ? "user" : role;
}

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Null: it is no text.
const std::string* PlainText(const json& part) {
  if (part.is_string()) return part.get_ptr<const std::string*>();
  for (const char* key : {"text", "refusal"}) {
    const json& text = MemberOf(part, key);
    if (text.is_string()) return text.get_ptr<const std::string*>();
  }
  return nullptr;
}

std::string PartText(const json& part) {
  if (const std::string* text = PlainText(part)) return *text;
  std::string type = StoredText(part, "type");
  if (type.empty() && part.is_object() && !part.empty()) type = part.begin().key();
  return type.empty() ? Dump(part) : "[" + type + "]";
}

WirePart ResultPart(const json& object, const char* id, const json& content) {
  return {.kind = Kind::kResult,
          .role = "tool",
          .text = WireText(content),
          .id = StoredText(object, id),
          .name = StoredText(object, "name"),
          .is_error = MemberOf(object, "is_error") == true};
}

// Gemini's response is an object of the program's own; what most of them put there is a text.
WirePart FunctionResponse(const json& response) {
  const json& given = MemberOf(response, "response");
  const bool error = given.is_object() && given.contains("error");
  const json& text = MemberOf(given, error ? "error" : "output");
  const bool alone = text.is_string() && given.size() == 1;
  return {.kind = Kind::kResult,
          .role = "tool",
          .text = alone ? text.get<std::string>() : Dump(given),
          .id = StoredText(response, "id"),
          .name = StoredText(response, "name"),
          .is_error = error};
}

// An item of responses that is no message. Nothing: the model's own.
std::optional<WirePart> ItemPart(const json& item, const std::string& type) {
  if (EndsWith(type, "_output")) return ResultPart(item, "call_id", MemberOf(item, "output"));
  if (EndsWith(type, "_call") || type == "reasoning") return std::nullopt;
  return WirePart{.role = "user", .text = Dump(item)};
}

// What a model's message holds beside its text.
bool IsModels(const json& part) {
  const std::string type = StoredText(part, "type");
  return type == "tool_use" || type == "thinking" || type == "redacted_thinking" || type == "reasoning" ||
         MemberOf(part, "thought") == true || MemberOf(part, "functionCall").is_object();
}

std::vector<WirePart> ContentParts(const std::string& role, const json& content) {
  std::vector<WirePart> parts;
  if (!content.is_array()) {
    if (!content.is_null()) parts.push_back({.role = role, .text = WireText(content)});
    return parts;
  }
  std::string said;
  for (const json& part : content) {
    if (const json& response = MemberOf(part, "functionResponse"); response.is_object()) {
      parts.push_back(FunctionResponse(response));
    } else if (StoredText(part, "type") == "tool_result") {
      parts.push_back(ResultPart(part, "tool_use_id", MemberOf(part, "content")));
    } else if (role != "assistant") {
      parts.push_back({.role = role, .text = PartText(part)});
    } else if (!IsModels(part)) {
      said += PartText(part);
    }
  }
  if (!said.empty()) parts.push_back({.role = role, .text = std::move(said)});
  return parts;
}

void AddTools(const json& tools, int depth, json* all) {
  constexpr int kDeepest = 4;
  if (!tools.is_array() || depth > kDeepest) return;
  for (const json& tool : tools) {
    const json& function = MemberOf(tool, "function").is_object() ? tool.at("function") : tool;
    for (const char* list : {"functionDeclarations", "tools"}) AddTools(MemberOf(tool, list), depth + 1, all);
    if (MemberOf(tool, "tools").is_array() || StoredText(function, "name").empty()) continue;
    json parameters = json::object();
    for (const char* key : {"parameters", "input_schema", "parametersJsonSchema"}) {
      if (MemberOf(function, key).is_object()) parameters = function.at(key);
    }
    all->push_back({{"name", StoredText(function, "name")},
                    {"description", StoredText(function, "description")},
                    {"parameters", std::move(parameters)}});
  }
}

}  // namespace

std::vector<WirePart> WireParts(const json& message) {
  if (!message.is_object()) return {{.role = "user", .text = WireText(message)}};
  const std::string type = StoredText(message, "type"), role = RoleOf(StoredText(message, "role"));
  if (!message.contains("role") && !message.contains("parts")) {
    auto part = ItemPart(message, type);
    return part ? std::vector{*std::move(part)} : std::vector<WirePart>();
  }
  if (role == "tool") return {ResultPart(message, "tool_call_id", MemberOf(message, "content"))};
  return ContentParts(role, MemberOf(message, message.contains("parts") ? "parts" : "content"));
}

std::string WireText(const json& content) {
  if (content.is_null()) return "";
  if (const std::string* text = PlainText(content)) return *text;
  if (MemberOf(content, "parts").is_array()) return WireText(content.at("parts"));
  if (!content.is_array()) return Dump(content);
  std::string text;
  for (const json& part : content) text += (text.empty() ? "" : "\n") + PartText(part);
  return text;
}

json WireTools(const json& tools) {
  json all = json::array();
  AddTools(tools, 0, &all);
  return all;
}

}  // namespace kb
