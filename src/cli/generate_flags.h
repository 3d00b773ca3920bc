// The flags of the commands that ask models for candidates: generate and matrix.
#ifndef CLI_GENERATE_FLAGS_H_
#define CLI_GENERATE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/judge_flags.h"
#include "cli/selection_flags.h"
#include "generate/budget.h"
#include "generate/strategy.h"

namespace kb::cli {

// Limits of one agent; 0: none.
struct AgentFlags {
  int64_t tokens = 0;
  double usd = 0, seconds = 0, device_seconds = 0;
  int evaluations = 0;
  double gpu_seconds = 60, gpu_memory = 0.5;  // of a command with a GPU: at most; of its memory, the share
  std::string counts = "last";
  std::string harness, harness_command;  // a program that drives the model, instead of our loop
  bool retry_refused = false;            // what ended as its model refused goes on
  nlohmann::json ToJson() const;         // what decides what an agent does
};

struct GenerateFlags {
  std::shared_ptr<JudgeFlags> judge = std::make_shared<JudgeFlags>();
  SelectionFlags selection;
  std::vector<std::string> models = DefaultModels();
  std::string models_file, run, devices = ThisDevice(), store = DefaultStore(), custom, hardware = "none", write_run;
  std::vector<std::string> cards;  // of a matrix, instead of devices: "h100", or "cuda:h100" of one that nobody knows
  StrategyOptions strategy;
  BudgetCaps caps;
  AgentFlags agent;
  int shots = 1, regenerate = 0;
  std::optional<double> temperature, top_p;  // of every model, instead of its own
  std::optional<int64_t> sampling_seed;
  std::vector<int> turns_by_level;  // refine: of problems of level 1, 2 ...; the last one of those above
  std::string preset;
  std::optional<double> expect_output;
  bool judged = true, feedback = true, profile = true, counters = false, forecast_only = false, again = false,
       json = false, no_service = false, quiet = false;
};

// All of them. `flags` outlives the parser.
void AddGenerateFlags(CLI::App* command, const std::shared_ptr<GenerateFlags>& flags);

// Turns as KernelBench v3 has them, by level, for an agent whose turns no flag gives.
void SetAgentTurns(const CLI::App& command, GenerateFlags* flags);

// "native" or the protocol's `backend`: --backend is one flag for what is asked for and what is accepted.
std::string TakeBackend(GenerateFlags* flags);

}  // namespace kb::cli

#endif  // CLI_GENERATE_FLAGS_H_
