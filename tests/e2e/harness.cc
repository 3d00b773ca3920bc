#include "harness.h"

#include <fcntl.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "base/file.h"
#include "open_paths.h"

namespace kb::e2e {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

// Nothing if the file is gone, as those of /proc may be from one moment to the
// next.
std::string Slurp(const fs::path& path) { return ReadFile(path, size_t{1} << 30).value_or(""); }

std::string Inherited(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

bool Works(const Arguments& argv) {
  const SpawnOptions options{.argv = argv, .environment = {"PATH=" + Inherited("PATH", "/usr/bin:/bin"), "HOME=/tmp"}};
  const auto done = RunToEnd(options, seconds(60));
  return done && done->status.ok();
}

bool HasTorch(const std::string& python) {
  return Works({python, "-c",
                "import importlib.util, sys; "
                "sys.exit(importlib.util.find_spec('torch') is None)"});
}

// What this machine lacks, or nothing.
std::string LackingTools() {
  if (!Works({"g++", "--version"})) return "no g++ on this machine";
  if (!Works({"bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/", "/bin/true"})) {
    return "this machine has no bubblewrap or refuses its namespaces";
  }
  return "";
}

std::optional<Process> ReadProcess(const fs::path& directory) {
  const std::string stat = Slurp(directory / "stat");
  const size_t open = stat.find('('), close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  Process process;
  process.pid = std::atoi(stat.c_str());
  process.name = stat.substr(open + 1, close - open - 1);
  std::istringstream rest(stat.substr(close + 1));
  rest >> process.state >> process.parent;
  std::istringstream words(Slurp(directory / "cmdline"));
  for (std::string word; std::getline(words, word, '\0');) process.argv.push_back(word);
  return process;
}

// Orphans that this process adopted are reaped here, so that only what still
// runs is found.
void ReapOrphans(pid_t except) {
  for (const Process& process : Descendants(getpid())) {
    if (process.state == 'Z' && process.parent == getpid() && process.pid != except) {
      waitpid(process.pid, nullptr, WNOHANG);
    }
  }
}

void KillAll(pid_t ancestor) {
  for (int tries = 0; tries < 50; ++tries) {
    const auto left = Descendants(ancestor);
    if (left.empty()) return;
    for (const Process& process : left) kill(process.pid, SIGKILL);
    ReapOrphans(-1);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

std::string Describe(const std::vector<Process>& processes) {
  std::string text;
  for (const Process& process : processes) {
    text += "\n  " + std::to_string(process.pid) + " below " + std::to_string(process.parent) + " " + process.state +
            " (" + process.name + ")";
    for (const std::string& word : process.argv) text += " " + word.substr(0, 60);
  }
  return text;
}

// CTest may give a test a core of its own (RESOURCE_GROUPS in CMakeLists.txt): two engines that share their cores take
// more than twice as long as one.
void StayOnOwnCore() {
  int core = -1;
  if (std::sscanf(Inherited("CTEST_RESOURCE_GROUP_0_CORES", "").c_str(), "id:%d", &core) != 1) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  EXPECT_EQ(sched_setaffinity(0, sizeof cores, &cores), 0) << strerror(errno);
}

// What a finished build leaves in a cache, beside locks.
const std::set<std::string> kWhole = {".json", ".so", ".h", ".gch"};
bool IsWhole(const fs::path& file) { return kWhole.contains(file.extension()) || file.filename() == "used"; }

// Copies the finished builds, by links: a precompiled header is half a gigabyte.
void CopyCache(const fs::path& from, const fs::path& to) {
  std::error_code ignored;
  fs::create_directories(to);
  for (const auto& entry : fs::recursive_directory_iterator(from, ignored)) {
    const fs::path place = to / fs::relative(entry.path(), from);
    if (entry.is_directory() || !IsWhole(entry.path())) continue;
    fs::create_directories(place.parent_path());
    fs::create_hard_link(entry.path(), place);
  }
}

std::string Shortened(const std::string& text) {
  return text.size() < 4000 ? text : text.substr(0, 2000) + "\n[...]\n" + text.substr(text.size() - 2000);
}

}  // namespace

std::vector<json> Ended::Lines() const {
  std::vector<json> lines;
  std::istringstream stream(out);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(json::parse(line, nullptr, false));
    EXPECT_FALSE(lines.back().is_discarded()) << "not JSON: " << line.substr(0, 500);
  }
  return lines;
}

std::vector<json> Ended::Evaluations() const {
  std::vector<json> lines = Lines();
  if (!lines.empty() && lines.back().contains("summary")) lines.pop_back();
  return lines;
}

json Ended::Of(const std::string& candidate) const {
  json found;
  int count = 0;
  for (json& line : Lines()) {
    if (!line.is_object() || !line.contains("candidate")) continue;
    if (fs::path(line["candidate"].value("path", "")).filename() != candidate) continue;
    found = std::move(line);
    ++count;
  }
  EXPECT_EQ(count, 1) << "evaluations of " << candidate << " in\n" << *this;
  return found;
}

std::ostream& operator<<(std::ostream& stream, const Ended& ended) {
  if (ended.timed_out) stream << "did not end in time\n";
  return stream << "exit code " << ended.code << ", signal " << ended.signal << "\nstderr:\n"
                << Shortened(ended.err) << "\nstdout:\n"
                << Shortened(ended.out) << "\n";
}

std::vector<Process> Descendants(pid_t ancestor) {
  std::vector<Process> all, below;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc", ignored)) {
    if (!isdigit(static_cast<unsigned char>(entry.path().filename().string()[0]))) continue;
    if (auto process = ReadProcess(entry.path())) all.push_back(std::move(*process));
  }
  std::set<pid_t> known = {ancestor};
  for (bool grew = true; grew;) {
    grew = false;
    for (const Process& process : all) {
      if (!known.contains(process.parent) || known.contains(process.pid)) continue;
      known.insert(process.pid);
      below.push_back(process);
      grew = true;
    }
  }
  return below;
}

std::optional<Process> WaitForProcess(pid_t ancestor, const std::function<bool(const Process&)>& wanted,
                                      seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    for (const Process& process : Descendants(ancestor)) {
      if (process.state != 'Z' && wanted(process)) return process;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::nullopt;
}

namespace {

bool RunsModule(const Process& process, const char* module) {
  const auto& argv = process.argv;
  return argv.size() > 2 && argv[1] == "-m" && argv[2] == module;
}

}  // namespace

bool IsDeviceProcess(const Process& process) { return RunsModule(process, "kernelbench_torch.device_host"); }
bool IsZygote(const Process& process) { return RunsModule(process, "kernelbench_torch.zygote"); }
bool IsNamed(const Process& process, const std::string& name) { return process.name == name; }

Engine::Engine(Subprocess process, fs::path out, fs::path err)
    : process_(std::move(process)), out_(std::move(out)), err_(std::move(err)) {}

Engine::~Engine() { process_.Kill(); }

void Engine::Signal(int number) const { kill(process_.pid(), number); }

Ended Engine::Wait(seconds timeout) {
  const auto status = process_.Wait(timeout);
  Ended ended;
  if (status) {
    ended.signal = status->signal;
    ended.code = status->signal != 0 ? -1 : status->code;
  } else {
    ended.timed_out = true;
    process_.Kill();
  }
  ended.out = Slurp(out_);
  ended.err = Slurp(err_);
  return ended;
}

void EngineTest::SetUp() {
  StayOnOwnCore();
  static const std::string lacking = LackingTools();
  if (!lacking.empty()) GTEST_SKIP() << lacking;
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  auto root = TempDir::Create("kernelbench-e2e");
  ASSERT_TRUE(root) << root.error().message;
  root_.emplace(std::move(*root));
  for (const char* name : {"tmp", "home"}) fs::create_directory(root_->path() / name);
  cache_ = fs::path(KB_CACHES) / std::to_string(getpid());
  fs::remove_all(cache_);
  CopyCache(fs::path(KB_CACHES) / "warm", cache_);
  python_ = Python();
  if (!HasTorch(python_)) GTEST_SKIP() << "no Python with PyTorch: set KERNELBENCH_PYTHON";
}

std::string EngineTest::Python() {
  const std::string own = std::string(KB_SOURCE_DIR) + "/.venv/bin/python";
  return Inherited("KERNELBENCH_PYTHON", fs::exists(own) ? own.c_str() : "python3");
}

void EngineTest::TearDown() {
  KillAll(getpid());
  std::error_code ignored;
  if (!cache_.empty()) fs::remove_all(cache_, ignored);
}

void EngineTest::OpenPathsOfEngine() {
  const fs::path python = Inherited("KERNELBENCH_PYTHON", "");
  const fs::path real = fs::canonical(python);
  OpenPaths({KB_SOURCE_DIR, fs::path(KB_BINARY).parent_path(), python.parent_path().parent_path(),
             real.parent_path().parent_path()});
}

std::string EngineTest::Write(const std::string& name, const std::string& text) const {
  const fs::path path = root() / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

Engine EngineTest::Start(const Arguments& arguments, const Environment& changes) const {
  return StartInto(-1, arguments, changes);
}

Engine EngineTest::StartInto(int stdout_fd, const Arguments& arguments, const Environment& changes,
                             int stderr_fd) const {
  Environment environment = {{"PATH", Inherited("PATH", "/usr/bin:/bin")},
                             {"HOME", (root() / "home").string()},
                             {"LANG", "C.UTF-8"},
                             {"TMPDIR", tmp().string()},
                             {"KERNELBENCH_STORE", store().string()},
                             {"KERNELBENCH_CACHE", cache().string()},
                             {"KERNELBENCH_PYTHON", python_}};
  for (const auto& [name, value] : changes) environment[name] = value;
  SpawnOptions options;
  options.argv = {KB_BINARY};
  options.argv.insert(options.argv.end(), arguments.begin(), arguments.end());
  for (const auto& [name, value] : environment) {
    if (!value.empty()) options.environment.push_back(name + "=" + value);
  }
  const fs::path out = root() / ("out" + std::to_string(runs_)), err = root() / ("err" + std::to_string(runs_));
  ++runs_;
  const Fd out_fd(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  const Fd err_fd(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  options.stdout_fd = stdout_fd < 0 ? out_fd.get() : stdout_fd;
  options.stderr_fd = stderr_fd < 0 ? err_fd.get() : stderr_fd;
  auto process = Subprocess::Spawn(options);
  KB_CHECK(process.has_value());
  return Engine(std::move(*process), out, err);
}

Ended EngineTest::RunInTerminal(size_t columns, const Arguments& arguments, const Environment& changes,
                                const std::string& awaited,
                                const std::function<void(const Engine& engine, int terminal)>& meanwhile) const {
  int master = -1, slave = -1;
  const winsize size{.ws_row = 40, .ws_col = static_cast<unsigned short>(columns), .ws_xpixel = 0, .ws_ypixel = 0};
  KB_CHECK(openpty(&master, &slave, nullptr, nullptr, &size) == 0);
  const Fd terminal(master);
  Fd inside(slave);
  Environment environment = {{"TERM", "xterm"}};
  for (const auto& [name, value] : changes) environment[name] = value;
  Engine engine = StartInto(slave, arguments, environment, slave);
  inside.Reset();
  std::string shown;
  bool called = !meanwhile;
  for (char buffer[4096];;) {  // reading fails when nothing holds the other end any more
    const ssize_t got = read(master, buffer, sizeof buffer);
    if (got <= 0) break;
    shown.append(buffer, static_cast<size_t>(got));
    if (called || shown.find(awaited) == std::string::npos) continue;
    called = true;
    meanwhile(engine, master);
  }
  Ended ended = engine.Wait();
  ended.out = std::move(shown);
  EXPECT_TRUE(called) << "this never came: " << awaited << "\n" << ended;
  return ended;
}
Ended EngineTest::Run(const Arguments& arguments, const Environment& changes) const {
  return Start(arguments, changes).Wait();
}

int EngineTest::StoredEvaluations() const {
  if (!fs::exists(store())) return 0;
  sqlite3* database = nullptr;
  int count = -1;
  EXPECT_EQ(sqlite3_open(store().c_str(), &database), SQLITE_OK);
  const auto ask = [&](const char* question) {
    sqlite3_stmt* statement = nullptr;
    std::string answer;
    EXPECT_EQ(sqlite3_prepare_v2(database, question, -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    if (sqlite3_step(statement) == SQLITE_ROW)
      answer = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return answer;
  };
  EXPECT_EQ(ask("PRAGMA integrity_check"), "ok");
  // Every part of an evaluation goes with it.
  for (const char* part : {"samples", "builds", "baselines"}) {
    const std::string orphans =
        std::string("SELECT count(*) FROM ") + part + " WHERE evaluation_id NOT IN (SELECT id FROM evaluations)";
    EXPECT_EQ(ask(orphans.c_str()), "0") << part;
  }
  const std::string text = ask("SELECT count(*) FROM evaluations");
  if (!text.empty()) count = std::atoi(text.c_str());
  sqlite3_close(database);
  return count;
}

void EngineTest::ExpectNoProcessLeft() {
  std::vector<Process> left;
  const auto deadline = std::chrono::steady_clock::now() + seconds(5);
  do {
    ReapOrphans(-1);
    left = Descendants(getpid());
    if (left.empty()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  } while (std::chrono::steady_clock::now() < deadline);
  ADD_FAILURE() << "processes left behind:" << Describe(left);
}

void EngineTest::ExpectNoFilesLeft() const {
  for (const auto& entry : fs::directory_iterator(tmp())) ADD_FAILURE() << "left in TMPDIR: " << entry.path();
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(cache() / "builds", ignored)) {
    const std::string name = entry.path().filename();
    const bool half = name.starts_with("new.") || name.starts_with("trash.");
    const bool good = entry.is_directory() ? !half : IsWhole(name) || entry.path().extension() == ".seen";
    EXPECT_TRUE(good) << "half a build in the cache: " << entry.path();
  }
}

const char* const kReluProblem = R"(
import torch
import torch.nn as nn

N = 64
DISTRIBUTIONS = ("centred", "scaled", "sparse", "structured")


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.rand(N, N)]


def get_init_inputs():
    return []
)";

const char* const kReluModule = R"(
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=0)
)";

const char* const kReluNative = R"(
#include <kernelbench/kernel.h>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0.0f : x[i];
  return 0;
}
)";

std::string PythonShows(const std::string& name) {
  return "__import__('ctypes').CDLL(None).prctl(15, b'" + name + "', 0, 0, 0)";
}

std::string NativeShows(const std::string& name) { return "prctl(PR_SET_NAME, \"" + name + "\");"; }

std::string Example(const std::string& name) { return std::string(KB_SOURCE_DIR) + "/examples/" + name; }

}  // namespace kb::e2e
