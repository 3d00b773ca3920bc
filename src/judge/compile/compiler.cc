#include "judge/compile/compiler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/temp_dir.h"
#include "base/utf8.h"
#include "judge/sandbox/cgroup.h"

namespace kb {
namespace {

constexpr const char* kScript = "kernelbench-build.sh";                 // the name of CompileJob::script
constexpr const char* kSystemPrefixes[] = {"/usr/", "/bin/", "/opt/"};  // see sandbox.cc

std::string ShellQuote(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

Result<Fd> MemoryFile(const char* name, std::string_view contents, unsigned flags = 0) {
  Fd fd(memfd_create(name, MFD_CLOEXEC | flags));
  if (!fd.valid() || write(fd.get(), contents.data(), contents.size()) != static_cast<ssize_t>(contents.size()) ||
      lseek(fd.get(), 0, SEEK_SET) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot make a memory file for a build: out of memory or descriptors");
  }
  return fd;
}

// Nothing if it is longer than that: what the compiler started may have written past its limit.
Result<std::optional<std::string>> ReadBack(int fd, uint64_t limit) {
  std::string contents;
  char buffer[1 << 16];
  for (off_t at = 0;;) {
    const ssize_t got = pread(fd, buffer, sizeof buffer, at);
    if (got < 0) return Fail(ErrorCode::kEngine, "cannot read what the compiler wrote");
    if (got == 0) return contents;
    contents.append(buffer, static_cast<size_t>(got));
    at += got;
    if (contents.size() > limit) return std::nullopt;
  }
}

// The sources as files: where the sandbox shows them, or, without namespaces, in a directory of their own.
struct Workspace {
  std::string shown;  // where the sandbox shows them
  Confinement confinement;
  std::vector<Fd> fds;
  std::vector<std::pair<int, std::string>> files;
  std::optional<TempDir> scratch;
  uint64_t bytes = 0;  // of all sources
};

Result<Workspace> MakeWorkspace(const Sandbox& sandbox, const CompileJob& job) {
  Workspace workspace;
  // Without a mount namespace the root is the machine's.
  workspace.shown =
      sandbox.without().contains("mount-namespace") ? "/tmp/kernelbench-sources/" : "/kernelbench-sources/";
  workspace.confinement = sandbox.ConfinementFor(job.limits.memory_bytes);
  workspace.confinement.programs = true;
  workspace.confinement.file_bytes = job.limits.output_bytes;
  KB_ASSIGN_OR_RETURN(workspace.scratch, sandbox.MakeScratch(job.read_only, &workspace.confinement));
  std::vector<std::pair<std::string, std::string>> sources = job.sources;
  if (!job.script.empty()) sources.emplace_back(kScript, job.script);
  for (const auto& [name, contents] : sources) {
    workspace.bytes += contents.size();
    if (workspace.scratch) {
      const std::filesystem::path file = workspace.scratch->path() / name;
      std::error_code error;  // met again right below
      std::filesystem::create_directories(file.parent_path(), error);
      KB_RETURN_IF_ERROR(WriteFileAtomic(file, contents));
      continue;
    }
    KB_ASSIGN_OR_RETURN(Fd fd, MemoryFile(name.c_str(), contents));
    workspace.files.emplace_back(fd.get(), workspace.shown + name);
    workspace.fds.push_back(std::move(fd));
  }
  return workspace;
}

// A signal may come from outside (an operator, the kernel short of memory). It may have met the sandbox, the shell in
// it, or what the shell or the compiler driver started.
bool WasKilled(const Completed& done) {
  return done.status.signal == SIGKILL || done.status.code == 128 + SIGKILL ||
         done.output.find("signal terminated program") != std::string::npos;
}

// What compilers, assemblers and linkers say at the beginning of a line when they are refused memory. A source may make
// them say so, too, and gains nothing by it.
bool SaysOutOfMemory(const std::string& log) {
  constexpr std::string_view kSaid[] = {"out of memory",
                                        "virtual memory exhausted",
                                        "memory exhausted",
                                        "LLVM ERROR: out of memory",
                                        "ptxas fatal   : Memory allocation failure",
                                        "terminate called after throwing an instance of 'std::bad_alloc'"};
  for (size_t begin = 0; begin < log.size();) {
    const size_t end = std::min(log.find('\n', begin), log.size());
    std::string_view line(log.data() + begin, end - begin);
    begin = end + 1;
    const size_t word = std::min(line.find(' '), line.size());  // the program's name and a colon, or the first of these
    const std::string_view rest =
        word > 0 && word < line.size() && line[word - 1] == ':' ? line.substr(word + 1) : line;
    if (std::any_of(std::begin(kSaid), std::end(kSaid), [&](auto said) { return rest.starts_with(said); })) return true;
  }
  return false;
}

}  // namespace

std::string ShellCommand(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + ShellQuote(word);
  return command;
}

std::string ErrorLines(std::string_view log) {
  constexpr size_t kMostLines = 3, kLongestLine = 300;
  std::vector<std::string_view> errors;
  std::string_view first;
  for (std::string_view rest = log; !rest.empty() && errors.size() < kMostLines;) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (first.empty() && line.find_first_not_of(" \t\r") != std::string_view::npos) first = line;
    if (line.find("error: ") != std::string_view::npos || line.find("undefined reference") != std::string_view::npos ||
        line.find("): error") != std::string_view::npos) {
      errors.push_back(line);
    }
  }
  if (errors.empty()) errors.push_back(first.empty() ? "the compiler said nothing" : first);
  std::string text;
  for (const std::string_view line : errors)
    text += (text.empty() ? "" : "\n") + ValidUtf8(line.substr(0, kLongestLine));
  return text;
}

std::string FirstErrorLine(std::string_view log) {
  const std::string lines = ErrorLines(log);
  return lines.substr(0, lines.find('\n'));
}

namespace {

Result<Compiled> CompileNow(const Sandbox& sandbox, const CompileJob& job) {
  KB_ASSIGN_OR_RETURN(const Workspace workspace, MakeWorkspace(sandbox, job));
  KB_ASSIGN_OR_RETURN(Fd output, MemoryFile("output", ""));
  // Tells a sandbox that failed from a compiler that did. What is written cannot be taken back.
  KB_ASSIGN_OR_RETURN(Fd began, MemoryFile("began", "", MFD_ALLOW_SEALING));
  if (fcntl(began.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    return Fail(ErrorCode::kUnavailable, "cannot seal a memory file for a build");
  }
  const std::string fetch = workspace.scratch ? "" : fmt::format("cp -r {}* . && ", workspace.shown);
  const std::string into = fmt::format("/proc/self/fd/{}", output.get());
  const std::string begun = fmt::format("/proc/self/fd/{}", began.get());
  // A source chooses some of the words. One argument may have 128 KiB, so they are none together.
  SandboxSpec spec;
  spec.argv = {"/bin/sh", "-c",
               job.replaces_shell
                   ? fmt::format("{}exec \"$@\" {} {}", fetch, into, begun)
                   : fmt::format("echo >{} && {}\"$@\" && cat {} >{}", begun, fetch, ShellQuote(job.output), into),
               "sh"};
  const std::vector<std::string>& command =
      job.script.empty() ? job.argv : std::vector<std::string>{"/bin/sh", kScript};
  spec.argv.insert(spec.argv.end(), command.begin(), command.end());
  spec.confinement = workspace.confinement;
  spec.environment = job.environment;
  spec.read_only = job.read_only;
  spec.files = workspace.files;
  spec.inherit = job.inherit;
  spec.inherit.insert(spec.inherit.end(), {began.get(), output.get()});
  spec.tmp_bytes = workspace.bytes + 2 * job.limits.output_bytes + (uint64_t{256} << 20);
  spec.own_scratch = spec.own_pids = true;
  spec.seat = job.limits.seat;
  const int64_t start = NowNs();
  // A source's flags may start any program (-wrapper), and any number of them.
  const auto group =
      sandbox.without().contains("cgroup") ? std::nullopt : Cgroup::Create(job.limits.memory_bytes, kRunnerThreads);
  const std::vector<Fd> doors = group ? group->Doors() : std::vector<Fd>();
  for (const Fd& door : doors) spec.join.push_back(door.get());
  const std::chrono::milliseconds left(job.limits.left_ms->load());
  KB_ASSIGN_OR_RETURN(const Completed done, RunToEnd(sandbox.Wrap(spec), left, size_t{4} << 20));
  const int64_t spent = NowNs() - start;
  *job.limits.left_ms -= spent / 1'000'000;
  Compiled compiled;
  compiled.seconds = static_cast<double>(spent) / 1e9;
  compiled.timed_out = done.timed_out;
  compiled.log = done.output;
  compiled.ok = done.status.ok() && !done.timed_out;
  const bool failed = !compiled.ok && !done.timed_out;
  compiled.out_of_memory = failed && ((group && group->ReachedItsLimit()) || SaysOutOfMemory(done.output));
  compiled.killed = failed && !compiled.out_of_memory && WasKilled(done);
  if (failed && !compiled.out_of_memory && !compiled.killed && lseek(began.get(), 0, SEEK_END) == 0) {
    return Fail(ErrorCode::kUnavailable, "a compilation did not begin in its sandbox: " + done.output.substr(0, 300));
  }
  if (compiled.ok) {
    KB_ASSIGN_OR_RETURN(auto written, ReadBack(output.get(), job.limits.output_bytes));
    compiled.ok = written.has_value();
    compiled.output = std::move(written).value_or("");
    if (!compiled.ok)
      compiled.log +=
          fmt::format("more than the {} MB that one file of a build may have\n", job.limits.output_bytes >> 20);
  } else if (!done.timed_out && compiled.log.empty()) {
    compiled.log = "the compiler ended with " + done.status.Describe();
  }
  output.Reset();  // memory of the group's
  began.Reset();
  if (group) group->AwaitReturned();
  return compiled;
}

}  // namespace

Result<Compiled> Compile(const Sandbox& sandbox, const CompileJob& job) {
  Slots* const slots = job.limits.slots.get();
  const int64_t start = NowNs();
  if (slots && !slots->Take()) return Fail(ErrorCode::kInterrupted, "interrupted");
  *job.limits.waited_ns += NowNs() - start;
  auto compiled = CompileNow(sandbox, job);
  if (slots) slots->GiveBack();
  return compiled;
}

bool IsOfTheSystem(const std::filesystem::path& path) {
  const std::string text = path.string();
  return std::any_of(std::begin(kSystemPrefixes), std::end(kSystemPrefixes),
                     [&](const char* prefix) { return text.starts_with(prefix); });
}

std::vector<std::filesystem::path> PathsOf(const std::string& command) {
  std::vector<std::filesystem::path> paths;
  std::error_code ignored;
  for (const std::filesystem::path& place :
       {std::filesystem::path(command), std::filesystem::canonical(command, ignored)}) {
    if (!place.empty() && !IsOfTheSystem(place)) paths.push_back(place.parent_path().parent_path());
  }
  return paths;
}

Result<CompilerIdentity> FindCompiler() {
  CompilerIdentity identity;
  const char* set = std::getenv("CXX");
  const char* path = std::getenv("PATH");
  const std::string wanted = set && *set ? set : "g++";
  identity.command = FindProgram(wanted).value_or(wanted);
  identity.paths = PathsOf(identity.command);
  const std::vector<std::string> environment = {fmt::format("PATH={}", path ? path : "/usr/bin:/bin"), "LANG=C"};
  SpawnOptions version{.argv = {identity.command, "--version"}, .environment = environment};
  const auto told = RunToEnd(version, std::chrono::seconds(20));
  if (!told || !told->status.ok()) {
    return Fail(ErrorCode::kUnavailable,
                fmt::format("no C++ compiler: {} does not run; install g++ or set CXX", identity.command));
  }
  identity.version = told->output.substr(0, told->output.find('\n'));
  SpawnOptions target{.argv = {identity.command, "-march=native", "-Q", "--help=target"}, .environment = environment};
  KB_ASSIGN_OR_RETURN(const Completed flags, RunToEnd(target, std::chrono::seconds(20)));
  identity.target = Sha256(flags.output).substr(0, 16);
  return identity;
}

}  // namespace kb
