#include "server/desk_queue.h"

#include "base/clock.h"
#include "server/evaluation_view.h"

namespace kb::server {

int64_t DeskQueue::Enter(int64_t id, const std::string& run) {
  const std::lock_guard lock(mutex_);
  if (id == 0) id = --unkept_;
  entered_[id] = {run};
  return id;
}

std::string DeskQueue::RunOf(int64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = entered_.find(id);
  return found == entered_.end() ? "" : found->second.run;
}

// It has ended, if it was in that state.
bool DeskQueue::Leave(int64_t id, bool claimed) {
  const std::lock_guard lock(mutex_);
  const auto found = entered_.find(id);
  if (found == entered_.end() || found->second.claimed != claimed) return false;
  entered_.erase(found);
  return true;
}

// Ten thousand that wait need not each find out that the disk is full.
Result<bool> DeskQueue::ClaimStored(int64_t id) {
  constexpr int64_t kPauseNs = 500'000'000;
  {
    const std::lock_guard lock(mutex_);
    if (failure_ && NowNs() - failed_ns_ < kPauseNs) return tl::make_unexpected(*failure_);
  }
  auto claimed = stored_->Claim(id);
  const std::lock_guard lock(mutex_);
  failure_.reset();
  if (!claimed) failure_ = claimed.error();
  failed_ns_ = NowNs();
  return claimed;
}

Result<bool> DeskQueue::Claim(int64_t id) {
  if (id > 0) {
    KB_ASSIGN_OR_RETURN(const bool claimed, ClaimStored(id));
    if (!claimed) {
      (void)Leave(id, false);  // it is another one's
      return false;
    }
  }
  const std::lock_guard lock(mutex_);
  const auto found = entered_.find(id);
  if (found == entered_.end()) return false;
  return !std::exchange(found->second.claimed, true);
}

Result<bool> DeskQueue::Finish(int64_t id, const nlohmann::json& evaluation) {
  if (id < 0) return Leave(id, true);
  auto finished = stored_->Finish(id, evaluation);
  if (finished) (void)Leave(id, true);
  return finished;
}

Result<bool> DeskQueue::GiveBack(int64_t id, const Error& error) {
  if (id < 0) return Leave(id, true);
  auto given = stored_->GiveBack(id, {error.code, StoredText(error)});
  if (given) (void)Leave(id, true);
  return given;
}

Result<bool> DeskQueue::Cancel(int64_t id, const std::string& why) {
  if (id > 0) {
    KB_ASSIGN_OR_RETURN(const bool cancelled, stored_->Cancel(id, why));
    if (!cancelled) return false;
  }
  const std::lock_guard lock(mutex_);
  return entered_.erase(id) > 0 || id > 0;
}

}  // namespace kb::server
