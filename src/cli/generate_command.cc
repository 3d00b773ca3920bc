#include "cli/commands.h"
#include "cli/generate_run.h"
#include "cli/presets.h"

namespace kb::cli {
void AddGenerate(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = app->add_subcommand(
      "generate", "have models write candidates, and judge them as they come; the same command again goes on");
  AddGenerateFlags(command, flags);
  command->callback([flags, command, exit_code] {
    const Status set = ApplyPreset(flags->preset, command);
    SetAgentTurns(*command, flags.get());
    *exit_code = set ? GenerateAndJudge(*flags) : PrintError(set.error());
  });
}

}  // namespace kb::cli
