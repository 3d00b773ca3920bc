#include "jobs/scheduler.h"

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "base/cores.h"

namespace kb {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(50);  // how soon an interrupt is noticed while nothing happens
constexpr size_t kReadyAhead = 8;  // prepared candidates that wait for a device while others are being built
constexpr size_t kMostBusy = 64;   // candidates that wait for a quieter machine

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
        if (options_.span) options_.span({"prepare " + std::to_string(thread), key, start, end, 0});
      }) {}

Result<std::unique_ptr<Scheduler>> Scheduler::Create(SchedulerOptions options) {
  KB_CHECK(!options.devices.empty() && options.make_judge && options.begin && options.end);
  std::unique_ptr<Scheduler> scheduler(new Scheduler(std::move(options)));
  const SchedulerOptions& wanted = scheduler->options_;
  const Shares shares{static_cast<int>(wanted.devices.size()), std::make_shared<Slots>(Compilations(wanted)),
                      std::make_shared<Seating>(ThreadsByCore())};
  for (const std::string& name : wanted.devices) {
    auto device = std::make_unique<Device>();
    KB_ASSIGN_OR_RETURN(device->judge, wanted.make_judge(name, shares));
    device->index = static_cast<int>(scheduler->devices_.size());
    device->name = device->time.device = name;
    device->overlaps = !wanted.on_host;
    scheduler->devices_.push_back(std::move(device));
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
  {
    const std::lock_guard lock(mutex_);
    queue_.AddBuilds(begun.task.client, 1);
  }
  return pool_.Submit(std::to_string(begun.task.id),
                      [this, build = std::move(build), cancelled = begun.task.cancelled, client = begun.task.client] {
                        const WorksUnder flag(builds_end_), own(*cancelled);
                        build();
                        {
                          const std::lock_guard lock(mutex_);
                          queue_.AddBuilds(client, -1);
                        }
                        changed_.notify_all();
                      });
}

void Scheduler::Submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    task.cancelled = flags_[task.id] = std::make_shared<std::atomic<bool>>(false);
    queue_.Push(std::move(task));
    ++open_;
  }
  changed_.notify_all();
}

bool Scheduler::Cancel(int64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (!queue_.Remove(id)) {
      if (const auto flag = flags_.find(id); flag != flags_.end()) *flag->second = true;
      return false;
    }
  }
  Forget(id, nullptr);
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
  for (const auto& device : devices_) times.push_back(device->time);
  return times;
}

void Scheduler::Spent(Device* device, double DeviceTime::*part) {
  const int64_t now = NowNs();
  device->time.*part += static_cast<double>(now - std::exchange(device->since_ns, now)) / 1e9;
}

// The life of one device: tasks are taken ahead, so that compilers work while the device judges. On the CPU they would
// take the cores that are timed; there they work first, and a whole window is judged after it, unless something more
// urgent comes.
void Scheduler::Serve(Device* device) {
  while (!Ending()) {
    const bool any = Refill(device);
    JudgeBusyAgain(device);
    Spent(device, &DeviceTime::engine);
    if (device->window.empty()) {
      std::unique_lock lock(mutex_);
      if (!any && queue_.Next(device->index) == nullptr && device->failed.empty()) changed_.wait_for(lock, kPoll);
      lock.unlock();
      if (!any) EndFailed(device);
      Spent(device, &DeviceTime::no_task);
      continue;
    }
    if (!device->overlaps) {
      for (const Begun& begun : device->window) pool_.Await({begun.ticket});
    }
    if (Ending()) break;
    auto begun = TakeReady(device);
    Spent(device, &DeviceTime::builds);
    if (begun) JudgeNext(device, std::move(*begun));
  }
  for (Begun& begun : device->window) {
    Result<Evaluation> interrupted = Fail(ErrorCode::kInterrupted, "interrupted");
    End({begun.task.id, device->name, begun.busy ? std::move(*begun.busy) : std::move(interrupted)});
  }
  device->window.clear();
  for (Begun& begun : std::exchange(device->busy, {})) End({begun.task.id, device->name, std::move(*begun.busy)});
  EndFailed(device);
  Spent(device, &DeviceTime::engine);
}

