#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/warm_service.h"
#include "server/identity.h"

namespace kb::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct ServiceFlags {
  std::string store = DefaultStore();
  bool json = false;
};

std::string Told(const json& service) {
  const json identity = service.value("identity", json::object());
  return fmt::format("process {} judges on {}; {} open", service.value("pid", 0), identity.value("devices", "?"),
                     service.value("open", 0));
}

int Start(const ServiceFlags& flags, const std::vector<std::string>& serve_flags) {
  if (const auto service = AskService(ServiceSocket(flags.store))) {
    fmt::print(stderr, "kernelbench: a service runs already: {}\n", Told(*service));
    return kAllCorrect;
  }
  const auto service = StartService(flags.store, serve_flags);
  if (!service) return PrintError(service.error());
  fmt::print("{}\n", Told(*service));
  return kAllCorrect;
}

int PrintStatus(const ServiceFlags& flags) {
  const fs::path socket = ServiceSocket(flags.store);
  const auto service = AskService(socket);
  if (flags.json) {
    fmt::print("{}", JsonLine(service ? *service : json()));
  } else if (service) {
    fmt::print("{}\n", Told(*service));
  } else {
    fmt::print("no service runs for {}\n", flags.store);
  }
  return service ? kAllCorrect : kNotAllCorrect;
}

int StopService(const ServiceFlags& flags) {
  const fs::path socket = ServiceSocket(flags.store);
  const auto service = AskService(socket);
  if (!service) {
    fmt::print(stderr, "kernelbench: no service runs for {}\n", flags.store);
    return kAllCorrect;
  }
  const auto pid = static_cast<pid_t>(service->value("pid", 0));
  const Fd process(pid > 1 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1);
  if (!process.valid() || ::syscall(SYS_pidfd_send_signal, process.get(), SIGTERM, nullptr, 0) != 0) {
    return PrintError({ErrorCode::kEngine, fmt::format("cannot end process {}: {}", pid, std::strerror(errno))});
  }
  // The store is free when the process has ended, and not yet when its socket has gone.
  pollfd ended{process.get(), POLLIN, 0};
  while (!Interrupted() && ::poll(&ended, 1, 50) <= 0) {
  }
  return kAllCorrect;
}

}  // namespace

void AddService(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<ServiceFlags>();
  CLI::App* service = app->add_subcommand("service", "a warm judge for eval, run and generate (docs/guide/service.md)");
  service->require_subcommand(1);
  CLI::App* start =
      service->add_subcommand("start", "start one in the background; it ends when it is idle for half an hour");
  CLI::App* status = service->add_subcommand("status", "whether one runs; exit status 1 if none does");
  CLI::App* stop = service->add_subcommand("stop", "end it when what it judges has ended");
  for (CLI::App* command : {start, status, stop}) {
    command->add_option("--store", flags->store, "the store that it belongs to")->capture_default_str();
  }
  start->allow_extras();
  start->footer(
      "What else is given goes to kernelbench serve: --devices cuda, --idle 600, --listen 127.0.0.1:8080, ...");
  status->add_flag("--json", flags->json, "one line of JSON; null if none runs");
  start->callback([flags, start, exit_code] { *exit_code = Start(*flags, start->remaining()); });
  status->callback([flags, exit_code] { *exit_code = PrintStatus(*flags); });
  stop->callback([flags, exit_code] { *exit_code = StopService(*flags); });
}

}  // namespace kb::cli
