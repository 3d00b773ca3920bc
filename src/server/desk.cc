#include "server/desk.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "server/desk_queue.h"
#include "server/evaluation_view.h"

namespace kb::server {
namespace {

using nlohmann::json;

constexpr size_t kKeptEnded = 256;    // evaluations of which more than the store has is remembered after their end
constexpr size_t kMostEvents = 1000;  // of one evaluation that are remembered

std::string NewId() { return fmt::format("{:016x}{:016x}", RandomBits(), RandomBits()); }

bool Final(const std::string& state) { return state == "done" || state == "failed" || state == "cancelled"; }

// Of a time as UtcNow() writes it.
int64_t SecondsOf(const std::string& utc) {
  std::tm time{};
  return strptime(utc.c_str(), kIso8601, &time) == nullptr ? UtcSeconds() : timegm(&time);
}

// Of a job in the store that this process has nothing to do with.
std::string StateOf(const Job& job) {
  if (job.state == "running") return "judging";
  return job.state == "failed" && job.error.starts_with("cancelled") ? "cancelled" : job.state;
}

std::optional<Error> ErrorOf(const Job& job, const std::string& state) {
  if (state == "cancelled") return Error{ErrorCode::kUsage, job.error};
  return state == "failed" ? std::optional(Error{ErrorCode::kEngine, job.error}) : std::nullopt;
}

}  // namespace

// An evaluation that has not ended, or did so lately. All of it is under the desk's lock until it has.
struct Desk::Entry {
  using Watcher = std::function<bool(size_t, const Event&)>;
  struct Waiter {
    std::function<void(Result<json>)> told;
    bool whole = false;
    Timers::Id timer;
  };

  Submission submission;
  bool kept = true;
  std::string source;  // of one that is not kept
  std::string state = "queued";
  std::optional<json> evaluation;  // of a done one
  std::optional<Error> error;
  std::vector<Event> events;
  std::optional<Timers::Id> deadline;
  std::map<uint64_t, Watcher> watchers;
  std::map<uint64_t, Waiter> waiters;

  json View(bool whole) const { return ViewOf(submission, {state, evaluation ? &*evaluation : nullptr, error}, whole); }
};

Desk::Desk(DeskOptions options, Store* store)
    : options_(std::move(options)), store_(store), queue_(std::make_unique<DeskQueue>(store)) {}

Desk::~Desk() { Stop(); }

Result<std::unique_ptr<Desk>> Desk::Open(DeskOptions options, Store* store) {
  std::unique_ptr<Desk> desk(new Desk(std::move(options), store));
  Desk* const own = desk.get();
  JobLoopOptions wanted;
  wanted.make_judge = own->options_.make_judge;
  wanted.devices = own->options_.devices;
  wanted.compilations = own->options_.compilations;
  wanted.queue = own->queue_.get();
  wanted.begun = [own](const Job& job) { own->Step(job.id, "preparing", json::object()); };
  wanted.judging = [own](const Job& job) { own->Step(job.id, "judging", json::object()); };
  wanted.tell = [own](const JobEnd& end) { return own->End(end); };
  wanted.span = [own](const Span& span) {
    const std::lock_guard lock(own->mutex_);
    if (!span.lane.starts_with("prepare"))
      own->counts_.judging_s += static_cast<double>(span.end_ns - span.start_ns) / 1e9;
  };
  KB_ASSIGN_OR_RETURN(own->loop_, JobLoop::Create(std::move(wanted)));
  KB_RETURN_IF_ERROR(own->Resume());
  return desk;
}

Status Desk::Resume() {
  KB_ASSIGN_OR_RETURN(const std::vector<Submission> left, store_->QueuedSubmissions());
  for (const Submission& submission : left) KB_RETURN_IF_ERROR(ResumeOne(submission));
  return {};
}

// What an earlier service had accepted. What cannot be judged any more, its problem being gone, say, has failed. What
// is for another kind of device stays queued until a service has that.
Status Desk::ResumeOne(const Submission& submission) {
  const Job& job = submission.job;
  if (job.device != options_.reader->device()) return {};
  const auto source = store_->Source(job.sha256);
  const bool trusted = submission.client == kLocalClient;
  const auto order =
      source ? options_.reader->Read(submission.request, trusted, *source) : tl::make_unexpected(source.error());
  if (!order) {
    KB_ASSIGN_OR_RETURN(const bool mine, store_->ClaimJob(job.id, OwnerName()));
    const auto given = mine ? store_->GiveUpJob(job.id, OwnerName(), order.error().message, false) : mine;
    return given ? Status() : tl::make_unexpected(given.error());
  }
  const auto entry = std::make_shared<Entry>();
  entry->submission = submission;
  const double passed_s = static_cast<double>(UtcSeconds() - SecondsOf(submission.created));
  Begin(entry, *order, order->deadline_s > 0 ? std::max(0.001, order->deadline_s - passed_s) : 0);
  return {};
}

Result<std::vector<Desk::Filed>> Desk::File(const std::string& client, std::vector<Order>* orders,
                                            const std::string& batch) {
  std::vector<NewSubmission> wanted;
  for (const Order& order : *orders) {
    Job job;
    job.model = order.model;
    job.problem = order.problem.name;
    job.size = order.size;
    job.sample = order.sample;
    job.device = options_.reader->device();
    job.protocol = order.rules;
    job.path = order.name;
    job.sha256 = Sha256(order.source);
    job.problem_sha256 = order.problem_sha256;
    job.client = client;
    job.priority = order.priority;
    wanted.push_back({NewId(), client, batch, order.idempotency_key, order.request,
                      order.run.empty() ? client : order.run, job, order.source});
  }
  std::vector<Filed> filed;
  if (!orders->empty() && !orders->front().keep) {
    for (NewSubmission& one : wanted) {
      filed.push_back({one.id, std::make_shared<Entry>()});
      Entry& entry = *filed.back().entry;
      entry.kept = false;
      entry.source = std::move(one.source);
      one.job.state = "queued";
      one.job.sample = std::max(one.job.sample, 0);
      entry.submission = {one.id, UtcNow(kIso8601), client, batch, one.request, "", one.job};
    }
    return filed;
  }
  KB_ASSIGN_OR_RETURN(std::vector<Submission> added, store_->AddSubmissions(wanted));
  for (size_t i = 0; i < added.size(); ++i) {
    filed.push_back({added[i].id, nullptr});
    if (added[i].id != wanted[i].id) continue;  // whoever asked before has it judged
    filed.back().entry = std::make_shared<Entry>();
    filed.back().entry->submission = std::move(added[i]);
  }
  return filed;
}

Result<std::vector<std::string>> Desk::Take(const std::string& client, std::vector<Order> orders,
                                            const std::string& batch) {
  KB_CHECK(std::all_of(orders.begin(), orders.end(), [&](const Order& one) { return one.keep == orders[0].keep; }));
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return Fail(ErrorCode::kInterrupted, "the service is stopping");
  }
  KB_RETURN_IF_ERROR(loop_->status());
  KB_ASSIGN_OR_RETURN(const std::vector<Filed> filed, File(client, &orders, batch));
  std::vector<std::string> ids;
  for (size_t i = 0; i < filed.size(); ++i) {
    ids.push_back(filed[i].id);
    if (filed[i].entry) Begin(filed[i].entry, orders[i], orders[i].deadline_s);
  }
  return ids;
}

