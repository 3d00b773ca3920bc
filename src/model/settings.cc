#include "model/settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "model/key.h"

namespace kb {
namespace {

using nlohmann::json;

struct Preset {
  ProviderKind kind;
  const char* name;
  const char* base_url;
  const char* key_env;  // a local server's key, if it wants one, has no usual name: key_env says it
  const char* max_tokens_name;
};

constexpr Preset kPresets[] = {
    {ProviderKind::kOpenAi, "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "max_completion_tokens"},
    {ProviderKind::kAnthropic, "anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "max_tokens"},
    {ProviderKind::kOpenRouter, "openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "max_tokens"},
    {ProviderKind::kGemini, "gemini", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY",
     "max_tokens"},
    {ProviderKind::kVllm, "vllm", "http://localhost:8000/v1", "", "max_tokens"},
    {ProviderKind::kSglang, "sglang", "http://localhost:30000/v1", "", "max_tokens"},
    {ProviderKind::kLlamaCpp, "llamacpp", "http://localhost:8080/v1", "", "max_tokens"},
    {ProviderKind::kReplay, "replay", "", "", "max_tokens"},
};

Wire UsualWire(ProviderKind kind) {
  return kind == ProviderKind::kAnthropic ? Wire::kMessages
         : kind == ProviderKind::kGemini  ? Wire::kGemini
                                          : Wire::kChat;
}

std::string PresetNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) names.emplace_back(preset.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

Status CheckUrl(const std::string& url) {
  const size_t scheme = url.find("://");
  const bool http = url.starts_with("http://") || url.starts_with("https://");
  const std::string rest = scheme == std::string::npos ? "" : url.substr(scheme + 3);
  if (!http || rest.empty() || rest[0] == '/') {
    return Fail(ErrorCode::kUsage, "a base_url begins with http:// or https:// and a host, as in http://host:8000/v1");
  }
  // Such a password would be shown and stored with the address.
  if (rest.substr(0, rest.find('/')).find('@') != std::string::npos) {
    return Fail(ErrorCode::kUsage, "a base_url holds no user or password: name the variable with the key in key_env");
  }
  const bool printable = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  if (!printable || url.find_first_of("?#") != std::string::npos) {
    return Fail(ErrorCode::kUsage, "a base_url has no spaces, no ? and no #");
  }
  return {};
}

}  // namespace

std::vector<std::string> KeyNames() {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) {
    if (*preset.key_env) names.emplace_back(preset.key_env);
  }
  return names;
}

Result<ModelSettings> PresetSettings(const std::string& provider) {
  for (const Preset& preset : kPresets) {
    if (provider != preset.name) continue;
    ModelSettings settings;
    settings.provider = preset.kind;
    settings.wire = UsualWire(preset.kind);
    settings.base_url = preset.base_url;
    settings.key_env = preset.key_env;
    settings.key_needed = !settings.key_env.empty();
    settings.max_tokens_name = preset.max_tokens_name;
    return settings;
  }
  return Fail(ErrorCode::kUsage, fmt::format("no provider \"{}\"; there are: {}", provider, PresetNames()));
}

Status SetBaseUrl(const std::string& url, ModelSettings* settings) {
  KB_RETURN_IF_ERROR(CheckUrl(url));
  settings->base_url = url;
  while (settings->base_url.ends_with('/')) settings->base_url.pop_back();
  settings->at_home = std::any_of(std::begin(kPresets), std::end(kPresets), [&](const Preset& preset) {
    return preset.kind == settings->provider && preset.base_url == settings->base_url;
  });
  return {};
}

std::string WireName(Wire wire) {
  return wire == Wire::kMessages    ? "messages"
         : wire == Wire::kResponses ? "responses"
         : wire == Wire::kGemini    ? "gemini"
                                    : "chat";
}

std::string ProviderName(ProviderKind kind) {
  const auto* preset =
      std::find_if(std::begin(kPresets), std::end(kPresets), [&](const Preset& p) { return p.kind == kind; });
  return preset->name;
}

CompletionRequest ModelSettings::NewRequest() const {
  CompletionRequest request;
  request.model = model;
  if (max_tokens) request.max_tokens = *max_tokens;
  request.temperature = temperature;
  request.top_p = top_p;
  request.seed = seed;
  request.reasoning_effort = reasoning_effort;
  return request;
}

json ModelSettings::ToJson() const {
  const auto number = [](const auto& value) { return value ? json(*value) : json(); };
  json stored = {{"name", name},
                 {"provider", ProviderName(provider)},
                 {"model", model},
                 {"base_url", base_url},
                 {"key_env", key_env},
                 {"replay", replay.string()},
                 {"concurrency", concurrency},
                 {"max_tokens", NewRequest().max_tokens},
                 {"temperature", number(temperature)},
                 {"top_p", number(top_p)},
                 {"seed", number(seed)},
                 {"reasoning_effort", reasoning_effort},
                 {"max_tokens_name", max_tokens_name},
                 {"thinking", thinking},
                 {"omit", omit},
                 {"extra", extra},
                 {"price", nullptr}};
  if (window != ModelSettings().window) stored["window"] = window;
  if (!tools) stored["tools"] = false;
  if (wire != UsualWire(provider)) stored["wire"] = WireName(wire);
  if (price) {
    stored["price"] = {{"input", number(price->input)},
                       {"cache_read", number(price->cache_read)},
                       {"cache_write", number(price->cache_write)},
                       {"output", number(price->output)},
                       {"source", price->source}};
  }
  return stored;
}

Result<ModelSettings> FindModel(const std::string& spec, const ModelsFile& file) {
  if (const auto named = file.models.find(spec); named != file.models.end()) return named->second;
  const size_t colon = spec.find(':');
  if (colon == std::string::npos || colon + 1 == spec.size()) {
    std::vector<std::string> names;
    for (const auto& [name, settings] : file.models) names.push_back(name);
    return Fail(
        ErrorCode::kUsage,
        fmt::format("no model \"{}\": it is PROVIDER:MODEL (providers: {}), PROVIDER:MODEL@URL, replay:PATH, or "
                    "a name in {}",
                    spec, PresetNames(),
                    names.empty() ? std::string("models.toml")
                                  : fmt::format("{}: {}", file.path.string(), fmt::join(names, ", "))));
  }
  KB_ASSIGN_OR_RETURN(ModelSettings settings, PresetSettings(spec.substr(0, colon)));
  settings.name = spec;
  std::string rest = spec.substr(colon + 1);
  if (settings.provider == ProviderKind::kReplay) {
    settings.model = "replay";
    settings.replay = rest;
    return settings;
  }
  size_t at = rest.find("@http://");
  if (at == std::string::npos) at = rest.find("@https://");
  if (at != std::string::npos) {
    if (const Status set = SetBaseUrl(rest.substr(at + 1), &settings); !set) {
      return Fail(set.error().code, fmt::format("model {}: {}", rest.substr(0, at), set.error().message));
    }
    rest.resize(at);
  }
  if (rest.empty()) return Fail(ErrorCode::kUsage, fmt::format("{} names no model before its @", spec));
  settings.model = rest;
  return settings;
}

}  // namespace kb
