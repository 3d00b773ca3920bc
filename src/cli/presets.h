// What publications did, as values of generate's flags.
#ifndef CLI_PRESETS_H_
#define CLI_PRESETS_H_

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kb::cli {

struct Preset {
  std::string name, description, source;
  std::vector<std::pair<std::string, std::string>> flags;  // without their dashes
};

// Those of prompts/presets.toml, by name. kUsage: it is not to be understood.
Result<std::vector<Preset>> ReadPresets();

// Sets what the preset says of the flags of `command` that were not given. kUsage: there is no such preset, or it names
// a flag that the command does not have.
Status ApplyPreset(const std::string& name, CLI::App* command);

}  // namespace kb::cli

#endif  // CLI_PRESETS_H_
