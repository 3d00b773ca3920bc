#include "cli/generate_plan.h"

#include <fmt/format.h>

#include <set>

#include "base/hash.h"
#include "base/interrupt.h"
#include "cli/generate_cards.h"
#include "jobs/devices.h"
#include "jobs/generation_judge.h"
#include "judge/backends.h"
#include "judge/devices/cuda/kernel_profile.h"
#include "judge/static/candidate_check.h"
#include "prompt/extract.h"
#include "prompt/hardware.h"

namespace kb::cli {
namespace {

using nlohmann::json;

// Of a correct candidate's traced call: null where there is none, as on a CPU.
json ProfileOf(const json& evaluation) {
  if (!evaluation.is_object() || evaluation.value("verdict", "") != "correct") return nullptr;
  json profile = KernelProfile(evaluation, evaluation.value("figures", json::object()));
  const json& authorship = evaluation.at("authorship");
  if (profile.is_object() && authorship.contains("counters")) {
    AddCounters({{"kernels", authorship["counters"]}, {"why", ""}}, evaluation.at("device_info"), &profile);
  }
  return profile;
}

// What the flags say of sampling. A setting that would not reach the model is an error, before anything is paid.
Status ApplySampling(const GenerateFlags& flags, ModelSettings* model) {
  const auto reaches = [&](const char* member, const char* flag, bool taken) -> Status {
    const bool omitted = std::find(model->omit.begin(), model->omit.end(), member) != model->omit.end();
    if (taken && !omitted) return {};
    return Fail(ErrorCode::kUsage, fmt::format("{} is not for {}: {}; leave it out", flag, model->name,
                                               omitted ? fmt::format("models.toml omits {}", member)
                                                       : fmt::format("{} takes no {} with these settings",
                                                                     ProviderName(model->provider), member)));
  };
  const bool thinks = model->wire == Wire::kMessages && !model->reasoning_effort.empty();
  if (flags.temperature) KB_RETURN_IF_ERROR(reaches("temperature", "--temperature", !thinks));
  if (flags.top_p) KB_RETURN_IF_ERROR(reaches("top_p", "--top-p", !thinks));
  if (flags.sampling_seed) KB_RETURN_IF_ERROR(reaches("seed", "--sampling-seed", model->wire == Wire::kChat));
  if (flags.temperature) model->temperature = flags.temperature;
  if (flags.top_p) model->top_p = flags.top_p;
  if (flags.sampling_seed) model->seed = flags.sampling_seed;
  return {};
}

Status PlanModels(const GenerateFlags& flags, const Installation& installation, bool open, GeneratePlan* plan) {
  if (flags.models.empty()) {
    return Fail(ErrorCode::kUsage,
                "name a model with --model, such as openai:NAME or replay:PATH (docs/reference/models.md)");
  }
  KB_ASSIGN_OR_RETURN(const ModelsFile file, ModelsFile::Find(flags.models_file));
  KB_ASSIGN_OR_RETURN(const PriceTables prices, PriceTables::Load(installation.models));
  std::set<std::string> names;
  for (const std::string& spec : flags.models) {
    PlannedModel model;
    KB_ASSIGN_OR_RETURN(model.settings, FindModel(spec, file));
    KB_RETURN_IF_ERROR(ApplySampling(flags, &model.settings));
    if (!names.insert(model.settings.name).second) {
      return Fail(ErrorCode::kUsage, fmt::format("--model {} is there twice", spec));
    }
    if (open) {
      KB_ASSIGN_OR_RETURN(model.provider, OpenModel(model.settings));
    }
    std::string note;
    model.price = FindPrice(
        model.settings, prices, [] { return Interrupted(); }, &note);
    if (!note.empty()) plan->notes.push_back(note);
    plan->models.push_back(std::move(model));
  }
  return {};
}

// Starts a device process, which measures its device: that takes some seconds.
Result<json> MeasuredDevice(const GenerateFlags& flags, const std::string& device) {
  EvaluatorOptions options = OptionsOf(*flags.judge);
  options.device = device;
  KB_ASSIGN_OR_RETURN(const auto evaluator, Evaluator::Create(options));
  return evaluator->DeviceInfo();
}

Status PlanProblems(const GenerateFlags& flags, const Installation& installation, GeneratePlan* plan) {
  KB_ASSIGN_OR_RETURN(const std::vector<SelectedProblem> selected, SelectProblems(flags.selection));
  KB_ASSIGN_OR_RETURN(const PromptTemplate parts, PromptTemplate::Load(installation.prompts, flags.custom));
  KB_ASSIGN_OR_RETURN(plan->turns, TurnTexts::Load(installation.prompts / "turns.toml"));
  KB_ASSIGN_OR_RETURN(const std::string hardware, HardwareText(installation.prompts, flags.hardware, plan->target, [&] {
                        return MeasuredDevice(flags, plan->devices.front());
                      }));
  const std::string device = plan->devices.empty() ? plan->kind : plan->devices.front();
  KB_ASSIGN_OR_RETURN(plan->size, SizeOfRun(flags.judge->size, device, FilesOf(selected), flags.store, plan->run));
  std::set<std::string> said;
  for (const SelectedProblem& problem : selected) {
    PromptRequest request{problem.file, plan->size, plan->target, plan->protocol->precision, flags.shots, hardware};
    auto prompt = BuildPrompt(parts, request, installation);
    if (!prompt) {
      if (selected.size() == 1) return tl::make_unexpected(prompt.error());
      plan->notes.push_back(fmt::format("{} is left out: {}", problem.file.name, prompt.error().message));
      continue;
    }
    for (const std::string& note : prompt->notes) {
      if (said.insert(note).second) plan->notes.push_back(note);
    }
    plan->problems.push_back({problem.file, std::move(*prompt)});
  }
  if (!plan->problems.empty()) return {};
  return Fail(ErrorCode::kUsage, fmt::format("no problem is left: {}", plan->notes.back()));
}

json SettingsOf(const GenerateFlags& flags, const GeneratePlan& plan) {
  const StrategyOptions& strategy = flags.strategy;
  json settings = {{"strategy", strategy.name},
                   {"samples", strategy.samples},
                   {"backend", plan.backend},
                   {"size", plan.size},
                   {"shots", flags.shots},
                   {"hardware", flags.hardware},
                   {"regenerate", flags.regenerate},
                   {"feedback", flags.feedback},
                   {"precision", plan.protocol->precision}};
  if (!flags.custom.empty()) {
    const auto text = ReadFile(flags.custom);
    settings["custom_sha256"] = text ? Sha256(*text) : "";
  }
  if (!flags.profile) settings["profile"] = false;
  if (flags.counters) settings["counters"] = true;
  if (strategy.name != "sample") settings["turns"] = strategy.turns;
  if (strategy.name != "sample" && !flags.turns_by_level.empty()) settings["turns_by_level"] = flags.turns_by_level;
  if (strategy.name == "refine" && strategy.history > 1) settings["history"] = strategy.history;
  if (strategy.name == "evolve") {
    settings.erase("samples");
    settings["islands"] = strategy.islands;
    settings["population"] = strategy.population;
    settings["migrate_every"] = strategy.migrate_every;
    settings["combine"] = strategy.combine;
    settings["search_seed"] = strategy.seed;
  }
  if (strategy.name == "agent") settings["agent"] = flags.agent.ToJson();
  if (strategy.name != "sample" && !plan.cards.empty()) settings["lead"] = plan.job_device;
  for (const PlannedModel& model : plan.models) settings["models"][model.settings.name] = model.settings.ToJson();
  return settings;
}

// Whether two settings of a model ask for the same answers; prices, retries and the like may change.
bool SameAnswers(const json& one, const json& other) {
  for (const char* key : {"provider", "model", "max_tokens", "temperature", "top_p", "seed", "reasoning_effort",
                          "thinking", "extra", "omit", "tools"}) {
    if (one.value(key, json()) != other.value(key, json())) return false;
  }
  return true;
}

// Whether a run may go from one value of a setting to another.
bool MayGrow(const std::string& key, const json& stored, const json& wanted, const std::string& strategy) {
  const bool grows = strategy == "sample" || strategy == "agent";
  if (key == "turns" || (key == "samples" && grows)) return wanted > stored;
  if (key != "turns_by_level" || !stored.is_array() || stored.size() != wanted.size()) return false;
  return std::equal(stored.begin(), stored.end(), wanted.begin(), std::less_equal<>());
}

GeneratorExtract ExtractFrom(const GeneratePlan& plan, size_t problem, const Completion& completion) {
  GeneratorExtract extract;
  const Extraction found = ExtractCode(completion.text, plan.target, WasCut(completion.finish));
  if (!found.ok()) {
    extract.complaint = found.reason;
    if (completion.finish == FinishReason::kRefused) extract.complaint += " (the provider says that the model refused)";
    return extract;
  }
  extract.source = found.source;
  extract.language = found.extension.substr(1);
  const auto candidate =
      MakeCandidate(CandidateName(plan.problems[problem].file, 0, extract.language), found.source, plan.kind);
  if (!candidate) {
    extract.complaint = candidate.error().message;
  } else if (!candidate->rejection.empty()) {
    extract.complaint = candidate->rejection;
  } else if (plan.protocol->ChecksText()) {
    const auto findings = StaticCheckCandidate(*candidate, *plan.protocol);
    if (const StaticFinding* error = FirstError(findings)) {
      extract.complaint =
          fmt::format("static analysis refuses it: {}, line {}: {}", error->rule, error->line, error->reason);
    }
  }
  return extract;
}

}  // namespace

std::string ReplayName(const ProblemFile& problem) {
  const std::string deck = problem.deck == "kernelbench" ? "" : problem.deck + "/";
  if (problem.deck.empty()) return problem.path.stem();
  if (problem.level == 0) return fmt::format("{}{}", deck, problem.number);
  return fmt::format("{}level{}/{}", deck, problem.level, problem.number);
}

int TurnsOf(const GenerateFlags& flags, const ProblemFile& problem) {
  const std::vector<int>& turns = flags.turns_by_level;
  if (turns.empty() || problem.level <= 0) return flags.strategy.turns;
  return turns[std::min(turns.size(), static_cast<size_t>(problem.level)) - 1];
}

Result<GeneratePlan> MakeGeneratePlan(GenerateFlags flags, bool open) {
  GeneratePlan plan;
  plan.run = flags.run;
  plan.backend = TakeBackend(&flags);
  plan.rules = RulesOf(*flags.judge);
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(Protocol protocol, ProtocolOf(*flags.judge, installation.protocols));
  plan.protocol = std::make_shared<const Protocol>(std::move(protocol));
  KB_ASSIGN_OR_RETURN(plan.target,
                      MakeTarget(plan.backend, flags.devices.substr(0, flags.devices.find_first_of(",:"))));
  plan.kind = plan.job_device = kb::KindOf(flags.devices.substr(0, flags.devices.find(',')));
  const bool judges = open && flags.judged;
  if (flags.cards.empty()) {
    if (judges) KB_RETURN_IF_ERROR(CheckBackend(plan.backend, installation));
    KB_ASSIGN_OR_RETURN(plan.devices, FindDevices(flags.devices));
  } else {
    KB_RETURN_IF_ERROR(PlanCards(flags, installation, &plan));
    if (judges && JudgesHere(plan)) KB_RETURN_IF_ERROR(CheckBackend(plan.backend, installation));
  }
  KB_RETURN_IF_ERROR(PlanModels(flags, installation, open, &plan));
  KB_RETURN_IF_ERROR(PlanProblems(flags, installation, &plan));
  plan.settings = SettingsOf(flags, plan);
  return plan;
}

Status BeginRun(const GeneratePlan& plan, Store* store) {
  KB_ASSIGN_OR_RETURN(json stored, store->BeginGeneration(plan.run, plan.settings));
  std::string differs;
  const std::string strategy = plan.settings.at("strategy");
  for (const auto& [key, value] : plan.settings.items()) {
    if (key == "models") continue;
    const json before = stored.value(key, json());
    if (before == value) continue;
    if (MayGrow(key, before, value, strategy)) {
      stored[key] = value;
    } else if (key == "turns_by_level" && before.is_array() && before.size() == value.size() &&
               std::equal(value.begin(), value.end(), before.begin(), std::less_equal<>())) {
      continue;  // fewer turns than there are already, as with --turns
    } else if (key != "samples" && key != "turns") {
      differs += fmt::format("{}{} was {}, now {}", differs.empty() ? "" : "; ", key, before.dump(), value.dump());
    } else if (strategy != "sample" && strategy != "agent" && key == "samples") {
      differs += fmt::format("{}samples was {}, now {}", differs.empty() ? "" : "; ", before.dump(), value.dump());
    }
  }
  for (const char* key : {"profile", "counters", "history", "turns_by_level", "lead",
                          "agent"}) {  // kept where they are not what no flag says
    if (!stored.contains(key) || plan.settings.contains(key)) continue;
    differs += fmt::format("{}{} was {}, now it is not given", differs.empty() ? "" : "; ", key, stored[key].dump());
  }
  for (const auto& [name, settings] : plan.settings.at("models").items()) {
    const json before = stored["models"].value(name, json());
    if (before.is_null() || SameAnswers(before, settings)) {
      stored["models"][name] = settings;
    } else {
      differs += fmt::format("{}the model {} was called with other settings", differs.empty() ? "" : "; ", name);
    }
  }
  if (!differs.empty()) {
    return Fail(ErrorCode::kUsage, fmt::format("the run {} was begun otherwise ({}): give the same flags to go on, or "
                                               "another --run",
                                               plan.run, differs));
  }
  return store->ChangeGeneration(plan.run, stored);
}

GeneratorOptions GeneratorOptionsOf(const GeneratePlan& plan, const GenerateFlags& flags) {
  GeneratorOptions options;
  options.run = plan.run;
  if (!plan.cards.empty()) options.device = plan.job_device;
  for (const PlannedModel& planned : plan.models) {
    GeneratorModel model;
    model.name = planned.settings.name;
    model.provider = planned.provider.get();
    model.defaults = planned.settings.NewRequest();
    model.price = planned.price;
    model.cost = [price = planned.price](const Completion& completion) { return CostUsd(completion, price); };
    model.concurrency = planned.settings.concurrency;
    options.models.push_back(std::move(model));
  }
  for (const PlannedProblem& problem : plan.problems) {
    options.problems.push_back(problem.file.name);
    options.replay_as.push_back(ReplayName(problem.file));
    options.turns.push_back(TurnsOf(flags, problem.file));
  }
  options.strategy = flags.strategy;
  options.caps = flags.caps;
  options.regenerate = flags.regenerate;
  options.prompt = [&plan, feedback = flags.feedback, profile = flags.profile](size_t problem, const Proposal& proposal,
                                                                               std::vector<GeneratorParent> parents) {
    for (GeneratorParent& parent : parents) {
      if (profile) parent.profile = ProfileOf(parent.evaluation);
    }
    return MakeTurnPrompt(plan.turns, plan.problems[problem].prompt, plan.target, proposal, parents, feedback);
  };
  options.extract = [&plan](size_t problem, const Completion& completion) {
    return ExtractFrom(plan, problem, completion);
  };
  options.interrupted = [] { return Interrupted(); };
  return options;
}

}  // namespace kb::cli
