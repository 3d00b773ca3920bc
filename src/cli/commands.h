// The subcommands of kernelbench. Each registers itself with the parser; its work runs when the parser has found it.
#ifndef CLI_COMMANDS_H_
#define CLI_COMMANDS_H_

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace kb::cli {

// Exit codes, documented in docs/reference/cli.md. A wrong candidate is not an engine failure.
enum ExitCode : int {
  kAllCorrect = 0,     // did what was asked; every candidate judged is correct
  kNotAllCorrect = 1,  // every candidate has a verdict, at least one is not correct
  kUsage = 2,          // bad arguments, missing files, a broken problem
  kEngineFailure = 3,  // the engine, the store or this machine failed; no verdict
  kInterrupted = 130,  // Ctrl-C
  kReaderGone = 141,   // of standard output
};

// Says what went wrong on stderr and returns the exit code of its kind. `interrupted`: after an interrupt, what is kept
// of the work and how to go on.
int PrintError(const Error& error, const std::string& interrupted = "");

// $KERNELBENCH_STORE, else what the configuration says, else kernelbench/evaluations.sqlite under $XDG_DATA_HOME or
// ~/.local/share.
std::string DefaultStore();

// One line of --json.
template <typename Json = nlohmann::json>
std::string JsonLine(const Json& value) {
  return Dump(value) + "\n";
}

// True if stdout is a terminal that wants colours (screen.h).
bool WantsColour();

// `*exit_code` is what main() returns.
void AddEval(CLI::App* app, int* exit_code);
void AddRejudge(CLI::App* app, int* exit_code);
void AddConclude(CLI::App* app, int* exit_code);
void AddRun(CLI::App* app, int* exit_code);
void AddServe(CLI::App* app, int* exit_code);
void AddService(CLI::App* app, int* exit_code);
void AddToken(CLI::App* app, int* exit_code);
void AddMcp(CLI::App* app, int* exit_code);
void AddTask(CLI::App* app, int* exit_code);
void AddGenerate(CLI::App* app, int* exit_code);
void AddTrajectory(CLI::App* app, int* exit_code);
void AddMatrix(CLI::App* app, int* exit_code);
void AddPresets(CLI::App* app, int* exit_code);
void AddBest(CLI::App* app, int* exit_code);
void AddModelAudit(CLI::App* app, int* exit_code);
void AddProfile(CLI::App* app, int* exit_code);
void AddPrompt(CLI::App* app, int* exit_code);
void AddCheck(CLI::App* app, int* exit_code);
void AddShow(CLI::App* app, int* exit_code);
void AddList(CLI::App* app, int* exit_code);
void AddRuns(CLI::App* app, int* exit_code);
void AddReport(CLI::App* app, int* exit_code);
void AddSite(CLI::App* app, int* exit_code);
void AddExport(CLI::App* app, int* exit_code);
void AddImport(CLI::App* app, int* exit_code);
void AddOriginal(CLI::App* app, int* exit_code);
void AddScore(CLI::App* app, int* exit_code);
void AddCompare(CLI::App* app, int* exit_code);
void AddProblems(CLI::App* app, int* exit_code);
void AddAudit(CLI::App* problems, int* exit_code);  // a subcommand of `problems`
void AddProtocols(CLI::App* app, int* exit_code);
void AddDoctor(CLI::App* app, int* exit_code);
void AddBaseline(CLI::App* app, int* exit_code);
void AddModels(CLI::App* app, int* exit_code);
void AddStore(CLI::App* app, int* exit_code);
void AddCache(CLI::App* app, int* exit_code);
void AddConfig(CLI::App* app, int* exit_code);
void AddCompletion(CLI::App* app, int* exit_code);

}  // namespace kb::cli

#endif  // CLI_COMMANDS_H_
