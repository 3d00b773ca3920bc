#include "jobs/scheduler.h"

#include <algorithm>

#include "base/clock.h"
#include "base/cores.h"
#include "base/interrupt.h"

namespace kb {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(50);  // how soon an interrupt is noticed while nothing happens

// On a GPU a judge, a runner and their Python need cores of their own while compilers work.
int BuildThreads(const SchedulerOptions& options) {
  if (options.evaluator.jobs > 0) return options.evaluator.jobs;
  const bool gpu = options.devices.front() != "cpu";
  return gpu ? std::max(1, CoreCount() - 3 * static_cast<int>(options.devices.size())) : CoreCount();
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options)
    : options_(std::move(options)),
      pool_(BuildThreads(options_), [this](int thread, const std::string& key, int64_t start, int64_t end) {
        const std::lock_guard lock(telling_);
        if (options_.span) options_.span({"build " + std::to_string(thread), key.substr(0, 12), start, end, 0});
      }) {}

Result<std::unique_ptr<Scheduler>> Scheduler::Create(SchedulerOptions options) {
  KB_CHECK(!options.devices.empty() && options.begin && options.end);
  std::unique_ptr<Scheduler> scheduler(new Scheduler(std::move(options)));
  for (const std::string& name : scheduler->options_.devices) {
    EvaluatorOptions own = scheduler->options_.evaluator;
    own.device = name;
    if (own.threads <= 0) own.threads = std::max(1, CoreCount() / static_cast<int>(scheduler->options_.devices.size()));
    auto device = std::make_unique<Device>();
    KB_ASSIGN_OR_RETURN(device->evaluator, Evaluator::Create(own));
    device->index = static_cast<int>(scheduler->devices_.size());
    device->name = name;
    scheduler->devices_.push_back(std::move(device));
  }
  for (const auto& device : scheduler->devices_) {
    device->thread = std::thread([&s = *scheduler, d = device.get()] { s.Serve(d); });
  }
  return scheduler;
}

Scheduler::~Scheduler() { Stop(); }

void Scheduler::Submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.Push(std::move(task));
    ++open_;
  }
  changed_.notify_all();
}

void Scheduler::Drain() {
  std::unique_lock lock(mutex_);
  while (open_ > 0 && !Interrupted()) changed_.wait_for(lock, kPoll);
}

void Scheduler::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  pool_.Drop();
  for (const auto& device : devices_) {
    if (device->thread.joinable()) device->thread.join();
  }
}

bool Scheduler::Ending() const {
  const std::lock_guard lock(mutex_);
  return stopping_ || Interrupted();
}

// The life of one device: tasks are taken ahead, so that compilers work while the device judges. On the CPU they would
// take the cores that are timed; there they work first, and a whole window is judged after it.
void Scheduler::Serve(Device* device) {
  const bool overlaps = device->name != "cpu";
  while (!Ending()) {
    const bool any = (overlaps || device->window.empty()) && Refill(device);
    if (device->window.empty()) {
      std::unique_lock lock(mutex_);
      if (!any && queue_.size() == 0 && device->failed.empty()) changed_.wait_for(lock, kPoll);
      lock.unlock();
      if (!any) EndFailed(device);
      continue;
    }
    if (!overlaps) {
      for (const Begun& begun : device->window) pool_.Await({begun.ticket});
    }
    if (auto begun = TakeReady(device)) Judge(device, std::move(*begun));
  }
  for (const Begun& begun : device->window) {
    End({begun.task.id, device->name, 0, Fail(ErrorCode::kInterrupted, "interrupted")});
  }
  device->window.clear();
  EndFailed(device);
}

