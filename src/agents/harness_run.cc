#include "agents/harness_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "base/interrupt.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr const char *kFiles = "/kb/files", *kProgramFolders = "/kb/files/bin:/kb/interpreter";
constexpr size_t kMostOutput = size_t{4} << 20;

// What `judge` is in the box of a harness without MCP.
constexpr const char* kJudgeScript = R"(#!/bin/sh
# judge TOOL [PATH]
tool=$1
path=$2
case $path in
  "" | /*) ;;
  *) path=$PWD/$path ;;
esac
printf '%s\n' "$tool $path" | {bridge} - {judge_socket} | {
  read -r ending
  cat
  [ "$ending" = ok ]
}
)";

std::string JudgeScript() {
  std::string script = kJudgeScript;
  for (const auto& [name, value] : {std::pair{"{bridge}", kBoxBridge}, std::pair{"{judge_socket}", kBoxJudgeSocket}}) {
    script.replace(script.find(name), std::string(name).size(), value);
  }
  return script;
}

// Agents may be another user, whose box shows this folder alone.
Status WriteOpen(const fs::path& root, const fs::path& below, const std::string& text, fs::perms mode) {
  const fs::path path = root / below;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  for (fs::path folder = path.parent_path(); folder != root.parent_path(); folder = folder.parent_path()) {
    fs::permissions(folder, fs::perms(0755), error);
  }
  KB_RETURN_IF_ERROR(WriteFileAtomic(path, text));
  fs::permissions(path, mode, error);
  return {};
}

std::string ShellWords(const std::vector<std::string>& command) {
  std::string words;
  for (const std::string& each : command) words += (words.empty() ? "" : " ") + ShellWord(each);
  return words;
}

}  // namespace

struct HarnessRun::State {
  HarnessRunOptions options;
  FilledHarness filled;
  TempDir outside;  // sockets and files
  std::unique_ptr<JudgeSocket> judge;
  std::optional<Box> box;

  Status WriteFiles() const;
  void Watch(std::atomic<bool>* ended);
  Result<CommandResult> RunProgram();
  void ReadEnd(const CommandResult& result, HarnessEnd* end) const;
  void TakeCandidate(HarnessEnd* end);

  std::mutex mutex;  // of what follows
  std::condition_variable changed;
  std::optional<HarnessLimit> limit;
  std::optional<AgentCandidate> submitted;
  std::chrono::steady_clock::time_point submitted_at;
};

Status HarnessRun::State::WriteFiles() const {
  const fs::path root = outside.path() / "files";
  for (const auto& [path, text] : filled.files) {
    KB_RETURN_IF_ERROR(WriteOpen(root, fs::path("home") / path, text, fs::perms(0644)));
  }
  const std::string start = fmt::format("#!/bin/sh\nexec {} \"$@\"\n", ShellWords(options.program.command));
  const std::string name = fs::path(options.harness.program).filename();
  KB_RETURN_IF_ERROR(WriteOpen(root, fs::path("bin") / name, start, fs::perms(0755)));
  return WriteOpen(root, "bin/judge", JudgeScript(), fs::perms(0755));
}

Result<HarnessRun> HarnessRun::Create(const Installation& installation, HarnessRunOptions options) {
  KB_ASSIGN_OR_RETURN(FilledHarness filled, FillHarness(options.harness, options.values));
  KB_ASSIGN_OR_RETURN(TempDir outside, TempDir::Create("kernelbench-harness"));
  const fs::path judge_socket = outside.path() / "judge.sock";
  KB_ASSIGN_OR_RETURN(auto judge, JudgeSocket::Listen(judge_socket));
  BoxOptions box = options.box;
  box.read_only.insert(box.read_only.end(), options.program.shown.begin(), options.program.shown.end());
  box.read_only.push_back({installation.libexec / "kb-bridge", kBoxBridge});
  box.read_only.push_back({outside.path() / "files", kFiles});
  box.sockets.push_back({options.model_socket, kBoxModelSocket});
  box.sockets.push_back({judge_socket, kBoxJudgeSocket});
  box.environment.insert(box.environment.end(), filled.environment.begin(), filled.environment.end());
  box.path_first = kProgramFolders + (box.path_first.empty() ? "" : ":" + box.path_first);
  HarnessRun run(std::unique_ptr<State>(new State{.options = std::move(options),
                                                  .filled = std::move(filled),
                                                  .outside = std::move(outside),
                                                  .judge = std::move(judge)}));
  KB_RETURN_IF_ERROR(run.state_->WriteFiles());
  KB_ASSIGN_OR_RETURN(Box made, Box::Create(installation, box));
  run.state_->box.emplace(std::move(made));
  return run;
}

// Stops the program once there is a reason to.
void HarnessRun::State::Watch(std::atomic<bool>* ended) {
  std::unique_lock lock(mutex);
  while (!*ended) {
    changed.wait_for(lock, kInterruptSlice);
    if (!limit && options.over) {
      lock.unlock();
      auto reached = options.over();
      lock.lock();
      limit = std::move(reached);
    }
    const bool enough = submitted && std::chrono::steady_clock::now() - submitted_at >= options.grace;
    if (!*ended && (limit || enough || judge->error())) box->Stop();
  }
}

Result<CommandResult> HarnessRun::State::RunProgram() {
  const std::string command = fmt::format(
      "[ ! -d {0}/home ] || cp -R {0}/home/. \"$HOME\"/ || exit 125\n"
      "exec {1} {2} {3} -- /bin/sh -c {4}",
      kFiles, kBoxBridge, options.values.port, kBoxModelSocket, ShellWord(filled.command));
  std::atomic<bool> ended = false;
  std::thread watcher([&] { Watch(&ended); });
  auto result = box->Run(command, {.timeout = options.wall, .output_bytes = kMostOutput});
  {
    const std::lock_guard lock(mutex);
    ended = true;
    changed.notify_all();
  }
  watcher.join();
  return result;
}

// The first of these that is so.
void HarnessRun::State::ReadEnd(const CommandResult& result, HarnessEnd* end) const {
  const Harness& harness = options.harness;
  const auto says = [&](const std::string& text) {
    return !text.empty() && result.output.find(text) != std::string::npos;
  };
  const auto is = [&](const std::string& by, const std::string& ending) {
    end->ended_by = by;
    end->ending = ending;
  };
  if (submitted) return is("submit", "it has submitted");
  if (limit) return is(limit->ended_by, limit->ending);
  if (result.timed_out) {
    return is("seconds", fmt::format("its {} s were over", options.wall.count() / 1000));
  }
  if (const std::string wrong = options.model_error ? options.model_error() : ""; !wrong.empty()) {
    return is("model", fmt::format("the model failed ({}), and {} ended ({})", wrong, harness.name, result.Ending()));
  }
  if (says(harness.error_text)) {
    return is("model", fmt::format("{} says that the model failed, and ended ({})", harness.name, result.Ending()));
  }
  if (result.out_of_memory) return is("failed", fmt::format("{} ran out of memory", harness.name));
  const auto& codes = harness.limit_codes;
  if (says(harness.limit_text) || std::find(codes.begin(), codes.end(), result.status.code) != codes.end()) {
    return is("limit", fmt::format("{} reached a limit of its own", harness.name));
  }
  if (!result.status.ok()) {
    return is("failed", fmt::format("{} failed ({}): {}", harness.name, result.Ending(), LastLine(result.output)));
  }
  is("exit", fmt::format("{} ended by itself and submitted nothing", harness.name));
}

void HarnessRun::State::TakeCandidate(HarnessEnd* end) {
  end->submitted = submitted;
  if (submitted || options.candidate.empty()) return;
  const auto found = box->folder().Candidate(options.candidate);
  if (!found) return;
  end->submitted = AgentCandidate{options.candidate, found->text, found->rejection};
}

HarnessRun::HarnessRun(std::unique_ptr<State> state) : state_(std::move(state)) {}
HarnessRun::HarnessRun(HarnessRun&& other) noexcept = default;
HarnessRun::~HarnessRun() = default;

Box& HarnessRun::box() { return *state_->box; }

Result<HarnessEnd> HarnessRun::Run(JudgeTools tools, std::optional<std::chrono::milliseconds> left) {
  State& state = *state_;
  if (left) state.options.wall = *left;
  tools.told = [&state, told = std::move(tools.told)](const ToolCall& call, const ToolOutcome& outcome) {
    if (told) told(call, outcome);
    if (!outcome.submitted) return;
    const std::lock_guard lock(state.mutex);
    if (state.submitted) return;  // its time to end runs already
    state.submitted = outcome.submitted;
    state.submitted_at = std::chrono::steady_clock::now();
  };
  state.judge->Open(std::move(tools));
  const auto begun = std::chrono::steady_clock::now();
  const auto result = state.RunProgram();
  HarnessEnd end{.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()};
  state.judge->Close();
  if (!result) return tl::make_unexpected(result.error());
  if (const auto error = state.judge->error()) return tl::make_unexpected(*error);
  // Of its last call a program may end before anybody has looked.
  if (!state.limit && state.options.over) state.limit = state.options.over();
  end.status = result->status;
  end.output = result->output;
  state.ReadEnd(*result, &end);
  state.TakeCandidate(&end);
  return end;
}

std::string HowToJudge(const Harness& harness) {
  const std::string shell =
      "`judge compile FILE`, `judge evaluate FILE`, `judge profile FILE` (on a GPU), `judge best` and `judge submit "
      "FILE`. It ends with exit code 1 where a call came to nothing.";
  if (harness.judge == "shell") return "The command `judge` asks the judge, in a shell: " + shell + "\n";
  return "The MCP server `judge` has the tools compile, evaluate, profile (on a GPU), best and submit. Each takes the "
         "path of your file in this folder. In a shell the command `judge` does the same: " +
         shell + "\n";
}

}  // namespace kb
