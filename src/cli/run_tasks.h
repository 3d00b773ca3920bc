// Judging many stored jobs: what `run`, `rejudge` and `generate` share.
#ifndef CLI_RUN_TASKS_H_
#define CLI_RUN_TASKS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cli/judge_flags.h"
#include "cli/run_progress.h"
#include "jobs/scheduler.h"
#include "store/store.h"

namespace kb::cli {

struct RunTasks {
  std::vector<Task> tasks;
  // Whether the task is still to be judged. An error ends the run, like one of `end`.
  std::function<Result<bool>(int64_t id)> begin;
  // What becomes of one task. An error ends the run: nothing more is begun.
  std::function<Status(const TaskEnd& end)> end;
};

// Judges them on all devices, until all are or Ctrl-C. The first error of `begin` or `end`, kInterrupted, or success.
Status JudgeAll(RunTasks run, const EvaluatorOptions& options, const std::vector<std::string>& devices,
                RunProgress* progress);

// Where the ends of a run's jobs go.
struct JobEnds {
  std::string run, owner;
  bool json = false,
       quiet = false;  // what is printed: a line of JSON each, or only what could not be judged, or nothing
  Store* store = nullptr;
  RunProgress* progress = nullptr;
};

// Stores how one job ended, and prints it where that is wanted. `told`: what a printed evaluation says besides.
Status KeepEnd(const JobEnds& ends, const Job& job, const TaskEnd& end,
               const nlohmann::json& told = nlohmann::json::object());

// "cpu", "cuda", "cuda:0,cuda:1" or "cuda:0-3" as a list; a usage error if it mixes CPU and GPUs or names one twice,
// and an error if one is not on this machine, before anything waits for it or a model is paid.
Result<std::vector<std::string>> FindDevices(const std::string& text);

// Of the problem's source; "" if it cannot be read, which is for its judge to say.
std::string ProblemTextHash(const ProblemFile& problem);

// Finds each problem once.
class ProblemFinder {
 public:
  explicit ProblemFinder(std::filesystem::path directory) : directory_(std::move(directory)) {}
  const Result<ProblemFile>& Find(const std::string& name);
  const std::string& TextHash(const ProblemFile& problem);  // ProblemTextHash()

 private:
  std::filesystem::path directory_;
  std::map<std::string, Result<ProblemFile>> found_;
  std::map<std::filesystem::path, std::string> texts_;
};

}  // namespace kb::cli

#endif  // CLI_RUN_TASKS_H_