// Takes tasks until enough are being built. True if there was any.
bool Scheduler::Refill(Device* device) {
  const size_t ahead = static_cast<size_t>(std::max(4, 2 * BuildThreads(options_) * (device->name == "cpu" ? 4 : 1)));
  bool any = false;
  while (device->window.size() < ahead && !Ending()) {
    std::unique_lock lock(mutex_);
    std::optional<Task> task = queue_.Pop(device->index);
    if (!task) break;
    any = true;
    lock.unlock();
    if (!options_.begin(task->id)) {
      lock.lock();
      --open_;
      changed_.notify_all();
      continue;
    }
    auto candidate = task->read();
    if (!candidate) {
      End({task->id, device->name, 1, tl::make_unexpected(candidate.error())});
      continue;
    }
    Begun begun{std::move(*task), {}, {}, {}, 0};
    begun.request = {begun.task.problem, begun.task.size, std::move(*candidate), *begun.task.protocol};
    (void)device->evaluator->MakeReady(begun.request);  // what fails Prepare() tells
    begun.prepared = std::make_shared<Result<Prepared>>(Fail(ErrorCode::kInterrupted, "interrupted"));
    begun.ticket =
        pool_.Submit(std::to_string(begun.task.id), [evaluator = device->evaluator, request = begun.request,
                                                     to = begun.prepared] { *to = evaluator->Prepare(request); });
    device->window.push_back(std::move(begun));
  }
  return any;
}

// The first whose builds are done, so that a slow compilation holds nobody up.
std::optional<Scheduler::Begun> Scheduler::TakeReady(Device* device) {
  const auto ready = std::find_if(device->window.begin(), device->window.end(),
                                  [&](const Begun& begun) { return pool_.Done(begun.ticket); });
  if (ready == device->window.end()) {
    pool_.AwaitAny({device->window.front().ticket}, kPoll);
    return std::nullopt;
  }
  Begun begun = std::move(*ready);
  device->window.erase(ready);
  return begun;
}

void Scheduler::Judge(Device* device, Begun begun) {
  std::vector<RunnerNeeds> ahead;
  for (const Begun& later : device->window) {
    if (ahead.size() < RunnersAhead(device->name)) ahead.push_back(NeedsOf(later.request));
  }
  TaskEnd end{begun.task.id, device->name, 0, Fail(ErrorCode::kEngine, "not judged")};
  Result<Prepared>& prepared = *begun.prepared;
  const int64_t start = NowNs();
  while (begun.failures < options_.attempts && !Ending()) {
    if (!prepared && begun.failures > 0) prepared = PrepareHere(device, begun.request);
    end.evaluation = prepared ? device->evaluator->Evaluate(&*prepared, ahead) : tl::make_unexpected(prepared.error());
    if (end.evaluation || end.evaluation.error().code != ErrorCode::kEngine) break;
    ++begun.failures;
  }
  end.attempts = std::min(begun.failures + 1, options_.attempts);
  if (!end.evaluation && Ending()) end.evaluation = Fail(ErrorCode::kInterrupted, "interrupted");
  Span span{device->name, begun.task.problem.name, start, NowNs(), 0};
  if (end.evaluation) {
    const auto calls = end.evaluation->engine_us.find("calls");
    if (calls != end.evaluation->engine_us.end()) span.calls_us = calls->second;
  }
  if (options_.span) {
    const std::lock_guard lock(telling_);
    options_.span(span);
  }
  if (end.evaluation && prepared->lacking) return GiveBack(device, std::move(begun));
  const bool failed = !end.evaluation && end.evaluation.error().code == ErrorCode::kEngine;
  device->judged |= end.evaluation.has_value();
  if (failed && prepared) {
    device->failed.emplace_back(begun.request, std::move(end));
  } else {
    End(std::move(end));
  }
  if (device->judged) EndFailed(device);
}

Result<Prepared> Scheduler::PrepareHere(Device* device, const Request& request) {
  KB_RETURN_IF_ERROR(device->evaluator->MakeReady(request));
  return device->evaluator->Prepare(request);
}

// A call asked for an extension: the device is free while that is built.
void Scheduler::GiveBack(Device* device, Begun begun) {
  begun.ticket = pool_.Submit(std::to_string(begun.task.id), [evaluator = device->evaluator, to = begun.prepared] {
    if (const Status built = evaluator->AddLacking(&**to); !built) *to = tl::make_unexpected(built.error());
  });
  device->window.push_back(std::move(begun));
}

void Scheduler::EndFailed(Device* device) {
  for (auto& [request, end] : std::exchange(device->failed, {})) {
    if (device->judged) end.evaluation = device->evaluator->Charge(request, end.evaluation.error());
    End(std::move(end));
  }
}

void Scheduler::End(TaskEnd end) {
  {
    const std::lock_guard lock(telling_);
    options_.end(std::move(end));
  }
  {
    const std::lock_guard lock(mutex_);
    --open_;
  }
  changed_.notify_all();
}

}  // namespace kb