// The next task, unless enough that come before it are in preparation or ready. `windowed`: only if it comes before
// something in the window.
std::optional<Task> Scheduler::NextTask(Device* device, bool windowed) {
  const std::lock_guard lock(mutex_);
  const Task* next = queue_.Next(device->index);
  if (next == nullptr || Ending()) return std::nullopt;
  const size_t place = PlaceFor(*device, *next);
  if (windowed && place == device->window.size()) return std::nullopt;
  size_t ready = 0, unready = 0;
  for (size_t i = 0; i < place; ++i) ++(pool_.Done(device->window[i].ticket) ? ready : unready);
  const size_t ahead = Ahead(options_);
  const bool enough = device->overlaps ? unready >= ahead || ready >= kReadyAhead : ready + unready >= ahead;
  return enough ? std::nullopt : queue_.Pop(device->index);
}

// Takes tasks until there are enough. True if there was any.
bool Scheduler::Refill(Device* device) {
  const bool windowed = !device->overlaps && !device->window.empty();  // the window is being judged
  bool any = false;
  while (std::optional<Task> task = NextTask(device, windowed)) {
    any = true;
    if (options_.begin(task->id)) {
      Prepare(device, std::move(*task));
      continue;
    }
    Forget(task->id, task->cancelled);
  }
  return any;
}

void Scheduler::Prepare(Device* device, Task task) {
  if (task.lease) {
    Begun begun{.task = std::move(task)};
    begun.ticket = Start(begun, [] {});
    return PutIntoWindow(device, std::move(begun));
  }
  auto candidate = task.read();
  if (candidate && task.read_problem) {
    auto text = task.read_problem();
    if (text) task.problem.text = std::move(*text);
    if (!text) candidate = tl::make_unexpected(text.error());
  }
  if (!candidate) {
    End({task.id, device->name, tl::make_unexpected(candidate.error())});
    return;
  }
  Begun begun{.task = std::move(task)};
  begun.request = {begun.task.problem, begun.task.size, std::move(*candidate), *begun.task.protocol, begun.task.watch};
  begun.prepared = std::make_shared<Result<Prepared>>(Fail(ErrorCode::kInterrupted, "interrupted"));
  PrepareBegun(device, std::move(begun));
}

void Scheduler::PrepareBegun(Device* device, Begun begun) {
  (void)device->judge->MakeReady(begun.request);  // what fails Prepare() tells
  begun.ticket = Start(
      begun, [judge = device->judge, request = begun.request, to = begun.prepared] { *to = judge->Prepare(request); });
  PutIntoWindow(device, std::move(begun));
}

// A call asked for an extension: the device is free while that is built.
void Scheduler::AddLacking(Device* device, Begun begun) {
  begun.ticket = Start(begun, [judge = device->judge, to = begun.prepared] {
    if (const Status built = judge->AddLacking(&**to); !built) *to = tl::make_unexpected(built.error());
  });
  PutIntoWindow(device, std::move(begun));
}

// Where in the window it belongs: behind its client's own of its priority and above, and before others' that are a turn
// further on, or in the same turn and less urgent.
size_t Scheduler::PlaceFor(const Device& device, const Task& task) {
  size_t own = 0;
  for (const Begun& begun : device.window) {
    if (begun.task.client == task.client && begun.task.priority >= task.priority) ++own;
  }
  std::map<std::string, size_t> before;  // of each client
  const size_t turn = own / TaskQueue::kTurn;
  for (size_t place = 0; place < device.window.size(); ++place) {
    const Task& other = device.window[place].task;
    const size_t rank = before[other.client]++;
    if (other.client == task.client) {
      if (other.priority < task.priority) return place;
      continue;
    }
    if (before[task.client] < own) continue;  // some of its own come later
    const size_t others_turn = rank / TaskQueue::kTurn;
    if (others_turn > turn || (others_turn == turn && other.priority < task.priority)) return place;
  }
  return device.window.size();
}

