// The core on which both sides launch their work, one after the other.
#ifndef DEVICE_CORE_SEAT_H_
#define DEVICE_CORE_SEAT_H_

namespace kb {

// Cores differ: in the memory and the GPU they are near to, and in who works on the other thread of each. What such a
// core does to calls that take as long as their launches is then the same on both sides.
class CoreSeat {
 public:
  CoreSeat();  // the core that this thread is on
  // This thread goes to another core, and the main thread of process `pid`, which must be awake, to this one. Neither
  // is held there. Nothing happens where one of them may use no second core, or not this one.
  void Lend(int pid);
  // This thread goes back.
  void Return();

 private:
  int core_;
  bool lent_ = false;
};

}  // namespace kb

#endif  // DEVICE_CORE_SEAT_H_
