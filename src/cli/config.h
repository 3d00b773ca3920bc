// Defaults of flags that users set: in kernelbench.toml of the working folder or one above it, and in
// $XDG_CONFIG_HOME/kernelbench/config.toml. The nearer file wins over the other, a flag over both.
#ifndef CLI_CONFIG_H_
#define CLI_CONFIG_H_

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb::cli {

inline constexpr std::array kConfigKeys = {"store", "device", "model", "size", "protocol"};

struct ConfigFiles {
  std::filesystem::path folder, user;  // empty: no folder has one; neither $XDG_CONFIG_HOME nor $HOME is set
};
// `working`: where the search for kernelbench.toml begins; it ends at the first folder that has one or is a repository.
ConfigFiles FindConfigFiles(const std::filesystem::path& working);

// What a key is and which file says so.
struct ConfigValue {
  std::string key, value;
  std::filesystem::path file;
};
// Errors are kUsage and name file and line: what cannot be read, an unknown key, a value that is no text.
Result<std::vector<ConfigValue>> ReadConfig(const ConfigFiles& files);

// Of this process; main() reads it before it parses.
Status LoadConfig();
// What the files say of a key; nothing: they say nothing.
std::optional<std::string> Configured(const std::string& key);
const std::vector<ConfigValue>& LoadedConfig();

}  // namespace kb::cli

#endif  // CLI_CONFIG_H_
