// What --help shows: commands by what they are for, the flags that people use, lines no wider than the terminal.
#ifndef CLI_HELP_H_
#define CLI_HELP_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace kb::cli {

// Gives commands their groups and `app` the formatter, once all commands are there and help is wanted. `all`: with the
// flags that few need, for --help-all. Flags that are left out have no name in messages any more.
void ArrangeHelp(CLI::App* app, bool all);

// The values that a flag takes, if they are a closed set; empty otherwise.
std::vector<std::string> ChoicesOf(const CLI::Option& option);

// Every command below `app`, in the order of --help.
std::vector<CLI::App*> CommandsOf(CLI::App* app);

// Whether a value follows it.
bool TakesValue(const CLI::Option& option);

// "-o, --output".
std::string FlagText(const CLI::Option& option);

}  // namespace kb::cli

#endif  // CLI_HELP_H_
