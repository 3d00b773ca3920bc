#include "model/price.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"
#include "model/open_model.h"
#include "model/test_server.h"
#include "model/test_streams.h"

namespace kb {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;

TEST(PriceTest, EachKindOfTokenHasItsPriceAndWhatIsMissingIsUnknown) {
  const Price all{.input = 3, .cache_read = 0.3, .cache_write = 3.75, .output = 15};
  const Price plain{.input = 3, .output = 15};
  const struct {
    const char* name;
    Usage usage;
    Price price;
    std::optional<double> cost;
  } cases[] = {
      {"all kinds",
       {.input = 1'000'000, .cache_read = 2'000'000, .cache_write = 4'000'000, .output = 100'000},
       all,
       3 + 0.6 + 15 + 1.5},
      {"no cache, no price for it", {.input = 1000, .output = 100}, plain, 0.0045},
      {"no token of a cache without a price",
       {.input = 1000, .cache_read = 0, .cache_write = 0, .output = 100},
       plain,
       0.0045},
      {"tokens of a cache without a price", {.input = 1000, .cache_read = 1, .output = 100}, plain, {}},
      {"a cache that has a price, and no count", {.input = 1000, .cache_read = 1, .output = 100}, all, {}},
      {"no count of input", {.cache_read = 0, .cache_write = 0, .output = 100}, all, {}},
      {"no count of output", {.input = 1000}, plain, {}},
      {"no price of output", {.input = 1000, .output = 1}, {.input = 3}, {}},
      {"reasoning is part of the output", {.input = 0, .output = 1'000'000, .reasoning = 900'000}, plain, 15},
      {"free", {.input = 10, .output = 10}, {.input = 0, .output = 0}, 0},
  };
  for (const auto& each : cases) {
    const auto cost = CostUsd(each.usage, each.price);
    ASSERT_EQ(cost.has_value(), each.cost.has_value()) << each.name;
    EXPECT_DOUBLE_EQ(cost.value_or(-1), each.cost.value_or(-1)) << each.name;
  }
}

TEST(PriceTest, TheProvidersOwnFigureComesFirst) {
  const Price price{.input = 1, .output = 1};
  const Completion said{.usage = {.input = 1'000'000, .output = 0}, .cost_usd = 0.125};
  EXPECT_EQ(CostUsd(said, price), 0.125);
  EXPECT_EQ(CostUsd(said, std::nullopt), 0.125);
  const Completion counted{.usage = {.input = 1'000'000, .output = 0}};
  EXPECT_EQ(CostUsd(counted, price), 1.0);
  EXPECT_EQ(CostUsd(counted, std::nullopt), std::nullopt);
}

TEST(PriceTest, WhosePriceCounts) {
  const auto directory = TempDir::Create("kb-prices");
  const auto path = directory->path() / "prices.toml";
  ASSERT_TRUE(WriteFileAtomic(path, R"(
    [[price]]
    provider = "anthropic"
    model = "claude-x-1"
    input = 5
    output = 25
    source = "https://example.com/prices"
    date = "2026-11-01"
  )"));
  const auto table = PriceTable::Load(path);
  ASSERT_TRUE(table) << table.error().message;
  const auto input = [&](const std::string& spec) -> std::optional<double> {
    const auto price = PriceOf(*FindModel(spec, {}), std::nullopt, {.shipped = *table, .own = {}});
    return price ? price->input : std::nullopt;
  };
  EXPECT_EQ(input("anthropic:claude-x-1"), 5);
  EXPECT_EQ(input("anthropic:claude-x-1-20261031"), 5);
  EXPECT_EQ(input("anthropic:claude-x-1-fast"), std::nullopt);
  EXPECT_EQ(input("anthropic:claude-x"), std::nullopt);
  EXPECT_EQ(input("openai:claude-x-1"), std::nullopt);
  EXPECT_EQ(input("anthropic:claude-x-1@https://resold.example/v1"), std::nullopt);
  ModelSettings settings = *FindModel("anthropic:claude-x-1", {});
  EXPECT_EQ(PriceOf(settings, std::nullopt, {.shipped = *table, .own = {}})->source,
            "table of 2026-11-01: https://example.com/prices");
  const Price listed{.input = 4, .output = 20};
  EXPECT_EQ(PriceOf(settings, listed, {.shipped = *table, .own = {}})->input, 4);
  settings.price = {.input = 1, .output = 2};
  EXPECT_EQ(PriceOf(settings, listed, {.shipped = *table, .own = {}})->input, 1);

  const std::pair<const char*, const char*> broken[] = {
      {"[[price]]\nprovider = \"a\"\nmodel = \"b\"\ninput = 1\noutput = 1", "source"},
      {"[[price]]\nprovider = \"a\"\nmodel = \"b\"\ninput = 1\nsource = \"s\"\ndate = \"d\"", "a/b lacks"},
      {"[[price]]\nprovider = \"a\"\nmodel = \"b\"\ninput = -1\noutput = 1\nsource = \"s\"\ndate = \"d\"",
       "below zero"},
      {"[[price]", "line 1"},
  };
  for (const auto& [text, message] : broken) {
    ASSERT_TRUE(WriteFileAtomic(path, text));
    const auto wrong = PriceTable::Load(path);
    ASSERT_FALSE(wrong) << text;
    EXPECT_THAT(wrong.error().message, HasSubstr(message));
  }
}

TEST(PriceTest, OpenRouterListsItsPrices) {
  TestServer server([](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(PlainAnswer("200 OK", "Content-Type: application/json\r\n", R"({"data":[
      {"id":"a/b","pricing":{"prompt":"0.000003","completion":"0.000015","input_cache_read":"0.0000003","request":"0"}},
      {"id":"a/auto","pricing":{"prompt":"-1","completion":"-1"}},
      {"id":"a/call","pricing":{"prompt":"0.1","completion":"0.1","request":"0.5"}}]})"));
  });
  ModelSettings settings = QuickSettings(ProviderKind::kOpenRouter, server.url());
  settings.model = "a/b";
  auto price = ListedPrice(settings, nullptr);
  ASSERT_TRUE(price && *price);
  EXPECT_DOUBLE_EQ(*(*price)->input, 3);
  EXPECT_DOUBLE_EQ(*(*price)->output, 15);
  EXPECT_DOUBLE_EQ(*(*price)->cache_read, 0.3);
  EXPECT_EQ((*price)->cache_write, std::nullopt);
  for (const char* unknown : {"a/auto", "a/call"}) {
    settings.model = unknown;
    price = ListedPrice(settings, nullptr);
    ASSERT_TRUE(price && *price);
    EXPECT_EQ((*price)->input, std::nullopt) << unknown;
  }
  settings.model = "a/none";
  price = ListedPrice(settings, nullptr);
  ASSERT_FALSE(price);
  EXPECT_THAT(price.error().message, HasSubstr("a/none"));
  settings.provider = ProviderKind::kOpenAi;
  price = ListedPrice(settings, nullptr);
  ASSERT_TRUE(price);
  EXPECT_FALSE(*price);
  EXPECT_EQ(server.requests()[0].method, "GET");
  EXPECT_THAT(server.requests()[0].headers, Not(Contains(Key("authorization"))));  // the list is public
}

TEST(PriceTest, APublicListingTellsWhatNobodyElseDoes) {
  TestServer server([](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(PlainAnswer("200 OK", "Content-Type: application/json\r\n", R"({"data":[
      {"id":"openai/gpt-x","pricing":{"prompt":"0.000002","completion":"0.000008"}}]})"));
  });
  setenv("KERNELBENCH_PRICE_LISTING", server.url().c_str(), 1);
  ModelSettings settings = *FindModel("openai:gpt-x", {});
  std::string note;
  const auto price = FindPrice(settings, {}, nullptr, &note);
  ASSERT_TRUE(price) << note;
  EXPECT_DOUBLE_EQ(*price->input, 2);
  EXPECT_THAT(price->source, HasSubstr(server.url()));
  EXPECT_THAT(price->source, HasSubstr("not openai's own word"));
  EXPECT_FALSE(FindPrice(*FindModel("openai:gpt-y", {}), {}, nullptr, &note)) << "not listed";
  EXPECT_EQ(note, "");
  EXPECT_FALSE(FindPrice(*FindModel("openai:gpt-x@http://elsewhere/v1", {}), {}, nullptr, &note));
  settings.price = Price{.input = 7, .output = 8, .source = "models.toml"};
  EXPECT_EQ(FindPrice(settings, {}, nullptr, &note)->input, 7);
  EXPECT_EQ(server.requests().size(), 2u) << "who knows a price asks nobody";
  setenv("KERNELBENCH_PRICE_LISTING", (server.url() + "0/none").c_str(), 1);
  settings.price.reset();
  EXPECT_FALSE(FindPrice(settings, {}, nullptr, &note));
  EXPECT_THAT(note, HasSubstr("the price of openai:gpt-x is not known"));
  unsetenv("KERNELBENCH_PRICE_LISTING");
}

TEST(PriceTest, TheTableThatIsInstalledIsWhole) {
  const auto table = PriceTable::Load(KB_SOURCE_DIR "/models/prices.toml");
  ASSERT_TRUE(table) << table.error().message;
}

TEST(ForecastTest, LearnsFromAnswers) {
  const Price price{.input = 10, .cache_read = 1, .output = 100};
  Forecast forecast;
  auto estimate = forecast.Of({4000, 8000}, price, std::nullopt);
  EXPECT_DOUBLE_EQ(estimate.input_tokens, 3000);
  EXPECT_EQ(estimate.output_tokens, std::nullopt);
  EXPECT_EQ(estimate.cost_usd, std::nullopt);
  estimate = forecast.Of({4000, 8000}, price, 500);
  EXPECT_DOUBLE_EQ(*estimate.output_tokens, 1000);
  EXPECT_DOUBLE_EQ(*estimate.cost_usd, 0.03 + 0.1);

  // 5,000 bytes were 1,000 tokens, 600 of them read from a cache: a token costs 0.4 * 10 + 0.6 * 1 a million.
  forecast.Observe(5000, {.usage = {.input = 400, .cache_read = 600, .output = 200}});
  forecast.Observe(0, {.usage = {.output = 400}});
  estimate = forecast.Of({4000, 6000}, price, 500);
  EXPECT_DOUBLE_EQ(estimate.input_tokens, 2000);
  EXPECT_DOUBLE_EQ(*estimate.output_tokens, 600);
  EXPECT_DOUBLE_EQ(*estimate.cost_usd, 2000 * 4.6e-6 + 600 * 100e-6);
  EXPECT_EQ(forecast.Of({4000}, Price{.input = 10, .output = 100}, {}).cost_usd, std::nullopt);
  EXPECT_EQ(forecast.Of({4000}, std::nullopt, {}).cost_usd, std::nullopt);
}

TEST(ForecastTest, WithoutAPriceTakesWhatTheProviderSaid) {
  Forecast forecast;
  forecast.Observe(100, {.cost_usd = 0.25});
  forecast.Observe(100, {.cost_usd = 0.75});
  EXPECT_EQ(forecast.Of({1, 1, 1}, std::nullopt, {}).cost_usd, 1.5);
  forecast.Observe(100, {});  // one that it said nothing of
  EXPECT_EQ(forecast.Of({1, 1, 1}, std::nullopt, {}).cost_usd, std::nullopt);
}

TEST(PriceTable, TheUsersOwnFileHoldsWhereverAModelIsServed) {
  const auto directory = TempDir::Create("kb-price");
  const std::filesystem::path path = directory->path() / "prices.toml";
  ASSERT_TRUE(WriteFileAtomic(path,
                              "[[price]]\nprovider = \"vllm\"\nmodel = \"q\"\ninput = 0.5\noutput = 1\n"
                              "source = \"our cluster\"\ndate = \"2026-11-30\"\n"));
  setenv("KERNELBENCH_PRICES", path.c_str(), 1);
  const auto tables = PriceTables::Load(directory->path() / "none");
  unsetenv("KERNELBENCH_PRICES");
  ASSERT_TRUE(tables) << tables.error().message;
  const auto price = PriceOf(*FindModel("vllm:q@http://somewhere:8000/v1", {}), std::nullopt, *tables);
  ASSERT_TRUE(price);
  EXPECT_EQ(price->input, 0.5);
  EXPECT_EQ(price->source, "table of 2026-11-30: our cluster");
  setenv("KERNELBENCH_PRICES", (path.string() + "2").c_str(), 1);
  EXPECT_FALSE(PriceTables::Load(directory->path())) << "a file that is named must be there";
  unsetenv("KERNELBENCH_PRICES");
}

}  // namespace
}  // namespace kb
