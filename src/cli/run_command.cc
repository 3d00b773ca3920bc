#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "cli/number_checks.h"
#include "cli/run_tasks.h"
#include "cli/selection_flags.h"
#include "interop/candidates.h"
#include "report/terminal.h"
#include "report/text.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct RunFlags {
  std::shared_ptr<JudgeFlags> judge = std::make_shared<JudgeFlags>();
  SelectionFlags selection;
  std::string source, name, model, devices = "cpu", store = DefaultStore(), timeline;
  std::vector<int> samples;
  int limit = 0;
  bool again = false, json = false, quiet = false;
};

// What is judged: candidates by the key of their jobs.
struct Plan {
  std::string run, rules;  // rules: the protocol and every key that a flag changed
  std::shared_ptr<const Protocol> protocol;
  std::vector<std::string> devices;
  std::vector<RunCandidate> candidates;
  std::vector<Job> jobs;              // of the candidates, in the same order
  std::vector<ProblemFile> problems;  // likewise
};

std::string KeyOf(const Job& job) {
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}", job.model, job.problem, job.size, job.sample, job.device, job.protocol);
}

// "quick", or "quick, precision=fp16": two sets of rules are two evaluations.
std::string RulesOf(const JudgeFlags& flags) {
  std::string rules = flags.protocol;
  for (const auto& [key, value] : flags.keys) rules += fmt::format(", {}={}", key, value);
  return rules;
}

std::string DefaultName(const std::string& source) {
  const auto path = std::filesystem::weakly_canonical(source);
  return std::filesystem::is_directory(path) ? path.filename() : path.stem();
}

Result<std::set<std::string>> Selected(const RunFlags& flags) {
  std::set<std::string> names;
  KB_ASSIGN_OR_RETURN(const std::vector<SelectedProblem> problems, SelectProblems(flags.selection));
  for (const SelectedProblem& problem : problems) names.insert(problem.file.name);
  return names;
}

bool Restricted(const Selection& selection) {
  return !selection.terms.empty() || !selection.family.empty() || selection.scored || selection.sample > 0;
}

// Leaves out what the flags leave out, and finds the problem of each.
Status ChooseCandidates(const RunFlags& flags, std::vector<RunCandidate> all, std::vector<std::string>* notes,
                        Plan* plan) {
  const bool restricted = Restricted(flags.selection.selection) || flags.selection.without_metr;
  std::set<std::string> selected;
  if (restricted) {
    KB_ASSIGN_OR_RETURN(selected, Selected(flags));
  }
  KB_ASSIGN_OR_RETURN(const std::filesystem::path directory, ProblemDirectory(flags.selection.problems));
  ProblemFinder finder(directory);
  std::string left_out;  // why the first one was that has no problem here
  for (RunCandidate& candidate : all) {
    if (flags.limit > 0 && plan->candidates.size() == static_cast<size_t>(flags.limit)) break;
    if (!flags.model.empty() && candidate.model != flags.model) continue;
    if (!flags.samples.empty() &&
        std::find(flags.samples.begin(), flags.samples.end(), candidate.sample) == flags.samples.end()) {
      continue;
    }
    const Result<ProblemFile>& problem = finder.Find(candidate.problem);
    const auto leave_out = [&](const Error& error) {
      notes->push_back(fmt::format("{} is left out: {}", candidate.place, error.message));
      if (left_out.empty()) left_out = notes->back();
    };
    if (!problem) {
      leave_out(problem.error());
      continue;
    }
    if (restricted && !selected.contains(problem->name)) continue;
    const auto source = ReadSource(candidate);
    if (!source) {
      leave_out(source.error());
      continue;
    }
    Job job;
    job.model = candidate.model;
    job.problem = problem->name;
    job.size = flags.judge->size;
    job.sample = candidate.sample;
    job.device = plan->devices.front().substr(0, plan->devices.front().find(':'));
    job.protocol = plan->rules;
    job.path = candidate.path.string();
    job.sha256 = Sha256(source->text);
    job.problem_sha256 = finder.TextHash(*problem);
    plan->jobs.push_back(std::move(job));
    plan->problems.push_back(*problem);
    plan->candidates.push_back(std::move(candidate));
  }
  if (!plan->candidates.empty()) return {};
  return Fail(ErrorCode::kUsage,
              fmt::format("none of the {} candidates of {} {}", all.size(), flags.source,
                          left_out.empty() ? "is left by these flags" : "can be judged: " + left_out));
}

