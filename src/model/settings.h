// What a model is called with: who serves it, where, under which limits. Parsed from what users write on the command
// line and in models.toml; holds the name of the variable that has the key, never the key.
#ifndef MODEL_SETTINGS_H_
#define MODEL_SETTINGS_H_

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/http.h"
#include "model/provider.h"
#include "model/retry.h"

namespace kb {

enum class ProviderKind { kOpenAi, kOpenRouter, kVllm, kSglang, kLlamaCpp, kAnthropic, kGemini, kReplay };

// What is spoken with a provider: OpenAI's chat completions, Anthropic's messages, OpenAI's responses; Google's Gemini,
// of which only requests that a program has written are passed on.
enum class Wire { kChat, kMessages, kResponses, kGemini };

std::string ProviderName(ProviderKind kind);  // "openai", "openrouter", "vllm", ... as on the command line

std::string WireName(Wire wire);  // "chat", ... as in models.toml

struct ModelSettings {
  std::string name;  // as the user calls it: what was said, or its name in models.toml
  ProviderKind provider = ProviderKind::kOpenAi;
  Wire wire = Wire::kChat;
  std::string model;             // the provider's own name for it; of a replay: "replay"
  std::string base_url;          // https://api.openai.com/v1: what /chat/completions, /models and the like follow
  bool at_home = true;           // base_url is the provider's own, so its prices hold
  std::string key_env;           // the variable that holds the key; empty: none is sent
  bool key_needed = false;       // without it no call is tried
  std::filesystem::path replay;  // of a replay: its answers
  int concurrency = 8;           // calls at a time

  std::optional<int> max_tokens;  // of the answer, reasoning included
  std::optional<double> temperature, top_p;
  std::optional<int64_t> seed;   // of sampling; candidate k of a problem is asked for with seed + k
  std::string reasoning_effort;  // what the provider takes: "low", "high", "max" ...; empty: its default

  int64_t window = 128'000;  // tokens that the model takes, its answer included
  bool tools = true;         // it can be given tools; else an agent's calls are text

  // Servers differ in what they accept; nothing of it is found out by trying.
  std::string max_tokens_name = "max_tokens";  // of chat completions; newer models of OpenAI: max_completion_tokens
  std::string thinking = "adaptive";           // of messages: "adaptive", or "budget" for models before 4.6
  std::vector<std::string> omit;               // members of the request that are not sent: "seed", "temperature", ...
  nlohmann::json extra = nlohmann::json::object();  // members added to the request

  HttpTimeouts timeouts;
  RetryPolicy retry;
  size_t max_answer_bytes = size_t{16} << 20;  // text and reasoning together
  std::optional<Price> price;                  // the user's own

  // All that a run has to keep to know what was asked of whom. Holds no key.
  nlohmann::json ToJson() const;
  // A request with what the settings say about one; the messages are the caller's.
  CompletionRequest NewRequest() const;
};

// The models that a models.toml defines, by name.
struct ModelsFile {
  std::filesystem::path path;  // empty: there is none
  std::map<std::string, ModelSettings> models;

  // docs/reference/models.md has the format. Unknown keys, wrong types and values out of range are kUsage and name the
  // place.
  static Result<ModelsFile> Load(const std::filesystem::path& path);
  // `path` if it is not empty, else $KERNELBENCH_MODELS, else kernelbench/models.toml under $XDG_CONFIG_HOME or
  // ~/.config; only the last may be missing.
  static Result<ModelsFile> Find(const std::filesystem::path& path);
};

// A model as users say it: a name in models.toml, or PROVIDER:MODEL, PROVIDER:MODEL@URL, replay:PATH.
Result<ModelSettings> FindModel(const std::string& spec, const ModelsFile& file);

// What users need not say about a provider of that name.
Result<ModelSettings> PresetSettings(const std::string& provider);
// Takes http and https without a password, a query or a fragment.
Status SetBaseUrl(const std::string& url, ModelSettings* settings);

}  // namespace kb

#endif  // MODEL_SETTINGS_H_
