// Runs the kernelbench binary for end-to-end tests: a private store, home and
// TMPDIR for each test, the processes it starts, and the JSON it prints.
#ifndef TESTS_E2E_HARNESS_H_
#define TESTS_E2E_HARNESS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "base/temp_dir.h"

namespace kb::e2e {

using nlohmann::json;
using Arguments = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

// How one run of the binary ended and what it printed.
struct Ended {
  int code = -1;   // of exit; -1 if a signal ended it or it did not end
  int signal = 0;  // that ended it
  bool timed_out = false;
  std::string out, err;

  // The lines of stdout as JSON. A line that is none fails the test.
  std::vector<json> Lines() const;
  // Without the last one, if that is about a run.
  std::vector<json> Evaluations() const;
  // The evaluation of the candidate with this file name; null, and a failure,
  // if there is not exactly one.
  json Of(const std::string& candidate) const;
};
// For messages of failed assertions.
std::ostream& operator<<(std::ostream& stream, const Ended& ended);

// A process as /proc shows it.
struct Process {
  pid_t pid = 0, parent = 0;
  char state = '?';
  std::string name;  // comm, which a process chooses itself
  std::vector<std::string> argv;
};
// All living processes below `ancestor`, parents before children. What the
// binary left behind is below this process, which adopts orphans.
std::vector<Process> Descendants(pid_t ancestor);
// The first process below `ancestor` that `wanted` accepts; nothing after the
// timeout.
std::optional<Process> WaitForProcess(pid_t ancestor, const std::function<bool(const Process&)>& wanted,
                                      std::chrono::seconds timeout = std::chrono::seconds(60));
bool IsDeviceProcess(const Process& process);
bool IsZygote(const Process& process);  // and the runners forked from it
bool IsNamed(const Process& process, const std::string& name);

// A running binary. The destructor kills it and all that is below it.
class Engine {
 public:
  Engine(Subprocess process, std::filesystem::path out, std::filesystem::path err);
  Engine(Engine&&) = default;
  ~Engine();

  pid_t pid() const { return process_.pid(); }
  void Signal(int number) const;
  Ended Wait(std::chrono::seconds timeout = std::chrono::seconds(240));

 private:
  Subprocess process_;
  std::filesystem::path out_, err_;
};

// Fixture of all tests here. Skips where the machine lacks a compiler,
// namespaces or PyTorch.
class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  // The Python that engines are given; asked for once root() is there.
  virtual std::string Python();

  const std::filesystem::path& root() const { return root_->path(); }
  // Where this test's builds are kept: of its own, with what tests/e2e/CMakeLists.txt had built before.
  const std::filesystem::path& cache() const { return cache_; }
  std::filesystem::path store() const { return root() / "store.sqlite"; }
  std::filesystem::path tmp() const { return root() / "tmp"; }

  // Writes a file below the test's directory and returns its path.
  std::string Write(const std::string& name, const std::string& text) const;

  // `changes` are put over the environment; an empty value takes a variable
  // away.
  Engine Start(const Arguments& arguments, const Environment& changes = {}) const;
  // The same with a standard output of the caller's, which is not read here.
  Engine StartInto(int stdout_fd, const Arguments& arguments, const Environment& changes = {},
                   int stderr_fd = -1) const;
  Ended Run(const Arguments& arguments, const Environment& changes = {}) const;
  // In a terminal of that width; `out` is all that came to it, with its control characters. `meanwhile` is called with
  // the engine once, when `out` holds `awaited`.
  Ended RunInTerminal(size_t columns, const Arguments& arguments, const Environment& changes = {},
                      const std::string& awaited = "",
                      const std::function<void(const Engine& engine, int terminal)>& meanwhile = {}) const;

  // Rows in the table `evaluations` of the store; 0 if there is none. Fails the
  // test if the store is damaged.
  int StoredEvaluations() const;

  // Another user comes to everything that the engine needs; see tests/support/open_paths.h.
  static void OpenPathsOfEngine();

  // Waits until no process is left below this one; those that stay are listed
  // and fail the test.
  static void ExpectNoProcessLeft();
  // TMPDIR is empty and the builds of the cache are whole.
  void ExpectNoFilesLeft() const;

 private:
  std::optional<TempDir> root_;
  std::filesystem::path cache_;
  std::string python_;
  mutable int runs_ = 0;
};

// A problem that is quick to judge: y = max(x, 0) on 64 x 64 numbers.
extern const char* const kReluProblem;
// Right candidates for it.
extern const char* const kReluModule;
extern const char* const kReluNative;
// Makes the process of a candidate show under `name` in /proc: a Python
// statement, and a C++ one.
std::string PythonShows(const std::string& name);
std::string NativeShows(const std::string& name);

// The path of a file in examples/.
std::string Example(const std::string& name);

}  // namespace kb::e2e

#endif  // TESTS_E2E_HARNESS_H_