void Desk::Begin(const EntryPtr& entry, const Order& order, double deadline_s) {
  Job job = entry->submission.job;
  {
    const std::lock_guard lock(mutex_);
    job.id = queue_->Enter(entry->kept ? job.id : 0, entry->submission.run);
    entry->submission.job.id = job.id;
    by_job_[job.id] = entries_[entry->submission.id] = entry;
    ++open_[job.client];
    ++counts_.open["queued"];
    Tell(entry.get(), {"queued", {{"id", entry->submission.id}}});
    if (deadline_s > 0) {
      entry->deadline = timers_.After(deadline_s, [this, client = job.client, id = entry->submission.id] {
        (void)Cancel(client, id, "its deadline was over before its turn came");
      });
    }
  }
  Task task;
  task.problem = order.problem;
  task.protocol = order.protocol;
  task.watch = [this, id = job.id](int right, bool ended) { Step(id, ended ? "wrong" : "round", {{"rounds", right}}); };
  task.read = [this, entry, rejection = order.rejection]() -> Result<Candidate> {
    const Job& read = entry->submission.job;
    std::string source = entry->source;
    if (entry->kept) {
      KB_ASSIGN_OR_RETURN(source, store_->Source(read.sha256));
    }
    KB_ASSIGN_OR_RETURN(Candidate candidate, MakeCandidate(read.path, std::move(source), options_.reader->device()));
    if (!rejection.empty()) candidate.rejection = rejection;
    return candidate;
  };
  loop_->Submit(job, std::move(task));
}

// Under the lock, so that all are told of events in their order. Watchers that want no more go.
void Desk::Tell(Entry* entry, Event event) {
  if (entry->events.size() >= kMostEvents && !event.last) return;
  entry->events.push_back(std::move(event));
  std::erase_if(entry->watchers,
                [&](const auto& watcher) { return !watcher.second(entry->events.size() - 1, entry->events.back()); });
}

void Desk::Step(int64_t job, const std::string& name, json data) {
  const std::lock_guard lock(mutex_);
  const auto found = by_job_.find(job);
  if (found == by_job_.end()) return;
  Entry* const entry = found->second.get();
  if (name == "preparing" || name == "judging") {
    --counts_.open[entry->state];
    ++counts_.open[entry->state = name];
    if (entry->deadline) timers_.Cancel(*std::exchange(entry->deadline, {}));
  }
  data["id"] = entry->submission.id;
  Tell(entry, {name, std::move(data)});
}

