#include "device/core_seat.h"

#include <sched.h>

#include <optional>

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

CoreSeat::CoreSeat() : core_(sched_getcpu()) {}

void CoreSeat::Lend(int pid) {
  const auto mine = CoresOf(0), theirs = CoresOf(pid);
  if (core_ < 0 || !mine || !theirs || CPU_COUNT(&*mine) < 2 || !CPU_ISSET(core_, &*theirs)) return;
  cpu_set_t others = *mine;
  CPU_CLR(core_, &others);
  Move(0, others, *mine);
  Move(pid, Only(core_), *theirs);
  lent_ = true;
}

void CoreSeat::Return() {
  const auto mine = CoresOf(0);
  if (lent_ && mine && CPU_ISSET(core_, &*mine)) Move(0, Only(core_), *mine);
  lent_ = false;
}

}  // namespace kb
