#include "cli/presets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "report/text.h"

namespace kb::cli {
namespace {

using nlohmann::json;

Status PrintPresets(const std::string& name, bool as_json) {
  KB_ASSIGN_OR_RETURN(const std::vector<Preset> presets, ReadPresets());
  bool any = false;
  for (const Preset& preset : presets) {
    if (!name.empty() && preset.name != name) continue;
    any = true;
    if (as_json) {
      json flags = json::object();
      for (const auto& [flag, value] : preset.flags) flags[flag] = value;
      fmt::print("{}", JsonLine(json{{"schema", 1},
                                     {"name", preset.name},
                                     {"description", preset.description},
                                     {"source", preset.source},
                                     {"flags", std::move(flags)}}));
      continue;
    }
    fmt::print("{}\n  {}\n  {}\n", preset.name, preset.description, preset.source);
    for (const auto& [flag, value] : preset.flags) fmt::print("  --{} {}\n", flag, value);
  }
  if (any) return {};
  return Fail(ErrorCode::kUsage, fmt::format("no preset {}; kernelbench presets lists them", name));
}

}  // namespace

Result<std::string> ValueText(const toml::node& value, const std::string& key) {
  if (const auto text = value.value_exact<std::string>()) return *text;
  if (const auto number = value.value_exact<int64_t>()) return std::to_string(*number);
  if (const auto number = value.value_exact<double>()) return fmt::format("{}", *number);
  if (const auto flag = value.value_exact<bool>()) return std::string(*flag ? "true" : "false");
  return Fail(ErrorCode::kUsage, fmt::format("{} should be a text, a number, true, false, or a list of such", key));
}

Result<std::vector<Preset>> ReadPresets() {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  const std::filesystem::path path = installation.prompts / "presets.toml";
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, size_t{1} << 20));
  const auto fail = [&](const std::string& what) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: {}", path.string(), what));
  };
  std::vector<Preset> presets;
  try {
    const toml::table tables = toml::parse(text);
    for (const auto& [name, table] : tables) {
      if (!table.is_table()) return fail(std::string(name.str()) + " is no table");
      Preset preset{std::string(name.str()), "", "", {}};
      for (const auto& [key, value] : *table.as_table()) {
        const std::string flag(key.str());
        auto read = ValueText(value, preset.name + "." + flag);
        if (!read) return fail(read.error().message);
        const std::string said = *std::move(read);
        if (flag == "description") {
          preset.description = said;
        } else if (flag == "source") {
          preset.source = said;
        } else {
          preset.flags.emplace_back(flag, said);
        }
      }
      presets.push_back(std::move(preset));
    }
  } catch (const toml::parse_error& error) {
    return fail(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  return presets;
}

Status ApplyPreset(const std::string& name, CLI::App* command) {
  if (name.empty()) return {};
  KB_ASSIGN_OR_RETURN(const std::vector<Preset> presets, ReadPresets());
  const auto preset =
      std::find_if(presets.begin(), presets.end(), [&](const Preset& each) { return each.name == name; });
  if (preset == presets.end()) {
    std::vector<std::string> names;
    for (const Preset& each : presets) names.push_back(each.name);
    return Fail(ErrorCode::kUsage, fmt::format("no preset {}; there are {}", name, fmt::join(names, ", ")));
  }
  for (const auto& [flag, value] : preset->flags) {
    CLI::Option* option = command->get_option_no_throw("--" + flag);
    if (option == nullptr) {
      return Fail(ErrorCode::kUsage, fmt::format("the preset {} names --{}, which is no flag here", name, flag));
    }
    if (option->count() > 0) continue;
    try {
      option->add_result(value);
      option->run_callback();
    } catch (const CLI::ParseError& error) {
      return Fail(ErrorCode::kUsage, fmt::format("the preset {}: {}", name, error.what()));
    }
  }
  return {};
}

void AddPresets(CLI::App* app, int* exit_code) {
  struct Flags {
    std::string name;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app->add_subcommand("presets", "what publications did, as flags for generate --preset");
  command->add_option("name", flags->name, "only this one");
  command->add_flag("--json", flags->json, "a line of JSON for each: name, description, source, flags");
  command->callback([flags, exit_code] {
    const Status told = PrintPresets(flags->name, flags->json);
    *exit_code = told ? int{kAllCorrect} : PrintError(told.error());
  });
}

}  // namespace kb::cli
