// A program that drives a model by itself, described as data: how it is started in a box, with which settings, and how
// its end is read. docs/reference/harnesses.md has the format.
#ifndef AGENTS_HARNESS_H_
#define AGENTS_HARNESS_H_

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace kb {

struct Harness {
  struct File {
    std::string path;  // below the agent's home
    std::string text;
  };

  std::string name, description;
  std::string program;  // what is looked for in PATH
  std::string install;  // how a user gets it
  std::vector<std::string> command, environment;
  std::string shell;  // instead of `command`: a shell's text
  std::vector<File> files;
  // By wire (chat, messages, responses, gemini): more placeholders, `base_url` always among them.
  std::map<std::string, std::map<std::string, std::string>> wires;
  std::string judge;             // how it comes to the judge's tools: "mcp", or "shell" with a command
  std::string transcript;        // where its own lies, for people: what is believed is the relay's
  std::vector<int> limit_codes;  // exit codes that mean a limit of its own
  std::string limit_text;        // the same, in what it printed; empty: none
  std::string error_text;        // the model failed, whatever the exit code; empty: none
};

// What placeholders stand for, beside those of a wire.
struct HarnessValues {
  std::string prompt, model;
  std::string wire;
  int turns = 1200;
  int port = 8080;  // of the model, in the box
  int64_t context_tokens = 200'000, output_tokens = 16'384;
};

struct FilledHarness {
  std::string command;  // of a shell
  std::vector<std::string> environment;
  std::vector<Harness::File> files;
};

// Where things are in the box of a harness.
inline constexpr const char* kBoxBridge = "/kb/bridge";
inline constexpr const char* kBoxModelSocket = "/kb/model.sock";
inline constexpr const char* kBoxJudgeSocket = "/kb/judge.sock";

// A name of the installation's harnesses, or the path of a file (with a slash or ending in .toml). kUsage: there is
// none, or it is not to be understood; names the file and the key.
Result<Harness> FindHarness(const std::string& spec, const Installation& installation);
Result<Harness> ReadHarness(const std::filesystem::path& file);
std::vector<std::string> HarnessNames(const Installation& installation);

// Any command that speaks one of the wires; its first word is the program. It is told where the model is by the
// variables of the usual libraries, and finds its prompt in KB_PROMPT, too.
Result<Harness> HarnessOfCommand(const std::string& command);

// kUsage: it does not speak `wire`; says which it does.
Status CheckWire(const Harness& harness, const std::string& wire);

// Puts values in the places of placeholders: in a shell's text as words of it, in files as inside a string of TOML or
// JSON. kUsage: the harness does not speak that wire.
Result<FilledHarness> FillHarness(const Harness& harness, const HarnessValues& values);

// What `text` has of the form {name}.
void ForEachPlaceholder(const std::string& text, const std::function<void(size_t at, const std::string& name)>& see);

// `word` as one word of a shell's command.
std::string ShellWord(std::string_view word);

}  // namespace kb

#endif  // AGENTS_HARNESS_H_
