#include "model/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// models.toml with this text, as Load() reads it.
Result<ModelsFile> Loaded(const std::string& text) {
  const auto directory = TempDir::Create("kb-models");
  EXPECT_TRUE(directory);
  EXPECT_TRUE(WriteFileAtomic(directory->path() / "models.toml", text));
  return ModelsFile::Load(directory->path() / "models.toml");
}

TEST(SettingsTest, ModelsAsUsersNameThem) {
  const struct {
    const char *spec, *provider, *model, *base_url, *key_env, *max_tokens_name;
  } cases[] = {
      {"openai:gpt-5.5", "openai", "gpt-5.5", "https://api.openai.com/v1", "OPENAI_API_KEY", "max_completion_tokens"},
      {"anthropic:claude-opus-5", "anthropic", "claude-opus-5", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY",
       "max_tokens"},
      {"openrouter:org/name:free", "openrouter", "org/name:free", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY",
       "max_tokens"},
      {"gemini:gemini-x", "gemini", "gemini-x", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY",
       "max_tokens"},
      {"vllm:Qwen/Qwen3@http://host:8000/v1/", "vllm", "Qwen/Qwen3", "http://host:8000/v1", "", "max_tokens"},
      {"sglang:m@rev@https://host", "sglang", "m@rev", "https://host", "", "max_tokens"},
      {"llamacpp:m", "llamacpp", "m", "http://localhost:8080/v1", "", "max_tokens"},
      {"replay:/a/b:c", "replay", "replay", "", "", "max_tokens"},
  };
  for (const auto& each : cases) {
    const auto settings = FindModel(each.spec, {});
    ASSERT_TRUE(settings) << settings.error().message;
    EXPECT_EQ(settings->name, each.spec);
    EXPECT_EQ(ProviderName(settings->provider), each.provider);
    EXPECT_EQ(settings->model, each.model);
    EXPECT_EQ(settings->base_url, each.base_url);
    EXPECT_EQ(settings->key_env, each.key_env);
    EXPECT_EQ(settings->key_needed, *each.key_env != '\0');
    EXPECT_EQ(settings->max_tokens_name, each.max_tokens_name);
  }
  EXPECT_EQ(FindModel("replay:/a/b:c", {})->replay, "/a/b:c");
}

TEST(SettingsTest, WhatNamesNoModelSaysSo) {
  const std::pair<const char*, const char*> cases[] = {
      {"gpt-5.5", "PROVIDER:MODEL"},
      {"openai:", "PROVIDER:MODEL"},
      {"closedai:gpt", "no provider \"closedai\"; there are: openai, anthropic"},
      {"vllm:@http://host", "names no model"},
      {"vllm:m@http://", "and a host"},
      {"vllm:m@http://user:secret@host/v1", "no user or password"},
      {"vllm:m@http://host/v1?key=secret", "no ?"},
  };
  for (const auto& [spec, message] : cases) {
    const auto settings = FindModel(spec, {});
    ASSERT_FALSE(settings) << spec;
    EXPECT_EQ(settings.error().code, ErrorCode::kUsage);
    EXPECT_THAT(settings.error().message, AllOf(HasSubstr(message), Not(HasSubstr("secret")))) << spec;
  }
}

TEST(SettingsTest, AFileSetsEverything) {
  const auto file = Loaded(R"(
    [models.local]
    provider = "vllm"
    model = "Qwen/Qwen3"
    base_url = "http://gpu7:8000/v1"
    key_env = "LAB_KEY"
    concurrency = 32
    max_tokens = 4096
    temperature = 1
    top_p = 0.95
    reasoning_effort = "low"
    max_tokens_name = "max_completion_tokens"
    omit = ["seed"]
    extra = { top_k = 20, chat_template_kwargs = { enable_thinking = false } }
    price = { input = 0.2, output = 0.6 }
    connect_timeout_s = 1
    first_token_timeout_s = 2.5
    token_timeout_s = 3
    call_timeout_s = 4
    attempts = 9
    first_wait_s = 0.1
    longest_wait_s = 5
    longest_retry_after_s = 6
    retry_time_s = 7
    max_answer_bytes = 1000
    [models."my replay"]
    provider = "replay"
    path = "answers.jsonl"
    [models.old]
    provider = "anthropic"
    model = "claude-haiku-4-5"
    thinking = "budget"
  )");
  ASSERT_TRUE(file) << file.error().message;
  const ModelSettings local = *FindModel("local", *file);
  EXPECT_EQ(local.ToJson(), nlohmann::json::parse(R"({"name":"local","provider":"vllm","model":"Qwen/Qwen3",
              "base_url":"http://gpu7:8000/v1","key_env":"LAB_KEY","replay":"","concurrency":32,"max_tokens":4096,
              "temperature":1.0,"top_p":0.95,"seed":null,"reasoning_effort":"low","max_tokens_name":"max_completion_tokens",
              "thinking":"adaptive","omit":["seed"],
              "extra":{"top_k":20,"chat_template_kwargs":{"enable_thinking":false}},
              "price":{"input":0.2,"cache_read":null,"cache_write":null,"output":0.6,"source":"models.toml"}})"));
  EXPECT_TRUE(local.key_needed);
  EXPECT_EQ(local.timeouts.connect.count(), 1000);
  EXPECT_EQ(local.timeouts.first_byte.count(), 2500);
  EXPECT_EQ(local.timeouts.between_bytes.count(), 3000);
  EXPECT_EQ(local.timeouts.total.count(), 4000);
  EXPECT_EQ(local.retry.attempts, 9);
  EXPECT_EQ(local.retry.first_wait.count(), 100);
  EXPECT_EQ(local.retry.longest_wait.count(), 5000);
  EXPECT_EQ(local.retry.longest_retry_after.count(), 6000);
  EXPECT_EQ(local.retry.total.count(), 7000);
  EXPECT_EQ(local.max_answer_bytes, 1000u);
  EXPECT_EQ(FindModel("my replay", *file)->replay, file->path.parent_path() / "answers.jsonl");
  EXPECT_EQ(FindModel("old", *file)->thinking, "budget");

  const CompletionRequest request = local.NewRequest();
  EXPECT_EQ(request.model, "Qwen/Qwen3");
  EXPECT_EQ(request.max_tokens, 4096);
  EXPECT_EQ(request.temperature, 1.0);
  EXPECT_EQ(request.top_p, 0.95);
  EXPECT_EQ(request.reasoning_effort, "low");
}

