// Completions for shells and the man page, all from the descriptions that --help shows.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/standard_output.h"
#include "judge/problem/problem_catalog.h"
#include "judge/verdict/verdict.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using Words = std::vector<std::string>;

// Values of flags that are no closed set to the parser, but usually one of these.
const std::map<std::string, Words>& UsualValues() {
  static const std::map<std::string, Words> values = [] {
    std::map<std::string, Words> all = {{"device", {"auto", "cpu", "cuda"}},
                                        {"devices", {"cpu", "cuda"}},
                                        {"size", {"auto", "standard", "small", "odd"}},
                                        {"precision", {"fp32", "fp16", "bf16"}}};
    for (const std::string_view verdict : kVerdictNames) all["verdict"].emplace_back(verdict);
    if (const auto installation = FindInstallation()) {
      std::error_code ignored;
      for (const auto& entry : std::filesystem::directory_iterator(installation->protocols, ignored)) {
        if (entry.path().extension() == ".toml") all["protocol"].push_back(entry.path().stem());
      }
      std::sort(all["protocol"].begin(), all["protocol"].end());
    }
    return all;
  }();
  return values;
}

Words ValuesOf(const CLI::Option& option) {
  const Words choices = ChoicesOf(option);
  if (!choices.empty() || option.get_lnames().empty()) return choices;
  const auto usual = UsualValues().find(option.get_lnames().front());
  return usual == UsualValues().end() || !TakesValue(option) ? Words() : usual->second;
}

// "/store/check"; of the program itself "".
std::string PathOf(const CLI::App* command) {
  const CLI::App* const parent = command->get_parent();
  return parent ? PathOf(parent) + "/" + command->get_name() : "";
}

Words FlagNames(const CLI::App* command) {
  Words flags;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

// What `completion` lists for the positional arguments of a command: "problems", "runs" or nothing.
std::string ListFor(const CLI::App* command) {
  for (const CLI::Option* option : command->get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_single_name();
    if (name == "problem" || name == "selection" || name == "problems") return "problems";
    if (name == "run") return "runs";
  }
  return "";
}

Words SubcommandsOf(const CLI::App* command) {
  Words names;
  for (const CLI::App* each : command->get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(each->get_name());
  }
  return names;
}

// What bash and zsh share: _kernelbench_words PATH PREVIOUS CURRENT prints the words that may follow.
std::string WordsFunction(CLI::App* app) {
  std::string values, flags, commands, paths;
  std::map<std::string, std::string> lists;  // the commands whose arguments each list completes
  std::vector<CLI::App*> all = CommandsOf(app);
  all.insert(all.begin(), app);
  for (const CLI::App* command : all) {
    const std::string path = PathOf(command);
    if (!path.empty()) paths += (paths.empty() ? "" : "|") + path;
    for (const CLI::Option* option : command->get_options()) {
      if (!option->get_lnames().empty() && option->get_lnames().front() == "run") {
        values += fmt::format("    '{} --run') kernelbench completion runs 2>/dev/null; return ;;\n", path);
      }
      const Words some = ValuesOf(*option);
      if (some.empty() || option->get_lnames().empty()) continue;
      values +=
          fmt::format("    '{} --{}') echo {}; return ;;\n", path, option->get_lnames().front(), fmt::join(some, " "));
    }
    flags += fmt::format("      '{}') echo {} ;;\n", path, fmt::join(FlagNames(command), " "));
    const Words below = SubcommandsOf(command);
    if (!below.empty()) commands += fmt::format("    '{}') echo {} ;;\n", path, fmt::join(below, " "));
    if (const std::string list = ListFor(command); !list.empty()) {
      lists[list] += (lists[list].empty() ? "" : "|") + path;
    }
  }
  return fmt::format(R"sh(_kernelbench_is_command() {{
  case "$1" in {}) return 0 ;; esac
  return 1
}}
_kernelbench_words() {{
  case "$1 $2" in
{}  esac
  case "$3" in
    -*) case "$1" in
{}    esac
    return ;;
  esac
  case "$1" in
{}    {}) kernelbench completion problems 2>/dev/null ;;
    {}) kernelbench completion runs 2>/dev/null ;;
  esac
}}
)sh",
                     paths, values, flags, commands, lists["problems"], lists["runs"]);
}

std::string Bash(CLI::App* app) {
  return "# bash completion for kernelbench\n" + WordsFunction(app) + R"sh(_kernelbench() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    if _kernelbench_is_command "$path/${COMP_WORDS[i]}"; then path+=/${COMP_WORDS[i]}; fi
  done
  mapfile -t COMPREPLY < <(compgen -W "$(_kernelbench_words "$path" "$prev" "$cur")" -- "$cur")
}
complete -o default -F _kernelbench kernelbench
)sh";
}

