#include "device/core_seat.h"

namespace kb {
namespace {

std::optional<cpu_set_t> CoresOf(int thread) {
  cpu_set_t cores;
  if (sched_getaffinity(thread, sizeof cores, &cores) != 0) return std::nullopt;  // or more than 1,024 of them
  return cores;
}

// Moves a thread to one of `there` and lets it go wherever it might before.
void Move(int thread, const cpu_set_t& there, const cpu_set_t& allowed) {
  if (sched_setaffinity(thread, sizeof there, &there) == 0) sched_setaffinity(thread, sizeof allowed, &allowed);
}

cpu_set_t Only(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  return cores;
}

}  // namespace

CoreSeat::CoreSeat(int pid) : pid_(pid), mine_(CoresOf(0)), theirs_(CoresOf(pid)) {}

void CoreSeat::Lend() {
  const int core = sched_getcpu();
  if (core < 0 || !mine_ || !theirs_ || CPU_COUNT(&*mine_) < 2 || !CPU_ISSET(core, &*theirs_)) return;
  cpu_set_t others = *mine_;
  CPU_CLR(core, &others);
  Move(0, others, *mine_);
  Move(pid_, Only(core), *theirs_);
  core_ = core;
}

void CoreSeat::Return() {
  if (core_ >= 0) Move(0, Only(core_), *mine_);
  core_ = -1;
}

}  // namespace kb
