// harnesses/*.toml, and commands of users.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "agents/harness.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kWires[] = {"chat", "messages", "responses", "gemini"};
constexpr const char* kPlaceholders[] = {"prompt", "model", "turns", "port",   "context",     "compact",
                                         "output", "task",  "home",  "bridge", "judge_socket"};
constexpr const char* kReference = "docs/reference/harnesses.md";

// The error is what a value should be.
using Wanted = std::string;

Wanted ReadText(const json& value, std::string* into) {
  if (!value.is_string() || value.get<std::string>().empty()) return "a text";
  *into = value;
  return "";
}

Wanted ReadTexts(const json& value, std::vector<std::string>* into) {
  const std::string wanted = "a list of texts";
  if (!value.is_array()) return wanted;
  for (const json& each : value) {
    if (!each.is_string()) return wanted;
    into->push_back(each);
  }
  return "";
}

Wanted ReadJudge(const json& value, std::string* into) {
  if (value != "mcp" && value != "shell") return "\"mcp\" or \"shell\"";
  *into = value;
  return "";
}

Wanted ReadWires(const json& value, Harness* harness) {
  const std::string wanted = "tables [wires.NAME] of texts, NAME one of chat, messages, responses, gemini";
  if (!value.is_object() || value.empty()) return wanted;
  for (const auto& [wire, table] : value.items()) {
    if (std::find(std::begin(kWires), std::end(kWires), wire) == std::end(kWires) || !table.is_object()) return wanted;
    for (const auto& [name, each] : table.items()) {
      if (!each.is_string()) return wanted;
      if (std::find(std::begin(kPlaceholders), std::end(kPlaceholders), name) != std::end(kPlaceholders)) {
        return fmt::format("without {}, which stands for something else", name);
      }
      harness->wires[wire][name] = each;
    }
    if (!table.contains("base_url")) return fmt::format("tables with base_url each, which {} lacks", wire);
  }
  return "";
}

Wanted ReadFiles(const json& value, Harness* harness) {
  const std::string wanted = "tables [[files]] of path and text";
  if (!value.is_array()) return wanted;
  std::set<std::string> seen;
  for (const json& table : value) {
    if (!table.is_object() || table.size() != 2 || !table.contains("path") || !table.contains("text")) return wanted;
    Harness::File file;
    if (!ReadText(table["path"], &file.path).empty() || !ReadText(table["text"], &file.text).empty()) return wanted;
    const fs::path path = fs::path(file.path);
    if (path.is_absolute() || path != path.lexically_normal() || *path.begin() == ".." || !path.has_filename()) {
      return fmt::format("of paths below the agent's home, which \"{}\" is not", file.path);
    }
    if (!seen.insert(file.path).second) return fmt::format("of one table for each path; {} has two", file.path);
    harness->files.push_back(std::move(file));
  }
  return "";
}

Wanted ReadExit(const json& value, Harness* harness) {
  const std::string wanted = "a table of limits (exit codes from 1 to 255), limit_text and error_text";
  if (!value.is_object()) return wanted;
  for (const auto& [key, each] : value.items()) {
    if (key == "limit_text" && ReadText(each, &harness->limit_text).empty()) continue;
    if (key == "error_text" && ReadText(each, &harness->error_text).empty()) continue;
    if (key != "limits" || !each.is_array()) return wanted;
    for (const json& code : each) {
      if (!code.is_number_integer() || code < 1 || code > 255) return wanted;
      harness->limit_codes.push_back(code);
    }
  }
  return "";
}

std::optional<Wanted> ReadKey(const std::string& key, const json& value, Harness* harness) {
  if (key == "description") return ReadText(value, &harness->description);
  if (key == "program") return ReadText(value, &harness->program);
  if (key == "install") return ReadText(value, &harness->install);
  if (key == "command") return ReadTexts(value, &harness->command);
  if (key == "environment") return ReadTexts(value, &harness->environment);
  if (key == "judge") return ReadJudge(value, &harness->judge);
  if (key == "transcript") return ReadText(value, &harness->transcript);
  if (key == "wires") return ReadWires(value, harness);
  if (key == "files") return ReadFiles(value, harness);
  if (key == "exit") return ReadExit(value, harness);
  return std::nullopt;
}

// Every text with placeholders, by its key.
std::vector<std::pair<std::string, std::string>> TextsOf(const Harness& harness) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const std::string& each : harness.command) texts.emplace_back("command", each);
  for (const std::string& each : harness.environment) texts.emplace_back("environment", each);
  for (const Harness::File& file : harness.files) texts.emplace_back("files, " + file.path, file.text);
  return texts;
}

