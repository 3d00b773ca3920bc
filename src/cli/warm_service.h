// A service of this user's that is warm: what judges hands its work to it.
#ifndef CLI_WARM_SERVICE_H_
#define CLI_WARM_SERVICE_H_

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/judge_flags.h"
#include "jobs/executor.h"

namespace kb::cli {

// Beside the store.
std::filesystem::path ServiceSocket(const std::string& store);
// Locked as long as a service has the store.
std::string ServiceLock(const std::string& store);

// What GET /v1/service says there; kUnavailable where nobody listens.
Result<nlohmann::json> AskService(const std::filesystem::path& socket);

// Starts one in the background, as `kernelbench serve` with these flags, and waits until it listens. It ends when it is
// idle for half an hour, unless the flags say otherwise. What GET /v1/service says there.
Result<nlohmann::json> StartService(const std::string& store, const std::vector<std::string>& serve_flags);

// The flag --no-service.
void AddServiceFlag(CLI::App* command, bool* no_service);

// Who judges with these flags: the store's service, or empty, this process. A service that would judge otherwise is not
// asked; what differs is said on stderr, unless quiet.
ExecutorMaker WarmService(const std::string& store, const std::vector<std::string>& devices, const JudgeFlags& flags,
                          bool quiet);

}  // namespace kb::cli

#endif  // CLI_WARM_SERVICE_H_
