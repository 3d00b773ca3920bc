// One run from its plan to its end: what generate and matrix share.
#ifndef CLI_GENERATE_RUN_H_
#define CLI_GENERATE_RUN_H_

#include "cli/generate_plan.h"
#include "cli/run_progress.h"
#include "jobs/generation_judge.h"

namespace kb::cli {

// The whole command: plan, forecast, run. The exit code.
int GenerateAndJudge(const GenerateFlags& flags);

// Generates, judges as samples arrive, prints progress and what came of it. The exit code.
int RunGeneration(const GeneratePlan& plan, const GenerateFlags& flags, Store* store);

// A judge of the run's candidates. `on`: devices of this machine, or none, and what jobs call them.
struct JudgedOn {
  std::vector<std::string> devices;
  std::string job_device;
};
Result<std::unique_ptr<GenerationJudge>> StartJudge(const GeneratePlan& plan, const GenerateFlags& flags, JudgedOn on,
                                                    Store* store, RunProgress* progress);

// What the run will take, printed. Earlier answers of the same models are what it knows.
Status PrintForecast(const GeneratePlan& plan, const GenerateFlags& flags, const Store& store);

}  // namespace kb::cli

#endif  // CLI_GENERATE_RUN_H_
