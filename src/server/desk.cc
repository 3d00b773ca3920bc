#include "server/desk.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"
#include "server/desk_entry.h"
#include "server/desk_queue.h"
#include "server/evaluation_view.h"

namespace kb::server {
namespace {

using nlohmann::json;

constexpr size_t kKeptEnded = 256;    // evaluations of which more than the store has is remembered after their end
constexpr size_t kMostEvents = 1000;  // of one evaluation that are remembered

std::string NewId() { return fmt::format("{:016x}{:016x}", RandomBits(), RandomBits()); }

// Of a time as UtcNow() writes it.
int64_t SecondsOf(const std::string& utc) {
  std::tm time{};
  return strptime(utc.c_str(), kIso8601, &time) == nullptr ? UtcSeconds() : timegm(&time);
}

}  // namespace

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
  wanted.patient = true;
  wanted.begun = [own](const Job& job) { own->Step(job.id, "preparing", json::object()); };
  wanted.judging = [own](const Job& job) { own->Step(job.id, "judging", json::object()); };
  wanted.put_off = wanted.begun;
  wanted.tell = [own](const JobEnd& end) { return own->End(end); };
  wanted.span = [own](const Span& span) {
    const std::lock_guard lock(own->mutex_);
    if (span.lane.starts_with("prepare")) return;
    const double seconds = static_cast<double>(span.end_ns - span.start_ns) / 1e9;
    own->counts_.judging_s += seconds;
    own->use_.Add(span.client, seconds, span.end_ns);
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
  std::optional<std::string> problem;
  if (IsClientsProblem(job.problem)) {
    if (auto text = store_->Source(job.problem_sha256)) problem = std::move(*text);
  }
  const auto order = source ? options_.reader->Read(submission.request, trusted, *source, problem)
                            : tl::make_unexpected(source.error());
  if (!order) {
    KB_ASSIGN_OR_RETURN(const bool mine, store_->ClaimJob(job.id, OwnerName()));
    const auto given = mine ? store_->GiveUpJob(job.id, OwnerName(), StoredText(order.error()), false) : mine;
    return given ? Status() : tl::make_unexpected(given.error());
  }
  const auto entry = std::make_shared<Entry>();
  entry->submission = submission;
  const double passed_s = static_cast<double>(UtcSeconds() - SecondsOf(submission.created));
  {
    const std::lock_guard lock(mutex_);
    ++open_[submission.client];
  }
  const auto builds = options_.builds.find(submission.client);
  Begin(entry, *order, order->deadline_s > 0 ? std::max(0.001, order->deadline_s - passed_s) : 0,
        builds == options_.builds.end() ? 0 : builds->second);
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
                      order.run.empty() ? client : order.run, job, order.source, order.problem.text});
  }
  std::vector<Filed> filed;
  if (!orders->empty() && !orders->front().keep) {
    for (NewSubmission& one : wanted) {
      filed.push_back({one.id, std::make_shared<Entry>()});
      Entry& entry = *filed.back().entry;
      entry.kept = false;
      entry.kind = (*orders)[filed.size() - 1].kind;
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

tl::expected<std::vector<std::string>, Refusal> Desk::Take(const Client& client, std::vector<Order> orders,
                                                           const std::string& batch) {
  KB_CHECK(std::all_of(orders.begin(), orders.end(), [&](const Order& one) { return one.keep == orders[0].keep; }));
  const size_t count = orders.size();
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return tl::make_unexpected(RefusalOf({ErrorCode::kInterrupted, ""}));
    const auto open = open_.find(client.name);
    auto over = server::OverQuota(client, open == open_.end() ? 0 : open->second, count, use_, NowNs());
    if (over) return tl::make_unexpected(std::move(*over));
    open_[client.name] += count;  // before the store is asked, which may take long
  }
  const Status judging = loop_->status();
  const auto filed = judging ? File(client.name, &orders, batch) : tl::make_unexpected(judging.error());
  std::vector<std::string> ids;
  size_t begun = 0;
  for (size_t i = 0; filed && i < count; ++i) {
    const Filed& one = filed->at(i);
    ids.push_back(one.id);
    if (!one.entry) continue;
    Begin(one.entry, orders[i], orders[i].deadline_s, client.builds);
    ++begun;
  }
  const std::lock_guard lock(mutex_);
  CountDown(client.name, count - begun);
  if (!filed) return tl::make_unexpected(RefusalOf(filed.error(), 409));
  return ids;
}

std::optional<Refusal> Desk::OverQuota(const Client& client, size_t more) const {
  const std::lock_guard lock(mutex_);
  const auto open = open_.find(client.name);
  return server::OverQuota(client, open == open_.end() ? 0 : open->second, more, use_, NowNs());
}

void Desk::Begin(const EntryPtr& entry, const Order& order, double deadline_s, int builds) {
  Job job = entry->submission.job;
  {
    const std::lock_guard lock(mutex_);
    job.id = queue_->Enter(entry->kept ? job.id : 0, entry->submission.run);
    entry->submission.job.id = job.id;
    by_job_[job.id] = entries_[entry->submission.id] = entry;
    ++counts_.open["queued"];
    Attend(entry);
    Tell(entry.get(), {"queued", {{"id", entry->submission.id}}});
    if (deadline_s > 0) {
      entry->deadline = timers_.After(deadline_s, [this, client = job.client, id = entry->submission.id] {
        (void)Cancel(client, id, "its deadline was over before its turn came");
      });
    }
  }
  Task task;
  task.builds = builds;
  task.build_only = order.kind == Order::Kind::kCompile;
  if (order.lease) task.lease = MakeLease(entry, *order.lease);
  task.problem = order.problem;
  task.protocol = order.protocol;
  task.watch = [this, id = job.id](int right, bool ended) { Step(id, ended ? "wrong" : "round", {{"rounds", right}}); };
  task.read = [this, entry, rejection = order.rejection]() -> Result<Candidate> {
    const Job& read = entry->submission.job;
    std::string source;
    if (entry->kept) {
      KB_ASSIGN_OR_RETURN(source, store_->Source(read.sha256));
    } else {
      const std::lock_guard lock(mutex_);
      source = entry->source;
    }
    KB_ASSIGN_OR_RETURN(Candidate candidate, MakeCandidate(read.path, std::move(source), options_.reader->device()));
    if (!rejection.empty()) candidate.rejection = rejection;
    return candidate;
  };
  if (order.problem.from_client && entry->kept) {  // thousands may wait
    task.problem.text.clear();
    task.read_problem = [this, sha256 = order.problem_sha256] { return store_->Source(sha256); };
  }
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
  const std::lock_guard lock(mutex_);
  entry->left = true;
  const auto found = by_job_.find(end.job.id);
  if (found != by_job_.end() && found->second == entry && Final(entry->state)) by_job_.erase(found);
  return {};
}

// Under the lock. So many of that client's are open no more.
void Desk::CountDown(const std::string& client, size_t count) {
  if (count == 0) return;
  const auto open = open_.find(client);
  if ((open->second -= count) == 0) open_.erase(open);
}

// Under the lock. It is open no more; false if it was not.
bool Desk::Close(Entry* entry) {
  const auto found = by_job_.find(entry->submission.job.id);
  if (found == by_job_.end() || found->second.get() != entry || Final(entry->state)) return false;
  if (entry->lent.is_null() || entry->left) by_job_.erase(found);  // else End() does
  CountDown(entry->submission.client, 1);
  --counts_.open[entry->state];
  for (auto* timer : {&entry->deadline, &entry->unattended}) {
    if (*timer) timers_.Cancel(*std::exchange(*timer, {}));
  }
  return true;
}

void Desk::Finish(const EntryPtr& entry, const std::string& state, const json* evaluation, const Error* error) {
  std::map<uint64_t, Entry::Waiter> waiters;
  std::map<uint64_t, Entry::Watcher> watchers;
  {
    const std::lock_guard lock(mutex_);
    if (!Close(entry.get())) return;
    if (entry->kind != Order::Kind::kCompile && entry->kind != Order::Kind::kLend) {
      ++counts_.ended[evaluation != nullptr ? evaluation->value("verdict", "") : state];
    }
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

// Another process has it, `kernelbench run` on the same run, say: from here on counts what the store says. Or it is
// being cancelled, as one that is not kept, and so nobody else's, must be.
void Desk::Abandon(const EntryPtr& entry) {
  if (!entry->kept) return;
  const auto found = store_->FindSubmission(entry->submission.id);
  if (found && *found && StateOf((*found)->job) == "cancelled") {
    const Error error = ErrorOf((*found)->job);
    return Finish(entry, "cancelled", nullptr, &error);
  }
  std::map<uint64_t, Entry::Waiter> waiters;
  std::map<uint64_t, Entry::Watcher> watchers;
  {
    const std::lock_guard lock(mutex_);
    if (!Close(entry.get())) return;
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
  EvaluationState told{.state = state, .evaluation = evaluation ? &*evaluation : nullptr};
  if (state == "failed" || state == "cancelled") told.error = ErrorOf(found->job);
  return ViewOf(*found, told, whole);
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
    if (entry) {
      Attend(entry);
      return Seen(*entry, whole);
    }
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

Result<json> Desk::Cancel(const std::string& client, const std::string& id, const std::string& why) {
  std::unique_lock lock(mutex_);
  KB_ASSIGN_OR_RETURN(const EntryPtr entry, Known(client, id));
  const bool open = entry && !Final(entry->state);
  const int64_t job = entry ? entry->submission.job.id : 0;
  lock.unlock();
  const Error error{ErrorCode::kUsage, "cancelled: " + why};
  if (!entry) {  // it has ended, or waits for another kind of device, or another process has it
    KB_ASSIGN_OR_RETURN(const std::optional<Submission> found, store_->FindSubmission(id));
    if (found && found->client == client) KB_RETURN_IF_ERROR(store_->CancelJob(found->job.id, "", error.message));
  }
  if (!open) return Find(client, id, false);
  KB_ASSIGN_OR_RETURN(const bool cancelled, loop_->Cancel(job, error.message));
  if (cancelled) Finish(entry, "cancelled", nullptr, &error);
  // One that has ended is in the store before the desk hears of it.
  return cancelled || !entry->kept ? Find(client, id, false) : FromStore(client, id, false);
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

Order::Kind Desk::KindOf(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(id);
  return found == entries_.end() ? Order::Kind::kEvaluate : found->second->kind;
}

std::string Desk::StateNow(const Submission& submission) const {
  const std::lock_guard lock(mutex_);
  const auto found = by_job_.find(submission.job.id);
  return found == by_job_.end() ? StateOf(submission.job) : found->second->state;
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