Status Desk::End(const JobEnd& end) {
  EntryPtr entry;
  {
    const std::lock_guard lock(mutex_);
    const auto found = by_job_.find(end.job.id);
    if (found == by_job_.end()) return {};  // it was cancelled
    entry = found->second;
  }
  if (end.elsewhere) {
    Abandon(entry);
  } else if (end.evaluation) {
    Finish(entry, "done", &*end.evaluation, nullptr);
  } else if (end.evaluation.error().code != ErrorCode::kInterrupted) {
    Finish(entry, "failed", nullptr, &end.evaluation.error());
  }
  return {};
}

// Under the lock. It is open no more; false if it was not.
bool Desk::Close(Entry* entry) {
  const auto found = by_job_.find(entry->submission.job.id);
  if (found == by_job_.end() || found->second.get() != entry) return false;
  by_job_.erase(found);
  const auto open = open_.find(entry->submission.client);
  if (--open->second == 0) open_.erase(open);
  --counts_.open[entry->state];
  if (entry->deadline) timers_.Cancel(*std::exchange(entry->deadline, {}));
  return true;
}

void Desk::Finish(const EntryPtr& entry, const std::string& state, const json* evaluation, const Error* error) {
  std::map<uint64_t, Entry::Waiter> waiters;
  std::map<uint64_t, Entry::Watcher> watchers;
  {
    const std::lock_guard lock(mutex_);
    if (!Close(entry.get())) return;
    ++counts_.ended[evaluation != nullptr ? evaluation->value("verdict", "") : state];
    entry->state = state;
    if (evaluation != nullptr) entry->evaluation = *evaluation;
    if (error != nullptr) entry->error = *error;
    entry->source = std::string();
    ended_.push_back(entry->submission.id);
    if (ended_.size() > kKeptEnded) {
      entries_.erase(ended_.front());
      ended_.pop_front();
    }
    Tell(entry.get(), {state, entry->View(false), true});
    waiters.swap(entry->waiters);
    watchers.swap(entry->watchers);
  }
  for (const auto& [number, waiter] : waiters) {
    timers_.Cancel(waiter.timer);
    waiter.told(entry->View(waiter.whole));
  }
}

// Another process has it, `kernelbench run` on the same run, say: from here on counts what the store says. One that is
// not kept is nobody else's, and is being cancelled.
void Desk::Abandon(const EntryPtr& entry) {
  std::map<uint64_t, Entry::Waiter> waiters;
  std::map<uint64_t, Entry::Watcher> watchers;
  {
    const std::lock_guard lock(mutex_);
    if (!entry->kept || !Close(entry.get())) return;
    entries_.erase(entry->submission.id);
    waiters.swap(entry->waiters);
    watchers.swap(entry->watchers);
  }
  const std::string client = entry->submission.client, id = entry->submission.id;
  for (const auto& [number, waiter] : waiters) {
    timers_.Cancel(waiter.timer);
    waiter.told(FromStore(client, id, waiter.whole));
  }
  const auto view = FromStore(client, id, false);
  if (!view) return;
  for (const auto& [number, watcher] : watchers) {
    (void)watcher(entry->events.size(), {view->at("state").get<std::string>(), *view, true});
  }
}

Result<Desk::EntryPtr> Desk::Known(const std::string& client, const std::string& id) const {
  const auto found = entries_.find(id);
  if (found == entries_.end()) return EntryPtr();
  if (found->second->submission.client != client) return Fail(ErrorCode::kUsage, "there is no evaluation " + id);
  return found->second;
}

Result<json> Desk::FromStore(const std::string& client, const std::string& id, bool whole) const {
  KB_ASSIGN_OR_RETURN(const std::optional<Submission> found, store_->FindSubmission(id));
  if (!found || found->client != client) return Fail(ErrorCode::kUsage, "there is no evaluation " + id);
  const std::string state = StateOf(found->job);
  std::optional<json> evaluation;
  if (state == "done") {
    KB_ASSIGN_OR_RETURN(evaluation, store_->Get(found->job.evaluation_id));
  }
  return ViewOf(*found, {state, evaluation ? &*evaluation : nullptr, ErrorOf(found->job, state)}, whole);
}

// Under the lock.
Result<json> Desk::Seen(const Entry& entry, bool whole) const {
  if (stopped_ && !entry.kept && !Final(entry.state)) {
    return Fail(ErrorCode::kInterrupted, "the service is stopping");
  }
  return entry.View(whole);
}

