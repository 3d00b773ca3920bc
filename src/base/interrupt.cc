#include "base/interrupt.h"

#include <signal.h>

#include <initializer_list>

namespace kb {
namespace {

volatile sig_atomic_t interrupted = 0;

void OnSignal(int) { interrupted = 1; }

}  // namespace

void InstallInterruptHandlers() {
  struct sigaction action {};
  action.sa_handler = OnSignal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);  // a reader that went away is an error of write(), not our death
}

bool Interrupted() { return interrupted != 0; }

}  // namespace kb
