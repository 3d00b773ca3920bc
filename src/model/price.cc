#include "model/price.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"

namespace kb {
namespace {

constexpr double kMillion = 1e6;

// Adds tokens * price to *sum; false if it is needed and not known.
bool AddCost(std::optional<int64_t> tokens, std::optional<double> price, double* sum) {
  if (!tokens || !price) return false;
  *sum += static_cast<double>(*tokens) * *price / kMillion;
  return true;
}

bool AddCacheCost(std::optional<int64_t> tokens, std::optional<double> price, double* sum) {
  const bool needed = tokens ? *tokens > 0 : price.has_value();
  return !needed || AddCost(tokens, price, sum);
}

std::string WithoutDate(const std::string& model) {
  const size_t dash = model.rfind('-');
  const bool dated = dash != std::string::npos && model.size() - dash == 9 &&
                     model.find_first_not_of("0123456789", dash + 1) == std::string::npos;
  return dated ? model.substr(0, dash) : model;
}

// A row: what it lacks, or nothing.
std::string ReadPriceRow(const toml::table& row, std::string* name, Price* price) {
  const auto text = [&](const char* key) { return row[key].value_or(std::string()); };
  const std::string provider = text("provider"), model = text("model"), page = text("source"), date = text("date");
  if (provider.empty() || model.empty() || page.empty() || date.empty()) {
    return "a price has provider, model, source (the page) and date";
  }
  *name = provider + "/" + model;
  price->input = row["input"].value<double>();
  price->cache_read = row["cache_read"].value<double>();
  price->cache_write = row["cache_write"].value<double>();
  price->output = row["output"].value<double>();
  price->source = fmt::format("table of {}: {}", date, page);
  for (const auto& part : {price->input, price->cache_read, price->cache_write, price->output}) {
    if (part && !(*part >= 0)) return *name + " has a price below zero";
  }
  return price->input && price->output ? "" : *name + " lacks input or output";
}

}  // namespace

Result<PriceTable> PriceTable::Load(const std::filesystem::path& path) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 1 << 20));
  PriceTable table;
  const auto fail = [&](const std::string& what) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: {}", path.string(), what));
  };
  try {
    const toml::table parsed = toml::parse(text);
    const toml::array* const rows = parsed["price"].as_array();
    for (size_t i = 0; rows != nullptr && i < rows->size(); ++i) {
      const toml::table* const row = rows->get(i)->as_table();
      std::string name;
      Price price;
      const std::string wrong = row ? ReadPriceRow(*row, &name, &price) : "[[price]] is no table";
      if (!wrong.empty()) return fail(wrong);
      if (!table.prices_.emplace(name, price).second) return fail(name + " is there twice");
    }
  } catch (const toml::parse_error& error) {
    return fail(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  return table;
}

Result<PriceTable> PriceTable::LoadOwn() {
  const char* const set = std::getenv("KERNELBENCH_PRICES");
  const bool named = set != nullptr && *set != '\0';
  const std::filesystem::path usual = ConfigDirectory();
  const std::filesystem::path path = named ? std::filesystem::path(set) : usual / "prices.toml";
  if (!named && (usual.empty() || !std::filesystem::exists(path))) return PriceTable();
  KB_ASSIGN_OR_RETURN(PriceTable table, Load(path));
  table.anywhere_ = true;
  return table;
}

Result<PriceTables> PriceTables::Load(const std::filesystem::path& models) {
  PriceTables tables;
  if (std::filesystem::exists(models / "prices.toml")) {
    KB_ASSIGN_OR_RETURN(tables.shipped, PriceTable::Load(models / "prices.toml"));
  }
  KB_ASSIGN_OR_RETURN(tables.own, PriceTable::LoadOwn());
  return tables;
}

std::optional<Price> PriceTable::Find(const ModelSettings& settings) const {
  if (!settings.at_home && !anywhere_) return std::nullopt;
  const std::string provider = ProviderName(settings.provider) + "/";
  for (const std::string& model : {settings.model, WithoutDate(settings.model)}) {
    if (const auto at = prices_.find(provider + model); at != prices_.end()) return at->second;
  }
  return std::nullopt;
}

std::optional<Price> PriceOf(const ModelSettings& settings, const std::optional<Price>& listed,
                             const PriceTables& tables) {
  if (settings.price) return settings.price;
  if (listed) return listed;
  const std::optional<Price> shipped = tables.shipped.Find(settings);
  return shipped ? shipped : tables.own.Find(settings);
}

std::optional<double> CostUsd(const Usage& usage, const Price& price) {
  double sum = 0;
  const bool known = AddCost(usage.input, price.input, &sum) && AddCost(usage.output, price.output, &sum) &&
                     AddCacheCost(usage.cache_read, price.cache_read, &sum) &&
                     AddCacheCost(usage.cache_write, price.cache_write, &sum);
  return known ? std::optional(sum) : std::nullopt;
}

std::optional<double> CostUsd(const Completion& completion, const std::optional<Price>& price) {
  if (completion.cost_usd) return completion.cost_usd;
  return price ? CostUsd(completion.usage, *price) : std::nullopt;
}

void Forecast::Observe(size_t prompt_bytes, const Completion& completion) {
  const Usage& usage = completion.usage;
  ++calls_;
  if (usage.input) {
    bytes_ += static_cast<double>(prompt_bytes);
    plain_ += static_cast<double>(*usage.input);
    cache_read_ += static_cast<double>(usage.cache_read.value_or(0));
    cache_write_ += static_cast<double>(usage.cache_write.value_or(0));
  }
  if (usage.output) {
    output_ += static_cast<double>(*usage.output);
    ++outputs_;
  }
  if (completion.cost_usd) {
    cost_ += *completion.cost_usd;
    ++costs_;
  }
}

std::optional<double> Forecast::InputCost(double tokens, const Price& price) const {
  if (InputTokens() == 0) return price.input ? std::optional(tokens * *price.input / kMillion) : std::nullopt;
  double a_token = 0;
  const std::pair<double, std::optional<double>> kinds[] = {
      {plain_, price.input}, {cache_read_, price.cache_read}, {cache_write_, price.cache_write}};
  for (const auto& [count, of_kind] : kinds) {
    if (count > 0 && !of_kind) return std::nullopt;
    a_token += count / InputTokens() * of_kind.value_or(0);
  }
  return tokens * a_token / kMillion;
}

Forecast::Estimate Forecast::Of(const std::vector<size_t>& prompt_bytes, const std::optional<Price>& price,
                                std::optional<double> assumed_output) const {
  double bytes = 0;
  for (const size_t each : prompt_bytes) bytes += static_cast<double>(each);
  const double calls = static_cast<double>(prompt_bytes.size());
  Estimate estimate;
  estimate.input_tokens = bytes_ > 0 ? bytes * InputTokens() / bytes_ : bytes / kBytesPerToken;
  if (outputs_ > 0) {
    estimate.output_tokens = calls * output_ / outputs_;
  } else if (assumed_output) {
    estimate.output_tokens = calls * *assumed_output;
  }
  const auto input_cost = price ? InputCost(estimate.input_tokens, *price) : std::nullopt;
  if (input_cost && price->output && estimate.output_tokens) {
    estimate.cost_usd = *input_cost + *estimate.output_tokens * *price->output / kMillion;
  } else if (costs_ > 0 && costs_ == calls_) {
    estimate.cost_usd = calls * cost_ / costs_;
  }
  return estimate;
}

}  // namespace kb
