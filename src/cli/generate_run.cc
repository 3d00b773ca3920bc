#include "cli/generate_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "agents/episode_account.h"
#include "cli/generate_agents.h"
#include "cli/generate_cards.h"
#include "cli/told_jobs.h"
#include "cli/warm_service.h"
#include "interop/run_directory.h"
#include "judge/problem/problem_finder.h"

namespace kb::cli {
namespace {

using nlohmann::json;

std::string Money(double usd) { return usd < 0.1 ? fmt::format("${:.4f}", usd) : fmt::format("${:.2f}", usd); }

// Tokens and money so far, as part of the line of progress.
std::string SpentText(const GeneratorCounts& counts) {
  std::string text = fmt::format("{}/{} answers, {} tokens", counts.answered, counts.total, counts.tokens);
  if (counts.usd > 0) text += ", " + Money(counts.usd);
  if (counts.without_cost > 0) text += fmt::format(" and {} of unknown cost", counts.without_cost);
  return text;
}

json SummaryJson(const GeneratePlan& plan, const GeneratorCounts& counts, const GenerationSpent& spent,
                 size_t not_judged) {
  return {{"schema", 1},
          {"run", plan.run},
          {"summary", true},
          {"answers_wanted", counts.total},
          {"answered", counts.answered},
          {"without_candidate", counts.without_code},
          {"gave_no_answer", counts.failed},
          {"not_judged", not_judged},
          {"calls", spent.answers},
          {"input_tokens", spent.input},
          {"output_tokens", spent.output},
          {"calls_without_usage", spent.without_usage},
          {"cost_usd", spent.usd},
          {"calls_without_cost", spent.without_cost},
          {"ended_by", counts.ended_by.empty() ? json(nullptr) : json(counts.ended_by)}};
}

void PrintSummary(const GeneratePlan& plan, const GeneratorCounts& counts, const GenerationSpent& spent,
                  const RunProgress& progress) {
  fmt::print("run {}: {} of {} answers", plan.run, counts.answered, counts.total);
  if (counts.without_code > 0) fmt::print(", {} without a candidate", counts.without_code);
  if (counts.failed > 0) fmt::print(", {} could not be had (asked again by the next such command)", counts.failed);
  if (counts.answered + counts.failed < counts.total && counts.ended_by.empty()) {
    fmt::print(", {} still open (the same command goes on)", counts.total - counts.answered - counts.failed);
  }
  const char* const asked = plan.settings.at("strategy") == "agent" ? "agents" : "calls";
  fmt::print("\n{} {}, {} tokens read, {} written", spent.answers, asked, spent.input, spent.output);
  if (spent.without_usage > 0) fmt::print(" (of {} {} not known)", spent.without_usage, asked);
  if (spent.without_cost == 0) {
    fmt::print(", {}", Money(spent.usd));
  } else if (spent.without_cost < spent.answers) {
    fmt::print(", {} and {} {} of unknown cost", Money(spent.usd), spent.without_cost, asked);
  } else if (spent.answers > 0) {
    fmt::print(", cost unknown");
  }
  fmt::print("\n");
  if (!counts.ended_by.empty()) fmt::print("ended by {}; a higher cap goes on\n", counts.ended_by);
  if (progress.judged() > 0) {
    fmt::print("judged now: {} in {:.1f} s; {}\n", progress.judged(), progress.seconds(), progress.Verdicts());
  }
  const int candidates = counts.total / static_cast<int>(plan.models.size() * plan.problems.size());
  fmt::print("scores: kernelbench score {0}{1}; kernelbench trajectory {0}\n", plan.run,
             candidates > 1 ? fmt::format(" --k 1,{}", candidates) : "");
}

// After an interrupt.
constexpr char kKept[] = "answers and verdicts so far are stored, and the same command goes on";

struct Ended {
  Status status;
  GeneratorCounts counts;
};

// Begins the run, or goes on with it: what failed, or was left behind, is judged again.
Status GoOn(const GeneratePlan& plan, Store* store) {
  KB_RETURN_IF_ERROR(BeginRun(plan, store));
  KB_RETURN_IF_ERROR(store->ReleaseJobs(plan.run, true));
  return {};
}

// What models refused for good is asked again.
Status Reopen(const GeneratePlan& plan, const GenerateFlags& flags, Store* store) {
  KB_RETURN_IF_ERROR(BeginRun(plan, store));
  KB_ASSIGN_OR_RETURN(const int64_t reopened, store->ReopenEpisodes(plan.run, kModelError));
  if (!flags.quiet) fmt::print(stderr, "{} agents go on whose model had refused to answer\n", reopened);
  return {};
}

// The generator and its judge, from start to end.
Ended RunGenerator(const GeneratePlan& plan, const GenerateFlags& flags, Store* store, RunProgress* progress) {
  Ended ended;
  GeneratorOptions options = GeneratorOptionsOf(plan, flags);
  options.say = [&](const std::string& line) {
    if (!flags.quiet) progress->Print(line + "\n");
  };
  std::unique_ptr<AgentRuns> agents;
  if (plan.settings.at("strategy") == "agent") {  // its service is to be warm before the judge looks for one
    auto started = AgentRuns::Start(plan, flags, store);
    if (!started) return {tl::make_unexpected(started.error()), {}};
    agents = std::move(*started);
    options.work = [&](const EpisodeWork& work) { return agents->Run(work); };
    options.judging = [&](bool begins) { agents->Judging(begins); };
  }
  std::unique_ptr<GenerationJudge> judge;
  if (flags.judged && plan.devices.empty()) options.caps.evaluations.reset();  // there are none yet
  if (flags.judged && !plan.devices.empty()) {
    auto made = StartJudge(plan, flags, {plan.devices, plan.job_device}, store, progress);
    if (!made) return {tl::make_unexpected(made.error()), {}};
    judge = std::move(*made);
    options.verdict = [&](const GeneratedCandidate& candidate) { return judge->Verdict(candidate); };
    options.judge = [&](const GeneratedCandidate& candidate) { return judge->Judge(candidate); };
  }
  if (flags.agent.retry_refused) {
    if (const Status begun = Reopen(plan, flags, store); !begun) return {begun, {}};
  }
  const auto generator = Generator::Create(std::move(options), store);
  if (!generator) return {tl::make_unexpected(generator.error()), {}};
  if (const Status begun = GoOn(plan, store); !begun) return {begun, {}};
  if (judge) judge->TellTo(generator->get());
  progress->SetMore([&] { return SpentText((*generator)->Counts()); });
  ended.status = (*generator)->Run();
  if (judge) {
    const Status stopped = judge->Stop();
    if (ended.status && !stopped) ended.status = stopped;
  }
  progress->Finish();
  ended.counts = (*generator)->Counts();
  return ended;
}

Status WriteRun(const GeneratePlan& plan, const GenerateFlags& flags, const Store& store) {
  KB_ASSIGN_OR_RETURN(const WrittenRun written, WriteRunDirectory(store, plan.run, flags.write_run));
  if (flags.quiet || flags.json) return {};
  for (const std::string& note : written.notes) fmt::print(stderr, "{}\n", note);
  fmt::print("{} candidates and {} results in {}\n", written.candidates, written.evaluations, flags.write_run);
  return {};
}

}  // namespace

Result<std::unique_ptr<GenerationJudge>> StartJudge(const GeneratePlan& plan, const GenerateFlags& flags, JudgedOn on,
                                                    Store* store, RunProgress* progress) {
  GenerationJudgeOptions wanted{.run = plan.run,
                                .size = plan.size,
                                .rules = plan.rules,
                                .devices = std::move(on.devices),
                                .job_device = std::move(on.job_device),
                                .protocol = plan.protocol,
                                .make_judge = EvaluatorJudges(OptionsOf(*flags.judge), flags.counters),
                                .compilations = flags.judge->jobs};
  if (!flags.no_service && !flags.counters && !wanted.devices.empty()) {
    wanted.executor = WarmService(flags.store, wanted.devices, *flags.judge, flags.quiet);
  }
  for (const PlannedModel& model : plan.models) wanted.models.push_back(model.settings.name);
  for (const PlannedProblem& problem : plan.problems) {
    wanted.problems.push_back(problem.file);
    wanted.problem_texts.push_back(ProblemTextHash(problem.file));
  }
  const TellJobs told{plan.run, flags.json, flags.quiet, plan.models.size() > 1, progress};
  wanted.judging = [told](const Job& job) { told.Judging(job); };
  wanted.put_off = [progress](const Job& job) { progress->Ended(job.id); };
  wanted.tell = [told](const JobEnd& end, const GeneratedCandidate& candidate) {
    told(end, {{"turn", candidate.proposal.turn}});
  };
  wanted.span = [progress](const Span& span) { progress->Add(span); };
  return GenerationJudge::Create(std::move(wanted), store);
}

namespace {

// How asking ended; not well: after an error, which is told.
struct AskedEnd {
  int code = kAllCorrect;
  bool well = true;
};

// Asks models, and has the plan's own devices judge as answers come.
AskedEnd AskAndJudge(const GeneratePlan& plan, const GenerateFlags& flags, Store* store) {
  size_t total = 0;
  for (const PlannedProblem& problem : plan.problems) {
    StrategyOptions options = flags.strategy;
    options.turns = TurnsOf(flags, problem.file);
    const auto strategy = MakeStrategy(options);
    if (strategy && flags.judged && !plan.devices.empty()) {
      total += static_cast<size_t>((*strategy)->Total()) * plan.models.size();
    }
  }
  RunProgress progress(flags.quiet, total, plan.devices.size(), false);
  const Ended ended = RunGenerator(plan, flags, store, &progress);
  progress.Finish();
  const auto spent = store->Spent(plan.run);
  if (!spent) return {PrintError(spent.error()), false};
  if (ended.counts.total == 0) return {PrintError(ended.status.error()), false};  // it did not begin
  if (flags.json) {
    fmt::print("{}", JsonLine(SummaryJson(plan, ended.counts, *spent, progress.failed())));
  } else {
    PrintSummary(plan, ended.counts, *spent, progress);
  }
  if (!ended.status) {
    const int code = PrintError(ended.status.error(), kKept);
    return {code == kUsage && ended.counts.failed > 0 ? kEngineFailure : code, false};  // refused its first request
  }
  return {ended.counts.failed > 0 || progress.failed() > 0 ? kEngineFailure : kAllCorrect, true};
}

}  // namespace

int RunGeneration(const GeneratePlan& plan, const GenerateFlags& flags, Store* store) {
  AskedEnd asked;
  if (plan.asks) {
    asked = AskAndJudge(plan, flags, store);
  } else if (const Status begun = GoOn(plan, store); !begun) {
    return PrintError(begun.error());
  }
  if (!asked.well) return asked.code;
  int code = asked.code;
  if (flags.judged && !plan.cards.empty()) {
    code = std::max(code, JudgeOnCards(plan, flags, store));
    if (const Status told = PrintCards(plan, flags, *store); !told) return PrintError(told.error());
  }
  if (!flags.write_run.empty()) {
    if (const Status written = WriteRun(plan, flags, *store); !written) return PrintError(written.error());
  }
  return code;
}

int GenerateAndJudge(const GenerateFlags& flags) {
  const auto plan = MakeGeneratePlan(flags, !flags.forecast_only);
  if (!plan) return PrintError(plan.error());
  if (!flags.quiet) {
    for (const std::string& note : plan->notes) fmt::print(stderr, "{}\n", note);
  }
  auto store = Store::Open(flags.store);
  if (!store) return PrintError(store.error());
  if (plan->asks) {
    if (const Status told = PrintForecast(*plan, flags, *store); !told) return PrintError(told.error());
  }
  if (flags.forecast_only) return kAllCorrect;
  return RunGeneration(*plan, flags, &*store);
}

}  // namespace kb::cli
