// One run from its plan to its end: what generate and matrix share.
#ifndef CLI_GENERATE_RUN_H_
#define CLI_GENERATE_RUN_H_

#include "cli/generate_plan.h"

namespace kb::cli {

// The whole command: plan, forecast, run. The exit code.
int GenerateAndJudge(const GenerateFlags& flags);

// Generates, judges as samples arrive, prints progress and what came of it. The exit code.
int RunGeneration(const GeneratePlan& plan, const GenerateFlags& flags, Store* store);

// What the run will take, printed. Earlier answers of the same models are what it knows.
Status PrintForecast(const GeneratePlan& plan, const GenerateFlags& flags, const Store& store);

}  // namespace kb::cli

#endif  // CLI_GENERATE_RUN_H_
