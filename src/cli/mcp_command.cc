// kernelbench mcp: the Model Context Protocol on standard input and output, for a program that starts this one.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/interrupt.h"
#include "cli/commands.h"
#include "cli/warm_service.h"
#include "report/text.h"
#include "server/faces/mcp.h"
#include "server/faces/mcp_lines.h"
#include "server/socket_ask.h"

namespace kb::cli {
namespace {

constexpr size_t kLongestLine = size_t{32} << 20;  // as over HTTP

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
  server::McpInput input(STDIN_FILENO, kLongestLine, Interrupted);
  server::McpOutput output(STDOUT_FILENO);
  const auto write = [&output](const nlohmann::json& message) {
    if (!output.Write(JsonLine(message), [] { return false; })) Interrupt();
  };
  server::Mcp mcp(KB_VERSION);
  server::SocketAsk asking(socket, start);
  const server::ApiAsk ask = asking.Ask();
  while (auto line = input.Next()) {
    if (std::all_of(line->begin(), line->end(), [](unsigned char c) { return std::isspace(c) != 0; })) continue;
    const auto answer = [&write](const server::McpAnswer& told) {
      if (!told.message.is_null()) write(told.message);
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
  command->add_option("--devices", flags->devices,
                      "of a service that is started: cpu, cuda, cuda:0-3; default: a GPU where there is one");
  command->add_flag("--quiet", flags->quiet, "say on standard error only what is wrong");
  command->callback([flags, exit_code] {
    std::vector<std::string> serve_flags;
    if (!flags->devices.empty()) serve_flags = {"--devices", flags->devices};
    *exit_code = Speak(flags->store, serve_flags, flags->quiet);
  });
}

}  // namespace kb::cli
