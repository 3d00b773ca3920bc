#include "cli/help.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "cli/screen.h"
#include "report/fold.h"

namespace kb::cli {
namespace {

struct Group {
  const char* name;
  std::vector<const char*> commands;
};

const std::vector<Group>& Groups() {
  static const std::vector<Group> groups = {
      {"Judge", {"eval", "run", "check", "profile", "rejudge", "conclude", "audit", "baseline"}},
      {"Look", {"list", "show", "runs", "score", "compare", "best", "trajectory", "report", "site"}},
      {"Have models write", {"generate", "matrix", "presets", "prompt", "models", "task"}},
      {"Serve", {"serve", "service", "token", "mcp"}},
      {"Exchange", {"export", "import", "original"}},
      {"Know and maintain", {"problems", "protocols", "doctor", "config", "store", "cache", "completion"}}};
  return groups;
}

// Of commands with many flags: those that people use, and how a command line looks.
struct Usual {
  const char* command;
  std::vector<const char*> flags;
  std::vector<const char*> examples;
};

const std::vector<Usual>& Usuals() {
  static const std::vector<Usual> usuals = {
      {"eval",
       {"device", "size", "protocol", "precision", "problems", "store", "json", "no-store", "quiet", "verbose"},
       {"kernelbench eval 1/36 mine.cpp", "kernelbench eval 1/19 a.py b.py --size odd --protocol quick"}},
      {"run",
       {"name", "model", "samples", "limit", "devices", "size", "protocol", "precision", "again", "store", "json"},
       {"kernelbench run ~/KernelBench/runs/mine", "kernelbench run candidates.jsonl --name mine --devices cuda:0-3"}},
      {"generate",
       {"model", "run", "strategy", "samples", "turns", "preset", "devices", "size", "protocol", "max-usd", "harness",
        "store"},
       {"kernelbench generate level1 --model openai:NAME --run first",
        "kernelbench generate 1/36 --model openai:NAME --run agent --strategy agent --max-usd 5"}},
      {"serve",
       {"listen", "devices", "tokens", "demo", "host", "store", "quiet"},
       {"kernelbench serve --listen 127.0.0.1:8080", "kernelbench serve --demo"}},
      {"baseline",
       {"device", "size", "kind", "precision", "again", "check", "store", "json"},
       {"kernelbench baseline level1 --device cuda", "kernelbench baseline list"}},
      {"score",
       {"model", "level", "device", "protocol", "size", "audited", "format", "output", "p", "k", "published", "store"},
       {"kernelbench score", "kernelbench score first --level 1 --format markdown"}},
      {"compare",
       {"by", "run", "model", "level", "device", "size", "format", "output", "p", "store"},
       {"kernelbench compare modelA modelB", "kernelbench compare first second --by run"}},
      {"audit",
       {"mechanical", "held-out", "auditors", "above", "max-usd", "again", "store", "json"},
       {"kernelbench audit first --mechanical --held-out"}}};
  return usuals;
}

constexpr size_t kIndent = 26;                     // of what is said of a flag
constexpr size_t kNarrow = 70, kNarrowIndent = 6;  // in a window with fewer columns
constexpr size_t kColumns = 100;                   // where there is no window

size_t HelpColumns() {
  const size_t columns = ColumnsOf(STDOUT_FILENO);
  return columns == kNoLimit ? kColumns : columns;
}

std::string Line(const std::string& name, const std::string& said) {
  const size_t columns = HelpColumns(), indent = columns < kNarrow ? kNarrowIndent : kIndent;
  std::string line = "  " + name;
  if (line.size() + 2 > indent) {
    line += "\n" + std::string(indent, ' ');
  } else {
    line += std::string(indent - line.size(), ' ');
  }
  return Fold(line + said + "\n", columns);
}

std::string ValueOf(const CLI::Option& option) {
  if (!TakesValue(option)) return "";
  const std::vector<std::string> choices = ChoicesOf(option);
  const std::string joined = fmt::format("{}", fmt::join(choices, "|"));
  if (!choices.empty() && joined.size() <= 40) return " " + joined;
  const std::string type = option.get_type_name();
  return type.starts_with("INT") ? " N" : type.starts_with("FLOAT") ? " X" : " TEXT";
}

class Formatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override {
    std::string said = option->get_description();
    if (!option->get_envname().empty()) said += fmt::format(" (environment {})", option->get_envname());
    const std::string standard = option->get_default_str();
    if (!standard.empty() && TakesValue(*option)) said += fmt::format(" [{}]", standard);
    return Line(positional ? option->get_single_name() : FlagText(*option) + ValueOf(*option), said);
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return Line(command->get_name(), command->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return Fold(app->get_description() + "\n", HelpColumns());
  }
  std::string make_footer(const CLI::App* app) const override {
    return app->get_footer().empty() ? "" : Fold(app->get_footer() + "\n", HelpColumns());
  }
};

void Fold(CLI::App* command, const Usual& usual, bool all) {
  size_t folded = 0;
  for (CLI::Option* option : command->get_options()) {
    if (option->get_lnames().empty() || option->get_group().empty() || option == command->get_help_ptr()) continue;
    const std::string& name = option->get_lnames().front();
    const auto same = [&](const char* flag) { return name == flag; };
    if (std::any_of(usual.flags.begin(), usual.flags.end(), same)) {
      option->group("Options");
      continue;
    }
    ++folded;
    if (!all) {
      option->group("");
    } else if (option->get_group() == "Options") {
      option->group("More options");
    }
  }
  std::string footer = "Examples:";
  for (const char* example : usual.examples) footer += fmt::format("\n  {}", example);
  if (!all) footer += fmt::format("\n\n{} more flags: kernelbench {} --help-all", folded, usual.command);
  command->footer(footer);
}

}  // namespace

void ArrangeHelp(CLI::App* app, bool all) {
  app->formatter(std::make_shared<Formatter>());
  for (CLI::App* command : CommandsOf(app)) command->formatter(app->get_formatter());
  for (CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
    const auto is = [&](const char* name) { return command->get_name() == name; };
    for (const Group& group : Groups()) {
      if (std::any_of(group.commands.begin(), group.commands.end(), is)) command->group(group.name);
    }
    for (const Usual& usual : Usuals()) {
      if (is(usual.command)) Fold(command, usual, all);
    }
  }
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  // CLI::IsMember's description is {a,b}, behind the type's name and a colon.
  const std::string type = option.get_type_name();
  const size_t begin = type.find(":{"), end = type.rfind('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos || end < begin) return choices;
  std::istringstream parts(type.substr(begin + 2, end - begin - 2));
  for (std::string part; std::getline(parts, part, ',');) choices.push_back(part);
  return choices;
}

std::vector<CLI::App*> CommandsOf(CLI::App* app) {
  std::vector<CLI::App*> commands;
  for (CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
    commands.push_back(command);
    for (CLI::App* below : CommandsOf(command)) commands.push_back(below);
  }
  return commands;
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::string FlagText(const CLI::Option& option) {
  std::string name;
  for (const std::string& letter : option.get_snames()) name += (name.empty() ? "-" : ", -") + letter;
  for (const std::string& word : option.get_lnames()) name += (name.empty() ? "--" : ", --") + word;
  return name;
}

}  // namespace kb::cli
