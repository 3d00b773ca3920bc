// Claims jobs, has them judged, keeps their results and tells of them: eval, run, generate, rejudge and whatever else
// has candidates judged. Each loop can be interrupted by itself; Ctrl-C interrupts all.
#ifndef JOBS_JOB_LOOP_H_
#define JOBS_JOB_LOOP_H_

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "jobs/executor.h"
#include "jobs/queue.h"

namespace kb {

// How a job ended for this loop.
struct JobEnd {
  Job job;
  std::string device;
  bool elsewhere = false;  // another one judges the job or did so in the meantime
  // As it was kept, unless `elsewhere`. An error says nothing about the candidate; kInterrupted says that this loop has
  // not judged it, for an interrupt, its own end, or because another one has the job.
  Result<nlohmann::json> evaluation = Fail(ErrorCode::kInterrupted, "not judged here");
};

struct JobLoopOptions {
  ExecutorMaker executor;  // who judges; empty: a scheduler of this process does, with the next three
  JudgeMaker make_judge;
  std::vector<std::string> devices = {"cpu"};
  int compilations = 0;    // as SchedulerOptions
  Queue* queue = nullptr;  // outlives the loop
  // An error of the queue, whose disk is full, say, ends nothing: what it concerns is tried again until the queue
  // works.
  bool patient = false;
  // Called once for each job whose turn came, one call at a time, on any thread; an interrupt keeps turns from coming.
  // An error ends the loop: nothing more begins.
  std::function<Status(const JobEnd& end)> tell;
  std::function<void(const Job& job)> begun;    // its turn has come: it is prepared; on any thread; may be empty
  std::function<void(const Job& job)> judging;  // it is now; may be empty
  std::function<void(const Job& job)> put_off;  // it will be once more, later; may be empty
  std::function<void(const Span& span)> span;   // one call at a time; may be empty
};

class JobLoop {
 public:
  static Result<std::unique_ptr<JobLoop>> Create(JobLoopOptions options);
  JobLoop(const JobLoop&) = delete;  // threads refer to it
  JobLoop& operator=(const JobLoop&) = delete;
  ~JobLoop();  // as Stop()

  // A queued job, and how it is judged; its id, size, client and priority are the job's.
  void Submit(const Job& job, Task task);
  // For `why`, which begins with "cancelled". What this loop is preparing or judging ends soon, and nothing is kept of
  // it. False if it has ended, or another one has it.
  Result<bool> Cancel(int64_t id, const std::string& why);
  // What ended this loop: the first error of the queue or of `tell`, or an interrupt.
  Status status() const;
  // Of a patient one: what it waits for, if it does.
  Status trouble() const;
  // Waits until all that was submitted has ended, or an interrupt.
  void Drain() { executor_->Drain(); }
  // As Ctrl-C: what is being judged is queued again.
  void Interrupt() { executor_->Interrupt(); }
  // Begins nothing more, ends what is prepared as an interrupt does, and waits for what is being judged. The first
  // error of the queue or of `tell`; kInterrupted after an interrupt.
  Status Stop();
  // After Stop().
  std::vector<DeviceTime> Times() const { return executor_->Times(); }

 private:
  explicit JobLoop(JobLoopOptions options) : options_(std::move(options)) {}
  struct Submitted {
    Job job;
    Task task;
  };
  Job Take(int64_t id);  // it has ended
  Job JobOf(int64_t id) const;
  bool Begin(int64_t id);
  void End(ExecutorEnd end);
  bool KeepAndTell(JobEnd end);
  // False: the job is another one's.
  Result<bool> Keep(const JobEnd& end);
  void Tell(const JobEnd& end);
  void EndBy(const Error& error);
  bool Postpone(const Error& error);
  void TryAgain();
  void Attend();

  const JobLoopOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  std::map<int64_t, Submitted> jobs_;  // and not ended
  // Of a patient one: what could not be claimed, what could not be kept, and why.
  std::vector<int64_t> postponed_;
  std::vector<JobEnd> unkept_;
  std::optional<Error> trouble_;
  int64_t trouble_ns_ = 0;  // when it was met last
  Status status_;
  bool stopping_ = false;
  std::mutex telling_;  // held while the caller's function is called
  std::thread attending_;
  std::unique_ptr<Executor> executor_;  // the last: its threads use the others
};

}  // namespace kb

#endif  // JOBS_JOB_LOOP_H_
