#include "cli/judge_again.h"

#include "cli/judge_flags.h"
#include "cli/run_progress.h"
#include "cli/screen.h"
#include "jobs/devices.h"
#include "jobs/job_loop.h"
#include "jobs/rejudge.h"
#include "report/terminal.h"

namespace kb::cli {

using nlohmann::json;

Status JudgeEachAgain(const AgainFlags& flags, std::span<const json> evaluations, ProblemFinder* finder,
                      const std::function<void(size_t, const json&)>& tell) {
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> devices, FindDevices(flags.devices));
  RunProgress progress(flags.quiet, evaluations.size(), devices.size(), false);
  JudgeFlags judge;
  judge.isolation = flags.isolation;
  judge.threads = flags.threads;
  const auto queue = QueueInMemory();
  JobLoopOptions options;
  options.make_judge = EvaluatorJudges(OptionsOf(judge));
  options.devices = devices;
  options.compilations = flags.jobs;
  options.queue = queue.get();
  options.tell = [&](const JobEnd& end) -> Status {
    const auto at = static_cast<size_t>(end.job.sample);
    progress.Ended(end.job.id);
    if (end.evaluation) {
      tell(at, *end.evaluation);
      progress.Judged(*end.evaluation);
      if (flags.lines) progress.Print(ResultLine(*end.evaluation, ResultName(evaluations[at]), OnScreen()));
    } else if (end.evaluation.error().code != ErrorCode::kInterrupted) {
      progress.Failed();
    }
    return {};
  };
  options.judging = [&](const Job& job) {
    progress.Judging(job.id, ResultName(evaluations[static_cast<size_t>(job.sample)]));
  };
  options.put_off = [&](const Job& job) { progress.Ended(job.id); };
  options.span = [&](const Span& span) { progress.Add(span); };
  std::vector<Task> tasks;
  for (const json& evaluation : evaluations) {
    KB_ASSIGN_OR_RETURN(Task task, TaskOf(evaluation, finder));
    tasks.push_back(std::move(task));
  }
  KB_ASSIGN_OR_RETURN(const auto loop, JobLoop::Create(std::move(options)));
  for (size_t i = 0; i < tasks.size(); ++i) {
    Job wanted;
    wanted.sample = static_cast<int>(i);
    wanted.size = evaluations[i].at("size");
    KB_ASSIGN_OR_RETURN(const Job job, queue->Add(wanted));
    loop->Submit(job, std::move(tasks[i]));
  }
  loop->Drain();
  const Status stopped = loop->Stop();
  progress.Finish();
  return stopped;
}

}  // namespace kb::cli
