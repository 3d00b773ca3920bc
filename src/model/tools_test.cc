// Calls of tools on every wire: what is sent, and what is made of what comes back, streamed and whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "model/test_streams.h"
#include "model/test_tool_answers.h"
#include "model/wire_format.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToolsKey[] = "sk-test-0123456789abcdef";

std::string WireTitle(Wire wire) {
  return wire == Wire::kMessages ? "messages" : wire == Wire::kResponses ? "responses" : "chat";
}

// A stream of these events.
std::string EventsOf(const std::vector<std::string>& events) {
  std::string stream;
  for (const std::string& event : events) stream += "data: " + event + "\n\n";
  return stream;
}

CompletionRequest ToolRequest() {
  return {.model = "some-model",
          .system = "be brief",
          .messages = {{Role::kUser, "make it fast"}},
          .tools = {{"bash", "runs a command", R"({"type":"object","properties":{"command":{"type":"string"}}})"},
                    {"submit", "hands in", R"({"type":"object"})"}}};
}

Result<Completion> AskTools(Wire wire, const TestServer& server, const CompletionRequest& request = ToolRequest()) {
  setenv("KB_TEST_KEY", kToolsKey, 1);
  return Ask(QuickSettings(wire, server.url()), request);
}

// The answer to a request whose server streams these events, or sends this whole.
Result<Completion> AnswerOfStream(Wire wire, const std::vector<std::string>& events) {
  TestServer server(
      [&](const ServedRequest&, int, ServedConnection* connection) { Stream(connection, EventsOf(events)); });
  return AskTools(wire, server);
}

Result<Completion> AnswerOfWhole(Wire wire, const std::string& body) {
  TestServer server([&](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(PlainAnswer("200 OK", "Content-Type: application/json\r\n", body));
  });
  return AskTools(wire, server);
}

// A conversation after its first answer and the results of its calls.
CompletionRequest SecondRequest(const ToolAnswer& example) {
  const auto answer = AnswerOfStream(example.wire, example.stream);
  EXPECT_TRUE(answer) << answer.error().message;
  CompletionRequest request = ToolRequest();
  request.messages.push_back(Message::Answer(*answer));
  request.messages.push_back(Message::Results({{"c0", "a.cu", false}, {"c1", "exit 3", true}}, "hurry"));
  return request;
}

std::string SentText(const ModelSettings& prototype, const CompletionRequest& request) {
  setenv("KB_TEST_KEY", kToolsKey, 1);
  TestServer server([&](const ServedRequest&, int, ServedConnection* connection) {
    Stream(connection, Joined(StreamOf(prototype.wire, {"x"})));
  });
  ModelSettings settings = prototype;
  settings.base_url = server.url();
  const auto answer = Ask(settings, request);
  EXPECT_TRUE(answer) << answer.error().message;
  return server.requests().empty() ? "" : server.requests()[0].body;
}

TEST(ToolsTest, AnAnswerWithParallelCallsStreamedAndWhole) {
  for (const ToolAnswer& example : ToolAnswers()) {
    for (const bool streamed : {true, false}) {
      SCOPED_TRACE(WireTitle(example.wire) + (streamed ? " streamed" : " whole"));
      const auto answer =
          streamed ? AnswerOfStream(example.wire, example.stream) : AnswerOfWhole(example.wire, example.whole);
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer->text, "so");
      EXPECT_EQ(answer->reasoning, "hm");
      EXPECT_EQ(answer->finish, FinishReason::kToolCalls);
      EXPECT_EQ(answer->model, "m");
      EXPECT_EQ(answer->usage.input, 40);
      EXPECT_EQ(answer->usage.cache_read, 60);
      EXPECT_EQ(answer->usage.output, 9);
      ASSERT_EQ(answer->calls.size(), 2u);
      EXPECT_EQ(answer->calls[0].id, "c0");
      EXPECT_EQ(answer->calls[0].name, "bash");
      EXPECT_EQ(json::parse(answer->calls[0].arguments), json({{"command", "ls"}}));
      EXPECT_EQ(answer->calls[1].id, "c1");
      EXPECT_EQ(answer->calls[1].name, "submit");
      EXPECT_EQ(answer->calls[1].arguments, R"({"z":1,"a":2})");
      EXPECT_EQ(answer->raw, example.raw);
    }
  }
}

