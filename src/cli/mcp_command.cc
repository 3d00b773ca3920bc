// kernelbench mcp: the Model Context Protocol on standard input and output, for a program that starts this one.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>

#include "base/interrupt.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/warm_service.h"
#include "report/text.h"
#include "server/faces/mcp.h"
#include "server/socket_ask.h"

namespace kb::cli {
namespace {

constexpr size_t kLongestLine = size_t{32} << 20;  // as over HTTP

// Lines of standard input, until its end or an interrupt.
class InputLines {
 public:
  // Nothing: there are no more.
  std::optional<std::string> Next() {
    for (;;) {
      const size_t end = in_.find('\n', searched_);
      if (end != std::string::npos) return Cut(end);
      searched_ = in_.size();
      if (in_.size() > kLongestLine || !Read()) return std::nullopt;
    }
  }
  bool too_long() const { return in_.size() > kLongestLine; }

 private:
  std::string Cut(size_t end) {
    std::string line = in_.substr(0, end);
    in_.erase(0, end + 1);
    searched_ = 0;
    return line;
  }
  bool Read() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    for (;;) {
      if (Interrupted()) return false;
      if (::poll(&input, 1, static_cast<int>(kInterruptSlice.count())) <= 0) continue;
      char piece[1 << 16];
      const ssize_t got = ::read(STDIN_FILENO, piece, sizeof piece);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) return false;
      in_.append(piece, static_cast<size_t>(got));
      return true;
    }
  }

  std::string in_;
  size_t searched_ = 0;
};

// Messages on standard output, each a line. One at a time.
class OutputLines {
 public:
  void Write(const nlohmann::json& message) {
    const std::string line = JsonLine(message);
    const std::lock_guard lock(mutex_);
    for (size_t at = 0; at < line.size();) {
      const ssize_t put = ::write(STDOUT_FILENO, line.data() + at, line.size() - at);
      if (put >= 0) {
        at += static_cast<size_t>(put);
      } else if (errno == EAGAIN) {
        pollfd ready{STDOUT_FILENO, POLLOUT, 0};
        (void)::poll(&ready, 1, -1);
      } else if (errno != EINTR) {
        return Interrupt();  // whoever read it has gone
      }
    }
  }

 private:
  std::mutex mutex_;
};

int Speak(const std::string& store, const std::vector<std::string>& serve_flags, bool quiet) {
  const auto start = [&]() -> Status {
    const auto service = StartService(store, serve_flags);
    if (!service && service.error().code != ErrorCode::kInterrupted) {
      fmt::print(stderr, "kernelbench: no service could be started: {}\n", CleanText(service.error().message));
    } else if (service && !quiet) {
      fmt::print(stderr, "kernelbench: started a service for {}\n", store);
    }
    return service ? Status() : tl::make_unexpected(service.error());
  };
  // At once, so that a user reads here and now what is wrong, and the first tool need not wait for it.
  const std::filesystem::path socket = std::filesystem::absolute(ServiceSocket(store));
  if (!AskService(socket)) {
    if (const Status started = start(); !started) {
      return started.error().code == ErrorCode::kUsage ? kUsage : kEngineFailure;
    }
  }
  InputLines input;
  OutputLines output;
  server::Mcp mcp(KB_VERSION);
  server::SocketAsk asking(socket, start);
  const server::ApiAsk ask = asking.Ask();
  const auto write = [&output](const nlohmann::json& message) { output.Write(message); };
  while (auto line = input.Next()) {
    if (std::all_of(line->begin(), line->end(), [](unsigned char c) { return std::isspace(c) != 0; })) continue;
    const auto answer = [&output](const server::McpAnswer& told) {
      if (!told.message.is_null()) output.Write(told.message);
    };
    (void)mcp.Take({.text = std::move(*line), .scope = "stdio", .ask = ask, .notify = write, .answer = answer});
  }
  mcp.ForgetAll();
  if (Interrupted()) return kInterrupted;
  if (!input.too_long()) return kAllCorrect;
  fmt::print(stderr, "kernelbench: a message is longer than {} MiB\n", kLongestLine >> 20);
  return kUsage;
}

}  // namespace

void AddMcp(CLI::App* app, int* exit_code) {
  struct Flags {
    std::string store = DefaultStore(), devices;
    bool quiet = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app->add_subcommand(
      "mcp", "tools for a model, over the Model Context Protocol on standard input and output (docs/guide/mcp.md)");
  command->add_option("--store", flags->store, "the store whose service judges; one is started if none runs")
      ->capture_default_str();
  command->add_option("--devices", flags->devices, "of a service that is started: cpu, cuda, cuda:0-3; default: cpu");
  command->add_flag("--quiet", flags->quiet, "say on standard error only what is wrong");
  command->callback([flags, exit_code] {
    std::vector<std::string> serve_flags;
    if (!flags->devices.empty()) serve_flags = {"--devices", flags->devices};
    *exit_code = Speak(flags->store, serve_flags, flags->quiet);
  });
}

}  // namespace kb::cli
