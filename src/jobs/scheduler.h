// Makes many evaluations on one or several devices: each device has a thread and an evaluator of its own, and all share
// one pool of compilers. Used by `kernelbench run`; nothing here knows where tasks come from or where results go.
#ifndef JOBS_SCHEDULER_H_
#define JOBS_SCHEDULER_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "jobs/build_pool.h"
#include "jobs/task_queue.h"
#include "judge/evaluate.h"

namespace kb {

// How one task ended. An error says nothing about the candidate: the engine or this machine failed in every attempt at
// this task and at all others, the request could not be judged at all (kUsage, kUnavailable), or it was interrupted
// (kInterrupted).
struct TaskEnd {
  int64_t id = 0;
  std::string device;
  int attempts = 0;
  Result<Evaluation> evaluation;
};

// What one lane did when: a compiler thread ("build 0") or a device ("cpu").
struct Span {
  std::string lane, name;
  int64_t start_ns = 0, end_ns = 0;  // NowNs()
  double calls_us = 0;               // on a device: of it, calls of candidate and reference themselves
};

struct SchedulerOptions {
  EvaluatorOptions evaluator;  // `device` is not used
  std::vector<std::string> devices = {"cpu"};
  int attempts = 3;  // of a task whose engine fails
  // Asked when a task's turn comes; false: it is somebody else's, and is forgotten. Called on any thread.
  std::function<bool(int64_t id)> begin;
  // Called once for each task that began, one call at a time, on any thread.
  std::function<void(TaskEnd end)> end;
  std::function<void(const Span& span)> span;  // one call at a time; may be empty
};

class Scheduler {
 public:
  static Result<std::unique_ptr<Scheduler>> Create(SchedulerOptions options);
  Scheduler(const Scheduler&) = delete;  // threads refer to it
  Scheduler& operator=(const Scheduler&) = delete;
  ~Scheduler();  // as Stop()

  void Submit(Task task);
  // Waits until all that was submitted has ended, or Interrupted().
  void Drain();
  // Begins nothing more, ends what is prepared with kInterrupted, and waits for what is being judged.
  void Stop();

 private:
  struct Begun {
    Task task;
    Request request;
    std::shared_ptr<Result<Prepared>> prepared;  // when the ticket is done
    BuildPool::TicketPtr ticket;
    int failures = 0;  // of the engine
  };
  struct Device {
    int index = 0;
    std::string name;
    std::shared_ptr<Evaluator> evaluator;             // its builds hold it too
    std::deque<Begun> window;                         // begun, being built, next to be judged
    bool judged = false;                              // some task, without an error
    std::vector<std::pair<Request, TaskEnd>> failed;  // those whose engine failed in every attempt, while none was
    std::thread thread;
  };

  explicit Scheduler(SchedulerOptions options);
  void Serve(Device* device);
  bool Refill(Device* device);
  std::optional<Begun> TakeReady(Device* device);
  void Judge(Device* device, Begun begun);
  static Result<Prepared> PrepareHere(Device* device, const Request& request);
  void GiveBack(Device* device, Begun begun);
  // One under which an engine failed again and again that judges others is itself the cause.
  void EndFailed(Device* device);
  void End(TaskEnd end);
  bool Ending() const;

  SchedulerOptions options_;
  std::vector<std::unique_ptr<Device>> devices_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  TaskQueue queue_;
  size_t open_ = 0;  // submitted and not ended
  bool stopping_ = false;
  std::mutex telling_;  // held while the caller's functions are called
  BuildPool pool_;      // the last, so it ends first: it tells of builds through the others
};

}  // namespace kb

#endif  // JOBS_SCHEDULER_H_
