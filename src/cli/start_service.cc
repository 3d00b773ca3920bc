#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "base/fd.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "cli/warm_service.h"

namespace kb::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::chrono::seconds kPatience{60};  // for a service to start
constexpr const char* kIdle = "1800";          // seconds after which one ends that was started so

// A process of its own, which outlives this one. What it says goes to a file beside the store.
Result<pid_t> Spawn(std::vector<std::string> arguments, const std::string& log) {
  const Fd out(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
  if (!out.valid()) return Fail(ErrorCode::kUsage, fmt::format("cannot write {}: {}", log, std::strerror(errno)));
  const pid_t child = ::fork();
  if (child < 0) return Fail(ErrorCode::kEngine, fmt::format("cannot start a process: {}", std::strerror(errno)));
  if (child > 0) return child;
  ::setsid();
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out.get(), STDOUT_FILENO);
  ::dup2(out.get(), STDERR_FILENO);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::execv("/proc/self/exe", argv.data());
  ::_exit(127);
}

// Whether a service has the store, though it may not listen yet.
bool IsServed(const std::string& store) {
  const Fd lock(::open(ServiceLock(store).c_str(), O_RDONLY | O_CLOEXEC));
  return lock.valid() && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

// What it said before it ended, as a message.
Error ErrorIn(const std::string& log, int status) {
  std::string said = ReadFile(log).value_or("");
  said.resize(said.find_last_not_of('\n') + 1);
  constexpr std::string_view kName = "kernelbench: ";
  if (said.starts_with(kName)) said.erase(0, kName.size());
  const bool usage = WIFEXITED(status) && WEXITSTATUS(status) == 2;
  return {usage ? ErrorCode::kUsage : ErrorCode::kEngine,
          said.empty() ? "the service ended at once: " + log + " may say why" : said};
}

}  // namespace

Result<json> StartService(const std::string& store, const std::vector<std::string>& serve_flags) {
  const fs::path socket = ServiceSocket(store);
  std::error_code ignored;  // open() says what is wrong
  fs::create_directories(socket.parent_path(), ignored);
  const std::string log = store + ".serve.log";
  std::vector<std::string> arguments = {"kernelbench", "serve", "--store", store};
  const bool idle = std::any_of(serve_flags.begin(), serve_flags.end(),
                                [](const std::string& flag) { return flag.starts_with("--idle"); });
  if (!idle) arguments.insert(arguments.end(), {"--idle", kIdle});
  arguments.insert(arguments.end(), serve_flags.begin(), serve_flags.end());
  KB_ASSIGN_OR_RETURN(const pid_t child, Spawn(std::move(arguments), log));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  std::optional<Error> ended;
  while (std::chrono::steady_clock::now() < deadline && !Interrupted()) {
    if (!ended && ::waitpid(child, &status, WNOHANG) == child) ended = ErrorIn(log, status);
    // Where two are started at once one of them ends, and both callers have the other, which may not listen yet.
    if (auto service = AskService(socket)) return service;
    if (ended && !IsServed(store)) return tl::make_unexpected(*ended);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  if (!ended) ::kill(child, SIGTERM);
  if (Interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
  if (ended) return tl::make_unexpected(*ended);
  return Fail(ErrorCode::kEngine,
              fmt::format("the service did not start within {} s: {} says why", kPatience.count(), log));
}

}  // namespace kb::cli
