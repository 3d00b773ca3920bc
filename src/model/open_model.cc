#include "model/open_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"
#include "base/utf8.h"
#include "model/key.h"
#include "model/remote_provider.h"
#include "model/replay.h"

namespace kb {
namespace {

// Prices are texts: US dollars a token. Negative ones stand for "it depends".
std::optional<double> PerMillion(const WireJson& pricing, const char* key) {
  const std::string text = TextOf(pricing, key);
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double dollars = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !(dollars >= 0)) return std::nullopt;
  return dollars * 1e6;
}

Price PriceOfListing(const WireJson& pricing, const std::string& source) {
  Price price{.input = PerMillion(pricing, "prompt"),
              .cache_read = PerMillion(pricing, "input_cache_read"),
              .cache_write = PerMillion(pricing, "input_cache_write"),
              .output = PerMillion(pricing, "completion"),
              .source = source};
  // What is paid a call, or a thinking token apart, has no place in a price a token: then nothing is known.
  for (const char* key : {"request", "internal_reasoning"}) {
    const std::string text = TextOf(pricing, key);
    if (!text.empty() && std::strtod(text.c_str(), nullptr) != 0) price.input = price.output = std::nullopt;
  }
  return price;
}

}  // namespace

Result<std::string> KeyFromEnvironment(const ModelSettings& settings) {
  const std::string key = FindKey(settings.key_env).value;
  if (key.empty() && settings.key_needed) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} needs a key: put it into the environment variable {}, or a line {}=KEY into .env",
                            settings.name, settings.key_env, settings.key_env));
  }
  if (!std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c < '\x7f'; })) {
    return Fail(ErrorCode::kUsage, fmt::format("{} holds no key: there are spaces or other characters in it that no "
                                               "key has",
                                               settings.key_env));
  }
  return key;
}

Result<std::unique_ptr<Provider>> OpenModel(const ModelSettings& settings, Gates* gates) {
  if (settings.provider == ProviderKind::kReplay) return OpenReplay(settings.replay);
  KB_ASSIGN_OR_RETURN(std::string key, KeyFromEnvironment(settings));
  KB_ASSIGN_OR_RETURN(std::unique_ptr<HttpClient> http, HttpClient::Create());
  std::shared_ptr<Gate> gate = gates ? gates->Of(settings.base_url, settings.key_env, settings.concurrency)
                                     : std::make_shared<Gate>(settings.concurrency);
  return std::make_unique<RemoteProvider>(settings, std::move(key), std::move(http), std::move(gate));
}

namespace {

// The models that `url` lists.
Result<WireJson> Listing(const std::string& url, const HttpTimeouts& timeouts, const std::function<bool()>& stop) {
  KB_ASSIGN_OR_RETURN(const std::unique_ptr<HttpClient> http, HttpClient::Create());
  HttpRequest request{.url = url, .headers = {}, .body = {}, .timeouts = timeouts};
  std::string body;
  const HttpResult result = http->Call(
      request,
      [&](const HttpHead&, std::string_view bytes) {
        body += bytes;
        return true;
      },
      stop);
  if (result.end == HttpEnd::kStopped) return Fail(ErrorCode::kInterrupted, "interrupted");
  const WireJson listing = WireJson::parse(ValidUtf8(body), nullptr, false);
  const WireJson& models = MemberOf(listing, "data");
  if (result.end == HttpEnd::kDone && result.head.status == 200 && models.is_array()) return models;
  return Fail(ErrorCode::kUnavailable,
              fmt::format("{} gives no list of its models ({}), so prices are not known from there", url,
                          result.detail.empty() ? fmt::format("HTTP {}", result.head.status) : result.detail));
}

std::optional<Price> PriceIn(const WireJson& models, const std::string& id, const std::string& source) {
  for (const WireJson& model : models) {
    if (TextOf(model, "id") == id) return PriceOfListing(MemberOf(model, "pricing"), source);
  }
  return std::nullopt;
}

}  // namespace

Result<std::optional<Price>> ListedPrice(const ModelSettings& settings, const std::function<bool()>& stop) {
  if (settings.provider != ProviderKind::kOpenRouter) return std::nullopt;
  const std::string url = settings.base_url + "/models";
  KB_ASSIGN_OR_RETURN(const WireJson models, Listing(url, settings.timeouts, stop));
  if (const auto price = PriceIn(models, settings.model, "the provider's listing of " + UtcNow("%Y-%m-%d")))
    return price;
  return Fail(ErrorCode::kUsage, fmt::format("{} does not list {}: is the name right?", url, settings.model));
}

Result<std::optional<Price>> PublicPrice(const ModelSettings& settings, const std::function<bool()>& stop) {
  const bool listed = settings.provider == ProviderKind::kOpenAi || settings.provider == ProviderKind::kAnthropic;
  if (!listed || !settings.at_home) return std::nullopt;
  const char* const set = std::getenv("KERNELBENCH_PRICE_LISTING");
  const std::string url = set != nullptr && *set != '\0' ? set : "https://openrouter.ai/api/v1/models";
  KB_ASSIGN_OR_RETURN(const WireJson models, Listing(url, settings.timeouts, stop));
  const std::string provider = ProviderName(settings.provider);
  return PriceIn(models, provider + "/" + settings.model,
                 fmt::format("{} of {}, not {}'s own word", url, UtcNow("%Y-%m-%d"), provider));
}

std::optional<Price> FindPrice(const ModelSettings& settings, const PriceTables& tables,
                               const std::function<bool()>& stop, std::string* note) {
  const auto asked = [&](Result<std::optional<Price>> price) -> std::optional<Price> {
    if (price) return *price;
    *note = fmt::format("the price of {} is not known: {}", settings.name, price.error().message);
    return std::nullopt;
  };
  std::optional<Price> listed;
  if (!settings.price) listed = asked(ListedPrice(settings, stop));
  if (const auto known = PriceOf(settings, listed, tables)) return known;
  return asked(PublicPrice(settings, stop));
}

}  // namespace kb
