// Messages of a conversation with a model as agent programs write them: of chat completions, messages, responses and
// Gemini alike. Whose they are is told by their shape, for each has members that the others lack.
#ifndef GENERATE_WIRE_MESSAGE_H_
#define GENERATE_WIRE_MESSAGE_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace kb {

struct WirePart {
  enum class Kind { kText, kResult };
  Kind kind = Kind::kText;
  std::string role;      // "system", "user", "assistant"; of a result "tool"
  std::string text;      // what is no text is named in brackets: "[image]"
  std::string id, name;  // of a result: those of its call; a wire has one of them at least
  bool is_error = false;
};

// In their order. A model's text is one part, without its reasoning and its calls. What is not known is there as JSON,
// so nothing that was told is left out.
std::vector<WirePart> WireParts(const nlohmann::json& message);

// The text of a system prompt that stands beside the messages.
std::string WireText(const nlohmann::json& content);

// An array of {"name", "description", "parameters"}, those within namespaces and lists too.
nlohmann::json WireTools(const nlohmann::json& tools);

}  // namespace kb

#endif  // GENERATE_WIRE_MESSAGE_H_
