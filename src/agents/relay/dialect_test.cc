#include "agents/relay/dialect.h"

#include <gmock/gmock.h>

#include "base/json.h"

namespace kb {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ModelSettings Settings(Wire wire) {
  ModelSettings settings;
  settings.name = "tested";
  settings.model = "the-model";
  settings.wire = wire;
  settings.provider = wire == Wire::kMessages ? ProviderKind::kAnthropic
                      : wire == Wire::kGemini ? ProviderKind::kGemini
                                              : ProviderKind::kOpenAi;
  settings.max_tokens = 1000;
  return settings;
}

// A request with one user message and what `more` adds to it or sets anew.
std::string Request(Wire wire, const char* more = "{}") {
  WireJson request = WireJson::parse(R"({"model":"any"})");
  const char* const message =
      wire == Wire::kGemini ? R"({"role":"user","parts":[{"text":"hello"}]})" : R"({"role":"user","content":"hello"})";
  request[DialectOf(wire).messages] = WireJson::array({WireJson::parse(message)});
  request.update(WireJson::parse(more));
  return request.dump();
}

Result<Relayed> Read(const ModelSettings& settings, const char* more) {
  const RelayPath path = settings.wire == Wire::kGemini ? RelayPath{"any", true} : RelayPath();
  return ReadRequest(DialectOf(settings.wire), settings, Request(settings.wire, more), path);
}

TEST(DialectTest, WhatPassesAndWhatDoesNot) {
  const struct {
    Wire wire;
    const char* more;
    const char* why;  // null: it passes
  } cases[] = {
      {Wire::kChat, R"({"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{}}]})",
       nullptr},
      {Wire::kChat, R"({"tools":[{"type":"web_search"}]})", "a tool of type \"web_search\""},
      {Wire::kChat, R"({"tools":[{"type":"function"},{"type":"mcp"}]})", "\"mcp\""},
      {Wire::kChat, R"({"tools":[{}]})", "a tool"},
      {Wire::kChat, R"({"tools":["web_search"]})", "a tool"},
      {Wire::kChat, R"({"tools":{"type":"web_search"}})", "\"tools\" is no list"},
      {Wire::kChat, R"({"web_search_options":{}})", "\"web_search_options\""},
      {Wire::kChat, R"({"plugins":[{"id":"web"}]})", "\"plugins\""},
      {Wire::kChat, R"({"n":2})", "\"n\""},
      {Wire::kChat, R"({"n":1})", nullptr},
      {Wire::kChat, R"({"messages":[]})", "no list of messages"},
      {Wire::kChat, R"({"messages":"hello"})", "no list of messages"},
      {Wire::kChat,
       R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://x/y"}}]}]})",
       "fetches nothing"},
      {Wire::kChat,
       R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":"file:///etc/passwd"}]}]})",
       "fetches nothing"},
      {Wire::kChat,
       R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA"}}]}]})",
       nullptr},
      {Wire::kChat, R"({"messages":[{"role":"user","content":[{"type":"file","file":{"file_id":"f"}}]}]})", "\"file\""},
      {Wire::kChat, R"({"messages":[{"role":"user","content":{"type":"text"}}]})", "neither a text nor a list"},
      {Wire::kChat,
       R"({"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]}]})",
       nullptr},
      {Wire::kChat,
       R"({"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"http://x"}}]}]})",
       "fetches nothing"},
      {Wire::kChat, R"({"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":"http://x"}]}]})",
       "fetches nothing"},

      {Wire::kMessages, R"({"tools":[{"name":"f","input_schema":{}},{"type":"custom","name":"g"},
                           {"type":"bash_20250124","name":"bash"},{"type":"text_editor_20250728","name":"e"}]})",
       nullptr},
      {Wire::kMessages, R"({"tools":[{"type":"web_search_20250305","name":"web_search"}]})", "web_search_20250305"},
      {Wire::kMessages, R"({"tools":[{"type":"web_fetch_20250910","name":"w"}]})", "web_fetch"},
      {Wire::kMessages, R"({"tools":[{"type":"code_execution_20250825","name":"c"}]})", "code_execution"},
      {Wire::kMessages, R"({"mcp_servers":[{"type":"url","url":"https://x"}]})", "\"mcp_servers\""},
      {Wire::kMessages, R"({"mcp_servers":[]})", nullptr},
      {Wire::kMessages, R"({"system":[{"type":"text","text":"s"}]})", nullptr},
      {Wire::kMessages, R"({"system":[{"type":"document","source":{"type":"url"}}]})", "type \"url\""},
      {Wire::kMessages, R"({"container":"c_1"})", "\"container\""},
      {Wire::kMessages,
       R"({"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"u"}}]}]})",
       "type \"url\""},
      {Wire::kMessages, R"({"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[
                           {"type":"document","source":{"type":"file","file_id":"f"}}]}]}]})",
       "type \"file\""},
      {Wire::kMessages, R"({"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content",
                           "content":[{"type":"image","source":{"type":"url"}}]}}]}]})",
       "type \"url\""},
      {Wire::kMessages, R"({"messages":[{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}]})",
       "container_upload"},
      {Wire::kMessages, R"({"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f",
                           "input":{"source":{"type":"url"}}}]}]})",
       nullptr},

      {Wire::kResponses, R"({"tools":[{"type":"function","name":"f"},{"type":"custom","name":"apply_patch"},
                            {"type":"local_shell"},{"type":"namespace","name":"mcp__judge","tools":[
                            {"type":"function","name":"submit"}]}]})",
       nullptr},
      {Wire::kResponses, R"({"tools":[{"type":"web_search"}]})", "web_search"},
      {Wire::kResponses, R"({"tools":[{"type":"code_interpreter"}]})", "code_interpreter"},
      {Wire::kResponses, R"({"tools":[{"type":"file_search"}]})", "file_search"},
      {Wire::kResponses, R"({"tools":[{"type":"image_generation"}]})", "image_generation"},
      {Wire::kResponses, R"({"tools":[{"type":"computer_use_preview"}]})", "computer_use_preview"},
      {Wire::kResponses, R"({"tools":[{"type":"shell"}]})", "\"shell\""},
      {Wire::kResponses, R"({"tools":[{"type":"shell","environment":{"type":"local"}}]})", nullptr},
      {Wire::kResponses, R"({"tools":[{"type":"namespace","tools":[{"type":"mcp","server_url":"https://x"}]}]})",
       "\"mcp\""},
      {Wire::kResponses, R"({"tools":[{"type":"namespace","tools":[{"type":"namespace"}]}]})", "\"namespace\""},
      {Wire::kResponses, R"({"input":"hello"})", nullptr},
      {Wire::kResponses, R"({"input":"hello","tools":[{"type":"web_search"}]})", "web_search"},
      {Wire::kResponses, R"({"instructions":[{"type":"item_reference"}]})", "is no text"},
      {Wire::kResponses, R"({"input":[{"type":"tool_search_output","tools":[{"type":"function"}]}]})", nullptr},
      {Wire::kResponses, R"({"input":[{"type":"tool_search_output","tools":[{"type":"mcp"}]}]})", "\"mcp\""},
      {Wire::kResponses, R"({"previous_response_id":"r_1"})", "\"previous_response_id\""},
      {Wire::kResponses, R"({"previous_response_id":null,"background":false})", nullptr},
      {Wire::kResponses, R"({"background":true})", "\"background\""},
      {Wire::kResponses, R"({"conversation":"c_1"})", "\"conversation\""},
      {Wire::kResponses, R"({"prompt":{"id":"p_1"}})", "\"prompt\""},
      {Wire::kResponses, R"({"input":[{"type":"item_reference","id":"i"}]})", "item_reference"},
      {Wire::kResponses, R"({"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x"}]}]})",
       "fetches nothing"},
      {Wire::kResponses,
       R"({"input":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"file:///x"}}]}]})",
       "fetches nothing"},
      {Wire::kResponses,
       R"({"input":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA"}}]}]})", nullptr},
      {Wire::kResponses, R"({"input":[{"role":"user","content":[{"type":"input_image","file_id":"f"}]}]})",
       "fetches nothing"},
      {Wire::kResponses, R"({"input":[{"type":"function_call_output","call_id":"c","output":[
                            {"type":"input_file","file_url":"https://x"}]}]})",
       "input_file"},
      {Wire::kResponses, R"({"input":[{"type":"function_call","call_id":"c","name":"f","arguments":"{"},
                            {"type":"function_call_output","call_id":"c","output":"http://x"},
                            {"type":"custom_tool_call","call_id":"d","name":"apply_patch","input":"*** Begin"},
                            {"type":"reasoning","encrypted_content":"AA","summary":[]}]})",
       nullptr},

      {Wire::kGemini,
       R"({"tools":[{"functionDeclarations":[{"name":"f"}]}],"systemInstruction":{"parts":[{"text":"s"}]}})", nullptr},
      {Wire::kGemini, R"({"systemInstruction":{"parts":[{"fileData":{}}]}})", "\"fileData\""},
      {Wire::kGemini, R"({"systemInstruction":"s"})", "is no JSON object"},
      {Wire::kGemini, R"({"tools":[{"googleSearch":{}}]})", "\"googleSearch\""},
      {Wire::kGemini, R"({"tools":[{"functionDeclarations":[],"urlContext":{}}]})", "\"urlContext\""},
      {Wire::kGemini, R"({"tools":[{"code_execution":{}}]})", "\"code_execution\""},
      {Wire::kGemini, R"({"cachedContent":"cachedContents/1"})", "\"cachedContent\""},
      {Wire::kGemini, R"({"generationConfig":{"candidateCount":2}})", "\"candidateCount\""},
      {Wire::kGemini, R"({"contents":[{"role":"user","parts":[{"fileData":{"fileUri":"https://x"}}]}]})",
       "\"fileData\""},
      {Wire::kGemini, R"({"contents":[{"role":"user","parts":[{"text":"t","file_data":{}}]}]})", "\"file_data\""},
      {Wire::kGemini, R"({"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"fileData":1},
                         "parts":[{"inlineData":{}}]}}]}]})",
       nullptr},
      {Wire::kGemini, R"({"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f",
                         "parts":[{"fileData":{}}]}}]}]})",
       "\"fileData\""},
  };
  for (const auto& [wire, more, why] : cases) {
    const auto read = Read(Settings(wire), more);
    if (why == nullptr) {
      EXPECT_TRUE(read) << more << ": " << read.error().message;
    } else {
      ASSERT_FALSE(read) << more;
      EXPECT_EQ(read.error().code, ErrorCode::kUsage);
      EXPECT_THAT(read.error().message, HasSubstr(why)) << more;
    }
  }
}

