// Starts and ends runners. A runner reports nothing that is believed; what the engine knows of it are its process, how
// it ended, and what it printed.
#ifndef JUDGE_PROCESS_RUNNER_PROCESS_H_
#define JUDGE_PROCESS_RUNNER_PROCESS_H_

#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/subprocess.h"
#include "judge/process/device_process.h"
#include "judge/sandbox/cgroup.h"
#include "judge/sandbox/sandbox.h"
#include "wire/channel.h"

namespace kb {

// Drains a pipe in a thread of its own and keeps the first 16 KiB and the last 48.
class OutputDrain {
 public:
  static Result<std::unique_ptr<OutputDrain>> Start();
  OutputDrain(const OutputDrain&) = delete;  // the thread holds its address
  OutputDrain& operator=(const OutputDrain&) = delete;
  ~OutputDrain();

  int write_fd() const { return writing_.get(); }
  void CloseWriteEnd() { writing_.Reset(); }
  std::string Finish();  // after the writer has ended: waits for the rest

 private:
  OutputDrain(Fd reading, Fd writing, Fd wake);
  void Loop();
  Fd reading_, writing_, wake_;
  std::string head_, tail_;
  bool cut_ = false;
  std::thread thread_;
};

// The worker that holds one candidate. Killed when the object goes.
class RunnerProcess {
 public:
  RunnerProcess(pid_t pid, Fd pidfd, Fd status, std::unique_ptr<OutputDrain> output,
                std::optional<Subprocess> launcher);
  RunnerProcess(const RunnerProcess&) = delete;  // one owner kills the process
  RunnerProcess& operator=(const RunnerProcess&) = delete;
  ~RunnerProcess();

  pid_t pid() const { return pid_; }
  int pidfd() const { return pidfd_.get(); }
  // Kills it if it still runs. How it ended (nothing if its supervisor ended first), and what it printed.
  struct End {
    std::optional<ExitStatus> status;
    std::string output;
    bool out_of_memory = false;  // its control group's limit ended it
  };
  // Puts it into a control group, in the background: the kernel may take 20 ms, waiting for all processors.
  void Limit(std::optional<Cgroup> group);
  // To be asked before it loads a candidate: false if there is no group, though one was wanted, or it was refused.
  bool Limited();
  // Has it die, without waiting for that. On a GPU it takes a while.
  void Kill();
  End Finish();
  // Waits for its own end; false after the timeout.
  bool WaitForEnd(std::chrono::milliseconds timeout) const;

 private:
  pid_t pid_;
  Fd pidfd_, status_;
  std::unique_ptr<OutputDrain> output_;
  std::optional<Subprocess> launcher_;
  std::optional<Cgroup> group_;
  std::future<bool> limiting_;  // uses group_
  std::optional<End> end_;
};

// The descriptors of a session, as the device process hands them out.
struct SessionFds {
  Fd doorbell, inputs, outputs, parameters;
  uint64_t arena_bytes = 0;  // of the outputs, if the runner places them itself (GPU modules)
};

// kb-runner in a sandbox of its own. `spec`: see runner/native_main.cc.
Result<std::unique_ptr<RunnerProcess>> StartNativeRunner(const Installation& installation, const Sandbox& sandbox,
                                                         const nlohmann::json& spec, const SessionFds& session,
                                                         const std::filesystem::path& kernel, int threads);

// Tries from inside what a candidate must not be able to do (runner/probes.h): lines of JSON, as they were printed.
// `spec`: {"outside", "confinement"}.
Result<std::string> ProbeNative(const Installation& installation, const Sandbox& sandbox, const nlohmann::json& spec,
                                int threads);

// A process in the sandbox with torch imported, from which module runners are forked.
class Zygote {
 public:
  // Starts it; importing torch goes on in the background until the first use.
  static Result<Zygote> Start(const Installation& installation, const Sandbox& sandbox, const PythonIdentity& python,
                              const std::string& device, const std::string& gpu, int threads);

  // `files`: shared objects in the order of spec["extensions"], then what FirstCall() gave, if spec["compiled"].
  Result<std::unique_ptr<RunnerProcess>> StartRunner(const nlohmann::json& spec, const SessionFds& session,
                                                     const std::vector<std::filesystem::path>& files);
  // Imports a module in a worker of its own to learn which extensions it wants; the worker's text, for ReadCapture().
  // Empty if the worker died or took too long: the runner will meet that again.
  Result<std::string> Capture(const nlohmann::json& spec, std::chrono::milliseconds timeout);

  // Calls a module once in a worker of its own that may start compilers: an archive of what they made. Empty as above.
  Result<std::string> FirstCall(const nlohmann::json& spec, std::chrono::milliseconds timeout, size_t most_bytes);

  // The same for module candidates; see ProbeNative().
  Result<std::string> Probe(const nlohmann::json& spec);

  // False once it has ended, for which `patience` is given; start another one then.
  bool alive(std::chrono::milliseconds patience = {}) { return !process_.Wait(patience); }

 private:
  Zygote(Subprocess process, Channel channel, std::string keep)
      : process_(std::move(process)), channel_(std::move(channel)), keep_(std::move(keep)) {}
  Status AwaitReady();
  Result<std::string> ResultOf(const char* op, const nlohmann::json& spec, std::chrono::milliseconds timeout,
                               size_t most_bytes);
  Result<std::unique_ptr<RunnerProcess>> Fork(const char* op, nlohmann::json spec, std::vector<int> fds);
  Subprocess process_;
  Channel channel_;
  std::string keep_;
  bool ready_ = false;
};

}  // namespace kb

#endif  // JUDGE_PROCESS_RUNNER_PROCESS_H_
