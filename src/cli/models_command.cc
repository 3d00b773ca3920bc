#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/interrupt.h"
#include "cli/commands.h"
#include "model/open_model.h"
#include "model/price.h"
#include "report/text.h"

namespace kb::cli {
namespace {

using nlohmann::json;

constexpr char kQuestion[] = "Answer with one short sentence: what is a GPU kernel?";

struct ModelsFlags {
  std::string file, tried;
  bool listed = false, json = false;
};

// What is known of a model without calling it, except for its provider's listing where that is wanted.
struct KnownModel {
  ModelSettings settings;
  Result<std::string> key;
  std::optional<Price> price;
};

Result<KnownModel> Know(const ModelSettings& settings, const PriceTables& tables, bool listed) {
  KnownModel known{settings, KeyFromEnvironment(settings), PriceOf(settings, {}, tables)};
  if (!listed) return known;
  KB_ASSIGN_OR_RETURN(const std::optional<Price> own, ListedPrice(settings, Interrupted));
  known.price = PriceOf(settings, own, tables);
  if (known.price) return known;
  KB_ASSIGN_OR_RETURN(known.price, PublicPrice(settings, Interrupted));
  return known;
}

std::string KeyText(const KnownModel& model) {
  if (model.settings.key_env.empty()) return "no key";
  if (!model.key) return model.settings.key_env + " is not usable";
  return model.settings.key_env + (model.key->empty() ? " is not set" : " is set");
}

std::string PriceText(const std::optional<Price>& price) {
  if (!price) return "price unknown";
  std::string text;
  const std::pair<const char*, std::optional<double>> parts[] = {{"input", price->input},
                                                                 {"cache read", price->cache_read},
                                                                 {"cache write", price->cache_write},
                                                                 {"output", price->output}};
  for (const auto& [name, dollars] : parts) {
    if (dollars) text += fmt::format("{}{} ${:g}", text.empty() ? "" : ", ", name, *dollars);
  }
  return fmt::format("{} per million tokens ({})", text.empty() ? "nothing known" : text, price->source);
}

json KnownJson(const KnownModel& model) {
  json line = model.settings.ToJson();
  line["key_set"] = model.key && !model.key->empty();
  line["price"] = nullptr;
  if (!model.price) return line;
  const auto number = [](const std::optional<double>& value) { return value ? json(*value) : json(); };
  line["price"] = {{"input", number(model.price->input)},
                   {"cache_read", number(model.price->cache_read)},
                   {"cache_write", number(model.price->cache_write)},
                   {"output", number(model.price->output)},
                   {"source", model.price->source}};
  return line;
}

void PrintModel(const KnownModel& model) {
  const ModelSettings& settings = model.settings;
  const bool replay = settings.provider == ProviderKind::kReplay;
  fmt::print("{}\n  {} {} at {}\n", settings.name, ProviderName(settings.provider), settings.model,
             replay ? settings.replay.string() : settings.base_url);
  if (!replay) fmt::print("  {}, {} calls at a time\n", KeyText(model), settings.concurrency);
  fmt::print("  {}\n", PriceText(model.price));
}

std::string CountOrUnknown(const std::optional<int64_t>& count) { return count ? CountText(*count) : "unknown"; }

json TriedJson(const KnownModel& model, const Completion& answer) {
  const auto number = [](const auto& value) { return value ? json(*value) : json(); };
  json line = KnownJson(model);
  line["answer"] = {{"text", answer.text},
                    {"model", answer.model},
                    {"usage",
                     {{"input", number(answer.usage.input)},
                      {"cache_read", number(answer.usage.cache_read)},
                      {"cache_write", number(answer.usage.cache_write)},
                      {"output", number(answer.usage.output)},
                      {"reasoning", number(answer.usage.reasoning)}}},
                    {"cost_usd", number(CostUsd(answer, model.price))},
                    {"attempts", answer.attempts},
                    {"seconds", answer.seconds}};
  return line;
}

int Try(const KnownModel& model, const ModelsFlags& flags) {
  auto provider = OpenModel(model.settings);
  if (!provider) return PrintError(provider.error());
  CompletionRequest request = model.settings.NewRequest();
  request.messages = {{Role::kUser, kQuestion}};
  const auto answer = (*provider)->Complete(request, Interrupted);
  if (!answer) return PrintError(answer.error());
  if (flags.json) {
    fmt::print("{}", JsonLine(TriedJson(model, *answer)));
    return kAllCorrect;
  }
  PrintModel(model);
  const Usage& usage = answer->usage;
  const auto cost = CostUsd(*answer, model.price);
  fmt::print("\n{}\n\n{} answered in {:.1f} s, {} {}\n", CleanText(answer->text), OneLine(answer->model, 80),
             answer->seconds, answer->attempts, answer->attempts == 1 ? "attempt" : "attempts");
  fmt::print("tokens: input {}, cache read {}, cache write {}, output {} (reasoning {})\ncost: {}\n",
             CountOrUnknown(usage.input), CountOrUnknown(usage.cache_read), CountOrUnknown(usage.cache_write),
             CountOrUnknown(usage.output), CountOrUnknown(usage.reasoning),
             cost ? fmt::format("${:.6f}", *cost) : "unknown");
  return kAllCorrect;
}

int Models(const ModelsFlags& flags) {
  const auto installation = FindInstallation();
  if (!installation) return PrintError(installation.error());
  const auto tables = PriceTables::Load(installation->models);
  if (!tables) return PrintError(tables.error());
  const auto file = ModelsFile::Find(flags.file);
  if (!file) return PrintError(file.error());
  if (!flags.tried.empty()) {
    const auto settings = FindModel(flags.tried, *file);
    if (!settings) return PrintError(settings.error());
    const auto known = Know(*settings, *tables, flags.listed);
    return known ? Try(*known, flags) : PrintError(known.error());
  }
  if (file->models.empty() && !flags.json) {
    fmt::print("{}: models are named PROVIDER:MODEL (docs/reference/models.md)\n",
               file->path.empty() ? "no models.toml" : CleanText(file->path.string()) + " names no models");
  }
  for (const auto& [name, settings] : file->models) {
    const auto known = Know(settings, *tables, flags.listed);
    if (!known) return PrintError(known.error());
    if (flags.json) {
      fmt::print("{}", JsonLine(KnownJson(*known)));
    } else {
      PrintModel(*known);
    }
  }
  return kAllCorrect;
}

}  // namespace

void AddModels(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<ModelsFlags>();
  CLI::App* command = app->add_subcommand("models", "the language models of models.toml, their keys and prices");
  command->add_option("--models-file", flags->file,
                      "the file (default: $KERNELBENCH_MODELS, ~/.config/kernelbench/...)");
  command->add_option("--try", flags->tried, "ask this model one short question: costs what it costs");
  command->add_flag("--prices", flags->listed, "ask OpenRouter, which lists prices, where a price is not known");
  command->add_flag("--json", flags->json, "machine-readable (docs/reference/models.md)");
  command->callback([flags, exit_code] { *exit_code = Models(*flags); });
}

}  // namespace kb::cli
