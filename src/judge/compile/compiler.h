// Runs a compiler in the sandbox: sources in, one file out. Sources and flags may be hostile.
#ifndef JUDGE_COMPILE_COMPILER_H_
#define JUDGE_COMPILE_COMPILER_H_

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/slots.h"
#include "judge/compile/build_cache.h"
#include "judge/sandbox/sandbox.h"

namespace kb {

struct CompileLimits {
  // What is left for all compilations that share this object. At 0 or below none begins.
  std::shared_ptr<std::atomic<int64_t>> left_ms = std::make_shared<std::atomic<int64_t>>(180'000);
  // Of all its programs and the files that they write together. Where there are no control groups, of each program.
  uint64_t memory_bytes = uint64_t{8} << 30;
  uint64_t output_bytes = uint64_t{64} << 20;
  // A compilation takes one of these while it runs; null: any number may. And how long all of them waited for one.
  std::shared_ptr<Slots> slots;
  std::shared_ptr<std::atomic<int64_t>> waited_ns = std::make_shared<std::atomic<int64_t>>(0);
  Seat seat;
};

// The words as one command of a shell.
std::string ShellCommand(const std::vector<std::string>& words);

struct CompileJob {
  std::vector<std::pair<std::string, std::string>> sources;  // file name, contents
  std::vector<std::string> argv;                             // runs in the directory of the sources
  std::string script;                                        // or this, by /bin/sh
  std::string output;                                        // file name that it writes
  // The command replaces the process that was confined. NVIDIA's driver needs that: it names its threads in its
  // process's own folder of /proc, and no other may be written. Two more arguments follow: the file to write, and one
  // to write anything to before it runs what is not trusted. A command that fails before, but for time or memory, is
  // the engine's failure.
  bool replaces_shell = false;
  std::vector<std::filesystem::path> read_only;  // what the compiler may see beside the system
  std::vector<std::string> environment;          // beside what every sandbox has
  std::vector<int> inherit;                      // descriptors that it has, by the same numbers
  CompileLimits limits;
  CacheHold hold;  // of what it reads of the cache
};

struct Compiled {
  bool ok = false;
  bool timed_out = false;
  bool killed = false;         // the compiler or what it runs in was ended by a signal from outside
  bool out_of_memory = false;  // it failed for want of more than CompileLimits::memory_bytes
  std::string log;
  std::string output;  // contents of the output file
  double seconds = 0;
};

// Errors are the engine's: no compiler, no descriptors. A compilation that fails is a result.
Result<Compiled> Compile(const Sandbox& sandbox, const CompileJob& job);

// The first lines of what a compiler or linker said that tell what is wrong, each with its end cut off where it is
// long; where none does, the first that is there. Valid UTF-8, without a line end at its end, never empty.
std::string ErrorLines(std::string_view log);
std::string FirstErrorLine(std::string_view log);

// The C++ compiler of this machine: $CXX or g++.
struct CompilerIdentity {
  std::string command;                       // an absolute path
  std::vector<std::filesystem::path> paths;  // what the sandbox must show of it beside the system
  std::string version;                       // first line of --version
  std::string target;                        // hash of what -march=native means here
  std::filesystem::path toolkit;             // of a device's: where include/ and lib64/ of its toolkit are
  std::string release;                       // of a device's: "13.0"
};
Result<CompilerIdentity> FindCompiler();
// Whether a sandbox shows it in any case; and what it must show beside that for a program and what it links to.
bool IsOfTheSystem(const std::filesystem::path& path);
std::vector<std::filesystem::path> PathsOf(const std::string& command);

}  // namespace kb

#endif  // JUDGE_COMPILE_COMPILER_H_