TEST(ToolsTest, BrokenArgumentsOfAnAnswerThatWasCutOff) {
  const struct {
    Wire wire;
    std::vector<std::string> stream;
    const char* raw;
  } cases[] = {
      {Wire::kChat,
       {R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c0","type":"function",)"
        R"("function":{"name":"bash","arguments":"{\"comm"}}]}}]})",
        R"({"choices":[{"delta":{},"finish_reason":"length"}]})"},
       R"({"role":"assistant","content":null,"tool_calls":[)"
       R"({"id":"c0","type":"function","function":{"name":"bash","arguments":"{\"comm"}}]})"},
      {Wire::kMessages,
       {R"({"type":"content_block_start","index":0,)"
        R"("content_block":{"type":"tool_use","id":"c0","name":"bash","input":{}}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"comm"}})",
        R"({"type":"message_delta","delta":{"stop_reason":"max_tokens"}})"},
       R"({"role":"assistant","content":[)"
       R"({"type":"tool_use","id":"c0","name":"bash","input":{"INVALID_JSON":"{\"comm"}}]})"},
      {Wire::kResponses,
       {R"({"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"comm"})",
        R"({"type":"response.incomplete","response":{"status":"incomplete",)"
        R"("incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"function_call","call_id":"c0",)"
        R"("name":"bash","arguments":"{\"comm","status":"incomplete"}]}})"},
       R"([{"type":"function_call","call_id":"c0","name":"bash","arguments":"{\"comm","status":"incomplete"}])"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(WireTitle(each.wire));
    const auto answer = AnswerOfStream(each.wire, each.stream);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->finish, FinishReason::kLength);
    ASSERT_EQ(answer->calls.size(), 1u);
    EXPECT_EQ(answer->calls[0].arguments, "{\"comm");
    EXPECT_EQ(answer->raw, each.raw);
  }
}

TEST(ToolsTest, AnAnswerThatIsCutOffWhileItThinksCanBeSentBack) {
  const auto thinking = AnswerOfWhole(
      Wire::kMessages,
      R"({"type":"message","content":[{"type":"thinking","thinking":"hm","signature":""}],"stop_reason":"max_tokens"})");
  ASSERT_TRUE(thinking) << thinking.error().message;
  EXPECT_EQ(thinking->reasoning, "hm");
  EXPECT_EQ(thinking->raw, R"~({"role":"assistant","content":[{"type":"text","text":"(nothing)"}]})~");
  const auto reasoning = AnswerOfWhole(Wire::kResponses, R"({"status":"incomplete","output":[{"type":"reasoning",)"
                                                         R"("content":[{"type":"reasoning_text","text":"hm"}]}],)"
                                                         R"("incomplete_details":{"reason":"max_output_tokens"}})");
  ASSERT_TRUE(reasoning) << reasoning.error().message;
  EXPECT_EQ(reasoning->reasoning, "hm");
  EXPECT_EQ(reasoning->raw, "[]");
}

