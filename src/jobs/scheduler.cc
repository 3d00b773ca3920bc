#include "jobs/scheduler.h"

#include <algorithm>

#include "base/clock.h"
#include "base/cores.h"

namespace kb {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(50);  // how soon an interrupt is noticed while nothing happens
constexpr size_t kReadyAhead = 8;  // prepared candidates that wait for a device while others are being built
constexpr size_t kMostBusy = 64;   // candidates that wait for a quieter machine
constexpr size_t kWorthALane = 8;  // candidates that wait are worth the start of another lane

// A GPU's judge, runner and reference have cores of their own while compilers work.
int Compilations(const SchedulerOptions& options) {
  if (options.compilations > 0) return options.compilations;
  if (options.on_host) return CoreCount();
  return std::max(1, CoreCount() - static_cast<int>(kSeatThreads * options.devices.size()));
}

// So many of a device's tasks may be in preparation. Those that compile wait for each other, and none for them that
// finds all it needs in the cache.
size_t Ahead(const SchedulerOptions& options) {
  const int windows = options.on_host ? 4 : 1;
  return static_cast<size_t>(std::clamp(2 * Compilations(options) * windows, 4, 128));
}

bool MetABusyMachine(const Evaluation& evaluation) {
  return evaluation.verdict == Verdict::kCorrect && evaluation.timings.no_speedup == kMachineBusy;
}

}  // namespace

Scheduler::Scheduler(SchedulerOptions options)
    : options_(std::move(options)), pool_([this](int thread, const std::string& key, int64_t start, int64_t end) {
        const std::lock_guard lock(telling_);
        if (options_.span) options_.span({"prepare " + std::to_string(thread), key, "", start, end, 0});
      }) {}

Result<std::unique_ptr<Scheduler>> Scheduler::Create(SchedulerOptions options) {
  KB_CHECK(!options.devices.empty() && options.make_judge && options.begin && options.end);
  std::unique_ptr<Scheduler> scheduler(new Scheduler(std::move(options)));
  const SchedulerOptions& wanted = scheduler->options_;
  Shares shares{std::make_shared<Slots>(Compilations(wanted)), std::make_shared<Seating>(ThreadsByCore()), nullptr};
  for (const std::string& name : wanted.devices) {
    shares.lanes = std::make_shared<Lanes>(wanted.lanes);
    const auto judged = std::make_shared<std::atomic<bool>>(false);
    for (int lane = 1; lane <= wanted.lanes; ++lane) {
      auto device = std::make_unique<Device>();
      KB_ASSIGN_OR_RETURN(device->judge, wanted.make_judge(name, shares));
      device->index = static_cast<int>(scheduler->devices_.size());
      device->name = device->lane = device->time.device = name;
      if (wanted.lanes > 1) device->lane += " lane " + std::to_string(lane);
      device->overlaps = !wanted.on_host;
      device->started = lane == 1;
      device->judged = judged;
      scheduler->devices_.push_back(std::move(device));
    }
  }
  for (const auto& device : scheduler->devices_) {
    device->since_ns = NowNs();
    device->thread = std::thread([&s = *scheduler, d = device.get()] {
      const WorksUnder flag(s.interrupted_);
      s.Serve(d);
    });
  }
  return scheduler;
}

Scheduler::~Scheduler() { Stop(); }

void Scheduler::Interrupt() { interrupted_ = builds_end_ = true; }

PreparePool::TicketPtr Scheduler::Start(const Begun& begun, std::function<void()> build) {
  return pool_.Submit(std::to_string(begun.task.id), [this, build = std::move(build)] {
    const WorksUnder flag(builds_end_);
    build();
  });
}

void Scheduler::Submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    queue_.Push(std::move(task));
    ++open_;
  }
  changed_.notify_all();
}

bool Scheduler::Cancel(int64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (!queue_.Remove(id)) return false;
    --open_;
  }
  changed_.notify_all();
  return true;
}

void Scheduler::Drain() {
  std::unique_lock lock(mutex_);
  while (open_ > 0 && !Ending()) changed_.wait_for(lock, kPoll);
}

