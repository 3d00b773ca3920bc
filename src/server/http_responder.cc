#include "server/http_responder.h"

#include <utility>

namespace kb::server {

void HttpReply::Tell(std::unique_lock<std::mutex> lock) {
  const bool told = std::exchange(told_, true);
  lock.unlock();
  if (!told) changed_();
}

void HttpReply::Answer(HttpAnswer answer) {
  std::unique_lock lock(mutex_);
  if (answered_ || begun_) return;
  answered_ = true;
  answer_ = std::move(answer);
  Tell(std::move(lock));
}

void HttpReply::Begin(size_t most_unsent) {
  std::unique_lock lock(mutex_);
  if (answered_ || begun_) return;
  begun_ = true;
  most_unsent_ = most_unsent;
  Tell(std::move(lock));
}

void HttpReply::BeginMessages(std::function<void(std::string)> message) {
  std::unique_lock lock(mutex_);
  if (answered_ || begun_ || gone_) return;
  begun_ = messages_ = true;
  message_ = std::move(message);
  Tell(std::move(lock));
}

bool HttpReply::Add(std::string_view event) {
  std::unique_lock lock(mutex_);
  if (!begun_ || ended_ || cut_ || gone_ || whole_) return false;
  cut_ = under_way_ + events_.size() + event.size() > most_unsent_;
  if (!cut_) events_ += event;
  const bool kept = !cut_;
  Tell(std::move(lock));
  return kept;
}

void HttpReply::End(std::string_view last) {
  std::unique_lock lock(mutex_);
  if (!begun_ || ended_) return;
  ended_ = true;
  events_ += last;
  Tell(std::move(lock));
}

void HttpReply::WhenGone(std::function<void()> gone) {
  std::unique_lock lock(mutex_);
  if (whole_) return;
  if (!gone_) {
    when_gone_.swap(gone);
    lock.unlock();  // what it held may end responders
    return;
  }
  lock.unlock();
  post_(std::move(gone));
}

void HttpReply::Drop() {
  End(messages_ ? CloseFrame(CloseCode::kFailed, "nobody is left to answer") : "");
  Answer(Problem(500, "no answer was given"));
}

HttpReply::Taken HttpReply::Take() {
  const std::lock_guard lock(mutex_);
  told_ = false;
  Taken taken{std::exchange(answer_, {}), begun_, std::exchange(message_, {}),
              std::exchange(events_, {}), ended_, cut_};
  under_way_ += taken.events.size();
  return taken;
}

bool HttpReply::cut() {
  const std::lock_guard lock(mutex_);
  return cut_;
}

void HttpReply::Sent() {
  const std::lock_guard lock(mutex_);
  under_way_ = 0;
}

void HttpReply::Whole() {
  std::function<void()> unused;
  const std::lock_guard lock(mutex_);
  whole_ = true;
  unused.swap(when_gone_);
}

void HttpReply::Gone() {
  std::function<void()> gone;
  std::function<void(std::string)> unused;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(gone_, true) || whole_) return;
    gone.swap(when_gone_);
    unused.swap(message_);
  }
  if (gone) gone();
}

void HttpReply::Disowned() {
  std::function<void()> unused;
  std::function<void(std::string)> unused_message;
  const std::lock_guard lock(mutex_);
  gone_ = true;
  unused.swap(when_gone_);
  unused_message.swap(message_);
}

}  // namespace kb::server
