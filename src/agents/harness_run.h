// Runs a harness in a box, for one episode: its settings, the model and the judge behind sockets, its limits, its end.
#ifndef AGENTS_HARNESS_RUN_H_
#define AGENTS_HARNESS_RUN_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agents/box.h"
#include "agents/harness.h"
#include "agents/harness_install.h"
#include "agents/judge_socket.h"
#include "base/result.h"

namespace kb {

// Why a run is over: as Episode has it.
struct HarnessLimit {
  std::string ended_by, ending;  // "turns", "it has had its 1200 turns"
};

struct HarnessRunOptions {
  Harness harness;
  HarnessInstallation program;
  HarnessValues values;
  BoxOptions box;                      // beside what a harness needs
  std::filesystem::path model_socket;  // where the relay listens
  std::string candidate;               // the file or folder of the task that counts where nothing was submitted
  std::chrono::milliseconds wall{7 * 24 * 3'600'000};  // while it is not frozen
  std::chrono::milliseconds grace{30'000};             // after it has submitted
  // Asked every 200 ms, on a thread of the run's: the limit that has been reached. May be empty.
  std::function<std::optional<HarnessLimit>()> over;
  // Asked at the end: what was wrong with the model's last answer, as a sentence; "" for a good one. May be empty.
  std::function<std::string()> model_error;
};

struct HarnessEnd {
  std::string ended_by, ending;  // docs/reference/harnesses.md; the second is a sentence
  ExitStatus status;
  std::string output;  // what it printed: head and tail
  std::optional<AgentCandidate> submitted;
  double seconds = 0;
};

class HarnessRun {
 public:
  // The box, in which the task is still to be put. Errors: those of Box::Create(), kUsage for a wire that the harness
  // does not speak.
  static Result<HarnessRun> Create(const Installation& installation, HarnessRunOptions options);
  HarnessRun(HarnessRun&& other) noexcept;
  HarnessRun(const HarnessRun&) = delete;  // one owner of a box
  HarnessRun& operator=(const HarnessRun&) = delete;
  ~HarnessRun();

  // Stays where it is as long as the run lives: a Freezer may have it.
  Box& box();
  // Once. Waits for the end. `tools` are called meanwhile, on another thread. `left`: of the options' wall, where the
  // program has had some of it before. Errors: kInterrupted; kUnavailable if it cannot be started; the error of a tool.
  Result<HarnessEnd> Run(JudgeTools tools, std::optional<std::chrono::milliseconds> left = std::nullopt);

 private:
  struct State;
  explicit HarnessRun(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// For TASK.md: how an agent in this harness comes to the judge.
std::string HowToJudge(const Harness& harness);

}  // namespace kb

#endif  // AGENTS_HARNESS_RUN_H_
