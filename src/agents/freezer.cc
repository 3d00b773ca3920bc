#include "agents/freezer.h"

#include <algorithm>

#include "base/result.h"

namespace kb {

Freezer::Hold::Hold(Freezer* freezer) : freezer_(freezer) {
  if (freezer_ == nullptr) return;
  // Whoever comes second waits until all are still.
  const std::lock_guard lock(freezer_->mutex_);
  if (freezer_->holds_++ > 0) return;
  for (Box* box : freezer_->boxes_) (void)box->Freeze();  // one that runs on is stopped by its Run()
}

Freezer::Hold::~Hold() {
  if (freezer_ == nullptr) return;
  const std::lock_guard lock(freezer_->mutex_);
  if (--freezer_->holds_ > 0) return;
  for (Box* box : freezer_->boxes_) box->Thaw();
}

void Freezer::Add(Box* box) {
  const std::lock_guard lock(mutex_);
  boxes_.push_back(box);
  if (holds_ > 0) (void)box->Freeze();
}

void Freezer::Remove(Box* box) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(boxes_.begin(), boxes_.end(), box);
  KB_CHECK(found != boxes_.end());
  boxes_.erase(found);
  if (holds_ > 0) box->Thaw();
}

}  // namespace kb