void Scheduler::Stop() {
  stopping_ = builds_end_ = true;
  changed_.notify_all();
  for (const auto& device : devices_) {
    if (device->thread.joinable()) device->thread.join();
  }
}

std::vector<DeviceTime> Scheduler::Times() const {
  std::vector<DeviceTime> times;
  for (const auto& device : devices_) {
    if (times.empty() || times.back().device != device->name) times.push_back({.device = device->name});
    for (double DeviceTime::*part :
         {&DeviceTime::judging, &DeviceTime::builds, &DeviceTime::no_task, &DeviceTime::engine}) {
      times.back().*part += device->time.*part / options_.lanes;
    }
  }
  return times;
}

void Scheduler::Spent(Device* device, double DeviceTime::*part) {
  const int64_t now = NowNs();
  device->time.*part += static_cast<double>(now - std::exchange(device->since_ns, now)) / 1e9;
}

// The life of one lane: tasks are taken ahead, so that compilers work while the device judges. On the CPU they would
// take the cores that are timed; there they work first, and a whole window is judged after it, unless something more
// urgent comes.
void Scheduler::Serve(Device* device) {
  while (!Ending()) {
    if (!WorthStarting(device)) {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kPoll);
      lock.unlock();
      Spent(device, &DeviceTime::no_task);
      continue;
    }
    device->judge->GiveWay();
    if (*device->judged) JudgeFailedAgain(device);
    const bool any = Refill(device);
    auto begun = any || !WindowEmpty(*device) ? std::nullopt : TakeFromOtherLane(device);
    if (begun) {
      JudgeTaken(device, std::move(*begun));
      continue;
    }
    if (device->busy.size() >= kMostBusy || (!any && WindowEmpty(*device))) JudgeBusyAgain(device);
    Spent(device, &DeviceTime::engine);
    if (WindowEmpty(*device)) {
      device->judge->Rest();
      std::unique_lock lock(mutex_);
      if (!any && queue_.size() == 0) changed_.wait_for(lock, kPoll);
      const bool nobody = !any && JudgesNobody(*device);
      lock.unlock();
      if (nobody) EndFailed(device);
      Spent(device, &DeviceTime::no_task);
      continue;
    }
    if (!device->overlaps) AwaitWindow(*device);
    if (Ending()) break;
    begun = TakeReady(device);
    if (!begun) device->judge->Rest();
    Spent(device, &DeviceTime::builds);
    if (begun) JudgeTaken(device, std::move(*begun));
  }
  if (*device->judged) JudgeFailedAgain(device);  // as what has not been judged
  std::unique_lock lock(mutex_);
  std::deque<Begun> window = std::exchange(device->window, {});
  lock.unlock();
  for (Begun& begun : window) {
    Result<Evaluation> interrupted = Fail(ErrorCode::kInterrupted, "interrupted");
    End({begun.task.id, device->name, begun.busy ? std::move(*begun.busy) : std::move(interrupted)});
  }
  for (Begun& begun : std::exchange(device->busy, {})) End({begun.task.id, device->name, std::move(*begun.busy)});
  EndFailed(device);
  device->judge->EndLane();
  Spent(device, &DeviceTime::engine);
}

// The next task, unless enough are in preparation or ready that come before it, or it is not more urgent than `above`.
std::optional<Task> Scheduler::NextTask(Device* device, std::optional<int> above) {
  const std::lock_guard lock(mutex_);
  device->judging = false;
  const std::optional<int> next = queue_.TopPriority();
  if (!next || Ending() || (above && *next <= *above)) return std::nullopt;
  size_t ready = 0, unready = 0;
  for (const Begun& begun : device->window) {
    if (begun.task.priority >= *next) ++(pool_.Done(begun.ticket) ? ready : unready);
  }
  const size_t ahead = Ahead(options_);
  const bool enough = device->overlaps ? unready >= ahead || ready >= kReadyAhead : ready + unready >= ahead;
  auto task = enough ? std::nullopt : queue_.Pop(device->index);
  device->judging = task.has_value();
  return task;
}

