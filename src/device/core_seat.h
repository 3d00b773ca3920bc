// The core on which both sides launch their work, one after the other.
#ifndef DEVICE_CORE_SEAT_H_
#define DEVICE_CORE_SEAT_H_

#include <sched.h>

#include <optional>

namespace kb {

// Cores differ: in the memory and the GPU they are near to, and in who works on the other thread of each. What such a
// core does to calls that take as long as their launches is then the same on both sides.
class CoreSeat {
 public:
  // `pid`: the other side, which holds no candidate yet. Which cores both may use is asked once, here.
  explicit CoreSeat(int pid);
  // This thread goes to another core, and the main thread of the other side, which must be awake, to the one that this
  // thread was on. Neither is held there. Nothing happens where one of them may use no second core, or not this one.
  void Lend();
  // This thread goes back.
  void Return();

 private:
  int pid_, core_ = -1;  // the core that is lent, or -1
  std::optional<cpu_set_t> mine_, theirs_;
};

}  // namespace kb

#endif  // DEVICE_CORE_SEAT_H_
