// From settings to a provider that answers.
#ifndef MODEL_OPEN_MODEL_H_
#define MODEL_OPEN_MODEL_H_

#include <memory>

#include "model/gate.h"
#include "model/price.h"
#include "model/provider.h"
#include "model/settings.h"

namespace kb {

// Models opened with the same `gates` share their provider's limit of calls at a time; without, each has its own.
// kUsage where the key is not in the environment or a replay cannot be read, kUnavailable without libcurl. Calls
// nobody.
Result<std::unique_ptr<Provider>> OpenModel(const ModelSettings& settings, Gates* gates = nullptr);

// The key from the environment, without white space around it; empty if the settings name no variable or it is not
// needed and not set. kUsage if it is needed and not set, or is nothing that an HTTP header can hold.
Result<std::string> KeyFromEnvironment(const ModelSettings& settings);

// What the provider of `settings` itself says that the model costs. OpenRouter does; of others: nothing. Asks over the
// network, so only where the user wants it. kUnavailable if it does not answer, kUsage if it does not list the model.
Result<std::optional<Price>> ListedPrice(const ModelSettings& settings, const std::function<bool()>& stop);

// What OpenRouter's public listing says of a model of OpenAI or Anthropic at their own address: the same model's price
// there, which is not the provider's own word. Nothing for other models and for those that it does not list. Asks over
// the network; $KERNELBENCH_PRICE_LISTING is another address. kUnavailable if nobody answers there.
Result<std::optional<Price>> PublicPrice(const ModelSettings& settings, const std::function<bool()>& stop);

// PriceOf() with the provider's own listing, and else PublicPrice(); `note` says why a listing told nothing.
std::optional<Price> FindPrice(const ModelSettings& settings, const PriceTables& tables,
                               const std::function<bool()>& stop, std::string* note);

}  // namespace kb

#endif  // MODEL_OPEN_MODEL_H_
