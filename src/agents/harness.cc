#include "agents/harness.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "agents/agent_namespaces.h"

namespace kb {
namespace {

using Values = std::map<std::string, std::string>;
using Write = std::function<std::string(const std::string& value)>;

std::string AsItIs(const std::string& value) { return value; }

// What stands between the quotes of a string, in TOML and in JSON.
std::string InsideQuotes(const std::string& value) {
  const std::string quoted = nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::string inside;
  for (const char c : quoted.substr(1, quoted.size() - 2)) c == '\x7f' ? inside += "\\u007f" : inside += c;
  return inside;
}

std::string Filled(const std::string& text, const Values& values, const Write& write) {
  std::string filled;
  size_t from = 0;
  ForEachPlaceholder(text, [&](size_t at, const std::string& name) {
    const auto value = values.find(name);
    if (value == values.end()) return;  // ReadHarness() knows them all; in a user's command it is the shell's
    filled += text.substr(from, at - from) + write(value->second);
    from = at + name.size() + 2;
  });
  return filled + text.substr(from);
}

}  // namespace

void ForEachPlaceholder(const std::string& text, const std::function<void(size_t at, const std::string& name)>& see) {
  const auto is_of_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  for (size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && is_of_name(text[end])) ++end;
    if (end > at + 1 && end < text.size() && text[end] == '}') see(at, text.substr(at + 1, end - at - 1));
  }
}

std::string ShellWord(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) c == '\'' ? quoted += "'\\''" : quoted += c;
  return quoted + "'";
}

Status CheckWire(const Harness& harness, const std::string& wire) {
  if (harness.wires.contains(wire)) return {};
  std::vector<std::string> spoken;
  for (const auto& [name, values] : harness.wires) spoken.push_back(name);
  return Fail(ErrorCode::kUsage,
              fmt::format("{} does not speak \"{}\", the wire of this model, but {}; choose another harness, or a "
                          "model with one of these wires (docs/reference/models.md)",
                          harness.name, wire, fmt::join(spoken, ", ")));
}

Result<FilledHarness> FillHarness(const Harness& harness, const HarnessValues& given) {
  KB_RETURN_IF_ERROR(CheckWire(harness, given.wire));
  Values values = {{"prompt", given.prompt},
                   {"model", given.model},
                   {"turns", std::to_string(given.turns)},
                   {"port", std::to_string(given.port)},
                   {"context", std::to_string(given.context_tokens)},
                   {"compact", std::to_string(given.context_tokens * 4 / 5)},
                   {"output", std::to_string(given.output_tokens)},
                   {"task", kTaskFolder},
                   {"home", kAgentHome},
                   {"bridge", kBoxBridge},
                   {"judge_socket", kBoxJudgeSocket}};
  for (const auto& [name, value] : harness.wires.at(given.wire)) values[name] = Filled(value, values, AsItIs);
  FilledHarness filled;
  const Write word = [](const std::string& value) { return ShellWord(value); };
  if (!harness.shell.empty()) filled.command = Filled(harness.shell, values, word);
  for (const std::string& each : harness.command) {
    filled.command += (filled.command.empty() ? "" : " ") + ShellWord(Filled(each, values, AsItIs));
  }
  for (const std::string& each : harness.environment) {
    filled.environment.push_back(Filled(each, values, AsItIs));
  }
  for (const auto& [path, text] : harness.files) filled.files.push_back({path, Filled(text, values, InsideQuotes)});
  return filled;
}

}  // namespace kb
