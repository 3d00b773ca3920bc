#include "server/desk.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

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

// An evaluation that has not ended, or did so lately.
struct Desk::Entry {
  Submission submission;
  bool kept = true;
  std::string source;  // of one that is not kept
  std::string state = "queued";
  std::optional<json> evaluation;  // of a done one
  std::optional<Error> error;
  std::vector<Event> events;
  std::vector<std::function<bool(size_t, const Event&)>> watchers;
  std::vector<std::function<void()>> waiters;  // called when it ends

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

// What an earlier service had accepted. What cannot be judged any more, its problem being gone, say, has failed.
Status Desk::Resume() {
  KB_ASSIGN_OR_RETURN(const std::vector<Submission> left, store_->QueuedSubmissions());
  for (const Submission& submission : left) {
    KB_ASSIGN_OR_RETURN(const std::string source, store_->Source(submission.job.sha256));
    const auto entry = std::make_shared<Entry>();
    entry->submission = submission;
    const auto order = options_.reader->Read(submission.request, submission.client == kLocalClient, source);
    KB_RETURN_IF_ERROR(order ? Begin(entry, *order) : [&]() -> Status {
      KB_ASSIGN_OR_RETURN(const bool mine, store_->ClaimJob(submission.job.id, OwnerName()));
      if (!mine) return {};
      const auto given = store_->GiveUpJob(submission.job.id, OwnerName(), order.error().message, false);
      return given ? Status() : tl::make_unexpected(given.error());
    }());
  }
  return {};
}

Result<std::vector<Desk::EntryPtr>> Desk::File(const std::string& client, std::vector<Order>* orders,
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
  std::vector<EntryPtr> entries;
  if (!orders->empty() && !orders->front().keep) {
    for (NewSubmission& one : wanted) {
      entries.push_back(std::make_shared<Entry>());
      entries.back()->kept = false;
      entries.back()->source = std::move(one.source);
      one.job.state = "queued";
      one.job.sample = std::max(one.job.sample, 0);
      entries.back()->submission = {one.id, UtcNow(kIso8601), client, batch, one.request, "", one.job};
    }
    return entries;
  }
  KB_ASSIGN_OR_RETURN(std::vector<Submission> filed, store_->AddSubmissions(wanted));
  for (Submission& submission : filed) {
    entries.push_back(std::make_shared<Entry>());
    entries.back()->submission = std::move(submission);
  }
  return entries;
}

Result<std::vector<std::string>> Desk::Take(const std::string& client, std::vector<Order> orders,
                                            const std::string& batch) {
  KB_CHECK(std::all_of(orders.begin(), orders.end(), [&](const Order& one) { return one.keep == orders[0].keep; }));
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return Fail(ErrorCode::kInterrupted, "the service is stopping");
  }
  KB_RETURN_IF_ERROR(loop_->status());
  KB_ASSIGN_OR_RETURN(const std::vector<EntryPtr> entries, File(client, &orders, batch));
  std::vector<std::string> ids;
  for (size_t i = 0; i < entries.size(); ++i) {
    ids.push_back(entries[i]->submission.id);
    if (entries[i]->submission.job.state == "queued") KB_RETURN_IF_ERROR(Begin(entries[i], orders[i]));
  }
  return ids;
}

// Has it judged, unless that has begun: the client asks a second time.
Status Desk::Begin(const EntryPtr& entry, const Order& order) {
  const bool kept = entry->kept;
  Job job = entry->submission.job;
  {
    const std::lock_guard lock(mutex_);
    if (kept && by_job_.contains(job.id)) return {};
    job.id = queue_->Enter(kept ? job.id : 0, entry->submission.run);
    entry->submission.job.id = job.id;
    by_job_[job.id] = entries_[entry->submission.id] = entry;
    ++counts_.open["queued"];
  }
  Tell(entry, {"queued", {{"id", entry->submission.id}}});
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
  if (order.deadline_s > 0) {
    timers_.After(order.deadline_s, [this, client = job.client, id = entry->submission.id] {
      (void)Cancel(client, id, "its deadline was over before its turn came");
    });
  }
  loop_->Submit(job, std::move(task));
  return {};
}

Desk::EntryPtr Desk::OfJob(int64_t job) const {
  const auto found = by_job_.find(job);
  return found == by_job_.end() ? nullptr : found->second;
}

// Watchers that want no more go. Under the lock, so that all are told of events in their order.
void Desk::Tell(const EntryPtr& entry, Event event) {
  const std::lock_guard lock(mutex_);
  if (entry->events.size() >= kMostEvents && !event.last) return;
  entry->events.push_back(std::move(event));
  std::erase_if(entry->watchers,
                [&](const auto& take) { return !take(entry->events.size() - 1, entry->events.back()); });
}