TEST(DialectTest, WhatOwnersKeepIsShort) {
  const std::string long_name(100'000, 'x');
  for (const auto& [wire, request] : {
           std::pair(Wire::kChat, R"({"tools":[{"type":"NAME"}]})"),
           std::pair(Wire::kChat, R"({"messages":[{"role":"user","content":[{"type":"NAME"}]}]})"),
           std::pair(Wire::kMessages, R"({"system":[{"type":"document","source":{"type":"NAME"}}]})"),
           std::pair(Wire::kResponses, R"({"input":[{"type":"NAME"}]})"),
           std::pair(Wire::kGemini, R"({"tools":[{"NAME":{}}]})"),
       }) {
    std::string more = request;
    more.replace(more.find("NAME"), 4, long_name);
    const auto read = Read(Settings(wire), more.c_str());
    ASSERT_FALSE(read);
    EXPECT_LE(read.error().message.size(), 300U) << request;
    EXPECT_THAT(read.error().message, HasSubstr("xxx"));
  }
  WireJson many = {{"model", long_name}};
  for (int i = 0; i < 100; ++i) many[std::to_string(i) + long_name] = 1;
  const auto read = Read(Settings(Wire::kChat), many.dump().c_str());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->dropped.size(), 32U);
  for (const std::string& name : read->dropped) EXPECT_EQ(name.size(), 64U);
  EXPECT_EQ(read->program_model.size(), 256U);
}

