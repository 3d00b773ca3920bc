#include "agents/agent_tool_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/json.h"
#include "base/json_shape.h"
#include "report/text.h"

namespace kb {
namespace {

using nlohmann::json;
using server::Field;
using server::Table;
using Type = Field::Type;

constexpr size_t kMostArguments = size_t{32} << 20;  // bytes
constexpr size_t kArgumentDepth = 4, kArgumentValues = 100;
constexpr double kMostLines = 2000;  // of read_file

Field PathTo(const char* help) {
  return {.name = "path", .type = Type::kText, .help = help, .required = true, .least = 1, .most = 1000};
}

Field PathIn(const char* help) { return {.name = "path", .type = Type::kText, .help = help, .most = 1000}; }

Field Text(const char* name, const char* help) {
  return {.name = name, .type = Type::kText, .help = help, .required = true};
}

Field Solution(const char* name) {
  return {.name = name,
          .type = Type::kText,
          .help = "a file, or a folder that has model_new.py in it; without it the file that TASK.md names",
          .least = 1,
          .most = 1000};
}

std::vector<AgentToolRow> FileTools() {
  return {
      {"list",
       "Lists files with their sizes, in all folders below `path`. Call it to see what there is.",
       {"List", "", {PathIn("a folder: /task without it")}}},
      {"read_file",
       "Reads lines of a text file in /task, under a line that says which they are. Call it before you edit a file.",
       {"ReadFile",
        "",
        {PathTo("a file"),
         {.name = "offset",
          .type = Type::kInteger,
          .help = "first line, from 1: 1 without it",
          .least = 1,
          .most = 1e9},
         {.name = "limit", .type = Type::kInteger, .help = "lines: 2000 without it", .least = 1, .most = kMostLines}}}},
      {"search",
       "Finds lines that match a regular expression in files in /task. Call it to find where something is in a file, "
       "or which files use it.",
       {"Search",
        "",
        {{.name = "pattern",
          .type = Type::kText,
          .help = "a regular expression, as Perl's",
          .required = true,
          .least = 1,
          .most = 1000},
         {.name = "plain", .type = Type::kFlag, .help = "true: the pattern is a text as it stands"},
         PathIn("a file, or a folder with all that is below it: /task without it")}}},
      {"write_file",
       "Writes a whole file in /task, in place of one that is there, and makes the folders above it. Call it for new "
       "files and to write a file anew; for changes edit_file is shorter.",
       {"WriteFile", "", {PathTo("a file"), Text("content", "its whole text")}}},
      {"edit_file",
       "Replaces a piece of text in a file in /task. It must occur there exactly once, spaces and line ends included.",
       {"EditFile",
        "",
        {PathTo("a file"), Text("old_str", "the text to replace, with enough around it to occur once"),
         Text("new_str", "what takes its place")}}}};
}

AgentToolRow BashTool(const AgentToolLimits& limits, bool gpu) {
  const double most = static_cast<double>(limits.command.timeout.count()) / 1000;
  std::string device;
  if (gpu) {
    device = fmt::format(
        " It sees no GPU unless you say gpu: true. Then it waits until the GPU is its own, and has {:g} s and {:.0f}% "
        "of the GPU's memory{}. Call it so for short experiments: evaluate tells correctness and speed.",
        limits.gpu_seconds, 100 * limits.gpu_memory, limits.device_seconds > 0 ? "; those count as device time" : "");
  }
  return {"bash",
          fmt::format("Runs a shell command in /task and gives its exit code, then what it printed: of long output the "
                      "beginning and the end. There is no network and no input, and what a command starts ends with "
                      "it. A command has {:g} s.{}",
                      most, device),
          {"Bash",
           "",
           {{.name = "command", .type = Type::kText, .help = "for the shell", .required = true, .least = 1},
            {.name = "timeout",
             .type = Type::kNumber,
             .help = "seconds after which it is ended: the most without it",
             .least = 1,
             .most = std::max(1.0, most)},
            {.name = "gpu", .type = Type::kFlag, .help = "true: the command has the GPU to itself"}}},
          false,
          gpu ? nullptr : "gpu"};
}

std::vector<AgentToolRow> JudgeTools(const AgentToolOptions& options) {
  std::vector<AgentToolRow> rows = {
      {"compile",
       "Has the judge check a candidate's text and build it, without running it. Takes seconds and counts for no "
       "limit. Call it after each change until it compiles.",
       {"Compile", "", {Solution("path")}},
       true},
      {"evaluate",
       "Has the judge run a candidate: is it correct, and how much faster than the reference? Says the verdict, the "
       "speedup with its interval and both times, or what is wrong and where. Inputs are new in each call. Call it "
       "when it compiles, and after each change that should make it faster.",
       {"Evaluate", "", {Solution("path")}},
       true}};
  if (options.gpu) {
    rows.push_back({"profile",
                    "Says where a correct candidate's time goes on the GPU: its kernels, how they use the device, and "
                    "what that suggests. Counts as an evaluation. Call it when evaluate says correct and you want it "
                    "faster.",
                    {"Profile", "", {Solution("path")}},
                    true});
  }
  rows.push_back({"best",
                  "Says which evaluated candidate is the best so far, and writes it to a folder below /task/best. Call "
                  "it to go back to that one, or before you submit.",
                  {"Best", "", {}},
                  true});
  rows.push_back({"submit",
                  "Hands in a candidate and ends your work. It is judged once more, on new inputs, and that verdict is "
                  "the one that counts. Call it once, when you cannot make it faster.",
                  {"Submit", "", {Solution("solution_path")}},
                  true});
  return rows;
}

// Where and how it is no JSON, in the parser's words, which quote what it has read.
std::string WhyNoJson(const json::parse_error& error) {
  constexpr size_t kWords = 300;
  const std::string_view text = error.what();
  const size_t begin = text.find("] ");
  return OneLine(text.substr(begin == text.npos ? 0 : begin + 2, kWords), kWords);
}

}  // namespace

std::vector<AgentToolRow> AgentToolTable(const AgentToolLimits& limits, const AgentToolOptions& options) {
  std::vector<AgentToolRow> rows = FileTools();
  rows.push_back(BashTool(limits, options.gpu));
  for (AgentToolRow& row : JudgeTools(options)) rows.push_back(std::move(row));
  return rows;
}

Tool AsOffered(const AgentToolRow& row) {
  json schema = server::SchemaOf(row.arguments);
  schema.erase("description");
  if (row.not_offered != nullptr) schema.at("properties").erase(row.not_offered);
  return {row.name, row.description, Dump(schema)};
}

Result<json> ReadArguments(const AgentToolRow& row, const std::string& arguments) {
  const auto refuse = [&](const std::string& why) {
    return Fail(ErrorCode::kUsage, fmt::format("{} was not called: {}", row.name, why));
  };
  if (arguments.size() > kMostArguments) {
    return refuse(fmt::format("its arguments have {} bytes and may have {}; write a long file in parts",
                              arguments.size(), kMostArguments));
  }
  if (const Status shape = CheckShape(arguments, kArgumentDepth, kArgumentValues); !shape) {
    return refuse(fmt::format("its arguments must be one flat JSON object ({})", shape.error().message.substr(3)));
  }
  json read = json::object();
  try {
    if (arguments.find_first_not_of(" \t\r\n") != arguments.npos) read = json::parse(arguments);
  } catch (const json::parse_error& error) {
    const bool cut = error.byte >= arguments.size();
    return refuse(fmt::format("its arguments are no JSON: {}. Call it again with one JSON object{}", WhyNoJson(error),
                              cut ? "; if your answer was too long for that, write the file in parts" : ""));
  }
  if (!read.is_object()) return refuse("its arguments must be one JSON object");
  for (auto member = read.begin(); member != read.end();) {
    member = member->is_null() ? read.erase(member) : std::next(member);
  }
  if (const Status right = server::Check(row.arguments, read); !right) {
    std::string names;
    for (const Field& field : row.arguments.fields) {
      if (row.not_offered != nullptr && field.name == std::string_view(row.not_offered)) continue;
      names += fmt::format("{}{}{}", names.empty() ? "" : ", ", field.name, field.required ? "" : " (may be left out)");
    }
    const std::string wrong = OneLine(right.error().message.substr(1), 200);  // a pointer becomes an argument's name
    return refuse(fmt::format("{}. Its arguments: {}", wrong, names.empty() ? "none" : names));
  }
  return read;
}

}  // namespace kb
