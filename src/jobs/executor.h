// Makes many evaluations: a scheduler, on the devices of this process, or a service that is warm already
// (server/remote_executor.h).
#ifndef JOBS_EXECUTOR_H_
#define JOBS_EXECUTOR_H_

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/scheduler.h"

namespace kb {

// As TaskEnd.
struct ExecutorEnd {
  int64_t id = 0;
  std::string device;
  Result<nlohmann::json> evaluation;  // docs/reference/evaluation.md
};

// What an executor calls, all on any thread.
struct ExecutorCalls {
  // Asked when a task's turn comes; false: it is somebody else's, and is forgotten.
  std::function<bool(int64_t id)> begin;
  std::function<void(const Task& task)> judging;  // it is now; may be empty
  std::function<void(const Task& task)> put_off;  // it will be once more, later; may be empty
  // Called once for each task that began, one call at a time.
  std::function<void(ExecutorEnd end)> end;
  std::function<void(const Span& span)> span;  // one call at a time; may be empty
};

class Executor {
 public:
  virtual ~Executor() = default;  // as Stop()

  // As Scheduler's.
  virtual void Submit(Task task) = 0;
  virtual bool Cancel(int64_t id) = 0;
  virtual void Drain() = 0;
  virtual void Interrupt() = 0;
  virtual bool interrupted() const = 0;
  virtual void Stop() = 0;
  virtual std::vector<DeviceTime> Times() const = 0;
};

// Of this process.
Result<std::unique_ptr<Executor>> MakeLocalExecutor(SchedulerOptions options, ExecutorCalls calls);

using ExecutorMaker = std::function<Result<std::unique_ptr<Executor>>(ExecutorCalls calls)>;

}  // namespace kb

#endif  // JOBS_EXECUTOR_H_