// What is wrong with a harness whose keys are all right; empty: nothing.
std::string Contradiction(const Harness& harness) {
  const std::pair<const char*, bool> needed[] = {{"description", !harness.description.empty()},
                                                 {"program", !harness.program.empty()},
                                                 {"install", !harness.install.empty()},
                                                 {"command", !harness.command.empty()},
                                                 {"judge", !harness.judge.empty()},
                                                 {"wires", !harness.wires.empty()}};
  for (const auto& [key, there] : needed) {
    if (!there) return fmt::format("{} is missing", key);
  }
  if (harness.program.find('/') != std::string::npos || harness.command[0] != harness.program) {
    return fmt::format("command must begin with the program, \"{}\", which is a name without folders", harness.program);
  }
  for (const std::string& each : harness.environment) {
    if (each.find('=') == std::string::npos) return fmt::format("environment: \"{}\" is not NAME=value", each);
  }
  std::set<std::string> used;
  std::string unknown;
  for (const auto& [key, text] : TextsOf(harness)) {
    ForEachPlaceholder(text, [&, key = key](size_t, const std::string& name) {
      used.insert(name);
      if (std::find(std::begin(kPlaceholders), std::end(kPlaceholders), name) != std::end(kPlaceholders)) return;
      for (const auto& [wire, values] : harness.wires) {
        if (values.contains(name) || !unknown.empty()) continue;
        unknown = fmt::format("{} has {{{}}}, which is no placeholder and no key of [wires.{}]", key, name, wire);
      }
    });
  }
  if (!unknown.empty()) return unknown;
  for (const char* name : {"prompt", "model", "base_url"}) {
    if (!used.contains(name)) return fmt::format("neither command, environment nor files have {{{}}}", name);
  }
  if (harness.judge == "mcp" && !used.contains("judge_socket")) {
    return "judge is \"mcp\", but neither command nor files have {judge_socket}";
  }
  return "";
}

Result<json> ParsedToml(const fs::path& file) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, size_t{1} << 20));
  try {
    std::ostringstream stream;
    stream << toml::json_formatter{toml::parse(text)};
    return json::parse(stream.str());
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}:{}: {}", file.string(), error.source().begin.line, error.description()));
  } catch (const json::exception& error) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: {}", file.string(), error.what()));
  }
}

fs::path FolderOf(const Installation& installation) { return installation.prompts.parent_path() / "harnesses"; }

}  // namespace

Result<Harness> ReadHarness(const fs::path& file) {
  const auto fail = [&](const std::string& what) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: {} ({})", file.string(), what, kReference));
  };
  KB_ASSIGN_OR_RETURN(const json table, ParsedToml(file));
  Harness harness;
  harness.name = file.stem();
  for (const auto& [key, value] : table.items()) {
    const std::optional<Wanted> wanted = ReadKey(key, value, &harness);
    if (!wanted) return fail(fmt::format("{} is no key of a harness", key));
    if (!wanted->empty()) return fail(fmt::format("{} should be {}", key, *wanted));
  }
  if (const std::string wrong = Contradiction(harness); !wrong.empty()) return fail(wrong);
  return harness;
}

std::vector<std::string> HarnessNames(const Installation& installation) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(FolderOf(installation), error)) {
    if (entry.path().extension() == ".toml") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<Harness> FindHarness(const std::string& spec, const Installation& installation) {
  if (spec.find('/') != std::string::npos || spec.ends_with(".toml")) return ReadHarness(spec);
  const std::vector<std::string> names = HarnessNames(installation);
  if (std::find(names.begin(), names.end(), spec) != names.end()) {
    return ReadHarness(FolderOf(installation) / (spec + ".toml"));
  }
  return Fail(ErrorCode::kUsage,
              fmt::format("no harness {}; there are {}, and the path of a file of your own is taken ({})", spec,
                          fmt::join(names, ", "), kReference));
}

Result<Harness> HarnessOfCommand(const std::string& command) {
  std::istringstream words(command);
  Harness harness{.name = "command", .description = command};
  words >> harness.program;
  if (harness.program.empty())
    return Fail(ErrorCode::kUsage, "--harness-command is empty: give the command of an agent");
  if (harness.program.find_first_of("'\"$`|&;<>()={}") != std::string::npos) {
    return Fail(ErrorCode::kUsage, fmt::format("--harness-command begins with {}, but must begin with the program's "
                                               "name or path; put what needs a shell into a script",
                                               harness.program));
  }
  harness.install = "install it, or give its whole path";
  harness.shell = command;
  if (harness.program.find('/') != std::string::npos) {
    harness.shell = fs::path(harness.program).filename().string() +
                    command.substr(command.find(harness.program) + harness.program.size());
  }
  harness.judge = "shell";
  const char* const version_1 = "http://127.0.0.1:{port}/v1";
  const char* const bare = "http://127.0.0.1:{port}";
  harness.wires = {{"chat", {{"base_url", version_1}}},
                   {"responses", {{"base_url", version_1}}},
                   {"messages", {{"base_url", bare}}},
                   {"gemini", {{"base_url", bare}}}};
  harness.environment = {"KB_PROMPT={prompt}",
                         "KB_MODEL={model}",
                         "OPENAI_API_KEY=none",
                         "OPENAI_BASE_URL=http://127.0.0.1:{port}/v1",
                         "OPENAI_MODEL={model}",
                         "ANTHROPIC_API_KEY=none",
                         "ANTHROPIC_BASE_URL=http://127.0.0.1:{port}",
                         "ANTHROPIC_MODEL={model}",
                         "GEMINI_API_KEY=none",
                         "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:{port}"};
  return harness;
}

}  // namespace kb