TEST(ToolsTest, WhyAnAnswerEnded) {
  const auto chat = [](const std::string& message, const std::string& reason) {
    return R"({"choices":[{"message":)" + message + R"(,"finish_reason":")" + reason + "\"}]}";
  };
  const auto messages = [](const std::string& reason) {
    return R"({"type":"message","content":[{"type":"text","text":"so"}],"stop_reason":")" + reason + "\"}";
  };
  const auto responses = [](const std::string& part, const std::string& status) {
    return R"({"output":[{"type":"message","content":[)" + part + R"(]}],"status":)" + status + "}";
  };
  const std::string so = R"({"role":"assistant","content":"so"})", part = R"({"type":"output_text","text":"so"})";
  const std::string call = R"({"content":"so","tool_calls":[{"id":"c","function":{"name":"bash","arguments":""}}]})";
  const struct {
    Wire wire;
    std::string whole;
    FinishReason finish;
    const char* word;
  } cases[] = {
      {Wire::kChat, chat(so, "stop"), FinishReason::kStop, "stop"},
      {Wire::kChat, chat(call, "stop"), FinishReason::kToolCalls, "stop"},
      {Wire::kChat, chat(so, "tool_calls"), FinishReason::kUnknown, "tool_calls"},
      {Wire::kChat, chat(so, "length"), FinishReason::kLength, "length"},
      {Wire::kChat, chat(so, "content_filter"), FinishReason::kRefused, "content_filter"},
      {Wire::kChat, chat(R"({"content":null,"refusal":"so"})", "stop"), FinishReason::kRefused, "stop"},
      {Wire::kChat, chat(so, "eos"), FinishReason::kUnknown, "eos"},
      {Wire::kMessages, messages("end_turn"), FinishReason::kStop, "end_turn"},
      {Wire::kMessages, messages("max_tokens"), FinishReason::kLength, "max_tokens"},
      {Wire::kMessages, messages("model_context_window_exceeded"), FinishReason::kContextFull,
       "model_context_window_exceeded"},
      {Wire::kMessages, messages("pause_turn"), FinishReason::kPaused, "pause_turn"},
      {Wire::kMessages, messages("refusal"), FinishReason::kRefused, "refusal"},
      {Wire::kMessages, messages("novel"), FinishReason::kUnknown, "novel"},
      {Wire::kResponses, responses(part, R"("completed")"), FinishReason::kStop, "completed"},
      {Wire::kResponses, responses(R"({"type":"refusal","refusal":"so"})", R"("completed")"), FinishReason::kRefused,
       "completed"},
      {Wire::kResponses, responses(part, R"("incomplete","incomplete_details":{"reason":"content_filter"})"),
       FinishReason::kRefused, "content_filter"},
      {Wire::kResponses, responses(part, R"("incomplete","incomplete_details":{"reason":"novel"})"),
       FinishReason::kUnknown, "novel"},
      {Wire::kResponses, responses(part, R"("incomplete","incomplete_details":null)"), FinishReason::kUnknown,
       "incomplete"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.whole);
    const auto answer = AnswerOfWhole(each.wire, each.whole);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->text, "so");
    EXPECT_EQ(answer->finish, each.finish);
    EXPECT_EQ(answer->finish_word, each.word);
  }
}

TEST(ToolsTest, AnErrorInTheMiddleOfACallIsTriedAgainUnlessTheRequestIsAtFault) {
  const struct {
    Wire wire;
    const char* event;  // after the first events of an answer; empty: the stream ends there
    size_t calls;
    const char* message;
  } cases[] = {
      {Wire::kChat, R"({"error":{"message":"overloaded","code":502}})", 3, "overloaded"},
      {Wire::kChat, R"({"error":{"message":"too long","code":"context_length_exceeded"}})", 1, "too long"},
      {Wire::kChat, "", 3, "ended before its end mark"},
      {Wire::kMessages, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})", 3,
       "Overloaded"},
      {Wire::kMessages, R"({"type":"error","error":{"type":"invalid_request_error","message":"no"}})", 1, "no"},
      {Wire::kMessages, "", 3, "ended before its end mark"},
      {Wire::kResponses, R"({"type":"error","code":"server_error","message":"broke","param":null})", 3, "broke"},
      {Wire::kResponses, R"({"type":"error","code":"invalid_prompt","message":"not this"})", 1, "not this"},
      {Wire::kResponses,
       R"({"type":"response.failed","response":{"status":"failed",)"
       R"("error":{"code":"rate_limit_exceeded","message":"slower"}}})",
       3, "slower"},
      {Wire::kResponses, R"({"type":"response.cancelled","response":{"status":"cancelled"}})", 3, "cancelled"},
      {Wire::kResponses, "", 3, "ended before its end mark"},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(WireTitle(each.wire) + " " + each.event);
    const auto example = std::find_if(ToolAnswers().begin(), ToolAnswers().end(),
                                      [&](const ToolAnswer& candidate) { return candidate.wire == each.wire; });
    std::vector<std::string> events(example->stream.begin(), example->stream.begin() + 6);
    if (*each.event != '\0') events.emplace_back(each.event);
    TestServer server(
        [&](const ServedRequest&, int, ServedConnection* connection) { Stream(connection, EventsOf(events)); });
    const auto answer = AskTools(each.wire, server);
    ASSERT_FALSE(answer);
    EXPECT_EQ(server.requests().size(), each.calls);
    EXPECT_THAT(answer.error().message, HasSubstr(each.message));
  }
}