TEST(SettingsTest, WhatIsWrongInAFileIsNamed) {
  const std::string head = "[models.m]\nprovider = \"openai\"\nmodel = \"x\"\n";
  const std::pair<std::string, const char*> cases[] = {
      {"[models.m]\nprovider = ", "models.toml:2"},
      {"[model.m]\n", "\"model\" is not known"},
      {"[models.m]\nmodel = \"x\"", "[models.m]: has no provider"},
      {"[models.m]\nprovider = \"x\"", "no provider \"x\""},
      {"[models.m]\nprovider = \"openai\"", "has no model"},
      {"[models.m]\nprovider = \"replay\"", "has no path"},
      {head + "temprature = 1", "temprature is no key"},
      {head + "key = \"sk-secret\"", "key is no key"},
      {head + "temperature = \"hot\"", "temperature is \"hot\", but should be a number from 0 to 2"},
      {head + "temperature = nan", "should be a number from 0 to 2"},
      {head + "concurrency = 0", "a whole number from 1"},
      {head + "reasoning_effort = \"huge\"\nthinking = \"budget\"", "low, medium or high"},
      {head + "base_url = \"host:8000\"", "begins with http://"},
      {head + "price = { in = 1 }", "input, cache_read"},
      {head + "price = { input = -1 }", "input, cache_read"},
      {head + "omit = \"seed\"", "a list of texts"},
      {head + "wire = \"soap\"", "wire is \"soap\", but should be chat, messages, responses or gemini"},
  };
  for (const auto& [text, message] : cases) {
    const auto file = Loaded(text);
    ASSERT_FALSE(file) << text;
    EXPECT_EQ(file.error().code, ErrorCode::kUsage);
    EXPECT_THAT(file.error().message, HasSubstr(message)) << text;
  }
}

TEST(SettingsTest, TheWireIsTheProvidersOwnUnlessAFileSaysAnother) {
  const auto file = Loaded(R"(
    [models.chat]
    provider = "openai"
    model = "m"
    [models.messages]
    provider = "anthropic"
    model = "m"
    [models.responses]
    provider = "openai"
    model = "m"
    wire = "responses"
    [models.local]
    provider = "vllm"
    model = "m"
    wire = "messages"
    [models.google]
    provider = "gemini"
    model = "m"
  )");
  ASSERT_TRUE(file) << file.error().message;
  const struct {
    const char* name;
    Wire wire;
    nlohmann::json stored;  // only what is not the provider's own
  } cases[] = {{"chat", Wire::kChat, nullptr},
               {"messages", Wire::kMessages, nullptr},
               {"responses", Wire::kResponses, "responses"},
               {"local", Wire::kMessages, "messages"},
               {"google", Wire::kGemini, nullptr}};
  for (const auto& each : cases) {
    const auto settings = FindModel(each.name, *file);
    ASSERT_TRUE(settings) << settings.error().message;
    EXPECT_EQ(settings->wire, each.wire) << each.name;
    const nlohmann::json stored = settings->ToJson();
    EXPECT_EQ(stored.contains("wire") ? stored["wire"] : nlohmann::json(), each.stored) << each.name;
  }
}

TEST(SettingsTest, OnlyTheUsualFileMayBeMissing) {
  const auto directory = TempDir::Create("kb-models");
  setenv("XDG_CONFIG_HOME", directory->path().c_str(), 1);
  const auto none = ModelsFile::Find("");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->models.empty());
  EXPECT_FALSE(ModelsFile::Find(directory->path() / "named.toml"));
  setenv("KERNELBENCH_MODELS", (directory->path() / "set.toml").c_str(), 1);
  EXPECT_FALSE(ModelsFile::Find(""));
  unsetenv("KERNELBENCH_MODELS");
  unsetenv("XDG_CONFIG_HOME");
}

}  // namespace
}  // namespace kb