void Scheduler::PutIntoWindow(Device* device, Begun begun) {
  const size_t place = PlaceFor(*device, begun.task);
  device->window.insert(device->window.begin() + static_cast<std::ptrdiff_t>(place), std::move(begun));
}

// The first that is prepared, so that a slow compilation holds nobody up. Before it what nobody wants judged.
std::optional<Scheduler::Begun> Scheduler::TakeReady(Device* device) {
  const auto begin = device->window.begin(), end = device->window.end();
  auto ready =
      std::find_if(begin, end, [&](const Begun& begun) { return begun.task.build_only && pool_.Done(begun.ticket); });
  if (ready == end) ready = std::find_if(begin, end, [&](const Begun& begun) { return pool_.Done(begun.ticket); });
  if (ready == device->window.end()) {
    pool_.AwaitAny({device->window.front().ticket}, kPoll);
    return std::nullopt;
  }
  Begun begun = std::move(*ready);
  device->window.erase(ready);
  return begun;
}

Result<Evaluation> Scheduler::Evaluate(Device* device, Begun* begun) {
  std::vector<const Request*> ahead;
  for (const Begun& later : device->window) {
    if (!later.task.build_only && !later.task.lease) ahead.push_back(&later.request);
  }
  Result<Prepared>& prepared = *begun->prepared;
  const WorksUnder flag(*begun->task.cancelled);
  Result<Evaluation> evaluation =
      prepared ? device->judge->Evaluate(&*prepared, ahead) : tl::make_unexpected(prepared.error());
  if (!evaluation && (Ending() || *begun->task.cancelled)) evaluation = Fail(ErrorCode::kInterrupted, "interrupted");
  return evaluation;
}

bool Scheduler::EndIfCancelled(const Device& device, const Begun& begun) {
  if (!*begun.task.cancelled) return false;
  End({begun.task.id, device.name, Fail(ErrorCode::kInterrupted, "cancelled")});
  return true;
}

void Scheduler::EndUnjudged(const Device& device, Begun begun) {
  const Result<Prepared>& prepared = *begun.prepared;
  TaskEnd end{begun.task.id, device.name, Fail(ErrorCode::kInterrupted, "interrupted")};
  if (prepared) end.evaluation = device.judge->Unjudged(*prepared);
  if (!prepared && !Ending()) end.evaluation = tl::make_unexpected(prepared.error());
  begun.prepared.reset();
  End(std::move(end));
}

void Scheduler::TellSpan(Span span) {
  span.end_ns = NowNs();
  if (!options_.span) return;
  const std::lock_guard lock(telling_);
  options_.span(span);
}

// How it ends its holder is told by the lease.
void Scheduler::Lend(Device* device, const Begun& begun) {
  const auto taken_back = [&] { return *begun.task.cancelled || Ending(); };
  Span span{device->name, "lease", NowNs(), 0, 0, begun.task.client};
  const Status lent = device->judge->Lend([&](const LentDevice& to_lend) {
    HoldLease(*begun.task.lease, to_lend, taken_back, [this] { return Ending(); });
  });
  Spent(device, &DeviceTime::judging);
  TellSpan(std::move(span));
  Error end = lent ? Error{ErrorCode::kInterrupted, "the lease is over"} : lent.error();
  End({begun.task.id, device->name, tl::make_unexpected(std::move(end))});
}

