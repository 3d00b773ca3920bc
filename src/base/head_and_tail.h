// Of text that comes in parts and may be endless: the first and the last half of a limit, in no more memory than twice
// that.
#ifndef BASE_HEAD_AND_TAIL_H_
#define BASE_HEAD_AND_TAIL_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace kb {

class HeadAndTail {
 public:
  explicit HeadAndTail(size_t limit) : half_(limit / 2) {}

  void Append(std::string_view more) {
    const size_t room = half_ - std::min(half_, head_.size());
    head_.append(more.substr(0, room));
    if (more.size() <= room) return;
    more.remove_prefix(room);
    if (more.size() > half_) {
      dropped_ += more.size() - half_;
      more.remove_prefix(more.size() - half_);
    }
    tail_.append(more);
    if (tail_.size() > 2 * half_) Trim();
  }

  // Head, what `say` says of so many bytes between them (asked only if there are any), tail.
  template <typename Say>
  std::string Text(Say say) {
    Trim();
    return dropped_ == 0 ? head_ + tail_ : head_ + say(dropped_) + tail_;
  }
  uint64_t dropped() const { return dropped_ + (tail_.size() - std::min(tail_.size(), half_)); }

 private:
  void Trim() {
    const size_t extra = tail_.size() - std::min(tail_.size(), half_);
    tail_.erase(0, extra);
    dropped_ += extra;
  }
  const size_t half_;
  std::string head_, tail_;
  uint64_t dropped_ = 0;
};

}  // namespace kb

#endif  // BASE_HEAD_AND_TAIL_H_