Result<json> Desk::Find(const std::string& client, const std::string& id, bool whole) {
  {
    const std::lock_guard lock(mutex_);
    KB_ASSIGN_OR_RETURN(const EntryPtr entry, Known(client, id));
    if (entry) return Seen(*entry, whole);
  }
  return FromStore(client, id, whole);
}

Result<std::vector<json>> Desk::FindBatch(const std::string& client, const std::string& batch) {
  KB_ASSIGN_OR_RETURN(const std::vector<Submission> of_batch, store_->BatchSubmissions(batch));
  if (of_batch.empty() || of_batch.front().client != client) {
    return Fail(ErrorCode::kUsage, "there is no batch " + batch);
  }
  std::vector<json> found;
  for (const Submission& submission : of_batch) {
    KB_ASSIGN_OR_RETURN(json view, Find(client, submission.id, false));
    found.push_back(std::move(view));
  }
  return found;
}

uint64_t Desk::Await(const std::string& client, const std::string& id, double seconds, bool whole,
                     std::function<void(Result<json>)> told) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = Known(client, id);
    const EntryPtr entry = known ? *known : nullptr;
    if (entry && !Final(entry->state) && !stopped_ && seconds > 0) {
      const uint64_t number = ++listeners_;
      const auto timer = timers_.After(seconds, [this, entry, number] { TimeOut(entry, number); });
      entry->waiters[number] = {std::move(told), whole, timer};
      return number;
    }
  }
  told(Find(client, id, whole));
  return 0;
}

void Desk::TimeOut(const EntryPtr& entry, uint64_t number) {
  std::unique_lock lock(mutex_);
  const auto waiter = entry->waiters.extract(number);
  if (!waiter) return;
  auto view = Seen(*entry, waiter.mapped().whole);
  lock.unlock();
  waiter.mapped().told(std::move(view));
}

Result<uint64_t> Desk::Watch(const std::string& client, const std::string& id, size_t from,
                             std::function<bool(size_t, const Event&)> take) {
  {
    const std::lock_guard lock(mutex_);
    KB_ASSIGN_OR_RETURN(const EntryPtr entry, Known(client, id));
    if (entry) {
      for (size_t i = from; i < entry->events.size(); ++i) {
        if (!take(i, entry->events[i])) return 0;
      }
      if (Final(entry->state) || stopped_) return 0;
      entry->watchers[++listeners_] = std::move(take);
      return listeners_;
    }
  }
  KB_ASSIGN_OR_RETURN(json view, FromStore(client, id, false));
  const std::string state = view["state"];
  (void)take(from, {state, std::move(view), true});
  return 0;
}

void Desk::Forget(const std::string& id, uint64_t number) {
  std::unique_lock lock(mutex_);
  const auto found = entries_.find(id);
  if (number == 0 || found == entries_.end()) return;
  const auto watcher = found->second->watchers.extract(number);
  const auto waiter = found->second->waiters.extract(number);
  lock.unlock();  // what they hold ends without the lock
  if (waiter) timers_.Cancel(waiter.mapped().timer);
}

Result<json> Desk::Cancel(const std::string& client, const std::string& id, const std::string& why) {
  std::unique_lock lock(mutex_);
  KB_ASSIGN_OR_RETURN(const EntryPtr entry, Known(client, id));
  const bool open = entry && entry->state == "queued";
  const int64_t job = entry ? entry->submission.job.id : 0;
  lock.unlock();
  if (open) {
    const Error error{ErrorCode::kUsage, "cancelled: " + why};
    KB_ASSIGN_OR_RETURN(const bool cancelled, loop_->Cancel(job, error.message));
    if (cancelled) Finish(entry, "cancelled", nullptr, &error);
  }
  return Find(client, id, false);
}

Desk::Counts Desk::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

size_t Desk::OpenOf(const std::string& client) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(client);
  return found == open_.end() ? 0 : found->second;
}

Desk::Remembered Desk::remembered() const {
  const std::lock_guard lock(mutex_);
  Remembered remembered{entries_.size(), by_job_.size(), timers_.size(), 0};
  for (const auto& [id, entry] : entries_) remembered.listeners += entry->waiters.size() + entry->watchers.size();
  return remembered;
}

void Desk::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopped_, true)) return;
  }
  if (loop_) (void)loop_->Stop();
  std::vector<std::pair<std::function<void(Result<json>)>, Result<json>>> told;
  std::vector<Entry::Watcher> watchers;  // their streams end with them
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [job, entry] : by_job_) {
      for (auto& [number, waiter] : std::exchange(entry->waiters, {})) {
        timers_.Cancel(waiter.timer);
        told.emplace_back(waiter.told, Seen(*entry, waiter.whole));
      }
      for (auto& [number, watcher] : std::exchange(entry->watchers, {})) watchers.push_back(watcher);
    }
  }
  for (auto& [tell, view] : told) tell(std::move(view));
}

}  // namespace kb::server
