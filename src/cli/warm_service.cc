#include "cli/warm_service.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/text.h"
#include "server/http_client.h"
#include "server/identity.h"
#include "server/remote_executor.h"

namespace kb::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// What the service that listens there judges with.
Result<server::Identity> IdentityAt(const fs::path& socket) {
  KB_ASSIGN_OR_RETURN(const json body, AskService(socket));
  try {
    return body.at("identity").get<server::Identity>();
  } catch (const json::exception&) {
    return Fail(ErrorCode::kUnavailable, "it is no service of this version");
  }
}

}  // namespace

fs::path ServiceSocket(const std::string& store) { return fs::path(store).replace_extension(".sock"); }

std::string ServiceLock(const std::string& store) { return store + ".serve.lock"; }

Result<json> AskService(const fs::path& socket) {
  KB_ASSIGN_OR_RETURN(server::HttpClient client, server::HttpClient::ConnectUnix(socket));
  server::HttpCall call{.target = "/v1/service"};
  call.timeout = std::chrono::seconds(5);
  KB_ASSIGN_OR_RETURN(const server::HttpAnswer answer, client.Send(call));
  json body = json::parse(answer.body, nullptr, false);
  if (answer.status != 200 || !body.is_object())
    return Fail(ErrorCode::kUnavailable, "it is no service of this version");
  return body;
}

void AddServiceFlag(CLI::App* command, bool* no_service) {
  command->add_flag("--no-service", *no_service,
                    "judge in this process, though a service is warm (docs/guide/service.md)");
}

ExecutorMaker WarmService(const std::string& store, const std::vector<std::string>& devices, const JudgeFlags& flags,
                          bool quiet) {
  const fs::path socket = fs::absolute(ServiceSocket(store));
  std::error_code error;
  if (!flags.without.empty() || !fs::exists(socket, error)) return {};
  const auto identity = IdentityAt(socket);
  const auto say = [&](const std::string& why) {
    if (!quiet) fmt::print(stderr, "kernelbench: {}: judging here\n", CleanText(why));
  };
  if (!identity) {
    say(fmt::format("the service at {} does not answer ({})", socket.string(), identity.error().message));
    return {};
  }
  const std::vector<std::string> differ =
      server::Differences(*identity, server::IdentityOf(OptionsOf(flags), devices, flags.jobs));
  if (!differ.empty()) {
    say(fmt::format("the service at {} differs in {}", socket.string(), fmt::join(differ, ", ")));
    return {};
  }
  return [socket](ExecutorCalls calls) -> Result<std::unique_ptr<Executor>> {
    return std::make_unique<server::RemoteExecutor>(socket, std::move(calls));
  };
}

}  // namespace kb::cli
