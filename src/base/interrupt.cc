#include "base/interrupt.h"

#include <signal.h>

#include <initializer_list>

namespace kb {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler may set it

thread_local const WorksUnder* own = nullptr;  // the innermost

void OnSignal(int) { interrupted = true; }

}  // namespace

void InstallInterruptHandlers() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of write(), not our death
}

void Interrupt() { interrupted = true; }

bool Interrupted() {
  if (interrupted) return true;
  for (const WorksUnder* under = own; under != nullptr; under = under->before_) {
    if (under->flag_) return true;
  }
  return false;
}

WorksUnder::WorksUnder(const std::atomic<bool>& flag) : flag_(flag), before_(own) { own = this; }

WorksUnder::~WorksUnder() { own = before_; }

}  // namespace kb