TEST(ToolsTest, CallsAsServersOfAllKindsStreamThem) {
  const auto pieces = [](const std::vector<std::string>& calls) {
    std::vector<std::string> events;
    for (const std::string& call : calls) {
      events.push_back(R"({"choices":[{"delta":{"tool_calls":[)" + call + "]}}]}");
    }
    events.emplace_back(R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})");
    return events;
  };
  const struct {
    const char* what;
    std::vector<std::string> calls;
  } cases[] = {
      {"all numbered 0",
       {R"({"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}})",
        R"({"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\""}})",
        R"({"index":0,"function":{"arguments":":2}"}})"}},
      {"without numbers",
       {R"({"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}})",
        R"({"id":"b","function":{"name":"g","arguments":"{\"y\""}})", R"({"function":{"arguments":":2}"}})"}},
      {"names repeated, null and empty members",
       {R"({"index":0,"id":"a","type":"function","function":{"name":"f","arguments":null}})",
        R"({"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}})",
        R"({"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}})",
        R"({"index":1,"id":"","type":null,"function":{"name":"","arguments":""}})"}},
      {"several in one piece, arguments as an object",
       {R"({"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}},)"
        R"({"index":1,"id":"b","function":{"name":"g","arguments":{"y":2}}})"}},
  };
  for (const auto& each : cases) {
    SCOPED_TRACE(each.what);
    const auto answer = AnswerOfStream(Wire::kChat, pieces(each.calls));
    ASSERT_TRUE(answer) << answer.error().message;
    ASSERT_EQ(answer->calls.size(), 2u);
    EXPECT_EQ(answer->calls[0].id + answer->calls[0].name + answer->calls[0].arguments, R"(af{"x":1})");
    EXPECT_EQ(answer->calls[1].id + answer->calls[1].name + answer->calls[1].arguments, R"(bg{"y":2})");
    EXPECT_THAT(answer->raw, Not(HasSubstr("index")));
  }
  // Calls without an id get one, which is in what goes back too.
  const auto unnamed = AnswerOfStream(Wire::kChat, pieces({R"({"function":{"name":"f","arguments":"{}"}})",
                                                           R"({"function":{"name":"f","arguments":"{}"}})"}));
  ASSERT_TRUE(unnamed) << unnamed.error().message;
  ASSERT_EQ(unnamed->calls.size(), 2u);
  EXPECT_NE(unnamed->calls[0].id, unnamed->calls[1].id);
  for (const ToolCall& call : unnamed->calls) EXPECT_THAT(unnamed->raw, HasSubstr("\"" + call.id + "\""));
}

TEST(ToolsTest, WhatOnlyTheServerUnderstandsGoesBackToIt) {
  auto answer = AnswerOfStream(
      Wire::kChat,
      {R"({"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"h","index":0}]}}]})",
       R"({"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"m","signature":"s","index":0}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","extra":{"thought":"t"},)"
       R"("function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]})"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->raw, R"({"role":"assistant","content":null,)"
                         R"("reasoning_details":[{"type":"reasoning.text","text":"hm","index":0,"signature":"s"}],)"
                         R"("tool_calls":[{"id":"a","type":"function","extra":{"thought":"t"},)"
                         R"("function":{"name":"f","arguments":"{}"}}]})");
  // An answer without reasoning of a server that has a place for it: DeepSeek wants it back.
  answer = AnswerOfStream(
      Wire::kChat,
      {R"({"choices":[{"delta":{"role":"assistant","content":"","reasoning_content":null,"refusal":null}}]})",
       R"({"choices":[{"delta":{"content":"so"},"finish_reason":"stop"}]})"});
  EXPECT_EQ(answer->raw, R"({"role":"assistant","content":"so","reasoning_content":""})");
  CompletionRequest request = ToolRequest();
  request.messages = {{.role = Role::kAssistant, .text = "", .raw = R"({"content":"before"})"},
                      Message::Answer(*answer),
                      {.role = Role::kAssistant, .text = "", .raw = R"({"content":"after"})"}};
  EXPECT_THAT(SentText(QuickSettings(Wire::kChat, ""), request),
              HasSubstr(R"({"content":"before"},{"role":"assistant","content":"so","reasoning_content":""},)"
                        R"({"content":"after","reasoning_content":""}])"));
  // Content in parts, and an empty list of calls, which is refused.
  answer = AnswerOfWhole(Wire::kChat, R"({"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":[)"
                                      R"({"type":"text","text":"a"},{"type":"text","text":"b"}],"tool_calls":[]}}]})");
  EXPECT_EQ(answer->text, "ab");
  EXPECT_EQ(answer->raw, R"({"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]})");
  answer = AnswerOfStream(Wire::kChat, {R"({"choices":[{"delta":{"content":[{"type":"thinking","thinking":[]}]}}]})",
                                        R"({"choices":[{"delta":{"content":"so"},"finish_reason":"stop"}]})"});
  EXPECT_EQ(answer->text, "so");
  EXPECT_THAT(answer->raw, HasSubstr(R"("content":[{"type":"thinking","thinking":[]},{"type":"text","text":"so"}])"));
}