void Scheduler::JudgeNext(Device* device, Begun begun) {
  if (EndIfCancelled(*device, begun)) return;
  if (begun.task.lease) return Lend(device, begun);
  // What failed beside others may not fail again.
  const Result<Prepared>& prepared = *begun.prepared;
  if (!prepared && prepared.error().code == ErrorCode::kEngine && !std::exchange(begun.again, true)) {
    return PrepareBegun(device, std::move(begun));
  }
  if (begun.task.build_only) return EndUnjudged(*device, std::move(begun));
  if (options_.judging) options_.judging(begun.task);
  Span span{device->name, begun.task.problem.name, NowNs(), 0, 0, begun.task.client};
  TaskEnd end{begun.task.id, device->name, Evaluate(device, &begun)};
  Spent(device, &DeviceTime::judging);
  if (!end.evaluation && begun.busy) end.evaluation = std::move(*begun.busy);
  if (end.evaluation) {
    const auto calls = end.evaluation->engine_us.find("calls");
    if (calls != end.evaluation->engine_us.end()) span.calls_us = calls->second;
  }
  TellSpan(std::move(span));
  if (EndIfCancelled(*device, begun)) return;
  const bool lacking = end.evaluation && prepared && prepared->lacking;
  const bool failed = !end.evaluation && end.evaluation.error().code == ErrorCode::kEngine && prepared;
  const bool fails_first = failed && !begun.failure;
  const bool met_busy = end.evaluation && MetABusyMachine(*end.evaluation) && !begun.busy;
  if ((lacking || fails_first || met_busy) && options_.put_off) options_.put_off(begun.task);
  if (lacking) return AddLacking(device, std::move(begun));
  if (fails_first) {
    begun.failure = end.evaluation.error();
    device->failed.push_back(std::move(begun));
  } else if (met_busy) {
    device->judged = true;
    begun.busy = std::move(*end.evaluation);
    device->busy.push_back(std::move(begun));
  } else {
    if (failed) end.evaluation = device->judge->Charge(begun.request, end.evaluation.error());
    begun.prepared.reset();  // what it holds of the cache is free
    device->judged |= end.evaluation.has_value();
    End(std::move(end));
  }
  if (device->judged) JudgeFailedAgain(device);
}

// After what is ready.
void Scheduler::JudgeFailedAgain(Device* device) {
  for (Begun& begun : std::exchange(device->failed, {})) PutIntoWindow(device, std::move(begun));
}

// When nothing else of its client waits that is as urgent: what kept the machine busy may have been that client's own
// compilers, or have ended meanwhile.
void Scheduler::JudgeBusyAgain(Device* device) {
  const bool many = device->busy.size() >= kMostBusy;
  std::vector<Begun> later, now;
  for (Begun& begun : std::exchange(device->busy, {})) {
    const Task& task = begun.task;
    const bool ready = std::any_of(device->window.begin(), device->window.end(), [&](const Begun& other) {
      return other.task.client == task.client && other.task.priority >= task.priority;
    });
    std::unique_lock lock(mutex_);
    const bool waits = ready || queue_.Has(task.client, task.priority);
    lock.unlock();
    (waits && !many ? later : now).push_back(std::move(begun));
  }
  device->busy = std::move(later);
  for (Begun& begun : now) PutIntoWindow(device, std::move(begun));
}

// No other was judged, so the device is the cause.
void Scheduler::EndFailed(Device* device) {
  for (const Begun& begun : std::exchange(device->failed, {})) {
    End({begun.task.id, device->name, tl::make_unexpected(*begun.failure)});
  }
}

void Scheduler::End(TaskEnd end) {
  const int64_t id = end.id;
  {
    const std::lock_guard lock(telling_);
    options_.end(std::move(end));
  }
  Forget(id, nullptr);
}

// `flag`: the task's own, where another one may have come under its number; nullptr: whichever there is.
void Scheduler::Forget(int64_t id, const Flag& flag) {
  {
    const std::lock_guard lock(mutex_);
    if (!flag || flags_[id] == flag) flags_.erase(id);
    --open_;
  }
  changed_.notify_all();
}

}  // namespace kb
