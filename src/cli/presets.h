// What publications did, as values of generate's flags.
#ifndef CLI_PRESETS_H_
#define CLI_PRESETS_H_

#include <toml++/toml.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace kb::cli {

// A value of a TOML file as a flag would give it. `key`: how an error calls it; kUsage for what is no text, number,
// true or false.
Result<std::string> ValueText(const toml::node& value, const std::string& key);

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
