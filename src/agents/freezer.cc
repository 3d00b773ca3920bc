#include "agents/freezer.h"

#include <algorithm>

#include "base/result.h"

namespace kb {

Freezer::Hold::Hold(Freezer* freezer, const void* agent) : freezer_(freezer) {
  if (freezer_ == nullptr) return;
  // Whoever comes second waits until all are still.
  const std::lock_guard lock(freezer_->mutex_);
  held_ = freezer_->holds_.insert(freezer_->holds_.end(), agent);
  freezer_->Update();
}

Freezer::Hold::~Hold() {
  if (freezer_ == nullptr) return;
  const std::lock_guard lock(freezer_->mutex_);
  freezer_->holds_.erase(held_);
  freezer_->Update();
}

void Freezer::Awake::Set(bool awake) const {
  if (freezer_ == nullptr) return;
  const std::lock_guard lock(freezer_->mutex_);
  for (Entry& entry : freezer_->entries_) {
    if (entry.box == box_) entry.awake = awake;
  }
  freezer_->Update();
}

bool Freezer::Rests(const Entry& entry) const {
  if (holds_.empty() || entry.awake) return false;
  const std::vector<int>& cores = entry.place.cores;
  const bool apart = !anywhere_ && !cores_.empty() && !cores.empty() &&
                     std::none_of(cores.begin(), cores.end(), [this](int core) { return cores_.contains(core); });
  const void* const agent = entry.place.agent;
  return !apart || (agent != nullptr && std::find(holds_.begin(), holds_.end(), agent) != holds_.end());
}

void Freezer::Update() {
  for (Entry& entry : entries_) {
    const bool rests = Rests(entry);
    if (rests == entry.frozen) continue;
    entry.frozen = rests;
    if (rests) {
      (void)entry.box->Freeze();  // one that runs on is stopped by its Run()
    } else {
      entry.box->Thaw();
    }
  }
}

void Freezer::Add(Box* box, Place place) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({box, std::move(place)});
  Update();
}

void Freezer::Remove(Box* box) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.box == box; });
  KB_CHECK(found != entries_.end());
  if (found->frozen) box->Thaw();
  entries_.erase(found);
}

void Freezer::Measured(const std::vector<int>& cores) {
  const std::lock_guard lock(mutex_);
  cores_.insert(cores.begin(), cores.end());
  anywhere_ |= cores.empty();
}

}  // namespace kb
