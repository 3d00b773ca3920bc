// Evaluations side by side on one device. Each lane is a judge with processes of its own. What needs the device but no
// clock (context, problem, weights, anchors, the reference's process) lanes do beside each other: a window. Then one
// after the other is measured, alone on the device, before the next window opens.
#ifndef JUDGE_LANES_H_
#define JUDGE_LANES_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include "base/result.h"

namespace kb {

class Lane;

// What the lanes of a device share. May be used by several threads.
class Lanes {
 public:
  explicit Lanes(int count) : count_(count) {}
  int count() const { return count_; }

 private:
  friend class Lane;
  const int count_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int beside_ = 0, waiting_ = 0;  // lanes in the window; those that wait to be measured
  int holding_ = 0;               // lanes that may have memory of the device
  const Lane* alone_ = nullptr;   // it is measured
  const Lane* whole_ = nullptr;   // it has all memory, or waits for that
};

// One thread uses it. What waits ends with kInterrupted at an interrupt.
class Lane {
 public:
  // `let_go` gives back what this lane has of the device's memory; called on its thread.
  Lane(std::shared_ptr<Lanes> lanes, std::function<void()> let_go)
      : lanes_(std::move(lanes)), let_go_(std::move(let_go)) {}
  Lane(const Lane&) = delete;  // `lanes` refers to it
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  bool shared() const { return lanes_->count() > 1; }
  // Of how many lanes this one has its part of the memory now.
  int sharers() const { return has_whole() ? 1 : lanes_->count(); }

  // Into the window. While it is open it takes whoever comes; it does not open before those that wait were measured.
  Status Enter();
  // In the window or measured.
  bool inside() const { return place_ != Place::kOutside; }
  // Out of the window, to be measured.
  Status Measure();
  // Out of the window, or measured. What this lane has of memory stays.
  void Leave();
  // In the window: lets go what this lane has, waits until no other has any, and keeps it so until GiveBackWhole(). The
  // only lane has all of it.
  Status TakeWhole();
  bool has_whole() const;
  // The others are for a lane outside. Lets go what it has, if that is all memory.
  void GiveBackWhole();
  // Lets go where another lane waits for all memory: to be called now and then.
  void GiveWay();
  // Lets go, and waits until no other lane is at work.
  void End();

 private:
  enum class Place { kOutside, kBeside, kAlone };
  // Until `may`, with the lock held; `asked`: also lets go if another lane waits for all memory.
  Status Await(std::unique_lock<std::mutex>* lock, bool asked, const std::function<bool()>& may);
  // Where no lane is measured, who would see it: false otherwise.
  bool LetGo(std::unique_lock<std::mutex>* lock);
  bool Asked() const { return lanes_->whole_ != nullptr && lanes_->whole_ != this; }

  const std::shared_ptr<Lanes> lanes_;
  const std::function<void()> let_go_;
  Place place_ = Place::kOutside;
  bool holds_ = false;
};

}  // namespace kb

#endif  // JUDGE_LANES_H_
