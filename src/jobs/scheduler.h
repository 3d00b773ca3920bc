// Makes many evaluations on one or several devices: each device has a thread and a judge of its own, and all share one
// pool of threads that prepare candidates. Nothing here knows where tasks come from or where results go.
#ifndef JOBS_SCHEDULER_H_
#define JOBS_SCHEDULER_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/interrupt.h"
#include "jobs/judge.h"
#include "jobs/prepare_pool.h"
#include "jobs/task_queue.h"

namespace kb {

// How one task ended. An error says nothing about the candidate: the engine or this machine failed at this task and at
// all others, the request could not be judged at all (kUsage, kUnavailable), or it was interrupted
// (kInterrupted).
struct TaskEnd {
  int64_t id = 0;
  std::string device;
  Result<Evaluation> evaluation;
};

// What one lane did when: a thread that prepares ("prepare 0") or a device ("cpu").
struct Span {
  std::string lane, name;            // name: of a problem, or of what was prepared
  int64_t start_ns = 0, end_ns = 0;  // NowNs()
  double calls_us = 0;               // on a device: of it, calls of candidate and reference themselves
  std::string client = {};           // on a device: whose task it was
};

// What a device's time went into, in seconds.
struct DeviceTime {
  std::string device;
  double judging = 0;
  // Idle, by cause.
  double builds = 0;   // all that it could judge was being built
  double no_task = 0;  // there was nothing to judge
  double engine = 0;   // candidates were read, processes started, results told
};

struct SchedulerOptions {
  JudgeMaker make_judge;
  std::vector<std::string> devices = {"cpu"};
  bool on_host = true;   // what they compute with are the cores that compilers would take
  int compilations = 0;  // at the same time; 0: as many as cores, less those that a GPU's judge needs
  // Asked when a task's turn comes; false: it is somebody else's, and is forgotten. Called on any thread.
  std::function<bool(int64_t id)> begin;
  std::function<void(const Task& task)> judging;  // it is now; on the device's thread; may be empty
  std::function<void(const Task& task)> put_off;  // it will be judged once more, later; likewise
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
  // Takes back what has not begun. False if it has: then it ends soon, with kInterrupted unless it has ended already.
  bool Cancel(int64_t id);
  // Waits until all that was submitted has ended, or an interrupt.
  void Drain();
  // Ends all that began with kInterrupted, also what is being judged or built, and begins nothing more: as Ctrl-C does.
  void Interrupt();
  bool interrupted() const { return interrupted_ || Interrupted(); }
  // Begins nothing more, ends what is prepared with kInterrupted, and waits for what is being judged.
  void Stop();
  // Until Stop() of all devices; after it.
  std::vector<DeviceTime> Times() const;

 private:
  using Flag = std::shared_ptr<std::atomic<bool>>;
  struct Begun {
    Task task;
    Request request;
    std::shared_ptr<Result<Prepared>> prepared;  // when the ticket is done
    PreparePool::TicketPtr ticket;
    bool again = false;              // it is prepared for the second time
    std::optional<Error> failure;    // of the engine, when it was judged first
    std::optional<Evaluation> busy;  // it was judged already, on a machine that was too busy for a number
  };
  struct Device {
    int index = 0;
    std::string name;
    bool overlaps = false;         // compilers work while it judges
    std::shared_ptr<Judge> judge;  // its builds hold it too
    std::deque<Begun> window;      // begun, being built, next to be judged; as PlaceFor() orders them
    bool judged = false;           // some task, without an error
    std::vector<Begun> failed;     // those whose engine failed, as long as none was judged
    std::vector<Begun> busy;       // judged again at the end of what its client wants
    DeviceTime time;
    int64_t since_ns = 0;  // when the last part of it ended
    std::thread thread;
  };

  explicit Scheduler(SchedulerOptions options);
  void Serve(Device* device);
  bool Refill(Device* device);
  std::optional<Task> NextTask(Device* device, bool windowed);
  static size_t PlaceFor(const Device& device, const Task& task);
  void Prepare(Device* device, Task task);
  bool EndIfCancelled(const Device& device, const Begun& begun);
  void EndUnjudged(const Device& device, Begun begun);
  void PutIntoWindow(Device* device, Begun begun);
  std::optional<Begun> TakeReady(Device* device);
  void JudgeNext(Device* device, Begun begun);
  Result<Evaluation> Evaluate(Device* device, Begun* begun);
  void Lend(Device* device, const Begun& begun);
  void TellSpan(Span span);
  // What passed since the last call goes there.
  static void Spent(Device* device, double DeviceTime::*part);
  void PrepareBegun(Device* device, Begun begun);
  void AddLacking(Device* device, Begun begun);
  // One under which an engine that judges others fails, and fails again after others, is itself the cause.
  void JudgeFailedAgain(Device* device);
  void JudgeBusyAgain(Device* device);
  void EndFailed(Device* device);
  void End(TaskEnd end);
  void Forget(int64_t id, const Flag& flag);
  bool Ending() const { return stopping_ || interrupted(); }
  PreparePool::TicketPtr Start(const Begun& begun, std::function<void()> build);

  SchedulerOptions options_;
  std::atomic<bool> interrupted_ = false, stopping_ = false, builds_end_ = false;
  std::vector<std::unique_ptr<Device>> devices_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  TaskQueue queue_;
  size_t open_ = 0;                // submitted and not ended
  std::map<int64_t, Flag> flags_;  // of those: Task::cancelled
  std::mutex telling_;             // held while the caller's functions are called
  PreparePool pool_;
};

}  // namespace kb

#endif  // JOBS_SCHEDULER_H_
