#include "device/wait_watch.h"

#include <algorithm>

#include "base/clock.h"

namespace kb {
namespace {

CoreTimes Of(const std::map<int, CoreTimes>& threads, int tid) {
  const auto found = threads.find(tid);
  return found == threads.end() ? CoreTimes() : found->second;
}

}  // namespace

void WaitWatch::Begin() {
  before_ = CoreTimesOf(pid_);
  cpu_ns_ = CpuClockNs(pid_);
  own_before_ = OwnCoreTimes();
  start_ns_ = NowNs();
}

void WaitWatch::End() {
  span_ns_ = NowNs() - start_ns_;
  own_at_end_ = OwnCoreTimes();
  at_end_ = CoreTimesOf(pid_);
}

Waits WaitWatch::Read() const {
  const int64_t own_ran_ns = own_at_end_.ran_ns - own_before_.ran_ns;
  const int64_t ran_ns = own_ran_ns + std::max<int64_t>(0, CpuClockNs(pid_) - cpu_ns_);
  const std::map<int, CoreTimes> now = CoreTimesOf(pid_);
  Waits waits;
  const auto add = [&](int64_t waited_ns, int64_t thread_ran_ns) {
    waits.longest_ns = std::max(waits.longest_ns, waited_ns);
    waits.surely_ns = std::max(waits.surely_ns, waited_ns - (ran_ns - thread_ran_ns));
  };
  add(own_at_end_.waited_ns - own_before_.waited_ns, own_ran_ns);
  for (const auto& [tid, at_end] : at_end_) {
    const CoreTimes before = Of(before_, tid);
    add(at_end.waited_ns - before.waited_ns, Of(now, tid).ran_ns - before.ran_ns);
  }
  waits.longest_ns = std::clamp<int64_t>(cores_ * span_ns_ - ran_ns, 0, waits.longest_ns);
  return waits;
}

}  // namespace kb