void Desk::Step(int64_t job, const std::string& name, json data) {
  std::unique_lock lock(mutex_);
  const EntryPtr entry = OfJob(job);
  if (!entry) return;
  if (name == "preparing" || name == "judging") {
    --counts_.open[entry->state];
    ++counts_.open[entry->state = name];
  }
  data["id"] = entry->submission.id;
  lock.unlock();
  Tell(entry, {name, std::move(data)});
}

Status Desk::End(const JobEnd& end) {
  std::unique_lock lock(mutex_);
  const EntryPtr entry = OfJob(end.job.id);
  lock.unlock();
  if (!entry || end.elsewhere) return {};  // it was cancelled, or another process judges it
  if (end.evaluation) {
    Finish(entry, "done", &*end.evaluation, nullptr);
  } else if (end.evaluation.error().code != ErrorCode::kInterrupted) {
    Finish(entry, "failed", nullptr, &end.evaluation.error());
  }
  return {};
}

void Desk::Finish(const EntryPtr& entry, std::string state, const json* evaluation, const Error* error) {
  std::vector<std::function<void()>> waiters;
  json view;
  {
    const std::lock_guard lock(mutex_);
    if (Final(entry->state)) return;
    --counts_.open[entry->state];
    ++counts_.ended[evaluation != nullptr ? evaluation->value("verdict", "") : state];
    entry->state = state;
    if (evaluation != nullptr) entry->evaluation = *evaluation;
    if (error != nullptr) entry->error = *error;
    by_job_.erase(entry->submission.job.id);
    ended_.push_back(entry->submission.id);
    if (ended_.size() > kKeptEnded) {
      entries_.erase(ended_.front());
      ended_.pop_front();
    }
    waiters.swap(entry->waiters);
    view = entry->View(false);
  }
  Tell(entry, {state, std::move(view), true});
  for (const auto& waiter : waiters) waiter();
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

Result<json> Desk::Find(const std::string& client, const std::string& id, bool whole) {
  {
    const std::lock_guard lock(mutex_);
    KB_ASSIGN_OR_RETURN(const EntryPtr entry, Known(client, id));
    if (entry) return entry->View(whole);
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

void Desk::Await(const std::string& client, const std::string& id, double seconds, bool whole,
                 std::function<void(Result<json>)> told) {
  const auto once = std::make_shared<std::atomic<bool>>(false);
  const auto tell = [this, once, client, id, whole, told = std::move(told)] {
    if (!once->exchange(true)) told(Find(client, id, whole));
  };
  std::unique_lock lock(mutex_);
  const auto entry = Known(client, id);
  const bool wait = entry && *entry && !Final((*entry)->state) && !stopped_;
  if (wait) (*entry)->waiters.push_back(tell);
  lock.unlock();
  if (!wait) return tell();
  timers_.After(seconds, tell);
}

Status Desk::Watch(const std::string& client, const std::string& id, size_t from,
                   std::function<bool(size_t, const Event&)> take) {
  {
    const std::lock_guard lock(mutex_);
    KB_ASSIGN_OR_RETURN(const EntryPtr entry, Known(client, id));
    if (entry) {
      for (size_t i = from; i < entry->events.size(); ++i) {
        if (!take(i, entry->events[i])) return {};
      }
      if (!Final(entry->state)) entry->watchers.push_back(std::move(take));
      return {};
    }
  }
  KB_ASSIGN_OR_RETURN(json view, FromStore(client, id, false));
  const std::string state = view["state"];
  (void)take(from, {state, std::move(view), true});
  return {};
}

Result<json> Desk::Cancel(const std::string& client, const std::string& id, const std::string& why) {
  std::unique_lock lock(mutex_);
  KB_ASSIGN_OR_RETURN(const EntryPtr entry, Known(client, id));
  const bool open = entry && entry->state == "queued";
  const int64_t job = entry ? entry->submission.job.id : 0;
  lock.unlock();
  if (open) {
    KB_ASSIGN_OR_RETURN(const bool cancelled, loop_->Cancel(job));
    const Error error{ErrorCode::kUsage, "cancelled: " + why};
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
  return static_cast<size_t>(std::count_if(by_job_.begin(), by_job_.end(),
                                           [&](const auto& open) { return open.second->submission.client == client; }));
}

void Desk::Stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopped_, true)) return;
  }
  if (loop_) (void)loop_->Stop();
  std::vector<std::function<void()>> waiters;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [job, entry] : by_job_) {
      for (auto& waiter : entry->waiters) waiters.push_back(std::move(waiter));
      entry->waiters.clear();
    }
  }
  for (const auto& waiter : waiters) waiter();
}

}  // namespace kb::server
