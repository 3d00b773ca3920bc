#include "generate/call_text.h"

#include <fmt/format.h>

#include <initializer_list>

#include "base/json.h"
#include "generate/line_diff.h"
#include "generate/text_block.h"
#include "report/text.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr size_t kShortArgument = 60;  // bytes

// The first of these members that is a text; null if there is none.
const std::string* TextMember(const json& arguments, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    const auto at = arguments.find(key);
    if (at != arguments.end() && at->is_string()) return at->get_ptr<const std::string*>();
  }
  return nullptr;
}

// ["bash", "-lc", "make"] is its last member.
std::string Command(const json& arguments) {
  if (const std::string* text = TextMember(arguments, {"command", "cmd"})) return *text;
  const auto at = arguments.find("command");
  if (at == arguments.end() || !at->is_array()) return "";
  std::string command;
  for (const json& word : *at) {
    if (word.is_string()) command += (command.empty() ? "" : " ") + word.get<std::string>();
  }
  return command;
}

class CallWriter {
 public:
  CallWriter(const TranscriptCall& call, const TranscriptTextOptions& options)
      : call_(call), options_(options), arguments_(call.parsed) {}

  std::string Text() const {
    if (!arguments_.is_object()) {
      return call_.arguments.empty() ? Heading("")
                                     : Heading(", arguments that are no JSON object:") + Block(call_.arguments, 8, 4);
    }
    if (const std::string command = Command(arguments_); !command.empty()) return Shell(command);
    const std::string* path = TextMember(arguments_, {"path", "file_path", "filePath"});
    if (path == nullptr) return Other();
    const std::string* before = TextMember(arguments_, {"old_str", "old_string", "oldString"});
    const std::string* after = TextMember(arguments_, {"new_str", "new_string", "newString"});
    if (before != nullptr && after != nullptr) {
      return Heading(" " + *path) + Block(DiffText(DiffLines(*before, *after), 2), 24, 12);
    }
    if (const std::string* content = TextMember(arguments_, {"content"})) {
      return Heading(fmt::format(" {}, {} {}", *path, CountText(CountLines(*content)),
                                 CountLines(*content) == 1 ? "line" : "lines")) +
             (options_.full ? Block(*content, 0, 0) : "");
    }
    return Other();
  }

 private:
  std::string Heading(const std::string& more) const {
    return TextBlock(OneLine("→ " + call_.name + more, 400), {.columns = options_.columns, .indent = 2});
  }
  std::string Block(std::string_view text, size_t head, size_t tail) const {
    if (options_.full) head = tail = 0;
    return TextBlock(text, {options_.columns, kInnerIndent, head, tail});
  }
  std::string Shell(const std::string& command) const {
    std::string others;
    for (const auto& [key, value] : arguments_.items()) {
      if (key != "command" && key != "cmd") others += fmt::format(" {}={}", key, Dump(value));
    }
    return Heading(others) + Block("$ " + command, 12, 4);
  }
  // Short arguments beside each other, long ones below.
  std::string Other() const {
    std::string beside, below;
    for (const auto& [key, value] : arguments_.items()) {
      const std::string text = value.is_string() ? value.get<std::string>() : Dump(value);
      if (text.size() <= kShortArgument && text.find('\n') == std::string::npos) {
        beside += fmt::format(" {}={}", key, text);
      } else {
        below += TextBlock(key + ":", {.columns = options_.columns, .indent = kInnerIndent}) + Block(text, 12, 4);
      }
    }
    return Heading(beside) + below;
  }

  const TranscriptCall& call_;
  const TranscriptTextOptions& options_;
  const json& arguments_;
};

}  // namespace

std::string CallText(const TranscriptCall& call, const TranscriptTextOptions& options) {
  return CallWriter(call, options).Text();
}

}  // namespace kb
