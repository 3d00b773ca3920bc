#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/judge_flags.h"
#include "cli/number_checks.h"
#include "cli/selection_flags.h"
#include "cli/told_jobs.h"
#include "cli/warm_service.h"
#include "jobs/devices.h"
#include "jobs/run_plan.h"
#include "report/terminal.h"
#include "report/text.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct RunFlags {
  std::shared_ptr<JudgeFlags> judge = std::make_shared<JudgeFlags>();
  SelectionFlags selection;
  std::string source, name, model, devices = ThisDevice(), store = DefaultStore(), timeline;
  std::vector<int> samples;
  int limit = 0;
  bool again = false, json = false, no_service = false, quiet = false;
};

Result<std::set<std::string>> Selected(const RunFlags& flags) {
  std::set<std::string> names;
  KB_ASSIGN_OR_RETURN(const std::vector<SelectedProblem> problems, SelectProblems(flags.selection));
  for (const SelectedProblem& problem : problems) names.insert(problem.file.name);
  return names;
}

bool Restricted(const Selection& selection) {
  return !selection.terms.empty() || !selection.family.empty() || selection.scored || selection.sample > 0;
}

Result<RunWanted> WantedBy(const RunFlags& flags) {
  RunWanted wanted{.source = flags.source,
                   .run = flags.name,
                   .model = flags.model,
                   .samples = flags.samples,
                   .limit = flags.limit,
                   .rules = RulesOf(*flags.judge)};
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(Protocol protocol, ProtocolOf(*flags.judge, installation.protocols));
  wanted.protocol = std::make_shared<const Protocol>(std::move(protocol));
  KB_ASSIGN_OR_RETURN(wanted.devices, FindDevices(flags.devices));
  wanted.size = [&flags, device = wanted.devices.front()](const std::string& run, const auto& problems) {
    return SizeOfRun(flags.judge->size, device, problems, flags.store, run);
  };
  if (Restricted(flags.selection.selection) || flags.selection.without_metr) {
    KB_ASSIGN_OR_RETURN(wanted.problems, Selected(flags));
  }
  KB_ASSIGN_OR_RETURN(wanted.problem_directory, ProblemDirectory(flags.selection.problems));
  return wanted;
}

struct Counts {
  size_t all = 0, done = 0, failed = 0;
  size_t open() const { return all - done - failed; }
};

Result<Counts> CountJobs(const RunPlan& plan, const Store& store) {
  KB_ASSIGN_OR_RETURN(const std::vector<Job> jobs, plan.Stored(store));
  Counts counts{jobs.size(), 0, 0};
  for (const Job& job : jobs) {
    counts.done += job.state == "done" ? 1 : 0;
    counts.failed += job.state == "failed" ? 1 : 0;
  }
  return counts;
}

json SummaryJson(const std::string& run, const Counts& counts, const RunProgress& progress,
                 const std::vector<DeviceTime>& times) {
  return {{"schema", 1},
          {"run", run},
          {"summary", true},
          {"candidates", counts.all},
          {"judged", counts.done},
          {"not_judged", counts.failed},
          {"open", counts.open()},
          {"judged_now", progress.judged()},
          {"seconds", progress.seconds()},
          {"devices", DeviceTimesJson(times)}};
}

void PrintSummary(const std::string& run, const Counts& counts, bool again, const RunProgress& progress) {
  fmt::print("run {}: {} of {} judged", run, counts.done, counts.all);
  if (counts.failed > 0) fmt::print(", {} could not be (judged again by the next such command)", counts.failed);
  if (counts.open() > 0) {
    fmt::print(", {} still open (the same command{} goes on)", counts.open(), again ? " without --again" : "");
  }
  fmt::print("\n");
  if (progress.judged() > 0) {
    fmt::print("now: {} in {:.1f} s, {:.2f} a second; {}\ndevice held {:.0f}% of the time, in calls {:.0f}%\n",
               progress.judged(), progress.seconds(), static_cast<double>(progress.judged()) / progress.seconds(),
               progress.Verdicts(), 100 * progress.held(), 100 * progress.busy());
  }
  fmt::print("scores: kernelbench score {}\n", run);
}

Result<std::unique_ptr<JobLoop>> StartLoop(const RunFlags& flags, const std::string& run,
                                           const std::vector<std::string>& devices, Queue* queue, size_t models,
                                           RunProgress* progress) {
  JobLoopOptions options;
  // What a service's devices did when is not known here.
  if (!flags.no_service && flags.timeline.empty()) {
    options.executor = WarmService(flags.store, devices, *flags.judge, flags.quiet);
  }
  options.make_judge = EvaluatorJudges(OptionsOf(*flags.judge));
  options.devices = devices;
  options.compilations = flags.judge->jobs;
  options.queue = queue;
  const TellJobs told{run, flags.json, flags.quiet, models > 1, progress};
  options.judging = [told](const Job& job) { told.Judging(job); };
  options.put_off = [progress](const Job& job) { progress->Ended(job.id); };
  options.tell = [told](const JobEnd& end) -> Status {
    told(end);
    return {};
  };
  options.span = [progress](const Span& span) { progress->Add(span); };
  return JobLoop::Create(std::move(options));
}

