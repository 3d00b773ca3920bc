#include "server/desk_queue.h"

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

Result<bool> DeskQueue::Claim(int64_t id) {
  if (id > 0) {
    KB_ASSIGN_OR_RETURN(const bool claimed, stored_->Claim(id));
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
  const bool mine = Leave(id, true);
  return id > 0 ? stored_->Finish(id, evaluation) : Result<bool>(mine);
}

Result<bool> DeskQueue::GiveBack(int64_t id, const std::string& error, bool again) {
  const bool mine = Leave(id, true);
  return id > 0 ? stored_->GiveBack(id, error, again) : Result<bool>(mine);
}

Result<bool> DeskQueue::Cancel(int64_t id) {
  if (id > 0) {
    KB_ASSIGN_OR_RETURN(const bool cancelled, stored_->Cancel(id));
    if (!cancelled) return false;
  }
  return Leave(id, false) || id > 0;
}

}  // namespace kb::server
