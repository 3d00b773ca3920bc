// Where an agent's commands run. docs/design/agents.md says what the box is and what it cannot prevent.
//
// Theory of operation. Create() has kb-box make a user and a mount namespace that belong to this agent, and in them two
// bounded file systems in memory: the task folder, and one for home, /tmp and /dev/shm. The engine keeps descriptors of
// all these; they are gone when the last of them is closed, however the engine ends. Each command gets a fresh
// bubblewrap below these namespaces, with PID, network, IPC, UTS and user namespaces of its own, so nothing that it
// starts outlives it, while files do.
#ifndef AGENTS_BOX_H_
#define AGENTS_BOX_H_

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agents/folder.h"
#include "base/file.h"
#include "base/result.h"
#include "base/seat.h"
#include "base/subprocess.h"
#include "judge/sandbox/sandbox.h"

namespace kb {

struct BoxOptions {
  // What is shown beside the system. Nothing may be shown below the folders that are the agent's own: /task, /tmp,
  // /dev, /proc and its home.
  struct Shown {
    std::filesystem::path from, to;
  };
  std::vector<Shown> read_only;  // files and folders, under other names if that helps
  std::vector<Shown>
      sockets;  // Unix sockets that may be connected to; where root starts agents each becomes their user's
  std::vector<std::string> environment;  // beside PATH, HOME, LANG, TMPDIR and USER
  std::string path_first;                // folders before those of the system in PATH, a colon between them
  Seat seat = {.cores = {}, .nice = 19};
  uint64_t memory_bytes = uint64_t{8} << 30;  // of all processes together; without control groups of each
  int processes = 512;                        // and threads
  int open_files = 1024;
  uint64_t cpu_seconds = 3600;                 // of a process; of all of them: the time limit, on each core
  uint64_t task_bytes = uint64_t{256} << 20;   // memory, as the next one
  uint64_t scratch_bytes = uint64_t{1} << 30;  // of home, /tmp and /dev/shm together
  uint64_t task_files = 20'000, scratch_files = 50'000;
  FolderLimits folder;
};

// A device that one command may use. Nothing else is measured on it meanwhile, and so on its cores.
struct BoxDevice {
  DeviceAccess access;
  std::vector<std::string> environment;
  std::vector<int> cores;  // instead of those of the box; empty: those
};

struct CommandLimits {
  std::chrono::milliseconds timeout{300'000};  // while it is not frozen
  size_t output_bytes = 30'000;                // head and tail together
  std::function<bool()> stop = {};             // asked often: true ends it, as Stop() does
};

struct CommandResult {
  ExitStatus status;  // of the shell: a command that a signal ended counts as if the shell had been
  bool timed_out = false;
  bool stopped = false;  // by Stop() or `stop`
  bool out_of_memory = false;
  std::string output;  // stdout and stderr; says how much is cut out of its middle
  uint64_t cut_bytes = 0;
  std::string Ending() const;  // one line for a model
};

class Box {
 public:
  // Errors: kUnavailable says what this machine refuses and what to do; kUsage: a path that cannot be shown.
  static Result<Box> Create(const Installation& installation, const BoxOptions& options);
  Box(Box&& other) noexcept;
  Box(const Box&) = delete;  // one owner of an agent's files
  Box& operator=(const Box&) = delete;
  ~Box();

  // Runs a shell command in the task folder and waits for it; one at a time. Errors: kInterrupted; kUnavailable if it
  // cannot be started; kUsage with a text for the model if it is too long. Without `device` it sees none. When it
  // returns no process of the command is left.
  Result<CommandResult> Run(const std::string& command, const CommandLimits& limits = {},
                            const BoxDevice* device = nullptr);

  // From any thread, while Run() is called in another or not. What runs is stopped, and what would start waits, until
  // Thaw(). True once all that runs is seen to be stopped; false if that has not come about within two seconds.
  bool Freeze();
  void Thaw();
  // Ends what runs now.
  void Stop();

  // The task folder.
  Folder& folder();
  // The user that commands are outside; 0: ours.
  uid_t user() const;

 private:
  struct State;
  explicit Box(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace kb

#endif  // AGENTS_BOX_H_