// What is left out is told in `notes`, also where nothing is left.
Result<Plan> MakePlan(const RunFlags& flags, std::vector<std::string>* notes) {
  Plan plan;
  plan.run = flags.name.empty() ? DefaultName(flags.source) : flags.name;
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(Protocol protocol, ProtocolOf(*flags.judge, installation.protocols));
  plan.protocol = std::make_shared<const Protocol>(std::move(protocol));
  plan.rules = RulesOf(*flags.judge);
  KB_ASSIGN_OR_RETURN(plan.devices, FindDevices(flags.devices));
  KB_ASSIGN_OR_RETURN(std::vector<RunCandidate> candidates, ReadCandidates(flags.source, notes));
  KB_RETURN_IF_ERROR(ChooseCandidates(flags, std::move(candidates), notes, &plan));
  return plan;
}

// What a file of this candidate's would be called, for a source that lies in a line of another file.
std::filesystem::path NameOf(const RunCandidate& candidate) {
  if (candidate.offset) return fmt::format("{}:{}.{}", candidate.path.string(), *candidate.offset, candidate.language);
  if (!candidate.has_code) return fmt::format("{}.{}", candidate.place, candidate.language);
  return candidate.path;
}

Result<Candidate> Read(const RunCandidate& candidate, const std::string& device) {
  if (candidate.has_code && !candidate.offset) return ReadCandidate(candidate.path, device);
  KB_ASSIGN_OR_RETURN(RunSource source, ReadSource(candidate));
  KB_ASSIGN_OR_RETURN(Candidate made, MakeCandidate(NameOf(candidate), std::move(source.text), device));
  if (!source.rejection.empty()) made.rejection = std::move(source.rejection);
  return made;
}

// Tasks of the plan's jobs that are still to be judged.
std::vector<Task> OpenTasks(const Plan& plan, const std::map<std::string, Job>& stored) {
  std::vector<Task> tasks;
  for (size_t i = 0; i < plan.jobs.size(); ++i) {
    const Job& job = stored.at(KeyOf(plan.jobs[i]));
    if (job.state != "queued") continue;
    Task task;
    task.id = job.id;
    task.problem = plan.problems[i];
    task.size = job.size;
    task.protocol = plan.protocol;
    task.read = [candidate = plan.candidates[i], device = job.device] { return Read(candidate, device); };
    tasks.push_back(std::move(task));
  }
  return tasks;
}

Result<std::map<std::string, Job>> StoredJobs(const Store& store, const std::string& run) {
  KB_ASSIGN_OR_RETURN(std::vector<Job> jobs, store.Jobs(run));
  std::map<std::string, Job> by_key;
  for (Job& job : jobs) {
    const std::string key = KeyOf(job);
    by_key.emplace(key, std::move(job));
  }
  return by_key;
}

// What an earlier command could not judge is tried again; jobs that this one does not name keep their error.
Status QueueFailed(const Plan& plan, Store* store) {
  KB_ASSIGN_OR_RETURN(const auto stored, StoredJobs(*store, plan.run));
  std::vector<int64_t> failed;
  for (const Job& planned : plan.jobs) {
    const Job& job = stored.at(KeyOf(planned));
    if (job.state == "failed") failed.push_back(job.id);
  }
  return store->RetryJobs(failed);
}

