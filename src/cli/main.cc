#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/seat.h"
#include "base/suggest.h"
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/screen.h"
#include "cli/standard_output.h"
#include "report/fold.h"
#include "report/text.h"

namespace kb::cli {

int PrintError(const Error& error, const std::string& interrupted) {
  const bool ended = error.code == ErrorCode::kInterrupted;
  const std::string after = interrupted.empty() ? "" : "; " + interrupted;
  const std::string text = ended ? "interrupted" + after : CleanText(error.message);
  fmt::print(stderr, "{}", Fold("kernelbench: " + text + "\n", ColumnsOf(STDERR_FILENO)));
  if (ended) return kInterrupted;
  return error.code == ErrorCode::kUsage ? kUsage : kEngineFailure;
}

std::string DefaultStore() {
  if (const char* set = std::getenv("KERNELBENCH_STORE"); set && *set) return set;
  if (const auto configured = Configured("store")) return *configured;
  std::filesystem::path base;
  if (const char* xdg = std::getenv("XDG_DATA_HOME"); xdg && *xdg) {
    base = xdg;
  } else {
    const char* home = std::getenv("HOME");
    base = std::filesystem::path(home && *home ? home : ".") / ".local" / "share";
  }
  return base / "kernelbench" / "evaluations.sqlite";
}

namespace {

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(each->get_name());
  return names;
}

std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* each : app.get_options()) {
    for (const std::string& name : each->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// What the user got wrong, in one line. CLI11 asks for a command before it says that a word is none.
std::string FailureText(const CLI::App* app, const CLI::Error& error) {
  std::string parents;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    parents += " " + app->get_name();
  }
  const auto told = [&](const std::string& said) {
    return fmt::format("kernelbench: {}; see kernelbench{} --help\n", CleanText(said), parents);
  };
  const int code = error.get_exit_code();
  const auto is = [&](CLI::ExitCodes kind) { return code == static_cast<int>(kind); };
  if (!is(CLI::ExitCodes::ExtrasError) && !is(CLI::ExitCodes::RequiredError)) return told(error.what());
  const bool wants_command = app->get_require_subcommand_min() > 0 && app->get_subcommands().empty();
  for (const std::string& word : app->remaining()) {
    const std::string name = word.substr(0, word.find('='));
    if (word.starts_with('-')) return told(fmt::format("there is no flag {}{}", name, DidYouMean(name, FlagsOf(*app))));
    if (wants_command)
      return told(fmt::format("there is no command \"{}\"{}", word, DidYouMean(word, CommandNames(*app))));
    return told(fmt::format("\"{}\" is one argument too many", word));
  }
  return told(wants_command ? "a command is missing" : error.what());
}

// `help COMMAND` is `COMMAND --help`, where there is such a command.
std::vector<std::string> ArgumentsOf(int argc, char** argv, CLI::App* app) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    bool known = true;
    for (const std::string& word : words) {
      if (word.starts_with('-')) continue;
      const std::vector<std::string> commands = CommandNames(*app);
      known = std::find(commands.begin(), commands.end(), word) != commands.end();
      if (!known) break;
      app = app->get_subcommand(word);
    }
    if (known) words.emplace_back("--help");
  }
  std::reverse(words.begin(), words.end());  // as CLI11 takes them
  return words;
}

}  // namespace
}  // namespace kb::cli

int main(int argc, char** argv) {
  kb::FirstNice();
  kb::RaiseOpenFiles();
  kb::InstallInterruptHandlers();
  kb::cli::GuardOutput();
  CLI::App app{"KernelBench: is this kernel correct, and is it faster?"};
  app.set_version_flag("--version", "kernelbench " KB_VERSION);
  app.require_subcommand(1);
  app.name("kernelbench");
  app.footer("kernelbench help COMMAND tells of a command, its flags and their defaults.");
  app.failure_message(kb::cli::FailureText);
  if (const kb::Status loaded = kb::cli::LoadConfig(); !loaded) return kb::cli::PrintError(loaded.error());
  int exit_code = kb::cli::kAllCorrect;
  kb::cli::AddEval(&app, &exit_code);
  kb::cli::AddRun(&app, &exit_code);
  kb::cli::AddServe(&app, &exit_code);
  kb::cli::AddService(&app, &exit_code);
  kb::cli::AddToken(&app, &exit_code);
  kb::cli::AddMcp(&app, &exit_code);
  kb::cli::AddTask(&app, &exit_code);
  kb::cli::AddGenerate(&app, &exit_code);
  kb::cli::AddTrajectory(&app, &exit_code);
  kb::cli::AddMatrix(&app, &exit_code);
  kb::cli::AddPresets(&app, &exit_code);
  kb::cli::AddModelAudit(&app, &exit_code);
  kb::cli::AddRejudge(&app, &exit_code);
  kb::cli::AddConclude(&app, &exit_code);
  kb::cli::AddProfile(&app, &exit_code);
  kb::cli::AddPrompt(&app, &exit_code);
  kb::cli::AddCheck(&app, &exit_code);
  kb::cli::AddShow(&app, &exit_code);
  kb::cli::AddList(&app, &exit_code);
  kb::cli::AddRuns(&app, &exit_code);
  kb::cli::AddReport(&app, &exit_code);
  kb::cli::AddSite(&app, &exit_code);
  kb::cli::AddExport(&app, &exit_code);
  kb::cli::AddImport(&app, &exit_code);
  kb::cli::AddOriginal(&app, &exit_code);
  kb::cli::AddScore(&app, &exit_code);
  kb::cli::AddBest(&app, &exit_code);
  kb::cli::AddCompare(&app, &exit_code);
  kb::cli::AddProblems(&app, &exit_code);
  kb::cli::AddProtocols(&app, &exit_code);
  kb::cli::AddDoctor(&app, &exit_code);
  kb::cli::AddBaseline(&app, &exit_code);
  kb::cli::AddModels(&app, &exit_code);
  kb::cli::AddConfig(&app, &exit_code);
  kb::cli::AddStore(&app, &exit_code);
  kb::cli::AddCache(&app, &exit_code);
  kb::cli::AddCompletion(&app, &exit_code);
  try {
    std::vector<std::string> words = kb::cli::ArgumentsOf(argc, argv, &app);
    const auto all = std::find(words.begin(), words.end(), "--help-all");
    const auto asks = [](const std::string& word) { return word.starts_with("--help") || word == "-h"; };
    if (std::any_of(words.begin(), words.end(), asks)) kb::cli::ArrangeHelp(&app, all != words.end());
    if (all != words.end()) *all = "--help";
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    fmt::print("{}", out.str());
    fmt::print(stderr, "{}", kb::Fold(err.str(), kb::cli::ColumnsOf(STDERR_FILENO)));
    exit_code = code == 0 ? kb::cli::kAllCorrect : kb::cli::kUsage;
  }
  return kb::cli::FinishOutput(exit_code);
}