TEST(DialectTest, CachesAreKeptForAsShortAsTheyCan) {
  const auto read = Read(Settings(Wire::kMessages), R"({
      "cache_control":{"type":"ephemeral","ttl":"1h"},
      "system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],
      "tools":[{"name":"f","input_schema":{"properties":{"cache_control":{"ttl":1}}},"cache_control":{"ttl":"1h"}}],
      "messages":[{"role":"assistant","content":[
          {"type":"tool_use","id":"c","name":"f","input":{"cache_control":{"ttl":2}},"cache_control":{"ttl":"1h"}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[
          {"type":"text","text":"t","cache_control":{"ttl":"1h"}},
          {"type":"document","source":{"type":"content","content":[{"type":"text","cache_control":{"ttl":"1h"}}]}}]}]}]})");
  ASSERT_TRUE(read) << read.error().message;
  const std::string sent = Dump(read->body);
  EXPECT_THAT(sent, Not(HasSubstr(R"("1h")")));
  EXPECT_THAT(sent, HasSubstr(R"("cache_control":{"ttl":1})")) << "a schema";
  EXPECT_THAT(sent, HasSubstr(R"("cache_control":{"ttl":2})")) << "a call's input";
  EXPECT_EQ(Dump(read->body["cache_control"]), R"({"type":"ephemeral"})");
  const auto chat = Read(Settings(Wire::kChat), R"({"messages":[{"role":"user","content":[
      {"type":"text","text":"t","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]})");
  ASSERT_TRUE(chat);
  EXPECT_THAT(Dump(chat->body), Not(HasSubstr("ttl")));
}

