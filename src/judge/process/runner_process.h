// Starts and ends runners. A runner reports nothing that is believed; what the engine knows of it are its process, how
// it ended, and what it printed.
#ifndef JUDGE_PROCESS_RUNNER_PROCESS_H_
#define JUDGE_PROCESS_RUNNER_PROCESS_H_

#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/subprocess.h"
#include "base/temp_dir.h"
#include "judge/process/device_process.h"
#include "judge/process/output_drain.h"
#include "judge/sandbox/cgroup.h"
#include "judge/sandbox/sandbox.h"
#include "wire/channel.h"
#include "wire/runner_spec.h"

namespace kb {

// The descriptors of a session, as the device process hands them out.
struct SessionFds {
  Fd doorbell, inputs, outputs, parameters;
  uint64_t arena_bytes = 0;   // of the outputs, if the runner places them itself (modules),
  uint64_t output_turns = 0;  // in so many places and one more in turn
};
// Of the four descriptors that the device process sends.
Result<SessionFds> SessionOf(std::vector<Fd> fds, uint64_t arena_bytes, uint64_t output_turns);

// The worker that will hold one candidate. It begins with nothing: it confines itself and opens its device, which on a
// GPU takes a quarter of a second, and waits to be told what to run. Killed when the object goes, which
// takes until what its control group held has come back.
class RunnerProcess {
 public:
  // What a new worker is given of its own: ends of sockets and pipes. They close here once it was started.
  struct Ends {
    Fd hello, status, control;
    int output = -1;
  };
  // A worker that is being started: by `start`, which passes the ends on and returns the process that launches it, if
  // it is not a child of the zygote.
  // `scratch`: its own directory (Sandbox::MakeScratch()).
  static Result<std::unique_ptr<RunnerProcess>> Start(
      std::optional<TempDir> scratch, const std::function<Result<std::optional<Subprocess>>(const Ends& ends)>& start);
  RunnerProcess(const RunnerProcess&) = delete;  // one owner kills the process
  RunnerProcess& operator=(const RunnerProcess&) = delete;
  ~RunnerProcess();

  // Waits until it is there: then it has a process id.
  Status Arrive();
  bool arrived() const { return pidfd_.valid(); }
  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }
  // Stops it while something is timed that it must not disturb, and lets it go on. Before it is told anything.
  void Pause();
  void Resume();
  // The socket by which it is told, of one that talks: to be taken once, and instead of Tell().
  Channel TakeControl() { return *std::exchange(control_, std::nullopt); }
  // What to run, and in which memory: the session's descriptors, then `files`, copies of which it gets. It is told
  // once.
  Status Tell(const RunnerSpec& spec, const SessionFds& session, const std::vector<std::filesystem::path>& files);

  // Puts it into a control group, in the background: the kernel may take 20 ms, waiting for all processors.
  void Limit(std::optional<Cgroup> group);
  // To be asked before it loads a candidate: false if there is no group, though one was wanted, or it was refused.
  bool Limited();
  // Has it die, without waiting for that. On a GPU it takes a while.
  void Kill();
  // What it has printed so far, once it is killed or has ended.
  const std::string& Output();
  // Kills it if it still runs. How it ended (nothing if its supervisor ended first), and what it printed.
  struct End {
    std::optional<ExitStatus> status;
    std::string output;
    bool out_of_memory = false;  // its control group's limit ended it
  };
  End Finish();
  // Waits for its own end; false after the timeout, or an interrupt.
  bool WaitForEnd(std::chrono::milliseconds timeout) const;

 private:
  RunnerProcess(Fd hello, Fd status, Channel control, std::unique_ptr<OutputDrain> drain);

  std::optional<TempDir> scratch_;
  pid_t pid_ = -1;
  Fd hello_, pidfd_, status_;
  std::optional<Channel> control_;  // until it is told
  std::unique_ptr<OutputDrain> drain_;
  std::optional<std::string> output_;
  std::optional<Subprocess> launcher_;
  std::optional<Cgroup> group_;
  std::future<bool> limiting_;  // uses group_
  bool limited_ = true;
  std::optional<End> end_;
};

// kb-runner in a sandbox of its own. `folders`: what it must see beside itself.
Result<std::unique_ptr<RunnerProcess>> StartNativeRunner(const Installation& installation, const Sandbox& sandbox,
                                                         const worker::Run& run, const FoundDevice& device,
                                                         const std::vector<std::string>& folders);

// What a worker that only probes has printed. `probe`: as it was started with.
Result<std::string> Probed(Result<std::unique_ptr<RunnerProcess>> worker, const worker::Probe& probe);

// Tries from inside what a candidate must not be able to do (runner/probes.h): lines of JSON, as they were printed.
Result<std::string> ProbeNative(const Installation& installation, const Sandbox& sandbox, const worker::Probe& probe);

// Puts a worker that is there into a control group, unless that barrier was taken away. It may have so many threads.
void LimitWorker(const Confinement& confinement, int threads, RunnerProcess* worker);

}  // namespace kb

#endif  // JUDGE_PROCESS_RUNNER_PROCESS_H_