// All of a run's numbers once it has ended, those of earlier commands included.
int Summarise(const Plan& plan, const RunFlags& flags, const Store& store, const RunProgress& progress) {
  const auto jobs = StoredJobs(store, plan.run);
  if (!jobs) return Report(jobs.error());
  size_t done = 0, failed = 0, open = 0;
  for (const Job& planned : plan.jobs) {
    const std::string& state = jobs->at(KeyOf(planned)).state;
    ++(state == "done" ? done : state == "failed" ? failed : open);
  }
  if (!flags.json) {
    fmt::print("run {}: {} of {} judged", plan.run, done, plan.jobs.size());
    if (failed > 0) fmt::print(", {} could not be (judged again by the next such command)", failed);
    if (open > 0) fmt::print(", {} still open (the same command goes on)", open);
    fmt::print("\n");
    if (progress.judged() > 0) {
      fmt::print("now: {} in {:.1f} s, {:.2f} a second; {}\ndevice held {:.0f}% of the time, in calls {:.0f}%\n",
                 progress.judged(), progress.seconds(), static_cast<double>(progress.judged()) / progress.seconds(),
                 progress.Verdicts(), 100 * progress.held(), 100 * progress.busy());
    }
    fmt::print("scores: kernelbench score {}\n", plan.run);
  }
  return failed > 0 ? kEngineFailure : kAllCorrect;
}

int JudgeRun(const RunFlags& flags, const Plan& plan, Store* store) {
  if (const auto added = store->AddJobs(plan.run, plan.jobs, flags.again); !added) return Report(added.error());
  if (const auto released = store->ReleaseJobs(plan.run, false); !released) return Report(released.error());
  if (const Status queued = QueueFailed(plan, store); !queued) return Report(queued.error());
  const auto stored = StoredJobs(*store, plan.run);
  if (!stored) return Report(stored.error());
  std::map<int64_t, Job> by_id;
  for (const auto& [key, job] : *stored) by_id[job.id] = job;
  RunTasks run;
  run.tasks = OpenTasks(plan, *stored);
  RunProgress progress(flags.quiet, run.tasks.size(), plan.devices.size(), !flags.timeline.empty());
  const JobEnds ends{plan.run, OwnerName(), flags.json, flags.quiet, store, &progress};
  run.begin = [&](int64_t id) { return store->ClaimJob(id, ends.owner); };
  run.end = [&](const TaskEnd& end) { return KeepEnd(ends, by_id.at(end.id), end); };
  const Status judged =
      run.tasks.empty() ? Status() : JudgeAll(std::move(run), OptionsOf(*flags.judge), plan.devices, &progress);
  progress.Finish();
  if (!flags.timeline.empty()) {
    if (const Status written = WriteFileAtomic(flags.timeline, progress.Timeline().dump()); !written) {
      return Report(written.error());
    }
  }
  const int summarised = Summarise(plan, flags, *store, progress);
  return judged ? summarised : Report(judged.error());
}

int Run(const RunFlags& flags) {
  std::vector<std::string> notes;
  const auto plan = MakePlan(flags, &notes);
  if (!flags.quiet) {
    for (const std::string& note : notes) fmt::print(stderr, "{}\n", CleanText(note));
  }
  if (!plan) return Report(plan.error());
  auto store = Store::Open(flags.store);
  if (!store) return Report(store.error());
  return JudgeRun(flags, *plan, &*store);
}

}  // namespace

void AddRun(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<RunFlags>();
  CLI::App* command =
      app->add_subcommand("run", "judge many candidates; the same command again goes on where it ended");
  command
      ->add_option("candidates", flags->source,
                   "a KernelBench run directory, a directory with manifest.json or manifest.jsonl, or a .jsonl file "
                   "(docs/interop.md)")
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
  command->add_flag("--json", flags->json, "one line of JSON for each evaluation (docs/evaluation.md)");
  command->add_flag("--quiet", flags->quiet, "no progress");
  command->callback([flags, exit_code] { *exit_code = Run(*flags); });
}

}  // namespace kb::cli
