#include "agents/text_form.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "prompt/code_blocks.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr const char* kTag = "tool";

// The argument that may stand behind the JSON.
const char* LongArgument(const std::string& name) {
  if (name == "write_file") return "content";
  return name == "bash" ? "command" : nullptr;
}

// The end of the JSON object that `text` begins with; npos if it begins with none.
size_t EndOfObject(const std::string& text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string::npos;
}

ToolCall CallOf(const std::string& block) {
  ToolCall call{.id = "text", .arguments = block};
  const size_t end = EndOfObject(block);
  const json head = json::parse(block.substr(0, end), nullptr, false);
  if (!head.is_object() || !head.contains("name") || !head["name"].is_string()) return call;
  call.name = head["name"];
  json arguments = head.value("arguments", json::object());
  std::string rest = end < block.size() ? block.substr(end) : "";
  rest.erase(0, std::min(rest.size(), rest.find_first_not_of(" \t\r")));
  if (rest.starts_with("\n")) rest.erase(0, 1);
  const char* const argument = LongArgument(call.name);
  const bool wants = argument != nullptr && arguments.is_object() && !arguments.contains(argument);
  if (wants && !rest.empty()) arguments[argument] = rest;
  call.arguments = Dump(arguments);
  return call;
}

}  // namespace

std::string TextFormRules(const std::vector<Tool>& tools) {
  std::string text =
      "You call one tool in each answer. A call is one block fenced by ```tool, which holds a JSON object with name "
      "and arguments. The content of write_file and the command of bash may follow the object on lines of their own, "
      "as they are, instead of standing in it:\n\n"
      "```tool\n{\"name\": \"bash\", \"arguments\": {\"timeout\": 60}}\nls -l\n```\n\n"
      "You are given its result in the next message. These are the tools, each with the JSON schema of its "
      "arguments:\n";
  for (const Tool& tool : tools) text += fmt::format("\n{}: {}\n{}\n", tool.name, tool.description, tool.parameters);
  return text;
}

void ReadTextCalls(Completion* completion) {
  completion->calls.clear();
  std::vector<CodeBlock> found;
  for (CodeBlock& block : CodeBlocks(completion->text)) {
    if (block.info == kTag) found.push_back(std::move(block));
  }
  if (found.size() == 1) completion->calls.push_back(CallOf(found.front().text));
}

std::string TextResults(const StoredResults& results) {
  std::string text;
  for (const StoredResult& each : results.results) {
    text += fmt::format("Result of {}:\n{}\n\n", each.name.empty() ? "your call" : each.name, each.result.text);
  }
  return text + results.text;
}

}  // namespace kb
