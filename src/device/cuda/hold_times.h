// What the judge's kernels say of the time from a watch until inputs are in place behind go, and whether anybody else
// had the device meanwhile. Contexts change among all processes that have work, so where a third one has some, as a
// runner that just starts, the candidate's may come before the judge's, though it was launched after it: on the last
// round's inputs.
#ifndef DEVICE_CUDA_HOLD_TIMES_H_
#define DEVICE_CUDA_HOLD_TIMES_H_

#include <algorithm>
#include <cstdint>

namespace kb::cuda {

// As kb_watch writes it (memory.cu): the largest step of its timer, in ns; the timer at its beginning and at its end.
struct WatchTimes {
  uint64_t largest, start, end;
};

struct HoldTimes {
  WatchTimes watch, hold;
  uint64_t filled;  // the timer when all inputs were in place, as kb_stamp writes it
};

// How long the host took from the end of the watch, in ns: until the hold was launched, and everything behind it.
struct HoldLaunch {
  int64_t hold_ns, all_ns;
};

// For how long the device stays busy after go. What a call launches meanwhile, and in the 150 us in which contexts
// change, costs it no time, on either side. One operator of PyTorch's is launched within 0.25 to 0.45 ms from cold
// caches.
inline constexpr uint64_t kHoldNs = 500'000;
// A step of the timer without anybody else is 0.1 us; changing contexts takes 150, and somebody else's work two
// changes.
inline constexpr uint64_t kSuspiciousNs = 20'000;
inline constexpr int64_t kSlackNs = 150'000;

// For how many ns others had the device, as far as that is certain; 0 if they need not have had it. `copy_ns`: what
// copying the inputs should take, of which as much again is allowed.
inline int64_t TakenFromHold(const HoldTimes& times, const HoldLaunch& launch, int64_t copy_ns) {
  const auto between = [](uint64_t from, uint64_t to) { return static_cast<int64_t>(to - from); };
  const int64_t before = between(times.watch.end, times.hold.start) - launch.hold_ns - kSlackNs;
  const auto held = times.hold.largest > kSuspiciousNs ? static_cast<int64_t>(times.hold.largest) : 0;
  const int64_t launched_later = launch.all_ns - launch.hold_ns - static_cast<int64_t>(kHoldNs);
  const int64_t behind =
      between(times.hold.end, times.filled) - 2 * copy_ns - std::max<int64_t>(launched_later, 0) - kSlackNs;
  return std::max<int64_t>({0, before, held, behind});
}

}  // namespace kb::cuda

#endif  // DEVICE_CUDA_HOLD_TIMES_H_
