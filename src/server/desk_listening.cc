// Who waits for an evaluation, or watches it.
#include "server/desk_entry.h"

namespace kb::server {

using nlohmann::json;

namespace {

constexpr double kUnattended = 60;  // seconds after which one is cancelled that is not kept and nobody asks about

}  // namespace

// Under the lock, when somebody has begun or ceased to listen, or has looked: one that is not kept is of use to those
// alone.
void Desk::Attend(const EntryPtr& entry) {
  if (entry->kept || Final(entry->state)) return;
  if (entry->unattended) timers_.Cancel(*std::exchange(entry->unattended, {}));
  if (!entry->waiters.empty() || !entry->watchers.empty() || stopped_) return;
  entry->unattended = timers_.After(kUnattended, [this, client = entry->submission.client, id = entry->submission.id] {
    (void)Cancel(client, id, "it is not kept, and nobody asks about it");
  });
}

uint64_t Desk::Await(const std::string& client, const std::string& id, double seconds, bool whole,
                     std::function<void(Result<json>)> told, bool until_held) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = Known(client, id);
    const EntryPtr entry = known ? *known : nullptr;
    const bool over = entry && (Final(entry->state) || (until_held && !entry->lent.is_null()));
    if (entry && !over && !stopped_ && seconds > 0) {
      const uint64_t number = ++listeners_;
      const auto timer = timers_.After(seconds, [this, entry, number] { TimeOut(entry, number); });
      entry->waiters[number] = {std::move(told), whole, until_held, timer};
      Attend(entry);
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
  Attend(entry);
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
      Attend(entry);
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
  const EntryPtr entry = found->second;
  const auto watcher = entry->watchers.extract(number);
  const auto waiter = entry->waiters.extract(number);
  const bool left = !entry->kept && entry->watchers.empty() && entry->waiters.empty() && !stopped_;
  lock.unlock();  // what they hold ends without the lock
  if (waiter) timers_.Cancel(waiter.mapped().timer);
  if (left) (void)Cancel(entry->submission.client, id, "its client went away");
}

}  // namespace kb::server
