// models.toml: one table a model.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <set>
#include <sstream>

#include "base/file.h"
#include "model/settings.h"

namespace kb {

namespace {

using nlohmann::json;

// What a key does with its value: an empty string, or what the value should be.
using Setter = std::function<std::string(const json&, ModelSettings*)>;

Setter Text(std::string ModelSettings::*member) {
  return [member](const json& value, ModelSettings* settings) -> std::string {
    if (!value.is_string()) return "a text";
    settings->*member = value.get<std::string>();
    return "";
  };
}

Setter OneOf(std::string ModelSettings::*member, std::vector<std::string> allowed, std::string wanted) {
  return [=](const json& value, ModelSettings* settings) -> std::string {
    if (!value.is_string() || std::find(allowed.begin(), allowed.end(), value.get<std::string>()) == allowed.end()) {
      return wanted;
    }
    settings->*member = value.get<std::string>();
    return "";
  };
}

// Calls `set` with a number from `low` to `high`.
Setter Number(double low, double high, std::function<void(double, ModelSettings*)> set) {
  return [=](const json& value, ModelSettings* settings) -> std::string {
    if (!value.is_number() || !(value.get<double>() >= low && value.get<double>() <= high)) {
      return fmt::format("a number from {:g} to {:g}", low, high);
    }
    set(value.get<double>(), settings);
    return "";
  };
}

Setter Whole(int low, int high, std::function<void(int, ModelSettings*)> set) {
  return [=](const json& value, ModelSettings* settings) -> std::string {
    if (!value.is_number_integer() || value.get<int64_t>() < low || value.get<int64_t>() > high) {
      return fmt::format("a whole number from {} to {}", low, high);
    }
    set(value.get<int>(), settings);
    return "";
  };
}

// A time in seconds.
Setter Time(std::function<std::chrono::milliseconds*(ModelSettings*)> member) {
  return Number(0.001, 86'400, [=](double seconds, ModelSettings* settings) {
    *member(settings) = std::chrono::milliseconds(std::llround(1e3 * seconds));
  });
}

std::string SetPrice(const json& value, ModelSettings* settings) {
  const std::string wanted = "a table of input, cache_read, cache_write and output in US dollars per million tokens";
  if (!value.is_object()) return wanted;
  Price price{.source = "models.toml"};
  for (const auto& [key, each] : value.items()) {
    std::optional<double>* const part = key == "input"         ? &price.input
                                        : key == "cache_read"  ? &price.cache_read
                                        : key == "cache_write" ? &price.cache_write
                                        : key == "output"      ? &price.output
                                                               : nullptr;
    if (part == nullptr || !each.is_number() || !(each.get<double>() >= 0)) return wanted;
    *part = each.get<double>();
  }
  settings->price = price;
  return "";
}

std::string SetWire(const json& value, ModelSettings* settings) {
  const std::pair<const char*, Wire> wires[] = {
      {"chat", Wire::kChat}, {"messages", Wire::kMessages}, {"responses", Wire::kResponses}, {"gemini", Wire::kGemini}};
  for (const auto& [name, wire] : wires) {
    if (value != name) continue;
    settings->wire = wire;
    return "";
  }
  return "chat, messages, responses or gemini";
}

std::string SetOmit(const json& value, ModelSettings* settings) {
  if (!value.is_array()) return "a list of texts";
  for (const json& each : value) {
    if (!each.is_string()) return "a list of texts";
    settings->omit.push_back(each);
  }
  return "";
}

std::string SetExtra(const json& value, ModelSettings* settings) {
  if (!value.is_object()) return "a table";
  settings->extra = value;
  return "";
}

const std::map<std::string, Setter>& Setters() {
  using S = ModelSettings;
  static const std::map<std::string, Setter> setters = {
      {"model", Text(&S::model)},
      {"wire", SetWire},
      {"base_url",
       [](const json& value, S* s) -> std::string {
         if (!value.is_string()) return "a text";
         const Status set = SetBaseUrl(value, s);
         return set ? "" : "an address (" + set.error().message + ")";
       }},
      {"key_env", Text(&S::key_env)},
      {"path",
       [](const json& value, S* s) -> std::string {
         if (!value.is_string()) return "a text";
         s->replay = value.get<std::string>();
         return "";
       }},
      {"concurrency", Whole(1, 1024, [](int n, S* s) { s->concurrency = n; })},
      {"max_tokens", Whole(1, 10'000'000, [](int n, S* s) { s->max_tokens = n; })},
      {"window", Whole(8'000, 100'000'000, [](int n, S* s) { s->window = n; })},
      {"tools",
       [](const json& value, S* s) -> std::string {
         if (!value.is_boolean()) return "true or false";
         s->tools = value;
         return "";
       }},
      {"temperature", Number(0, 2, [](double x, S* s) { s->temperature = x; })},
      {"top_p", Number(0, 1, [](double x, S* s) { s->top_p = x; })},
      {"seed", Whole(0, 1 << 30, [](int n, S* s) { s->seed = n; })},
      {"reasoning_effort", Text(&S::reasoning_effort)},
      {"max_tokens_name", Text(&S::max_tokens_name)},
      {"thinking", OneOf(&S::thinking, {"adaptive", "budget"}, "adaptive or budget")},
      {"omit", SetOmit},
      {"extra", SetExtra},
      {"price", SetPrice},
      {"connect_timeout_s", Time([](S* s) { return &s->timeouts.connect; })},
      {"first_token_timeout_s", Time([](S* s) { return &s->timeouts.first_byte; })},
      {"token_timeout_s", Time([](S* s) { return &s->timeouts.between_bytes; })},
      {"call_timeout_s", Time([](S* s) { return &s->timeouts.total; })},
      {"attempts", Whole(1, 100, [](int n, S* s) { s->retry.attempts = n; })},
      {"first_wait_s", Time([](S* s) { return &s->retry.first_wait; })},
      {"longest_wait_s", Time([](S* s) { return &s->retry.longest_wait; })},
      {"longest_retry_after_s", Time([](S* s) { return &s->retry.longest_retry_after; })},
      {"retry_time_s", Time([](S* s) { return &s->retry.total; })},
      {"max_answer_bytes", Whole(1, 1 << 30, [](int n, S* s) { s->max_answer_bytes = static_cast<size_t>(n); })},
  };
  return setters;
}

Result<ModelSettings> ModelOf(const std::string& name, const json& table, const std::filesystem::path& directory) {
  const auto fail = [&](const std::string& what) {
    return Fail(ErrorCode::kUsage, fmt::format("[models.{}]: {}", name, what));
  };
  if (!table.is_object()) return fail("is no table");
  if (!table.contains("provider") || !table["provider"].is_string()) return fail("has no provider");
  auto preset = PresetSettings(table["provider"]);
  if (!preset) return fail(preset.error().message);
  ModelSettings settings = *std::move(preset);
  settings.name = name;
  for (const auto& [key, value] : table.items()) {
    if (key == "provider") continue;
    const auto setter = Setters().find(key);
    if (setter == Setters().end()) return fail(key + " is no key of a model (docs/reference/models.md)");
    if (const std::string wanted = setter->second(value, &settings); !wanted.empty()) {
      return fail(fmt::format("{} is {}, but should be {}", key, value.dump(), wanted));
    }
  }
  if (settings.provider == ProviderKind::kReplay) {
    if (settings.replay.empty()) return fail("has no path, which a replay answers from");
    settings.replay = directory / settings.replay;
    if (settings.model.empty()) settings.model = "replay";
  }
  if (settings.model.empty()) return fail("has no model, the provider's own name for it");
  const std::set<std::string> budgets = {"", "low", "medium", "high"};
  if (settings.thinking == "budget" && !budgets.contains(settings.reasoning_effort)) {
    return fail(fmt::format("reasoning_effort is \"{}\", but with thinking = \"budget\" should be low, medium or high",
                            settings.reasoning_effort));
  }
  settings.key_needed = !settings.key_env.empty();
  return settings;
}

Result<json> ParsedToml(const std::filesystem::path& path) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 1 << 20));
  try {
    std::ostringstream stream;
    stream << toml::json_formatter{toml::parse(text)};
    return json::parse(stream.str());
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}:{}: {}", path.string(), error.source().begin.line, error.description()));
  }
}

}  // namespace

Result<ModelsFile> ModelsFile::Load(const std::filesystem::path& path) {
  KB_ASSIGN_OR_RETURN(const json table, ParsedToml(path));
  ModelsFile file{.path = path};
  for (const auto& [key, value] : table.items()) {
    if (key != "models" || !value.is_object()) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("{}: \"{}\" is not known here; models are tables [models.NAME]", path.string(), key));
    }
    for (const auto& [name, model] : value.items()) {
      auto settings = ModelOf(name, model, path.parent_path());
      if (!settings) {
        return Fail(settings.error().code, fmt::format("{}: {}", path.string(), settings.error().message));
      }
      file.models.emplace(name, *std::move(settings));
    }
  }
  return file;
}

Result<ModelsFile> ModelsFile::Find(const std::filesystem::path& path) {
  if (!path.empty()) return Load(path);
  if (const char* set = std::getenv("KERNELBENCH_MODELS"); set && *set) return Load(set);
  const std::filesystem::path base = ConfigDirectory();
  const std::filesystem::path usual = base / "models.toml";
  if (base.empty() || !std::filesystem::exists(usual)) return ModelsFile{};
  return Load(usual);
}

}  // namespace kb