TEST(ToolsTest, WhatIsSent) {
  const std::string schema = R"({"type":"object","properties":{"command":{"type":"string"}}})";
  const ToolAnswer &chat = ToolAnswers()[0], &messages = ToolAnswers()[1], &responses = ToolAnswers()[2];
  EXPECT_EQ(
      SentText(QuickSettings(chat.wire, ""), SecondRequest(chat)),
      R"({"model":"some-model","stream":true,"stream_options":{"include_usage":true},"max_tokens":16384,"tools":[)"
      R"({"type":"function","function":{"name":"bash","description":"runs a command","parameters":)" +
          schema +
          R"(}},{"type":"function","function":{"name":"submit","description":"hands in",)"
          R"("parameters":{"type":"object"}}}],"messages":[{"role":"system","content":"be brief"},)"
          R"({"role":"user","content":"make it fast"},)" +
          chat.raw +
          R"(,{"role":"tool","tool_call_id":"c0","content":"a.cu"},)"
          R"({"role":"tool","tool_call_id":"c1","content":"exit 3"},{"role":"user","content":"hurry"}]})");
  const std::string mark = R"("cache_control":{"type":"ephemeral"})";
  EXPECT_EQ(SentText(QuickSettings(messages.wire, ""), SecondRequest(messages)),
            R"({"model":"some-model","max_tokens":16384,"stream":true,"tools":[)"
            R"({"name":"bash","description":"runs a command","input_schema":)" +
                schema +
                R"(},{"name":"submit","description":"hands in","input_schema":{"type":"object"}}],)"
                R"("system":[{"type":"text","text":"be brief",)" +
                mark +
                R"(}],"messages":[)"
                R"({"role":"user","content":[{"type":"text","text":"make it fast"}]},)" +
                messages.raw +
                R"(,{"role":"user","content":[)"
                R"({"type":"tool_result","tool_use_id":"c0","content":"a.cu"},)"
                R"({"type":"tool_result","tool_use_id":"c1","content":"exit 3","is_error":true},)"
                R"({"type":"text","text":"hurry",)" +
                mark + "}]}]}");
  EXPECT_EQ(SentText(QuickSettings(responses.wire, ""), SecondRequest(responses)),
            R"({"model":"some-model","stream":true,"store":false,"include":["reasoning.encrypted_content"],)"
            R"("max_output_tokens":16384,"tools":[{"name":"bash","description":"runs a command","parameters":)" +
                schema +
                R"(,"type":"function","strict":false},{"name":"submit","description":"hands in",)"
                R"("parameters":{"type":"object"},"type":"function","strict":false}],"instructions":"be brief",)"
                R"("input":[{"role":"user","content":"make it fast"},)" +
                responses.raw.substr(1, responses.raw.size() - 2) +
                R"(,{"type":"function_call_output","call_id":"c0","output":"a.cu"},)"
                R"({"type":"function_call_output","call_id":"c1","output":"exit 3"},)"
                R"({"role":"user","content":"hurry"}]})");
}

TEST(ToolsTest, ALongerConversationBeginsWithTheBytesOfAShorterOne) {
  const std::regex marks(R"(,"cache_control":\{"type":"ephemeral"\})");
  for (const ToolAnswer& example : ToolAnswers()) {
    for (const bool openrouter : {false, true}) {
      if (openrouter && example.wire != Wire::kChat) continue;
      SCOPED_TRACE(WireTitle(example.wire) + (openrouter ? " of OpenRouter" : ""));
      ModelSettings settings = QuickSettings(example.wire, "");
      if (openrouter) settings.provider = ProviderKind::kOpenRouter;
      CompletionRequest request = ToolRequest();
      std::string before;
      for (int turn = 0; turn < 6; ++turn) {
        const std::string sent = SentText(settings, request);
        const std::ptrdiff_t marked = std::distance(std::sregex_iterator(sent.begin(), sent.end(), marks), {});
        const bool takes_marks = openrouter || example.wire == Wire::kMessages;
        EXPECT_EQ(marked, takes_marks ? std::min(turn + 1, 4) : 0);  // the beginning, and the last three results
        const std::string unmarked = std::regex_replace(sent, marks, "");
        EXPECT_TRUE(unmarked.starts_with(before)) << before << "\n" << unmarked;
        before = unmarked.substr(0, unmarked.size() - 2);  // without the end of the list and of the body
        const CompletionRequest second = SecondRequest(example);
        request.messages.insert(request.messages.end(), second.messages.begin() + 1, second.messages.end());
      }
    }
  }
}

