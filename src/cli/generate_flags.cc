#include "cli/generate_flags.h"

#include "cli/number_checks.h"
#include "cli/warm_service.h"

namespace kb::cli {
namespace {

void AddStrategyFlags(CLI::App* command, StrategyOptions* strategy, std::vector<int>* turns_by_level) {
  command
      ->add_option("--strategy", strategy->name,
                   "sample: independent answers; refine: conversations with the judge's feedback; evolve: populations; "
                   "agent: the model works with tools (docs/guide/agents.md)")
      ->check(CLI::IsMember({"sample", "refine", "evolve", "agent"}))
      ->capture_default_str();
  command
      ->add_option("--samples", strategy->samples,
                   "answers (refine: conversations; agent: agents) of each model to each problem")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  command
      ->add_option("--turns", strategy->turns,
                   "refine: turns of a conversation; evolve: generations; agent: 10, 12, 15 and 15 by level without it")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command
      ->add_option("--turns-by-level", *turns_by_level,
                   "--turns by a problem's level, such as 10,12,15,15; problems without a level have --turns")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 10'000));
  command
      ->add_option("--history", strategy->history,
                   "refine: so many of the conversation's last candidates are shown, each with its verdict")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  const auto evolve = [&](const char* name, auto* value, const char* help) {
    return command->add_option(name, *value, help)->capture_default_str()->group("Evolution");
  };
  evolve("--islands", &strategy->islands, "populations beside each other")->check(CLI::Range(1, 1000));
  evolve("--population", &strategy->population, "of an island, and its children a generation")
      ->check(CLI::Range(1, 1000));
  evolve("--migrate-every", &strategy->migrate_every, "generations after which an island gets its neighbour's best")
      ->check(CLI::Range(1, 10'000));
  evolve("--combine", &strategy->combine, "share of children with two parents")->check(CLI::Range(0.0, 1.0));
  evolve("--search-seed", &strategy->seed, "of the draws of parents: the same seed, the same search");
}

void AddAgentFlags(CLI::App* command, AgentFlags* agent) {
  const auto limit = [&](const char* name, auto* value, const char* help, const CLI::Validator& check) {
    command->add_option(name, *value, help)->check(check)->group("Agents");
  };
  limit("--agent-tokens", &agent->tokens, "end an agent's work at so many tokens, read and written", AtLeast(1));
  limit("--agent-usd", &agent->usd, "end it at this cost in US dollars", AboveZero());
  limit("--agent-time", &agent->seconds, "end it after so many seconds of its model and its tools", AboveZero());
  limit("--agent-evaluations", &agent->evaluations, "evaluations and profiles that an agent may have", AtLeast(1));
  limit("--agent-device-time", &agent->device_seconds, "seconds that they may hold a device", AboveZero());
  limit("--agent-gpu-time", &agent->gpu_seconds, "seconds that a command with gpu: true may have: 60 without it",
        CLI::Range(1.0, 500.0));
  limit("--agent-gpu-memory", &agent->gpu_memory, "share of a GPU's memory that it may take: 0.5 without it",
        CLI::Range(0.01, 1.0));
  command
      ->add_option("--agent-counts", agent->counts,
                   "what is judged in the end: last, what the agent submits, or best of what it had evaluated")
      ->check(CLI::IsMember({"last", "best"}))
      ->capture_default_str()
      ->group("Agents");
  command
      ->add_flag("--retry-refused", agent->retry_refused,
                 "agents whose work ended as their model refused to answer in three commands go on")
      ->group("Agents");
  CLI::Option* harness =
      command
          ->add_option("--harness", agent->harness,
                       "a program that drives the model, instead of our own loop: codex, opencode, qwen, gemini, mini, "
                       "or a file (docs/reference/harnesses.md)")
          ->group("Agents");
  command
      ->add_option("--harness-command", agent->harness_command,
                   "any command that speaks the model's wire, which it finds in its environment")
      ->excludes(harness)
      ->group("Agents");
}

void AddSamplingFlags(CLI::App* command, GenerateFlags* flags) {
  command
      ->add_option("--temperature", flags->temperature, "of every model's sampling, instead of what models.toml says")
      ->check(CLI::Range(0.0, 2.0));
  command->add_option("--top-p", flags->top_p, "likewise")->check(CLI::Range(0.0, 1.0));
  command
      ->add_option("--sampling-seed", flags->sampling_seed,
                   "likewise, where a model takes one: candidate k of a problem is asked for with this plus k")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30));
  command->add_option("--preset", flags->preset,
                      "what a publication did, for the flags that are not given: kernelbench presets lists them");
}

void AddCapFlags(CLI::App* command, BudgetCaps* caps) {
  const auto cap = [&](const char* name, auto* value, const char* help, const CLI::Validator& check) {
    command->add_option(name, *value, help)->check(check)->group("Budget");
  };
  cap("--max-usd", &caps->usd, "end the run at this cost in US dollars, earlier commands of the run included",
      AboveZero());
  cap("--max-tokens", &caps->tokens, "end it at so many tokens, read and written", AtLeast(1));
  cap("--max-evaluations", &caps->evaluations, "end it at so many evaluations", AtLeast(1));
  cap("--max-time", &caps->seconds, "ask nothing new after so many seconds of this command", AboveZero());
}

}  // namespace

void AddGenerateFlags(CLI::App* command, const std::shared_ptr<GenerateFlags>& flags) {
  AddSelectionFlags(command, &flags->selection);
  command
      ->add_option("--model", flags->models, "who is asked, such as openai:NAME (docs/reference/models.md); repeatable")
      ->allow_extra_args(false)
      ->required(flags->models.empty());
  command->add_option("--run", flags->run, "the run's name in the store")->required();
  command->add_option(
      "--models-file", flags->models_file,
      "models.toml (docs/reference/models.md); default: $KERNELBENCH_MODELS, or the one in ~/.config/kernelbench");
  AddStrategyFlags(command, &flags->strategy, &flags->turns_by_level);
  AddAgentFlags(command, &flags->agent);
  AddSamplingFlags(command, flags.get());
  AddCapFlags(command, &flags->caps);
  command
      ->add_option("--regenerate", flags->regenerate,
                   "how often an answer without code, or one that static analysis refuses, is sent back")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  command->add_option("--shots", flags->shots, "worked examples in the prompt")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  command
      ->add_option("--hardware", flags->hardware,
                   "describe the device in the prompt: none, auto (measured here, in some seconds), or a GPU by name "
                   "such as H100")
      ->capture_default_str();
  command->add_option("--custom", flags->custom, "a TOML file laid over the prompt (docs/reference/prompts.md)");
  command->add_flag("!--no-feedback", flags->feedback,
                    "refine and evolve show earlier candidates, but not how they were judged");
  command->add_flag("!--no-profile", flags->profile,
                    "refine and evolve do not show which kernels a correct candidate's time went into, on a GPU");
  command->add_flag("--counters", flags->counters,
                    "refine and evolve show a GPU's counters of a correct candidate's kernels, which takes seconds "
                    "(ncu); judged here and by no service");
  command->add_flag("!--no-judge", flags->judged, "only generate; kernelbench generate judges them later");
  command->add_flag("--forecast", flags->forecast_only, "say what it will take, and ask nothing");
  command
      ->add_option("--expect-output", flags->expect_output,
                   "forecast: tokens of an answer, for models that have answered nothing yet")
      ->check(AboveZero());
  command->add_option("--write-run", flags->write_run,
                      "afterwards write the run as KernelBench keeps one, to this directory");
  command->add_option("--devices", flags->devices, "cpu, cuda, cuda:0,cuda:1 or cuda:0-3")->capture_default_str();
  AddJudgeFlags(command, flags->judge, true);
  command->add_option("--store", flags->store, "where everything is kept")->capture_default_str();
  command->add_flag("--json", flags->json, "one line of JSON for each evaluation, and one for the run at the end");
  AddServiceFlag(command, &flags->no_service);
  command->add_flag("--quiet", flags->quiet, "no progress");
}

nlohmann::json AgentFlags::ToJson() const {
  nlohmann::json decides = {{"tokens", tokens},           {"usd", usd},
                            {"seconds", seconds},         {"device_seconds", device_seconds},
                            {"evaluations", evaluations}, {"counts", counts}};
  if (gpu_seconds != AgentFlags().gpu_seconds) decides["gpu_seconds"] = gpu_seconds;
  if (gpu_memory != AgentFlags().gpu_memory) decides["gpu_memory"] = gpu_memory;
  if (!harness.empty()) decides["harness"] = harness;
  if (!harness_command.empty()) decides["harness_command"] = harness_command;
  return decides;
}

void SetAgentTurns(const CLI::App& command, GenerateFlags* flags) {
  if (flags->strategy.name != "agent") return;
  if (command.get_option("--turns")->count() > 0 || command.get_option("--turns-by-level")->count() > 0) return;
  flags->strategy.turns = 10;
  flags->turns_by_level = {10, 12, 15, 15};
}

std::string TakeBackend(GenerateFlags* flags) {
  const auto found = flags->judge->keys.find("backend");
  if (found == flags->judge->keys.end()) return "native";
  const std::string backend = found->second;
  if (backend == "native") flags->judge->keys.erase(found);  // no rule of a protocol: a module may not be one
  return backend;
}

}  // namespace kb::cli