size_t ModelsOf(const std::vector<Job>& jobs) {
  std::set<std::string> models;
  for (const Job& job : jobs) models.insert(job.model);
  return models.size();
}

// Judges what is queued of the plan, and what others left meanwhile.
Status JudgeQueued(const RunPlan& plan, const Store& store, Queue* queue, JobLoop* loop) {
  for (bool any = true; any && loop->status();) {
    if (const auto released = queue->Release(); !released) return tl::make_unexpected(released.error());
    KB_ASSIGN_OR_RETURN(const std::vector<Job> jobs, plan.Stored(store));
    any = false;
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].state != "queued") continue;
      any = true;
      loop->Submit(jobs[i], plan.TaskOf(i));
    }
    loop->Drain();
  }
  return {};
}

// After an interrupt.
std::string Kept(const RunFlags& flags, const Counts& counts) {
  return fmt::format("{} of {} candidates have a verdict, which is stored; the same command{} judges the rest",
                     counts.done, counts.all, flags.again ? " without --again" : "");
}

int JudgeRun(const RunFlags& flags, const RunPlan& plan, const std::vector<std::string>& devices, Store* store) {
  if (const Status queued = plan.Queue(store, flags.again); !queued) return PrintError(queued.error());
  const auto jobs = plan.Stored(*store);
  if (!jobs) return PrintError(jobs.error());
  const auto open = std::count_if(jobs->begin(), jobs->end(), [](const Job& job) { return job.state == "queued"; });
  RunProgress progress(flags.quiet, static_cast<size_t>(open), devices.size(), !flags.timeline.empty());
  std::vector<DeviceTime> times;
  Status judged;
  if (open > 0) {
    const auto queue = QueueInStore(store, plan.run());
    const auto loop = StartLoop(flags, plan.run(), devices, queue.get(), ModelsOf(*jobs), &progress);
    judged = loop ? JudgeQueued(plan, *store, queue.get(), loop->get()) : tl::make_unexpected(loop.error());
    if (loop) {
      const Status stopped = (*loop)->Stop();
      if (judged) judged = stopped;
      times = (*loop)->Times();
    }
  }
  progress.Finish();
  Status written;
  if (!flags.timeline.empty()) written = WriteFileAtomic(flags.timeline, progress.Timeline().dump());
  const auto counts = CountJobs(plan, *store);
  if (!counts) return PrintError(counts.error());
  if (flags.json) {
    fmt::print("{}", JsonLine(SummaryJson(plan.run(), *counts, progress, times)));
  } else {
    PrintSummary(plan.run(), *counts, flags.again, progress);
  }
  if (!judged) return PrintError(judged.error(), Kept(flags, *counts));
  if (!written) return PrintError(written.error());
  return counts->failed > 0 ? kEngineFailure : kAllCorrect;
}

int Run(const RunFlags& flags) {
  const auto wanted = WantedBy(flags);
  if (!wanted) return PrintError(wanted.error());
  std::vector<std::string> notes;
  const auto plan = RunPlan::Make(*wanted, &notes);
  if (!flags.quiet) {
    for (const std::string& note : notes) fmt::print(stderr, "{}\n", CleanText(note));
  }
  if (!plan) return PrintError(plan.error());
  auto store = Store::Open(flags.store);
  if (!store) return PrintError(store.error());
  return JudgeRun(flags, *plan, wanted->devices, &*store);
}

}  // namespace

void AddRun(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command =
      app->add_subcommand("run", "judge many candidates; the same command again goes on where it ended");
  command
      ->add_option("candidates", flags->source,
                   "a KernelBench run directory, a directory with manifest.json or manifest.jsonl, or a .jsonl file "
                   "(docs/reference/interop.md)")
      ->required();
  AddSelectionFlags(command, &flags->selection);
  command->add_option("--name", flags->name, "the run's name in the store; default: that of the directory or file");
  command->add_option("--model", flags->model, "only this model's candidates");
  command->add_option("--samples", flags->samples, "only these samples, such as 0,1")->delimiter(',');
  command->add_option("--limit", flags->limit, "at most so many candidates; 0: all")->check(AtLeast(0));
  command->add_option("--devices", flags->devices, "cpu, cuda, cuda:0,cuda:1 or cuda:0-3")->capture_default_str();
  AddJudgeFlags(command, flags->judge, true);
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  command->add_flag("--again", flags->again, "judge again what has a verdict; the old evaluations stay in the store");
  command->add_option("--timeline", flags->timeline,
                      "write what each core and device did when, as trace events for Perfetto");
  command->add_flag(
      "--json", flags->json,
      "one line of JSON for each evaluation, and a last one about the run (docs/reference/evaluation.md)");
  AddServiceFlag(command, &flags->no_service);
  command->add_flag("--quiet", flags->quiet, "no progress");
  command->callback([flags, exit_code] { *exit_code = Run(*flags); });
}

}  // namespace kb::cli
