// The engine's view of the device process: Python with PyTorch, hosting the device library. Trusted, but for that of a
// client's problem, which is confined and whose answers are hostile.
#ifndef JUDGE_PROCESS_DEVICE_PROCESS_H_
#define JUDGE_PROCESS_DEVICE_PROCESS_H_

#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "base/subprocess.h"
#include "judge/devices/device_kind.h"
#include "wire/channel.h"
#include "wire/ops.h"

namespace kb {

class RunnerProcess;

// The Python that has PyTorch, and what its processes need to see.
struct PythonIdentity {
  std::string executable;
  std::vector<std::filesystem::path> paths;  // prefixes and torch, for the sandbox
  // Versions of torch and of those of Packages() (candidate/packages.h) that it has, by the module's name.
  std::map<std::string, std::string> versions;
};

// KERNELBENCH_PYTHON, else the virtual environment of the source tree, else python3; the first that imports torch
// >= 2.9.
Result<PythonIdentity> FindPython(const Installation& installation);

// Environment that both sides of a comparison run under. Equal thread counts. Memory is kept once it is touched (as
// PyTorch's caching allocator does on a GPU), so that neither side is timed while the kernel zeroes pages. OpenMP's
// threads spin only briefly at a barrier: with its default, one busy program on the machine makes eager calls take 15
// times as long, as each thread spins out its time slice while the one it waits for has no core. On the CPU they are
// bound to cores, all but the main thread, which begins each call on the core that is left (base/cores.h): where two
// threads of a runner wake up on one core, they share it for all of a short call. A bound thread hands that on to
// the threads that it starts, so the main thread is not.
// `device`: FoundDevice::environment.
std::vector<std::string> TensorEnvironment(const Installation& installation, const std::vector<std::string>& device,
                                           int threads);

// For processes that time modules, beside that: on the CPU outputs come from an arena (src/runner/output_memory.h).
std::vector<std::string> OutputMemory(const Installation& installation, const FoundDevice& device);

class DeviceProcess {
 public:
  // Starts it; importing torch goes on in the background until AwaitReady().
  static Result<DeviceProcess> Start(const Installation& installation, const PythonIdentity& python,
                                     const FoundDevice& device, int threads);
  // One that Zygote::StartDevice() has started, which has `seconds` for all its answers together. `facts`: of its
  // device; what it says itself is not asked.
  static DeviceProcess Confined(std::shared_ptr<RunnerProcess> process, Channel channel, double seconds,
                                ops::DeviceFacts facts);
  Status AwaitReady();
  // After kInterrupted: whether it has ended what it was asked, for which it gets a moment, whatever interrupts that.
  // If not it is killed.
  bool Recover();

  // One operation of wire/ops.h. An error of the problem is ErrorCode::kUsage; a device process that died or hung
  // is kEngine, and the object is of no further use. Of a confined one all of that is kUsage.
  template <typename Op>
  Result<typename Op::Reply> Ask(const Op& op, std::chrono::milliseconds timeout, const std::vector<int>& fds = {}) {
    KB_ASSIGN_OR_RETURN(const ChannelMessage reply, Exchange(Op::kOp, op, timeout, fds));
    return Decode<Op>(reply);
  }
  // One that is answered with shared memory.
  template <typename Op>
  Result<std::pair<typename Op::Reply, std::vector<Fd>>> AskForMemory(const Op& op, std::chrono::milliseconds timeout) {
    KB_ASSIGN_OR_RETURN(ChannelMessage reply, Exchange(Op::kOp, op, timeout, {}));
    KB_ASSIGN_OR_RETURN(auto body, Decode<Op>(reply));
    return std::pair(std::move(body), std::move(reply.fds));
  }
  // Asks and does not wait: the engine has something else to do meanwhile. What goes wrong is the next call's error.
  template <typename Op>
  Status Post(const Op& op, std::chrono::milliseconds timeout) {
    return Send(Op::kOp, op, timeout);
  }

  const ops::DeviceFacts& facts() const { return facts_; }  // once it is ready
  bool alive() const { return alive_; }
  bool killed() const { return killed_; }  // by SIGKILL, and not by us
  pid_t pid() const;
  // What this process knows another one as, which is its own number where both see the same namespace.
  pid_t NumberOf(pid_t other) const;

 private:
  DeviceProcess(Subprocess process, Channel channel) : process_(std::move(process)), channel_(std::move(channel)) {}
  DeviceProcess(std::shared_ptr<RunnerProcess> process, Channel channel, int64_t until_ns, ops::DeviceFacts facts)
      : confined_(std::move(process)), until_ns_(until_ns), channel_(std::move(channel)), facts_(std::move(facts)) {}
  Result<ChannelMessage> Exchange(const char* op, nlohmann::json request, std::chrono::milliseconds timeout,
                                  const std::vector<int>& fds);
  Status Send(const char* op, nlohmann::json request, std::chrono::milliseconds timeout);
  Result<ChannelMessage> Receive(const std::string& op, std::chrono::milliseconds timeout, bool interruptible = true);
  Result<ChannelMessage> ReceiveHostile(const std::string& op, std::chrono::milliseconds timeout);
  template <typename Op>
  static Result<typename Op::Reply> Decode(const ChannelMessage& reply) {
    try {
      auto decoded = reply.body.get<typename Op::Reply>();
      if constexpr (requires { decoded.gap_us; }) {
        for (const double us : {decoded.us, decoded.gap_us, decoded.waited_us}) {
          if (us < 0 || us > 1e15) return Fail(ErrorCode::kEngine, "the device process told a time that cannot be");
        }
      }
      return decoded;
    } catch (const nlohmann::json::exception& error) {
      return Fail(ErrorCode::kEngine, std::string("the device process answered \"") + Op::kOp + "\": " + error.what());
    }
  }
  Status Settle();  // receives the answer to what was posted

  struct Posted {
    std::string op;
    std::chrono::milliseconds timeout;
  };
  std::optional<Subprocess> process_;
  std::shared_ptr<RunnerProcess> confined_;  // instead of that
  int64_t until_ns_ = 0;                     // when it must have answered all, and
  size_t bytes_left_ = size_t{16} << 20;     // how much more it may say
  Channel channel_;
  std::optional<Posted> posted_;
  bool late_ = false;  // an interrupt came before the answer to what was posted
  ops::DeviceFacts facts_;
  bool alive_ = true, killed_ = false;
};

}  // namespace kb

#endif  // JUDGE_PROCESS_DEVICE_PROCESS_H_
