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
#include "judge/evaluate.h"

namespace kb::cli {

struct JudgeFlags {
  std::string size = "standard", device = "cpu", protocol = "strict", isolation = "namespaces";
  std::map<std::string, std::string> keys;  // of the protocol, set by flags
  int threads = 0, jobs = 0;
  double device_memory_gb = 0;
  std::vector<std::string> without;
};

// `run`: a command that takes several devices and stores what it judges, and so has neither --device nor --without.
void AddJudgeFlags(CLI::App* command, const std::shared_ptr<JudgeFlags>& flags, bool run = false);

EvaluatorOptions OptionsOf(const JudgeFlags& flags);
Result<Protocol> ProtocolOf(const JudgeFlags& flags, const std::filesystem::path& directory);

}  // namespace kb::cli

#endif  // CLI_JUDGE_FLAGS_H_
