// What a run will take, before it is asked for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cli/generate_run.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct ModelForecast {
  std::string model;
  bool agents = false;          // its answers are those of agents
  int64_t answers = 0;          // still to be asked for
  int64_t learnt_from = 0;      // earlier answers
  Forecast::Estimate expected;  // without an expectation of the output: input alone
  double most_tokens = 0;       // every answer as long as it may be
  std::optional<double> most_usd;
  bool Known() const { return !agents || learnt_from > 0; }
};

size_t BytesOf(const Prompt& prompt) { return prompt.system.size() + prompt.user.size(); }

Completion UsageOf(const GenerationAnswer& answer) {
  Completion completion;
  completion.usage = {answer.input, answer.cache_read, answer.cache_write, answer.output, answer.reasoning_tokens};
  completion.cost_usd = answer.cost_usd;
  return completion;
}

// Bytes of the prompts that are still to be asked. A later turn also shows a candidate or two: as long as an answer.
std::vector<size_t> OpenPrompts(const GeneratePlan& plan, const GenerateFlags& flags,
                                const std::set<std::string>& answered, const std::string& model, double answer_bytes) {
  std::vector<size_t> bytes;
  const StrategyOptions& strategy = flags.strategy;
  const int width = strategy.name == "evolve" ? strategy.islands * strategy.population : strategy.samples;
  for (const PlannedProblem& problem : plan.problems) {
    const int turns = strategy.name == "sample" ? 1 : TurnsOf(flags, problem.file);
    for (int candidate = 0; candidate < width * turns; ++candidate) {
      if (answered.contains(fmt::format("{}\n{}\n{}", model, problem.file.name, candidate))) continue;
      const bool later = candidate >= width;
      const auto shown = static_cast<size_t>(std::clamp(candidate / width, 1, std::max(1, strategy.history)));
      bytes.push_back(BytesOf(problem.prompt) +
                      (later ? plan.turns.refine.size() + static_cast<size_t>(answer_bytes) * shown : 0));
    }
  }
  return bytes;
}

Result<ModelForecast> ForecastOf(const GeneratePlan& plan, const GenerateFlags& flags, const PlannedModel& model,
                                 const std::set<std::string>& answered, const Store& store) {
  ModelForecast made;
  made.model = model.settings.name;
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> history, store.History(made.model));
  Forecast forecast;
  double output = flags.expect_output.value_or(0) * (history.empty() ? 1 : 0);
  for (const GenerationAnswer& answer : history) {
    forecast.Observe(static_cast<size_t>(answer.prompt_bytes), UsageOf(answer));
    output += static_cast<double>(answer.output.value_or(0)) / static_cast<double>(history.size());
  }
  made.learnt_from = static_cast<int64_t>(history.size());
  const auto prompts = OpenPrompts(plan, flags, answered, made.model, output * Forecast::kBytesPerToken);
  made.answers = static_cast<int64_t>(prompts.size());
  made.expected = forecast.Of(prompts, model.price, flags.expect_output);
  const double longest = model.settings.NewRequest().max_tokens;
  const auto most = Forecast().Of(prompts, model.price, longest);
  made.most_tokens = made.expected.input_tokens + longest * static_cast<double>(made.answers);
  made.most_usd = most.cost_usd;
  return made;
}

// An agent takes what earlier ones took; its prompts say nothing of that.
Result<ModelForecast> ForecastOfAgents(const GeneratePlan& plan, const GenerateFlags& flags, const PlannedModel& model,
                                       const std::set<std::string>& answered, const Store& store) {
  ModelForecast made{.model = model.settings.name, .agents = true};
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> history, store.History(made.model, true));
  made.learnt_from = static_cast<int64_t>(history.size());
  for (const PlannedProblem& problem : plan.problems) {
    for (int sample = 0; sample < flags.strategy.samples; ++sample) {
      made.answers += answered.contains(fmt::format("{}\n{}\n{}", made.model, problem.file.name, sample)) ? 0 : 1;
    }
  }
  if (history.empty()) return made;
  const double share = static_cast<double>(made.answers) / static_cast<double>(history.size());
  double output = 0, usd = 0;
  bool priced = true;
  for (const GenerationAnswer& answer : history) {
    made.expected.input_tokens += share * static_cast<double>(answer.input.value_or(0) + answer.cache_read.value_or(0) +
                                                              answer.cache_write.value_or(0));
    output += share * static_cast<double>(answer.output.value_or(0));
    usd += share * answer.cost_usd.value_or(0);
    priced = priced && answer.cost_usd;
  }
  made.expected.output_tokens = output;
  if (priced) made.expected.cost_usd = usd;
  return made;
}

