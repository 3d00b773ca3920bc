// Devices that are lent to clients.
#include <fmt/format.h>

#include "jobs/lease.h"
#include "server/desk_entry.h"

namespace kb::server {

using nlohmann::json;

std::shared_ptr<const Lease> Desk::MakeLease(const EntryPtr& entry, const LeaseTerms& terms) {
  auto lease = std::make_shared<Lease>(Lease{.seconds = terms.seconds, .memory_share = terms.memory_share});
  lease->begun = [this, entry](const LentDevice& device) { Lend(entry, device); };
  lease->over = [this, entry](const std::string& why) {
    const Error error{ErrorCode::kUsage, why};
    Finish(entry, "failed", nullptr, &error);
  };
  return lease;
}

// Who waits for that is told.
void Desk::Lend(const EntryPtr& entry, const LentDevice& device) {
  Step(entry->submission.job.id, "judging", json::object());
  std::vector<Entry::Waiter> told;
  json view;
  {
    const std::lock_guard lock(mutex_);
    entry->lent = {{"device", device.name}, {"cores", device.cores}};
    for (auto waiter = entry->waiters.begin(); waiter != entry->waiters.end();) {
      const auto one = waiter++;
      if (one->second.until_held) told.push_back(entry->waiters.extract(one).mapped());
    }
    Attend(entry);
    view = entry->View(false);
  }
  for (const Entry::Waiter& waiter : told) {
    timers_.Cancel(waiter.timer);
    waiter.told(view);
  }
}

std::vector<json> Desk::Leases() const {
  const std::lock_guard lock(mutex_);
  std::vector<json> held;
  for (const auto& [job, entry] : by_job_) {
    if (entry->kind == Order::Kind::kLend && !entry->lent.is_null()) held.push_back(entry->View(false));
  }
  return held;
}

}  // namespace kb::server
