// A child process that cannot outlive its owner.
#ifndef BASE_SUBPROCESS_H_
#define BASE_SUBPROCESS_H_

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/seat.h"

namespace kb {

// How a process ended: by exit code or by signal.
struct ExitStatus {
  int code = 0;
  int signal = 0;  // 0 if it exited by itself
  bool ok() const { return code == 0 && signal == 0; }
  std::string Describe() const;  // "exit code 3", "SIGSEGV (segmentation fault)"
  static ExitStatus FromWait(int wait_status);
};

// "SIGSEGV (segmentation fault)" for 11.
std::string SignalName(int signal);

// The last line that a program printed, for a message: 300 bytes of it at most.
std::string LastLine(const std::string& text);

struct SpawnOptions {
  std::vector<std::string> argv;         // argv[0] is looked up in PATH
  std::vector<std::string> environment;  // "NAME=value"; nothing is inherited
  std::vector<int> inherit;              // descriptors the child keeps under the same numbers; all others close
  int stdout_fd = -1;                    // -1: /dev/null
  int stderr_fd = -1;
  bool first_to_end = false;  // where the machine runs out of memory, with all that it starts
  Seat seat;
  std::string directory;  // working directory; empty: unchanged
  // What Kill() sends. With another signal than SIGKILL the child has 5 seconds to end by itself, and what it started.
  int stop_signal = SIGKILL;
};

class Subprocess {
 public:
  // The child dies with the calling thread (PR_SET_PDEATHSIG), so that a killed engine leaves nothing behind: spawn
  // from a thread that lives as long as the child should.
  static Result<Subprocess> Spawn(const SpawnOptions& options);
  Subprocess(const Subprocess&) = delete;  // one owner waits for a process
  Subprocess& operator=(const Subprocess&) = delete;
  Subprocess(Subprocess&& other) noexcept;
  Subprocess& operator=(Subprocess&& other) noexcept;
  ~Subprocess();  // kills and reaps what still runs

  // Nothing if it still runs after the timeout. What is left of its process group ends with it.
  std::optional<ExitStatus> Wait(std::chrono::milliseconds timeout);
  // The stop signal, then reaps. Harmless after the end.
  void Kill();

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }

 private:
  Subprocess(pid_t pid, Fd pidfd, int stop_signal) : pid_(pid), pidfd_(std::move(pidfd)), stop_signal_(stop_signal) {}
  void Reap();
  pid_t pid_ = -1;
  Fd pidfd_;
  int stop_signal_ = SIGKILL;
  std::optional<ExitStatus> ended_;
};

// Runs to the end, collecting stdout and stderr together; what exceeds `output_limit` is cut out of the middle.
struct Completed {
  ExitStatus status;
  bool timed_out = false;
  std::string output;
};
// Errors: cannot start, or interrupted.
Result<Completed> RunToEnd(SpawnOptions options, std::chrono::milliseconds timeout, size_t output_limit = 1 << 20);

}  // namespace kb

#endif  // BASE_SUBPROCESS_H_
