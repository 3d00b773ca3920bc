#include "cli/config.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/suggest.h"
#include "judge/devices/device_kind.h"
#include "judge/protocol/protocol.h"

namespace kb::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = size_t{1} << 16;

std::vector<ConfigValue>& Values() {
  static std::vector<ConfigValue> values;
  return values;
}

bool Has(const std::vector<ConfigValue>& values, const std::string& key) {
  return std::any_of(values.begin(), values.end(), [&](const ConfigValue& each) { return each.key == key; });
}

// "~/x" is below the home directory; a relative path is below the file's folder.
std::string StorePath(const std::string& text, const fs::path& file) {
  const char* const home = std::getenv("HOME");
  if (text.starts_with("~/") && home && *home) return fs::path(home) / text.substr(2);
  return fs::path(text).is_absolute() ? text : (file.parent_path() / text).string();
}

// Why no command can take this value; empty: one may. Sizes are a problem's own, and models have names of any kind.
std::string FaultOf(const std::string& key, const std::string& value) {
  if (key == "device" && KindOfDevice(value) == nullptr) {
    return fmt::format("there is no device {}; give cpu, cuda, or cuda:1 for the second GPU", value);
  }
  const auto installation = FindInstallation();
  if (key != "protocol" || !installation) return "";
  const auto protocol = Protocol::Load(installation->protocols, value);
  return protocol ? "" : protocol.error().message;
}

// Adds what a nearer file has not said.
Status Read(const fs::path& file, std::vector<ConfigValue>* values) {
  std::error_code ignored;
  if (file.empty() || !fs::exists(file, ignored)) return {};
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMostBytes));
  const auto fail = [&](const toml::source_position& at, const std::string& what) {
    return Fail(ErrorCode::kUsage, fmt::format("{}:{}: {}", file.string(), at.line, what));
  };
  const std::vector<std::string> known(kConfigKeys.begin(), kConfigKeys.end());
  try {
    const toml::table table = toml::parse(text);
    std::vector<ConfigValue> own;
    for (const auto& [name, value] : table) {
      const std::string key(name.str());
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        return fail(value.source().begin, fmt::format("there is no key {}{}; the keys are {}", key,
                                                      DidYouMean(key, known), fmt::join(known, ", ")));
      }
      const auto said = value.value_exact<std::string>();
      if (!said || said->empty()) return fail(value.source().begin, key + " takes a text in quotes");
      if (const std::string fault = FaultOf(key, *said); !fault.empty()) return fail(value.source().begin, fault);
      own.push_back({key, key == "store" ? StorePath(*said, file) : *said, file});
    }
    for (ConfigValue& each : own) {
      if (!Has(*values, each.key)) values->push_back(std::move(each));
    }
  } catch (const toml::parse_error& error) {
    return fail(error.source().begin, std::string(error.description()) + "; a value is a text in quotes");
  }
  return {};
}

}  // namespace

ConfigFiles FindConfigFiles(const fs::path& working) {
  ConfigFiles files;
  std::error_code ignored;
  for (fs::path folder = working; !folder.empty(); folder = folder.parent_path()) {
    if (fs::exists(folder / "kernelbench.toml", ignored)) {
      files.folder = folder / "kernelbench.toml";
      break;
    }
    if (fs::exists(folder / ".git", ignored) || folder == folder.root_path()) break;
  }
  if (const fs::path base = ConfigDirectory(); !base.empty()) files.user = base / "config.toml";
  return files;
}

Result<std::vector<ConfigValue>> ReadConfig(const ConfigFiles& files) {
  std::vector<ConfigValue> values;
  KB_RETURN_IF_ERROR(Read(files.folder, &values));
  KB_RETURN_IF_ERROR(Read(files.user, &values));
  return values;
}

Status LoadConfig() {
  std::error_code failed;
  KB_ASSIGN_OR_RETURN(Values(), ReadConfig(FindConfigFiles(fs::current_path(failed))));
  return {};
}

std::optional<std::string> Configured(const std::string& key) {
  for (const ConfigValue& each : Values()) {
    if (each.key == key) return each.value;
  }
  return std::nullopt;
}

const std::vector<ConfigValue>& LoadedConfig() { return Values(); }

}  // namespace kb::cli