// Its processes take seconds to start.
bool Scheduler::WorthStarting(Device* device) {
  const std::lock_guard lock(mutex_);
  size_t waiting = queue_.size();
  for (const auto& lane : devices_) waiting += lane->name == device->name ? lane->window.size() : 0;
  return device->started |= waiting >= kWorthALane;
}

// Takes tasks until there are enough. True if there was any.
bool Scheduler::Refill(Device* device) {
  std::optional<int> above;  // the window is being judged: only what is more urgent than all of it
  {
    const std::lock_guard lock(mutex_);
    if (!device->overlaps && !device->window.empty()) above = device->window.front().task.priority;
  }
  bool any = false;
  while (std::optional<Task> task = NextTask(device, above)) {
    any = true;
    if (options_.begin(task->id)) {
      Prepare(device, std::move(*task));
      continue;
    }
    const std::lock_guard lock(mutex_);
    --open_;
    changed_.notify_all();
  }
  return any;
}

void Scheduler::Prepare(Device* device, Task task) {
  auto candidate = task.read();
  if (!candidate) {
    End({task.id, device->name, tl::make_unexpected(candidate.error())});
    return;
  }
  Begun begun{std::move(task), {}, {}, {}, false};
  begun.request = std::make_shared<const Request>(
      Request{begun.task.problem, begun.task.size, std::move(*candidate), *begun.task.protocol});
  begun.prepared = std::make_shared<Result<Prepared>>(Fail(ErrorCode::kInterrupted, "interrupted"));
  PrepareBegun(device, std::move(begun));
}

void Scheduler::PrepareBegun(Device* device, Begun begun) {
  (void)device->judge->MakeReady(*begun.request);  // what fails Prepare() tells
  begun.ticket = Start(
      begun, [judge = device->judge, request = begun.request, to = begun.prepared] { *to = judge->Prepare(*request); });
  PutIntoWindow(device, std::move(begun));
}

// A call asked for an extension: the device is free while that is built.
void Scheduler::AddLacking(Device* device, Begun begun) {
  begun.ticket = Start(begun, [judge = device->judge, to = begun.prepared] {
    if (const Status built = judge->AddLacking(&**to); !built) *to = tl::make_unexpected(built.error());
  });
  PutIntoWindow(device, std::move(begun));
}

void Scheduler::PutIntoWindow(Device* device, Begun begun) {
  const std::lock_guard lock(mutex_);
  const auto later = std::find_if(device->window.begin(), device->window.end(),
                                  [&](const Begun& other) { return other.task.priority < begun.task.priority; });
  device->window.insert(later, std::move(begun));
}

// The first that is prepared, so that a slow compilation holds nobody up.
std::optional<Scheduler::Begun> Scheduler::TakeReady(Device* device) {
  std::unique_lock lock(mutex_);
  std::deque<Begun>& window = device->window;
  if (window.empty()) return std::nullopt;
  const auto ready =
      std::find_if(window.begin(), window.end(), [&](const Begun& begun) { return pool_.Done(begun.ticket); });
  if (ready == window.end()) {
    const PreparePool::TicketPtr first = window.front().ticket;
    lock.unlock();
    pool_.AwaitAny({first}, kPoll);
    return std::nullopt;
  }
  Begun begun = std::move(*ready);
  window.erase(ready);
  device->judging = true;
  return begun;
}

// A lane that has nothing else to do judges what another one would come to last.
std::optional<Scheduler::Begun> Scheduler::TakeFromOtherLane(Device* device) {
  const std::lock_guard lock(mutex_);
  for (const auto& other : devices_) {
    if (other.get() == device || other->name != device->name) continue;
    std::deque<Begun>& window = other->window;
    const auto ready =
        std::find_if(window.rbegin(), window.rend(), [&](const Begun& begun) { return pool_.Done(begun.ticket); });
    if (ready == window.rend()) continue;
    Begun begun = std::move(*ready);
    window.erase(std::next(ready).base());
    device->judging = true;
    return begun;
  }
  return std::nullopt;
}

bool Scheduler::WindowEmpty(const Device& device) const {
  const std::lock_guard lock(mutex_);
  return device.window.empty();
}

