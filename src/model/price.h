// What calls cost, and what a run will. A cost is known or it is not; none is guessed.
#ifndef MODEL_PRICE_H_
#define MODEL_PRICE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/provider.h"
#include "model/settings.h"

namespace kb {

// models/prices.toml: prices as pages of the providers had them, each with the page's address and date.
class PriceTable {
 public:
  static Result<PriceTable> Load(const std::filesystem::path& path);
  // The user's own, of the same form: $KERNELBENCH_PRICES, else kernelbench/prices.toml below $XDG_CONFIG_HOME or
  // ~/.config, which may be missing. Its prices hold wherever a model of that provider and name is served.
  static Result<PriceTable> LoadOwn();
  // Of a model served by the provider whose table it is; a model elsewhere of the same name has no price here, and
  // neither has the provider's own under another address. Names are compared whole, but for a date at the end
  // ("claude-opus-4-5-20251101" is "claude-opus-4-5").
  std::optional<Price> Find(const ModelSettings& settings) const;

 private:
  std::map<std::string, Price> prices_;  // by "provider/model"
  bool anywhere_ = false;
};

struct PriceTables {
  PriceTable shipped, own;
  // `models`: the folder of prices.toml, which may be missing.
  static Result<PriceTables> Load(const std::filesystem::path& models);
};

// What is known without asking anybody: the price in models.toml, else `listed` (by the provider itself), else that of
// the shipped table, else of the user's own file.
std::optional<Price> PriceOf(const ModelSettings& settings, const std::optional<Price>& listed,
                             const PriceTables& tables);

// US dollars of one call: what the provider itself said, else usage times price, each kind of token by its own. Nothing
// if a count or a price that is needed is missing. Needed are input and output; of the caches those that tokens were
// counted of, and those that the price tells apart from input, for then uncounted tokens may lie among the input's.
std::optional<double> CostUsd(const Completion& completion, const std::optional<Price>& price);
std::optional<double> CostUsd(const Usage& usage, const Price& price);

// Expected tokens and money of calls not made yet. Its owner locks.
class Forecast {
 public:
  // Before the first answer tokens of a prompt are its bytes / 4, the rule of thumb for English text and code; then its
  // bytes times the tokens a byte that the provider has counted so far.
  static constexpr double kBytesPerToken = 4;

  // A call that was answered. Counts that the provider did not give teach nothing.
  void Observe(size_t prompt_bytes, const Completion& completion);

  struct Estimate {
    double input_tokens = 0;              // cached ones included
    std::optional<double> output_tokens;  // not known before the first answer, unless assumed
    std::optional<double> cost_usd;
  };
  // Of calls with prompts of these sizes. Output: the mean of the answers so far, else `assumed_output` each. Money:
  // tokens times price, the input split among the caches as it was so far (before the first answer: none cached);
  // without a price the mean of what the provider said that calls cost.
  Estimate Of(const std::vector<size_t>& prompt_bytes, const std::optional<Price>& price,
              std::optional<double> assumed_output) const;

 private:
  double InputTokens() const { return plain_ + cache_read_ + cache_write_; }
  std::optional<double> InputCost(double tokens, const Price& price) const;

  double bytes_ = 0, plain_ = 0, cache_read_ = 0, cache_write_ = 0;  // of calls whose input was counted
  double output_ = 0, cost_ = 0;
  int outputs_ = 0, costs_ = 0, calls_ = 0;
};

}  // namespace kb

#endif  // MODEL_PRICE_H_