TEST(ToolsTest, AResultWithoutTextAndASystemPromptThatIsNone) {
  CompletionRequest request = ToolRequest();
  request.system.clear();
  request.messages.push_back(Message::Results({{"c0", "", false}}));
  const json body = json::parse(SentText(QuickSettings(Wire::kMessages, ""), request));
  EXPECT_FALSE(body.contains("system"));
  EXPECT_TRUE(body["tools"][1].contains("cache_control"));
  ASSERT_EQ(body["messages"][1]["content"].size(), 1u);
  EXPECT_EQ(body["messages"][1]["content"][0]["content"], "(nothing)");
  EXPECT_TRUE(body["messages"][1]["content"][0].contains("cache_control"));
}

TEST(ToolsTest, OnlyFunctionsOfTheRequestLeave) {
  setenv("KB_TEST_KEY", kToolsKey, 1);
  ModelSettings settings = QuickSettings(Wire::kChat, "http://127.0.0.1:9");
  const auto refused = [&](const CompletionRequest& request) {
    const auto answer = Ask(settings, request);
    EXPECT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kUsage);
    return answer ? "" : answer.error().message;
  };
  for (const char* member : {"tools", "plugins", "web_search_options", "mcp_servers"}) {
    settings.extra = {{member, json::array()}};
    EXPECT_THAT(refused(ToolRequest()), HasSubstr(std::string("add \"") + member + "\""));
  }
  settings.extra = json::object();
  CompletionRequest request = ToolRequest();
  request.model = "lab/model:online";
  EXPECT_THAT(refused(request), HasSubstr("searches the web"));
  request = ToolRequest();
  request.tools[0].parameters = "[]";
  EXPECT_THAT(refused(request), HasSubstr("tool bash"));
  request = ToolRequest();
  request.messages.push_back({.role = Role::kAssistant, .text = "", .raw = ToolAnswers()[2].raw});
  EXPECT_THAT(refused(request), HasSubstr("another wire"));
  settings.wire = Wire::kResponses;
  request.messages.back().raw = ToolAnswers()[0].raw;
  EXPECT_THAT(refused(request), HasSubstr("another wire"));
}

TEST(ToolsTest, AKeyInACallIsNotKept) {
  const auto answer = AnswerOfStream(
      Wire::kChat, {R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c0","type":"function",)"
                    R"("function":{"name":"bash","arguments":"{\"a\":\"sk-test-01"}}]}}]})",
                    R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"23456789abcdef\"}"}}]},)"
                    R"("finish_reason":"tool_calls"}]})"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->calls[0].arguments, R"({"a":"[KB_TEST_KEY]"})");
  EXPECT_THAT(answer->raw, Not(HasSubstr(kToolsKey)));
}

TEST(ToolsTest, ArgumentsCountAmongTheBytesOfAnAnswer) {
  setenv("KB_TEST_KEY", kToolsKey, 1);
  for (const ToolAnswer& example : ToolAnswers()) {
    TestServer server([&](const ServedRequest&, int call, ServedConnection* connection) {
      if (call == 0) return Stream(connection, EventsOf(example.stream));
      connection->Send(PlainAnswer("200 OK", "Content-Type: application/json\r\n", example.whole));
    });
    ModelSettings settings = QuickSettings(example.wire, server.url());
    settings.max_answer_bytes = 10;  // more than its text and reasoning
    for (int i = 0; i < 2; ++i) {
      const auto answer = Ask(settings, ToolRequest());
      ASSERT_FALSE(answer);
      EXPECT_THAT(answer.error().message, HasSubstr("longer than 10 bytes"));
    }
  }
}

}  // namespace
}  // namespace kb
