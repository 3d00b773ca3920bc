#include "jobs/job_loop.h"

#include <chrono>
#include <utility>

#include "base/clock.h"
#include "jobs/devices.h"

namespace kb {

Result<std::unique_ptr<JobLoop>> JobLoop::Create(JobLoopOptions options) {
  KB_CHECK(options.queue && options.tell);
  std::unique_ptr<JobLoop> loop(new JobLoop(std::move(options)));
  JobLoop* const own = loop.get();
  ExecutorCalls calls;
  calls.begin = [own](int64_t id) { return own->Begin(id); };
  calls.end = [own](ExecutorEnd end) { own->End(std::move(end)); };
  calls.span = own->options_.span;
  if (own->options_.judging) {
    calls.judging = [own](const Task& task) { own->options_.judging(own->JobOf(task.id)); };
  }
  if (own->options_.put_off) {
    calls.put_off = [own](const Task& task) { own->options_.put_off(own->JobOf(task.id)); };
  }
  if (own->options_.executor) {
    KB_ASSIGN_OR_RETURN(own->executor_, own->options_.executor(std::move(calls)));
  } else {
    SchedulerOptions wanted;
    wanted.make_judge = own->options_.make_judge;
    wanted.devices = own->options_.devices;
    wanted.on_host = OnHost(wanted.devices);
    wanted.compilations = own->options_.compilations;
    KB_ASSIGN_OR_RETURN(own->executor_, MakeLocalExecutor(std::move(wanted), std::move(calls)));
  }
  own->attending_ = std::thread([own] { own->Attend(); });
  return loop;
}

JobLoop::~JobLoop() {
  if (executor_) (void)Stop();
}

void JobLoop::Submit(const Job& job, Task task) {
  task.id = job.id;
  task.size = job.size;
  task.client = job.client;
  task.priority = job.priority;
  {
    const std::lock_guard lock(mutex_);
    KB_CHECK(jobs_.emplace(job.id, Submitted{job, task}).second);
  }
  executor_->Submit(std::move(task));
}

// The queue first: once it says so, whatever becomes of the task, or of this process, is not kept.
Result<bool> JobLoop::Cancel(int64_t id, const std::string& why) {
  KB_ASSIGN_OR_RETURN(const bool cancelled, options_.queue->Cancel(id, why));
  if (cancelled && executor_->Cancel(id)) {
    const std::lock_guard lock(mutex_);
    jobs_.erase(id);
  }
  return cancelled;
}

Status JobLoop::trouble() const {
  const std::lock_guard lock(mutex_);
  constexpr int64_t kLatelyNs = 2'000'000'000;  // what is tried again may be about to fail
  const bool waits = !postponed_.empty() || !unkept_.empty() || NowNs() - trouble_ns_ < kLatelyNs;
  return trouble_ && waits ? tl::make_unexpected(*trouble_) : Status();
}

Status JobLoop::status() const {
  const std::lock_guard lock(mutex_);
  if (status_ && executor_->interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
  return status_;
}

// Leases hold until all that was claimed has ended.
Status JobLoop::Stop() {
  executor_->Stop();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  if (attending_.joinable()) attending_.join();
  // What can still not be kept is judged again by whoever has the queue next.
  for (JobEnd& end : std::exchange(unkept_, {})) (void)KeepAndTell(std::move(end));
  return status();
}

void JobLoop::EndBy(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (status_) status_ = tl::make_unexpected(error);
}

Job JobLoop::Take(int64_t id) {
  const std::lock_guard lock(mutex_);
  return std::move(jobs_.extract(id).mapped().job);
}

Job JobLoop::JobOf(int64_t id) const {
  const std::lock_guard lock(mutex_);
  return jobs_.at(id).job;
}

// A task's turn has come.
bool JobLoop::Begin(int64_t id) {
  Result<bool> claimed = false;
  const bool ended = !status();
  if (!ended) claimed = options_.queue->Claim(id);
  if (claimed.value_or(false)) {
    if (options_.begun) options_.begun(JobOf(id));
    return true;
  }
  if (!claimed && Postpone(claimed.error())) {
    const std::lock_guard lock(mutex_);
    postponed_.push_back(id);
    return false;
  }
  if (!claimed) EndBy(claimed.error());
  Tell({.job = Take(id), .elsewhere = claimed && !ended});
  return false;
}

void JobLoop::End(ExecutorEnd task) {
  JobEnd end{.job = Take(task.id), .device = task.device};
  if (task.evaluation) {
    end.evaluation = std::move(task.evaluation);
    if (const std::string run = options_.queue->RunOf(end.job.id); !run.empty()) {
      end.evaluation->update({{"run", run}, {"model", end.job.model}, {"sample", end.job.sample}});
    }
  } else {
    end.evaluation = tl::make_unexpected(task.evaluation.error());
  }
  (void)KeepAndTell(std::move(end));
}

// False: it could not be kept, and will be tried again.
bool JobLoop::KeepAndTell(JobEnd end) {
  const Result<bool> kept = Keep(end);
  if (!kept && Postpone(kept.error())) {
    const std::lock_guard lock(mutex_);
    unkept_.push_back(std::move(end));
    return false;
  }
  if (!kept) {
    EndBy(kept.error());
    end.evaluation = Fail(ErrorCode::kInterrupted, kept.error().message);
  }
  end.elsewhere = kept && !*kept;
  Tell(end);
  return true;
}

bool JobLoop::Postpone(const Error& error) {
  if (!options_.patient || error.code != ErrorCode::kStore) return false;
  const std::lock_guard lock(mutex_);
  trouble_ = error;
  trouble_ns_ = NowNs();
  return true;
}

Result<bool> JobLoop::Keep(const JobEnd& end) {
  if (end.evaluation) return options_.queue->Finish(end.job.id, *end.evaluation);
  return options_.queue->GiveBack(end.job.id, end.evaluation.error());
}

void JobLoop::Tell(const JobEnd& end) {
  const std::lock_guard lock(telling_);
  if (const Status told = options_.tell(end); !told) EndBy(told.error());
}

// What was judged first: it shows whether the queue works.
void JobLoop::TryAgain() {
  std::unique_lock lock(mutex_);
  std::vector<JobEnd> unkept = std::exchange(unkept_, {});
  lock.unlock();
  bool works = true;
  for (JobEnd& end : unkept) {
    if (works) {
      works = KeepAndTell(std::move(end));
      continue;
    }
    const std::lock_guard again(mutex_);
    unkept_.push_back(std::move(end));
  }
  if (!works) return;
  lock.lock();
  std::vector<Task> tasks;
  for (const int64_t id : std::exchange(postponed_, {})) tasks.push_back(jobs_.at(id).task);
  lock.unlock();
  for (Task& task : tasks) executor_->Submit(std::move(task));
}

// A store that is locked for a while loses no lease.
void JobLoop::Attend() {
  constexpr int64_t kSecondNs = 1'000'000'000;
  int64_t renewed = NowNs(), tried = renewed;
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, std::chrono::seconds(1), [&] { return stopping_; })) {
    const bool waits = !postponed_.empty() || !unkept_.empty();
    lock.unlock();
    if (waits) TryAgain();
    if (const int64_t now = NowNs(); now - tried >= kRenewal * kSecondNs) {
      tried = now;
      const Status again = options_.queue->Renew();
      if (again) {
        renewed = now;
      } else if (now - renewed > kLease * kSecondNs && !Postpone(again.error())) {
        EndBy(again.error());
      }
    }
    lock.lock();
  }
}

}  // namespace kb
