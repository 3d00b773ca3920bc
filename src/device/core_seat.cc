#include "device/core_seat.h"

#include "base/cores.h"

namespace kb {

CoreSeat::CoreSeat(int pid) : pid_(pid), mine_(CoresOf(0)), theirs_(CoresOf(pid)) {}

void CoreSeat::Lend() {
  const int core = sched_getcpu();
  if (core < 0 || !mine_ || !theirs_ || CPU_COUNT(&*mine_) < 2 || !CPU_ISSET(core, &*theirs_)) return;
  cpu_set_t others = *mine_;
  CPU_CLR(core, &others);
  MoveTo(0, others, *mine_);
  MoveTo(pid_, OnlyCore(core), *theirs_);
  core_ = core;
}

void CoreSeat::Return() {
  if (core_ >= 0) MoveTo(0, OnlyCore(core_), *mine_);
  core_ = -1;
}

}  // namespace kb
