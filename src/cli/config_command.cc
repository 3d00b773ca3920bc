#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/config.h"
#include "cli/defaults.h"
#include "model/key.h"
#include "model/settings.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct Row {
  std::string key, value, from;
};

// What holds where no flag says it.
std::vector<Row> Rows() {
  std::vector<Row> rows;
  for (const std::string key : kConfigKeys) {
    Row row{key, "", "the default"};
    for (const ConfigValue& each : LoadedConfig()) {
      if (each.key == key) row = {key, each.value, each.file.string()};
    }
    const char* const store = std::getenv("KERNELBENCH_STORE");
    if (key == "store" && store && *store) row.from = "KERNELBENCH_STORE";
    if (key == "store") row.value = DefaultStore();
    if (key == "device") row.value = ThisDevice();
    if (key == "size") row.value = DefaultSize();
    if (key == "protocol") row.value = DefaultProtocol();
    rows.push_back(std::move(row));
  }
  return rows;
}

int PrintConfig(bool as_json) {
  std::error_code ignored;
  const ConfigFiles files = FindConfigFiles(std::filesystem::current_path(ignored));
  json all = {{"schema", 1}, {"files", json::array()}, {"values", json::array()}, {"keys", json::array()}};
  for (const auto& file : {files.folder, files.user}) {
    if (file.empty()) continue;
    all["files"].push_back({{"path", file.string()}, {"exists", std::filesystem::exists(file, ignored)}});
  }
  for (const Row& row : Rows()) all["values"].push_back({{"key", row.key}, {"value", row.value}, {"from", row.from}});
  for (const std::string& name : KeyNames()) {
    const FoundKey found = FindKey(name);
    all["keys"].push_back(
        {{"name", name}, {"from", found.value.empty() ? json() : json(found.from)}, {"exposed", found.exposed}});
  }
  if (as_json) {
    fmt::print("{}", JsonLine(all));
    return kAllCorrect;
  }
  for (const json& each : all["values"]) {
    const std::string value = each.at("value");
    fmt::print("{:<10}{}\n          from {}\n", each.at("key").get<std::string>(), value.empty() ? "none" : value,
               each.at("from").get<std::string>());
  }
  fmt::print("\nfiles, of which the first that names a key counts:\n");
  for (const json& each : all["files"]) {
    fmt::print("  {}{}\n", each.at("path").get<std::string>(), each.at("exists").get<bool>() ? "" : " (not there)");
  }
  fmt::print("\nkeys of models:\n");
  bool any = false;
  for (const json& each : all["keys"]) {
    if (each.at("from").is_null()) continue;
    any = true;
    fmt::print("  {} from {}{}\n", each.at("name").get<std::string>(), each.at("from").get<std::string>(),
               each.at("exposed").get<bool>() ? ", which others can read: chmod 600 it" : "");
  }
  if (!any) fmt::print("  none in the environment or a .env file\n");
  return kAllCorrect;
}

}  // namespace

void AddConfig(CLI::App* app, int* exit_code) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* command = app->add_subcommand(
      "config", "the defaults that hold here, and from which file they are (docs/guide/configure.md)");
  command->add_flag("--json", *as_json, "one line of JSON: files, values, and where keys of models are found");
  command->callback([as_json, exit_code] { *exit_code = PrintConfig(*as_json); });
}

}  // namespace kb::cli
