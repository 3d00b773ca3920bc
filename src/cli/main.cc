#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/seat.h"
#include "cli/commands.h"
#include "cli/standard_output.h"
#include "report/text.h"

namespace kb::cli {

int PrintError(const Error& error) {
  if (error.code == ErrorCode::kInterrupted) {
    fmt::print(stderr, "kernelbench: interrupted; what was finished is stored\n");
    return kInterrupted;
  }
  fmt::print(stderr, "kernelbench: {}\n", CleanText(error.message));
  return error.code == ErrorCode::kUsage ? kUsage : kEngineFailure;
}

std::string DefaultStore() {
  if (const char* set = std::getenv("KERNELBENCH_STORE"); set && *set) return set;
  std::filesystem::path base;
  if (const char* xdg = std::getenv("XDG_DATA_HOME"); xdg && *xdg) {
    base = xdg;
  } else {
    const char* home = std::getenv("HOME");
    base = std::filesystem::path(home && *home ? home : ".") / ".local" / "share";
  }
  return base / "kernelbench" / "evaluations.sqlite";
}

bool WantsColour() { return isatty(STDOUT_FILENO) && std::getenv("NO_COLOR") == nullptr; }

namespace {

// CLI11 asks for a command before it says that a word is none.
std::string FailureText(const CLI::App* app, const CLI::Error& error) {
  if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::RequiredError)) {
    return CLI::FailureMessage::simple(app, error);
  }
  std::string parents;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    parents += " " + app->get_name();
  }
  if (app->get_require_subcommand_min() == 0) return CLI::FailureMessage::simple(app, error);
  std::string said = "a command is missing";
  for (const std::string& word : app->remaining()) {
    if (word.starts_with('-')) continue;
    said = fmt::format("there is no command \"{}\"", word);
    break;
  }
  return fmt::format("kernelbench: {}; kernelbench{} --help lists them\n", said, parents);
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
  app.failure_message(kb::cli::FailureText);
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
  kb::cli::AddStore(&app, &exit_code);
  kb::cli::AddCache(&app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    exit_code = code == 0 ? kb::cli::kAllCorrect : kb::cli::kUsage;
  }
  return kb::cli::FinishOutput(exit_code);
}
