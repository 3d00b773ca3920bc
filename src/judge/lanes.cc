#include "judge/lanes.h"

#include "base/interrupt.h"

namespace kb {

Lane::~Lane() {
  Leave();
  std::unique_lock lock(lanes_->mutex_);
  if (lanes_->whole_ == this) lanes_->whole_ = nullptr;
  lanes_->holding_ -= holds_;
  lanes_->changed_.notify_all();
}

Status Lane::Await(std::unique_lock<std::mutex>* lock, bool asked, const std::function<bool()>& may) {
  for (;;) {
    if (asked && Asked()) (void)LetGo(lock);
    if (may()) return {};
    if (Interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
    lanes_->changed_.wait_for(*lock, kInterruptSlice);
  }
}

bool Lane::LetGo(std::unique_lock<std::mutex>* lock) {
  if (!holds_) return true;
  if (lanes_->alone_ != nullptr) return false;
  ++lanes_->beside_;
  lock->unlock();
  let_go_();
  lock->lock();
  --lanes_->beside_;
  holds_ = false;
  --lanes_->holding_;
  lanes_->changed_.notify_all();
  return true;
}

Status Lane::Enter() {
  std::unique_lock lock(lanes_->mutex_);
  KB_RETURN_IF_ERROR(Await(&lock, true, [&] {
    return lanes_->alone_ == nullptr && !Asked() && (lanes_->beside_ > 0 || lanes_->waiting_ == 0);
  }));
  ++lanes_->beside_;
  lanes_->holding_ += !holds_;
  holds_ = true;
  place_ = Place::kBeside;
  return {};
}

Status Lane::Measure() {
  std::unique_lock lock(lanes_->mutex_);
  --lanes_->beside_;
  ++lanes_->waiting_;
  place_ = Place::kOutside;
  lanes_->changed_.notify_all();
  const Status alone = Await(&lock, false, [&] { return lanes_->alone_ == nullptr && lanes_->beside_ == 0; });
  --lanes_->waiting_;
  if (alone) {
    lanes_->alone_ = this;
    place_ = Place::kAlone;
  }
  lanes_->changed_.notify_all();
  return alone;
}

void Lane::Leave() {
  std::unique_lock lock(lanes_->mutex_);
  if (place_ == Place::kBeside) --lanes_->beside_;
  if (place_ == Place::kAlone) lanes_->alone_ = nullptr;
  place_ = Place::kOutside;
  lanes_->changed_.notify_all();
}

Status Lane::TakeWhole() {
  std::unique_lock lock(lanes_->mutex_);
  if (!shared() || lanes_->whole_ == this) return {};
  (void)LetGo(&lock);
  --lanes_->beside_;
  place_ = Place::kOutside;
  lanes_->changed_.notify_all();
  KB_RETURN_IF_ERROR(Await(&lock, false, [&] { return lanes_->whole_ == nullptr; }));
  lanes_->whole_ = this;
  lanes_->changed_.notify_all();
  const Status whole = Await(&lock, false, [&] { return lanes_->holding_ == 0; });
  if (!whole) {
    lanes_->whole_ = nullptr;
    lanes_->changed_.notify_all();
    return whole;
  }
  ++lanes_->beside_;
  ++lanes_->holding_;
  holds_ = true;
  place_ = Place::kBeside;
  return {};
}

bool Lane::has_whole() const {
  const std::lock_guard lock(lanes_->mutex_);
  return lanes_->whole_ == this;
}

void Lane::GiveBackWhole() {
  std::unique_lock lock(lanes_->mutex_);
  if (lanes_->whole_ != this) return;
  (void)LetGo(&lock);
  lanes_->whole_ = nullptr;
  lanes_->changed_.notify_all();
}

void Lane::GiveWay() {
  std::unique_lock lock(lanes_->mutex_);
  if (Asked()) (void)LetGo(&lock);
}

void Lane::End() {
  if (!shared()) return;
  GiveBackWhole();
  std::unique_lock lock(lanes_->mutex_);
  (void)Await(&lock, false,
              [&] { return LetGo(&lock) && lanes_->alone_ == nullptr && lanes_->beside_ + lanes_->waiting_ == 0; });
}

}  // namespace kb
