// The flags of every command that judges: on what, by which rules, how isolated.
#ifndef CLI_JUDGE_FLAGS_H_
#define CLI_JUDGE_FLAGS_H_

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/defaults.h"
#include "judge/evaluate.h"

namespace kb::cli {

// Of every command that builds.
struct BuildFlags {
  double memory_gb = EvaluatorOptions().build_memory_gb, cache_gb = EvaluatorOptions().cache_gb;
};

// Of every command that uses a device.
struct DeviceFlags {
  std::string device = ThisDevice();
  int threads = 0;
  double device_memory_gb = 0;
};

struct JudgeFlags : DeviceFlags {
  std::string size = DefaultSize(), protocol = DefaultProtocol(), isolation = "namespaces";
  std::map<std::string, std::string> keys;  // of the protocol, set by flags
  int jobs = 0;
  BuildFlags builds;
  std::vector<std::string> without;
};

void AddDeviceFlag(CLI::App* command, std::string* device);
// --threads and --device-memory.
void AddResourceFlags(CLI::App* command, DeviceFlags* flags);
void AddCacheFlag(CLI::App* command, double* cache_gb);
// --build-memory-gb and --cache-gb.
void AddBuildFlags(CLI::App* command, BuildFlags* flags);
// How a machine judges, whatever is judged: --isolation, --threads, --device-memory, --jobs and those of builds.
void AddMachineFlags(CLI::App* command, JudgeFlags* flags);
// `run`: a command that takes several devices and stores what it judges, and so has neither --device nor --without.
// `flags` outlives the parser.
void AddJudgeFlags(CLI::App* command, const std::shared_ptr<JudgeFlags>& flags, bool run = false);

EvaluatorOptions OptionsOf(const DeviceFlags& flags);
EvaluatorOptions OptionsOf(const JudgeFlags& flags);
void SetBuilds(const BuildFlags& flags, EvaluatorOptions* options);
// "quick", or "quick, precision=fp16": two sets of rules are two evaluations.
std::string RulesOf(const JudgeFlags& flags);
Result<Protocol> ProtocolOf(const JudgeFlags& flags, const std::filesystem::path& directory);

}  // namespace kb::cli

#endif  // CLI_JUDGE_FLAGS_H_
