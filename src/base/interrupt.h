// Ctrl-C and its kin: noted here, acted upon where waiting happens, so that children end in order and nothing is half
// done.
#ifndef BASE_INTERRUPT_H_
#define BASE_INTERRUPT_H_

#include <atomic>
#include <chrono>

namespace kb {

// SIGINT, SIGTERM and SIGHUP set a flag; a second one of them ends the process at once.
void InstallInterruptHandlers();
// Sets the flag as they do.
void Interrupt();
// That flag, or one that this thread works under.
bool Interrupted();

// While it lives, this thread works under `flag`, too: one of several jobs of a process, or one evaluation of a job,
// can be interrupted by itself. They nest.
class WorksUnder {
 public:
  explicit WorksUnder(const std::atomic<bool>& flag);
  WorksUnder(const WorksUnder&) = delete;  // puts back what was before it
  WorksUnder& operator=(const WorksUnder&) = delete;
  ~WorksUnder();

 private:
  friend bool Interrupted();
  const std::atomic<bool>& flag_;
  const WorksUnder* const before_;
};

// Longest sleep of a wait before it looks at the flag again.
inline constexpr std::chrono::milliseconds kInterruptSlice{200};

}  // namespace kb

#endif  // BASE_INTERRUPT_H_
