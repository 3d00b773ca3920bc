// The engine's view of the zygote (kernelbench_torch/zygote.py). Trusted, unlike what is forked from it.
#ifndef JUDGE_PROCESS_ZYGOTE_H_
#define JUDGE_PROCESS_ZYGOTE_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/file.h"
#include "base/result.h"
#include "base/subprocess.h"
#include "judge/process/device_process.h"
#include "judge/process/runner_process.h"
#include "judge/sandbox/sandbox.h"
#include "wire/channel.h"
#include "wire/runner_spec.h"

namespace kb {

// A process in the sandbox with torch imported, from which module runners are forked. Several threads may ask it for
// workers.
class Zygote {
 public:
  // Starts it; importing torch goes on in the background until the first use.
  // `folders`: what its workers see besides.
  static Result<Zygote> Start(const Installation& installation, const Sandbox& sandbox, const PythonIdentity& python,
                              const FoundDevice& device, int threads, const std::vector<std::string>& folders = {});

  // The files that the runner is told are shared objects in the order of RunnerSpec::extensions, then what its first
  // call compiled, if anything.
  Result<std::unique_ptr<RunnerProcess>> StartRunner(const worker::Run& run);
  // A native runner in a namespace below this process's, where a device process is that StartDevice() has started.
  Result<std::unique_ptr<RunnerProcess>> StartNative(const worker::Native& run);
  // A device process for the problem of a client. It speaks over RunnerProcess::TakeControl(), and can stop and watch
  // the runners of this zygote alone, where there are PID namespaces; else all processes of its user.
  Result<std::unique_ptr<RunnerProcess>> StartDevice(const worker::Device& device);
  // Imports a module in a worker of its own to learn which extensions it wants; the worker's text, for ReadCapture().
  // Empty if the worker died or took too long: the runner will meet that again.
  Result<std::string> Capture(const worker::Capture& capture, std::chrono::milliseconds timeout);

  // The same for module candidates; see ProbeNative().
  Result<std::string> Probe(const worker::Probe& probe);

  // Whether it is known to have imported all that it was told to.
  bool ready() const { return state_->ready; }
  Status AwaitReady();
  // Has it import what compiles a baseline, once; that goes on in the background until the next use.
  Status ImportCompilers();
  // False once it has ended, for which `patience` is given, or could not be told something: its sandbox ends a moment
  // later than it does. Start another one then. One thread alone may ask.
  bool alive(std::chrono::milliseconds patience = {}) { return !state_->gone && !process_.Wait(patience); }

 private:
  Zygote(Subprocess process, Channel channel, Sandbox sandbox, std::vector<std::filesystem::path> shown,
         std::string keep)
      : process_(std::move(process)),
        channel_(std::move(channel)),
        sandbox_(std::move(sandbox)),
        shown_(std::move(shown)),
        keep_(std::move(keep)) {}
  // `result`: a file for what the worker finds out, if it is told nothing.
  template <typename Op>
  Result<std::unique_ptr<RunnerProcess>> Fork(Op op, std::optional<int> result = {});

  Subprocess process_;
  Channel channel_;
  Sandbox sandbox_;
  std::vector<std::filesystem::path> shown_;  // beside the system
  std::string keep_;                          // of that, what lies under /tmp
  struct State {
    std::mutex channel;  // held while something is sent or received
    std::atomic<bool> ready = false, gone = false;
    bool compilers = false;  // it was told to import them
  };
  std::unique_ptr<State> state_ = std::make_unique<State>();
};

}  // namespace kb

#endif  // JUDGE_PROCESS_ZYGOTE_H_