void Scheduler::AwaitWindow(const Device& device) {
  std::vector<PreparePool::TicketPtr> tickets;
  {
    const std::lock_guard lock(mutex_);
    for (const Begun& begun : device.window) tickets.push_back(begun.ticket);
  }
  for (const PreparePool::TicketPtr& ticket : tickets) pool_.Await({ticket});
}

Result<Evaluation> Scheduler::Evaluate(Device* device, Begun* begun) {
  std::vector<std::shared_ptr<const Request>> window;  // another lane may take what waits
  {
    const std::lock_guard lock(mutex_);
    for (const Begun& later : device->window) window.push_back(later.request);
  }
  std::vector<const Request*> ahead;
  for (const auto& later : window) ahead.push_back(later.get());
  Result<Prepared>& prepared = *begun->prepared;
  Result<Evaluation> evaluation =
      prepared ? device->judge->Evaluate(&*prepared, ahead) : tl::make_unexpected(prepared.error());
  if (!evaluation && Ending()) evaluation = Fail(ErrorCode::kInterrupted, "interrupted");
  return evaluation;
}

void Scheduler::JudgeTaken(Device* device, Begun begun) {
  JudgeNext(device, std::move(begun));
  const std::lock_guard lock(mutex_);
  device->judging = false;
}

void Scheduler::JudgeNext(Device* device, Begun begun) {
  // What failed beside others may not fail again.
  const Result<Prepared>& prepared = *begun.prepared;
  if (!prepared && prepared.error().code == ErrorCode::kEngine && !std::exchange(begun.again, true)) {
    return PrepareBegun(device, std::move(begun));
  }
  if (options_.judging) options_.judging(begun.task);
  Span span{device->lane, begun.task.problem.name, device->name, NowNs(), 0, 0};
  TaskEnd end{begun.task.id, device->name, Evaluate(device, &begun)};
  span.end_ns = NowNs();
  Spent(device, &DeviceTime::judging);
  if (!end.evaluation && begun.busy) end.evaluation = std::move(*begun.busy);
  if (end.evaluation) {
    const auto calls = end.evaluation->engine_us.find("calls");
    if (calls != end.evaluation->engine_us.end()) span.calls_us = calls->second;
  }
  if (options_.span) {
    const std::lock_guard lock(telling_);
    options_.span(span);
  }
  if (end.evaluation && prepared && prepared->lacking) return AddLacking(device, std::move(begun));
  const bool failed = !end.evaluation && end.evaluation.error().code == ErrorCode::kEngine && prepared;
  if (failed && !begun.failure) {
    begun.failure = end.evaluation.error();
    device->failed.push_back(std::move(begun));
  } else if (end.evaluation && MetABusyMachine(*end.evaluation) && !begun.busy) {
    *device->judged = true;
    begun.busy = std::move(*end.evaluation);
    device->busy.push_back(std::move(begun));
  } else {
    if (failed) end.evaluation = device->judge->Charge(*begun.request, end.evaluation.error());
    begun.prepared.reset();  // what it holds of the cache is free
    if (end.evaluation) *device->judged = true;
    End(std::move(end));
  }
}

// After what is ready.
void Scheduler::JudgeFailedAgain(Device* device) {
  for (Begun& begun : std::exchange(device->failed, {})) PutIntoWindow(device, std::move(begun));
}

// What kept the machine busy may have been this run's own compilers, or have ended meanwhile.
void Scheduler::JudgeBusyAgain(Device* device) {
  for (Begun& begun : std::exchange(device->busy, {})) PutIntoWindow(device, std::move(begun));
}

// No lane of the device has judged any, or may yet.
bool Scheduler::JudgesNobody(const Device& device) const {
  return !*device.judged && std::all_of(devices_.begin(), devices_.end(), [&](const auto& lane) {
    return lane->name != device.name || (lane->window.empty() && !lane->judging);
  });
}

// No other was judged, so the device is the cause.
void Scheduler::EndFailed(Device* device) {
  for (const Begun& begun : std::exchange(device->failed, {})) {
    End({begun.task.id, device->name, tl::make_unexpected(*begun.failure)});
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