std::string Zsh(CLI::App* app) {
  return "#compdef kernelbench\n" + WordsFunction(app) + R"sh(_kernelbench() {
  local line="" i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    if _kernelbench_is_command "$line/${words[i]}"; then line+=/${words[i]}; fi
  done
  found=(${=$(_kernelbench_words "$line" "${words[CURRENT-1]}" "${words[CURRENT]}")})
  if (( $#found )); then compadd -a found; else _files; fi
}
if [[ $funcstack[1] == _kernelbench ]]; then _kernelbench "$@"; else compdef _kernelbench kernelbench; fi
)sh";
}

std::string FishQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  return quoted + "'";
}

std::string Fish(CLI::App* app) {
  std::string text = "# fish completion for kernelbench\n";
  for (const CLI::App* command : CommandsOf(app)) {
    const CLI::App* const parent = command->get_parent();
    const bool top = parent->get_parent() == nullptr;
    text += fmt::format("complete -c kernelbench -n {} -a {} -d {}\n",
                        top ? "__fish_use_subcommand" : FishQuoted("__fish_seen_subcommand_from " + parent->get_name()),
                        command->get_name(), FishQuoted(command->get_description()));
    const std::string seen = FishQuoted("__fish_seen_subcommand_from " + command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_lnames().empty()) continue;
      const Words values = ValuesOf(*option);
      text += fmt::format(
          "complete -c kernelbench -n {} -l {}{}{} -d {}\n", seen, option->get_lnames().front(),
          TakesValue(*option) ? " -r" : "",
          values.empty() ? "" : fmt::format(" -f -a {}", FishQuoted(fmt::format("{}", fmt::join(values, " ")))),
          FishQuoted(option->get_description()));
    }
    if (const std::string list = ListFor(command); !list.empty()) {
      text += fmt::format("complete -c kernelbench -n {} -a '(kernelbench completion {} 2>/dev/null)'\n", seen, list);
    }
  }
  return text;
}

// Text of a man page: a backslash, and a dot or quote that begins a line, are troff's.
std::string Troff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '-') {
      escaped += "\\-";
    } else if (c == '\\') {
      escaped += "\\e";
    } else {
      escaped += c;
    }
  }
  return escaped.starts_with('.') || escaped.starts_with('\'') ? "\\&" + escaped : escaped;
}

std::string OptionsText(const CLI::App* command) {
  std::string text;
  for (const CLI::Option* option : command->get_options()) {
    const bool positional = option->get_lnames().empty() && option->get_snames().empty();
    const std::string name = positional ? option->get_single_name() : FlagText(*option);
    const std::string standard = TakesValue(*option) ? option->get_default_str() : "";
    text += fmt::format(".TP\n.B {}\n{}{}\n", Troff(name), Troff(option->get_description()),
                        standard.empty() ? "" : " [" + Troff(standard) + "]");
  }
  return text;
}

std::string Man(CLI::App* app) {
  std::string text = ".TH KERNELBENCH 1 \"\" \"kernelbench " KB_VERSION "\" \"User Commands\"\n.SH NAME\n";
  text += "kernelbench \\- judge GPU kernels written for PyTorch modules\n.SH SYNOPSIS\n.B kernelbench\n.I command\n";
  text += "[\\fIoptions\\fR]\n.SH DESCRIPTION\n" + Troff(app->get_description()) + "\n.SH COMMANDS\n";
  for (const CLI::App* command : CommandsOf(app)) {
    std::string name = PathOf(command).substr(1);
    std::replace(name.begin(), name.end(), '/', ' ');
    text += fmt::format(".SS {}\n{}\n{}", Troff(name), Troff(command->get_description()), OptionsText(command));
  }
  return text +
         ".SH EXIT STATUS\n0: every candidate is correct. 1: one is not. 2: wrong arguments or files. 3: the engine or "
         "this "
         "machine failed. 130: interrupted.\n";
}

Status PrintProblems() {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  for (const ProblemFile& problem : ListProblems(installation.problems)) fmt::print("{}\n", problem.name);
  return {};
}

Status PrintRuns() {
  std::error_code ignored;
  if (!std::filesystem::exists(DefaultStore(), ignored)) return {};
  KB_ASSIGN_OR_RETURN(const Store store, Store::Open(DefaultStore(), {.create = false}));
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> runs, store.Runs());
  for (const std::string& run : runs) fmt::print("{}\n", run);
  return {};
}

}  // namespace

void AddCompletion(CLI::App* app, int* exit_code) {
  auto what = std::make_shared<std::string>();
  CLI::App* command = app->add_subcommand("completion", "completions for a shell, or the man page");
  command->add_option("what", *what, "bash, zsh, fish, man; or problems or runs: their names, a line each")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "man", "problems", "runs"}));
  command->callback([app, what, exit_code] {
    if (*what == "problems" || *what == "runs") {
      const Status told = *what == "runs" ? PrintRuns() : PrintProblems();
      *exit_code = told ? int{kAllCorrect} : PrintError(told.error());
      return;
    }
    const auto make = *what == "bash" ? Bash : *what == "zsh" ? Zsh : *what == "fish" ? Fish : Man;
    KeepLines();
    fmt::print("{}", make(app));
    *exit_code = kAllCorrect;
  });
}

}  // namespace kb::cli