json ForecastJson(const ModelForecast& forecast) {
  const auto or_null = [](const auto& value) { return value ? json(*value) : json(nullptr); };
  const auto tokens = [](double value) { return json(std::llround(value)); };
  const auto& written = forecast.expected.output_tokens;
  return {{"model", forecast.model},
          {"answers", forecast.answers},
          {"learnt_from", forecast.learnt_from},
          {"input_tokens", forecast.Known() ? tokens(forecast.expected.input_tokens) : json(nullptr)},
          {"output_tokens", written ? tokens(*written) : json(nullptr)},
          {"cost_usd", or_null(forecast.expected.cost_usd)},
          {"most_tokens", forecast.agents ? json(nullptr) : tokens(forecast.most_tokens)},
          {"most_usd", or_null(forecast.most_usd)}};
}

void PrintAgents(const ModelForecast& forecast) {
  fmt::print("{}: {} agents", forecast.model, forecast.answers);
  if (!forecast.Known()) {
    fmt::print("; what they take is not known before some have worked: begin with three problems\n");
    return;
  }
  fmt::print(", {:.0f} tokens read, {:.0f} written", forecast.expected.input_tokens,
             forecast.expected.output_tokens.value_or(0));
  if (forecast.expected.cost_usd) {
    fmt::print(", ${:.2f}", *forecast.expected.cost_usd);
  } else {
    fmt::print(", cost unknown");
  }
  fmt::print(" (the mean of {} earlier agents)\n", forecast.learnt_from);
}

void PrintOne(const ModelForecast& forecast) {
  if (forecast.agents) return PrintAgents(forecast);
  fmt::print("{}: {} answers, {:.0f} tokens read", forecast.model, forecast.answers, forecast.expected.input_tokens);
  if (forecast.expected.output_tokens) fmt::print(", {:.0f} written", *forecast.expected.output_tokens);
  if (forecast.expected.output_tokens && forecast.expected.cost_usd) {
    fmt::print(", ${:.4f}", *forecast.expected.cost_usd);
  } else if (!forecast.most_usd) {
    fmt::print(", cost unknown: its price is not");
  }
  fmt::print("; at most {:.0f} tokens", forecast.most_tokens);
  if (forecast.most_usd) fmt::print(", ${:.4f}", *forecast.most_usd);
  if (forecast.learnt_from > 0) {
    fmt::print(" (from {} earlier answers)\n", forecast.learnt_from);
  } else if (forecast.expected.output_tokens) {
    fmt::print(" (from --expect-output)\n");
  } else {
    fmt::print(" (it has answered nothing yet, so what it will write is not known: --expect-output N)\n");
  }
}

}  // namespace

Status PrintForecast(const GeneratePlan& plan, const GenerateFlags& flags, const Store& store) {
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationRequest> requests, store.Requests(plan.run));
  std::set<std::string> answered;
  for (const GenerationRequest& request : requests) {
    if (request.state == "answered") {
      answered.insert(fmt::format("{}\n{}\n{}", request.model, request.problem, request.candidate));
    }
  }
  json all = json::array();
  for (const PlannedModel& model : plan.models) {
    const auto forecast_of = flags.strategy.name == "agent" ? ForecastOfAgents : ForecastOf;
    KB_ASSIGN_OR_RETURN(const ModelForecast forecast, forecast_of(plan, flags, model, answered, store));
    all.push_back(ForecastJson(forecast));
    if (!flags.json && !flags.quiet) PrintOne(forecast);
  }
  if (flags.json && flags.forecast_only) {
    fmt::print("{}", JsonLine(json{{"schema", 1}, {"run", plan.run}, {"forecast", all}}));
  }
  return {};
}

}  // namespace kb::cli
