// Requests that wait for a worker of a relay: bounded in number and in bytes, and let go as soon as their client goes.
#ifndef AGENTS_RELAY_REQUEST_QUEUE_H_
#define AGENTS_RELAY_REQUEST_QUEUE_H_

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "server/http_message.h"
#include "server/http_responder.h"

namespace kb {

struct QueuedRequest {
  int64_t id = 0;
  server::HttpRequest request;
  std::shared_ptr<server::HttpResponder> responder;
  std::shared_ptr<std::atomic<bool>> gone;
};

// May be used by several threads.
class RequestQueue {
 public:
  RequestQueue(size_t most, size_t most_bytes) : most_(most), most_bytes_(most_bytes) {}

  // False: too much waits already, or it has stopped.
  bool Add(QueuedRequest one) {
    const std::lock_guard lock(mutex_);
    const size_t bytes = one.request.body.size();
    if (stopped_ || waiting_.size() >= most_ || bytes > most_bytes_ - bytes_) return false;
    bytes_ += bytes;
    waiting_.push_back(std::move(one));
    changed_.notify_one();
    return true;
  }

  // The oldest, when there is one. Nothing: it has stopped.
  std::optional<QueuedRequest> Take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
    if (stopped_) return std::nullopt;
    return Cut(waiting_.begin());
  }

  // Does nothing where it does not wait.
  void Drop(int64_t id) {
    std::optional<QueuedRequest> dropped;  // its end may call for what the lock keeps
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& each) { return each.id == id; });
    if (found != waiting_.end()) dropped = Cut(found);
  }

  void Stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  QueuedRequest Cut(std::deque<QueuedRequest>::iterator at) {
    QueuedRequest one = std::move(*at);
    waiting_.erase(at);
    bytes_ -= one.request.body.size();
    return one;
  }

  const size_t most_, most_bytes_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::deque<QueuedRequest> waiting_;
  size_t bytes_ = 0;
  bool stopped_ = false;
};

}  // namespace kb

#endif  // AGENTS_RELAY_REQUEST_QUEUE_H_
