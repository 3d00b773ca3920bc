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
  const int64_t ran_ns = CpuClockNs(pid_) - cpu_ns_;
  const int64_t own_waited_ns = own_at_end_.waited_ns - own_before_.waited_ns;
  const std::map<int, CoreTimes> now = CoreTimesOf(pid_);
  Waits waits{.of_all_ns = own_waited_ns, .surely_ns = own_waited_ns - ran_ns};
  for (const auto& [tid, at_end] : at_end_) {
    const CoreTimes before = Of(before_, tid);
    const int64_t waited_ns = at_end.waited_ns - before.waited_ns;
    const int64_t of_others_ns = ran_ns - (Of(now, tid).ran_ns - before.ran_ns);
    waits.of_all_ns += waited_ns;
    waits.surely_ns = std::max(waits.surely_ns, waited_ns - of_others_ns);
  }
  const int64_t own_ran_ns = own_at_end_.ran_ns - own_before_.ran_ns;
  waits.of_all_ns = std::max<int64_t>(0, std::min(waits.of_all_ns, cores_ * span_ns_ - ran_ns - own_ran_ns));
  waits.surely_ns = std::max<int64_t>(0, waits.surely_ns);
  return waits;
}

}  // namespace kb
