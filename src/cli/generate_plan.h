// From flags to what a run generates: which models, which problems, what they are asked, by which rules it is judged.
#ifndef CLI_GENERATE_PLAN_H_
#define CLI_GENERATE_PLAN_H_

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/generate_flags.h"
#include "generate/generator.h"
#include "generate/turn_prompt.h"
#include "judge/protocol/protocol.h"
#include "model/open_model.h"
#include "model/price.h"

namespace kb::cli {

struct PlannedModel {
  ModelSettings settings;
  std::optional<Price> price;
  std::unique_ptr<Provider> provider;  // null in a forecast
};

struct PlannedProblem {
  ProblemFile file;
  Prompt prompt;
};

// A card that candidates are judged on (base/card.h).
struct PlannedCard {
  std::string name;
  std::vector<std::string> devices;  // of this machine; none: another one has it
};

struct GeneratePlan {
  std::string run, rules, size, backend;
  Target target;
  std::shared_ptr<const Protocol> protocol;
  std::string kind;                  // of devices: "cpu", "cuda"
  std::vector<std::string> devices;  // that judge while models are asked; none where all cards are elsewhere
  std::string job_device;            // what jobs call them
  std::vector<PlannedCard> cards;    // of a matrix over cards, the one that judges while models are asked first
  bool asks = true;                  // false: what to ask depends on verdicts of a card that is elsewhere
  std::vector<PlannedModel> models;
  std::vector<PlannedProblem> problems;
  TurnTexts turns;
  nlohmann::json settings;  // all that decides what is asked: kept with the run
  std::vector<std::string> notes;
};

// A problem as files of answers name it (docs/reference/models.md): "level1/19".
std::string ReplayName(const ProblemFile& problem);

// How many turns a conversation about it has.
int TurnsOf(const GenerateFlags& flags, const ProblemFile& problem);

// `open`: providers too, which needs their keys. Asks only OpenRouter, for prices.
Result<GeneratePlan> MakeGeneratePlan(GenerateFlags flags, bool open);

// Keeps the settings with the run. A run that was begun with others is kUsage and names them, unless it only grows:
// more samples of the strategy sample, more turns, further models.
Status BeginRun(const GeneratePlan& plan, Store* store);

// What a generator needs of the plan; the judge's functions are the caller's.
GeneratorOptions GeneratorOptionsOf(const GeneratePlan& plan, const GenerateFlags& flags);

}  // namespace kb::cli

#endif  // CLI_GENERATE_PLAN_H_
