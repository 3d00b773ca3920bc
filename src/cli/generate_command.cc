#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/generate_run.h"
#include "store/store.h"

namespace kb::cli {
namespace {

int Generate(const GenerateFlags& flags) {
  const auto plan = MakeGeneratePlan(flags, !flags.forecast_only);
  if (!plan) return Report(plan.error());
  if (!flags.quiet) {
    for (const std::string& note : plan->notes) fmt::print(stderr, "{}\n", note);
  }
  auto store = Store::Open(flags.store);
  if (!store) return Report(store.error());
  if (const Status told = PrintForecast(*plan, flags, *store); !told) return Report(told.error());
  if (flags.forecast_only) return kAllCorrect;
  return RunGeneration(*plan, flags, &*store);
}

}  // namespace

void AddGenerate(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = app->add_subcommand(
      "generate", "have models write candidates, and judge them as they come; the same command again goes on");
  AddSelectionFlags(command, &flags->selection);
  command->add_option("--model", flags->models, "who is asked, such as openai:NAME (docs/models.md); repeatable")
      ->allow_extra_args(false)
      ->required();
  command->add_option("--run", flags->run, "the run's name in the store")->required();
  AddGenerateFlags(command, flags);
  command->callback([flags, exit_code] { *exit_code = Generate(*flags); });
}

}  // namespace kb::cli