TEST(DialectTest, WhatCannotBeRead) {
  for (const std::string& body : {std::string(), std::string("hello"), std::string("[]"), std::string("\xff"),
                                  "{\"messages\":" + std::string(100'000, '[')}) {
    EXPECT_FALSE(ReadRequest(ChatDialect(), Settings(Wire::kChat), body)) << body.substr(0, 20);
  }
  // Two readers may differ on which of two members counts: one is sent.
  const auto read = ReadRequest(ChatDialect(), Settings(Wire::kChat),
                                R"({"messages":[{"role":"user","content":"a","content":"b"}],"tools":null})");
  ASSERT_TRUE(read);
  EXPECT_EQ(Dump(read->body["messages"]), R"([{"role":"user","content":"b"}])");
}

TEST(DialectTest, ModelAndTokensAreThoseOfTheSettings) {
  for (const Wire wire : {Wire::kChat, Wire::kMessages, Wire::kResponses}) {
    ModelSettings settings = Settings(wire);
    settings.max_tokens_name = "max_completion_tokens";
    const char* const name = wire == Wire::kChat       ? "max_completion_tokens"
                             : wire == Wire::kMessages ? "max_tokens"
                                                       : "max_output_tokens";
    for (const auto& [more, tokens] :
         {std::pair("{}", 1000), std::pair(R"({"max_tokens":50,"max_output_tokens":50})", 50),
          std::pair(R"({"max_tokens":5000,"max_completion_tokens":9000,"max_output_tokens":5000})", 1000),
          std::pair(R"({"max_tokens":-1,"max_output_tokens":"many"})", 1000)}) {
      const auto read = Read(settings, more);
      ASSERT_TRUE(read);
      EXPECT_EQ(read->max_tokens, tokens) << more;
      EXPECT_EQ(read->body[name], tokens);
      EXPECT_EQ(read->body["model"], "the-model");
      EXPECT_EQ(read->program_model, "any");
      for (const char* other : {"max_tokens", "max_completion_tokens", "max_output_tokens"}) {
        EXPECT_EQ(read->body.contains(other), other == std::string(name)) << other;
      }
      EXPECT_THAT(read->dropped, IsEmpty());
    }
  }
}

TEST(DialectTest, SettingsWinWhereTheySaySomething) {
  ModelSettings settings = Settings(Wire::kChat);
  auto read = Read(settings, R"({"temperature":0.5,"seed":3,"reasoning_effort":"low"})");
  EXPECT_EQ(read->body["temperature"], 0.5);
  settings.temperature = 1;
  settings.seed = 7;
  settings.reasoning_effort = "high";
  settings.omit = {"top_p"};
  settings.extra = {{"provider", {{"order", {"x"}}}}};
  read =
      Read(settings, R"({"temperature":0.5,"top_p":0.1,"seed":3,"reasoning_effort":"low","provider":{"order":["y"]}})");
  EXPECT_EQ(read->body["temperature"], 1);
  EXPECT_EQ(read->body["seed"], 7);
  EXPECT_EQ(read->body["reasoning_effort"], "high");
  EXPECT_FALSE(read->body.contains("top_p"));
  EXPECT_EQ(Dump(read->body["provider"]), R"({"order":["x"]})");

  settings = Settings(Wire::kMessages);
  settings.max_tokens = 8000;
  read = Read(settings, R"({"thinking":{"type":"enabled","budget_tokens":30000}})");
  EXPECT_EQ(read->body["thinking"]["budget_tokens"], 6000);
  read = Read(settings, R"({"max_tokens":1024,"thinking":{"type":"enabled","budget_tokens":30000}})");
  EXPECT_FALSE(read->body.contains("thinking"));
  settings.reasoning_effort = "high";
  read = Read(settings, R"({"temperature":0.5})");
  EXPECT_EQ(read->body["thinking"]["type"], "adaptive");
  EXPECT_FALSE(read->body.contains("temperature"));
}

TEST(DialectTest, GeminisOptionsAreInOneMember) {
  ModelSettings settings = Settings(Wire::kGemini);
  settings.temperature = 1;
  auto read = Read(settings, R"({"generationConfig":{"temperature":0,"topP":0.5,"maxOutputTokens":9000,
                                "responseModalities":["IMAGE"]},"safetySettings":[]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(WireJson(read->body["generationConfig"]).dump(),
            R"({"temperature":1.0,"topP":0.5,"maxOutputTokens":1000})");
  EXPECT_THAT(read->dropped, ElementsAre("safetySettings", "responseModalities"));
  EXPECT_EQ(read->program_model, "any");
  EXPECT_TRUE(read->stream);
  EXPECT_FALSE(read->body.contains("stream"));
  EXPECT_FALSE(read->body.contains("model"));
  read = Read(settings, R"({"generationConfig":{"maxOutputTokens":5}})");
  EXPECT_EQ(read->max_tokens, 5);
  EXPECT_EQ(read->body["generationConfig"]["maxOutputTokens"], 5);
}

TEST(DialectTest, Paths) {
  EXPECT_TRUE(ReadPath(ChatDialect(), "/v1/chat/completions"));
  EXPECT_TRUE(ReadPath(ChatDialect(), "/chat/completions"));
  for (const char* path :
       {"/v1/v1/chat/completions", "/v1/v1beta/chat/completions", "/v1/chat/completions/x", "/v1/"}) {
    EXPECT_FALSE(ReadPath(ChatDialect(), path)) << path;
  }
  const auto whole = ReadPath(GeminiDialect(), "/v1beta/models/gemini-x:generateContent");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->model, "gemini-x");
  EXPECT_EQ(whole->stream, false);
  EXPECT_EQ(ReadPath(GeminiDialect(), "/v1beta/models/m:streamGenerateContent")->stream, true);
  for (const char* path : {"/v1beta/models/m:countTokens", "/v1beta/models/m", "/v1beta/cachedContents"}) {
    EXPECT_FALSE(ReadPath(GeminiDialect(), path)) << path;
  }
}

TEST(DialectTest, WhatIsNotKnownStaysBehindAndNothingIsKept) {
  auto read =
      Read(Settings(Wire::kResponses),
           R"({"store":true,"include":["web_search_call.results"],"service_tier":"priority","metadata":{"a":"b"}})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->body["store"], false);
  EXPECT_EQ(Dump(read->body["include"]), R"(["reasoning.encrypted_content"])");
  EXPECT_THAT(read->dropped, ElementsAre("service_tier", "metadata"));
  EXPECT_FALSE(read->body.contains("service_tier"));
  read = Read(Settings(Wire::kChat), R"({"store":true,"models":[],"stream":true})");
  EXPECT_THAT(read->dropped, ElementsAre("store", "models"));
  EXPECT_EQ(Dump(read->body["stream_options"]), R"({"include_usage":true})");
  read = Read(Settings(Wire::kChat), R"({"stream":false,"stream_options":{"include_usage":true}})");
  EXPECT_FALSE(read->body.contains("stream"));
  EXPECT_FALSE(read->body.contains("stream_options"));
}

TEST(DialectTest, ModelsThatCannotBeRelayed) {
  ModelSettings settings = Settings(Wire::kChat);
  EXPECT_TRUE(CheckRelayed(settings));
  settings.model = "vendor/model:online";
  EXPECT_THAT(CheckRelayed(settings).error().message, HasSubstr(":online"));
  settings = Settings(Wire::kChat);
  settings.extra = {{"plugins", {{{"id", "web"}}}}};
  EXPECT_THAT(CheckRelayed(settings).error().message, HasSubstr("plugins"));
  settings = Settings(Wire::kChat);
  settings.provider = ProviderKind::kReplay;
  EXPECT_THAT(CheckRelayed(settings).error().message, HasSubstr("replay"));
  settings = Settings(Wire::kChat);
  settings.extra = {{"stream", false}};
  EXPECT_TRUE(Read(settings, "{}"));
  EXPECT_THAT(Read(settings, R"({"stream":true})").error().message, HasSubstr("\"stream\""));
}

TEST(DialectTest, ErrorsHaveTheShapeOfTheirWire) {
  EXPECT_EQ(ChatDialect().error_body(402, "over"),
            R"({"error":{"message":"over","type":"insufficient_quota","param":null,"code":"insufficient_quota"}})");
  EXPECT_EQ(MessagesDialect().error_body(402, "over"),
            R"({"type":"error","error":{"type":"billing_error","message":"over"}})");
}

}  // namespace
}  // namespace kb
