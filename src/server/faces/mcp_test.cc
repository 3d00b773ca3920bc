#include "server/faces/mcp.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "prompt/target.h"
#include "report/sample_evaluations.h"
#include "server/faces/mcp_tools.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// An API that says what its test wrote down, and what it was asked.
struct FakeApi {
  std::map<std::string, std::vector<HttpAnswer>> answers;  // by "GET /v1/problems"; of several one after the other
  std::vector<std::string> asked;
  std::vector<json> bodies;
  bool waits = false;  // no request is answered
  int forgotten = 0;
  std::function<void(HttpAnswer)> told;  // of the last one

  void Says(const std::string& request, const json& body, int status = 200, HttpHeaders headers = {}) {
    answers[request].push_back({status, "application/json", body.dump(), std::move(headers)});
  }
  ApiAsk Ask() {
    return [this](const Asked& one, std::function<void(HttpAnswer)> tell) -> Forget {
      const std::string request = one.method + " " + one.target;
      const std::string route = request.substr(0, request.find("?wait="));
      asked.push_back(route);
      bodies.push_back(one.body);
      told = tell;
      if (waits) return [this] { ++forgotten; };
      auto& left = answers[route];
      EXPECT_FALSE(left.empty()) << request;
      const HttpAnswer answer = left.empty() ? HttpAnswer{500} : left.front();
      if (left.size() > 1) left.erase(left.begin());
      tell(answer);
      return [] {};
    };
  }
};

class McpTest : public ::testing::Test {
 protected:
  // What is answered to that line of stdio, or over HTTP with these headers.
  McpAnswer Send(const std::string& text, const HttpHead* head = nullptr) {
    last_ = {.status = 0};
    (void)mcp_.Take({.text = text,
                     .head = head,
                     .scope = "one client",
                     .ask = api_.Ask(),
                     .notify = [this](const json& message) { notified_.push_back(message); },
                     .answer =
                         [this](McpAnswer answer) {
                           ++answered_;
                           last_ = std::move(answer);
                         }});
    return last_;
  }
  static json Request(const std::string& method, const json& params = json::object(), const json& id = 1) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}};
  }
  static int CodeOf(const McpAnswer& answer) {
    return answer.message.is_object() && answer.message.contains("error") ? answer.message["error"]["code"].get<int>()
                                                                          : 0;
  }
  static json Stateless(json params = json::object(), const std::string& version = "2026-07-28") {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = version;
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json::object();
    return params;
  }
  // The result of a tool, which is as the tool's table says, unless it is an error.
  json Call(const std::string& name, const json& arguments, const json& meta = json::object()) {
    const json params = {{"name", name}, {"arguments", arguments}, {"_meta", meta}};
    const McpAnswer answer = Send(Request("tools/call", params).dump());
    EXPECT_TRUE(answer.message.contains("result")) << answer.message;
    json result = answer.message.value("result", json::object());
    if (result.value("isError", false)) return result;
    for (const McpTool& tool : McpTools()) {
      if (tool.name != name) continue;
      const Status conforms = Check(tool.result, result["structuredContent"]);
      EXPECT_TRUE(conforms) << name << ": " << conforms.error().message << "\n" << result;
    }
    return result;
  }
  static std::string Text(const json& result) { return result.at("content").at(0).at("text"); }
  static json View(const json& evaluation, const std::string& state = "done") {
    json view = McpPicked(evaluation, McpVerdictKeys());
    view.update({{"id", std::string(32, 'a')},
                 {"state", state},
                 {"problem", "1/19"},
                 {"size", "small"},
                 {"device", "cpu"},
                 {"protocol", "quick"},
                 {"authorship", nullptr},
                 {"retryable", false},
                 {"fault", nullptr},
                 {"evaluation_id", evaluation.value("id", json())},
                 {"evaluation", evaluation}});
    return view;
  }

  FakeApi api_;
  Mcp mcp_{"1.2.3"};
  std::vector<json> notified_;
  McpAnswer last_;
  int answered_ = 0;
};

TEST_F(McpTest, EachMessageIsAnsweredAsItsEraWants) {
  HttpHead plain, stateless;
  stateless.headers = {{"mcp-protocol-version", "2026-07-28"}, {"mcp-method", "tools/list"}};
  HttpHead call = stateless, old = plain, unknown = plain;
  call.headers.insert_or_assign("mcp-method", "tools/call");
  call.headers["mcp-name"] = "evaluate";
  old.headers["mcp-protocol-version"] = "2025-06-18";
  unknown.headers["mcp-protocol-version"] = "1999-01-01";
  const std::string ping = Request("ping").dump(), list = Request("tools/list").dump();
  const struct {
    std::string text;
    const HttpHead* head;
    int status, code;
  } cases[] = {
      {ping, nullptr, 200, 0},
      {ping, &old, 200, 0},
      {ping, &unknown, 400, -32022},
      {"nonsense", nullptr, 400, -32700},
      {std::string(100, '['), nullptr, 400, -32700},
      {"[" + ping + "]", nullptr, 400, -32600},
      {"7", nullptr, 400, -32600},
      {"{}", &plain, 200, -32600},
      {R"({"id":1,"method":"ping"})", nullptr, 400, -32600},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})", nullptr, 400, -32600},
      {R"({"jsonrpc":"2.0","id":1,"result":{}})", nullptr, 400, -32600},
      {R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[]})", nullptr, 200, -32602},
      {R"({"jsonrpc":"2.0","method":"notifications/initialized"})", &plain, 202, 0},
      {R"({"jsonrpc":"2.0","method":"notifications/initialized"})", &unknown, 400, -32022},
      {Request("resources/list").dump(), &plain, 200, -32601},
      {Request("tools/call", {{"name", "rm"}}).dump(), &plain, 200, -32602},
      // 2026-07-28
      {Request("tools/list", Stateless()).dump(), nullptr, 200, 0},
      {Request("tools/list", Stateless()).dump(), &stateless, 200, 0},
      {Request("tools/list", Stateless()).dump(), &plain, 400, -32020},
      {Request("server/discover", Stateless()).dump(), &stateless, 400, -32020},
      {Request("tools/call", Stateless({{"name", "compile"}})).dump(), &call, 400, -32020},
      {Request("tools/call", Stateless({{"name", "rm"}})).dump(), nullptr, 400, -32602},
      {list, &stateless, 400, -32602},
      {Request("resources/list", Stateless()).dump(), nullptr, 404, -32601},
      {Request("initialize", Stateless()).dump(), nullptr, 404, -32601},
      {Request("tools/list", Stateless({}, "2031-01-01")).dump(), nullptr, 400, -32022},
      {Request("tools/list", Stateless({}, "2025-06-18")).dump(), nullptr, 400, -32022},
  };
  for (const auto& [text, head, status, code] : cases) {
    answered_ = 0;
    const McpAnswer answer = Send(text, head);
    EXPECT_EQ(answered_, 1) << text;
    EXPECT_EQ(answer.status, status) << text << answer.message;
    EXPECT_EQ(CodeOf(answer), code) << text << answer.message;
    EXPECT_EQ(answer.message.is_null(), status == 202) << text;
  }
  EXPECT_TRUE(api_.asked.empty());
}

TEST_F(McpTest, TheRevisionIsAgreedUpon) {
  const auto agreed = [&](const char* asked) {
    return Send(Request("initialize", {{"protocolVersion", asked}}).dump()).message["result"]["protocolVersion"];
  };
  EXPECT_EQ(agreed("2024-11-05"), "2024-11-05");
  EXPECT_EQ(agreed("2025-03-26"), "2024-11-05") << "it demands batches";
  EXPECT_EQ(agreed("2025-11-25"), "2025-11-25");
  EXPECT_EQ(agreed("2031-01-01"), "2025-11-25");
  const json found = Send(Request("server/discover", Stateless()).dump()).message["result"];
  EXPECT_EQ(found["resultType"], "complete");
  EXPECT_EQ(found["cacheScope"], "public");
  EXPECT_EQ(found["supportedVersions"].back(), "2026-07-28");
  const json none = Send(Request("tools/list", Stateless({}, "x")).dump()).message["error"];
  EXPECT_EQ(none["data"]["supported"], found["supportedVersions"]);
  HttpHead head;
  const auto named = Send(Request("initialize").dump(), &head).headers,
             again = Send(Request("initialize").dump(), &head).headers;
  ASSERT_EQ(named.size(), 1u);
  EXPECT_NE(named, again);
}

TEST_F(McpTest, EveryToolSaysAllThatAClientNeeds) {
  const json tools = Send(Request("tools/list").dump()).message["result"]["tools"];
  ASSERT_EQ(tools.size(), 7u);
  for (const json& tool : tools) {
    EXPECT_GT(tool["description"].get<std::string>().size(), 60u);
    EXPECT_EQ(tool["inputSchema"]["type"], "object");
    EXPECT_EQ(tool["outputSchema"]["type"], "object");
    EXPECT_EQ(tool.dump().find("$ref"), std::string::npos) << tool;
  }
  std::vector<std::string> choices;
  for (const char* choice : McpTools()[1].arguments.fields[1].choices) choices.emplace_back(choice);
  EXPECT_EQ(choices, BackendNames());
}

TEST_F(McpTest, ProblemsAreFilteredAndBounded) {
  json problems = json::array();
  for (int i = 1; i <= 120; ++i) {
    problems.push_back({{"name", fmt::format("{}/{}", 1 + i % 2, i)},
                        {"title", i % 10 == 0 ? "Softmax" : "ReLU"},
                        {"deck", "kernelbench"},
                        {"level", 1 + i % 2}});
  }
  api_.Says("GET /v1/problems", {{"problems", problems}});
  json told = Call("list_problems", json::object())["structuredContent"];
  EXPECT_EQ(told["problems"].size(), 50u);
  EXPECT_EQ(told["next_offset"], 50);
  told = Call("list_problems", {{"offset", 110}})["structuredContent"];
  EXPECT_EQ(told["problems"].size(), 10u);
  EXPECT_TRUE(told["next_offset"].is_null());
  told = Call("list_problems", {{"level", 1}, {"text", "softMAX"}})["structuredContent"];
  EXPECT_EQ(told["total"], 12);
  EXPECT_THAT(Text(Call("list_problems", {{"deck", "v3"}})), HasSubstr("No problem is like that"));
}

TEST_F(McpTest, WhatTheApiRefusesSaysWhatToDo) {
  const json arguments = {{"problem", "1/190"}, {"source", "x"}};
  const auto refused = [&](const json& problem, int status, HttpHeaders headers = {}) {
    api_.answers.clear();
    api_.Says("POST /v1/evaluations", problem, status, std::move(headers));
    const json result = Call("evaluate", arguments);
    EXPECT_EQ(result.value("isError", false), true) << result;
    return Text(result);
  };
  EXPECT_EQ(refused({{"detail", "/problem: there is no problem 1/190; GET /v1/problems lists them"},
                     {"fault", "caller"},
                     {"retryable", false}},
                    400),
            "problem: there is no problem 1/190; list_problems names them");
  EXPECT_EQ(refused({{"detail", "the quota is used up"}, {"fault", "caller"}, {"retryable", true}}, 429,
                    {{"Retry-After", "7"}}),
            "the quota is used up. Call again in 7 s");
  EXPECT_THAT(refused({{"detail", "it is stopping"}, {"fault", "engine"}, {"retryable", true}}, 503),
              HasSubstr("The candidate is not the cause. Call again"));
  EXPECT_THAT(refused("nonsense", 500), HasSubstr("status 500"));
  EXPECT_THAT(refused(json::array(), 200), HasSubstr("another version of kernelbench"));
  EXPECT_THAT(refused(View(json::object(), "cancelled"), 200), HasSubstr("It was"));
  json failed = View(json::object(), "failed");
  failed.update({{"fault", "engine"}, {"error", "the device process died"}});
  EXPECT_THAT(refused(failed, 200), HasSubstr("the device process died. The candidate is not the cause"));
  EXPECT_THAT(Text(Call("evaluate", {{"problem", 7}})), StartsWith("problem: must be a string"));
}

TEST_F(McpTest, AnEvaluationIsAskedForUntilItHasEnded) {
  const std::string id(32, 'a');
  const json correct = SampleCorrect("e1", "1/19", 1.5);
  api_.Says("POST /v1/evaluations", View(json::object(), "queued"), 202);
  api_.Says("GET /v1/evaluations/" + id, View(json::object(), "judging"), 202);
  api_.Says("GET /v1/evaluations/" + id, View(correct));
  const json result = Call(
      "evaluate",
      {{"problem", "1/19"}, {"source", "x"}, {"precision", "fp16"}, {"size", "small"}, {"wait_s", 60}, {"keep", false}},
      {{"progressToken", "t"}});
  EXPECT_THAT(api_.asked,
              ElementsAre("POST /v1/evaluations", "GET /v1/evaluations/" + id, "GET /v1/evaluations/" + id));
  EXPECT_EQ(api_.bodies[0], (json{{"problem", "1/19"},
                                  {"source", "x"},
                                  {"size", "small"},
                                  {"keep", false},
                                  {"keys", {{"precision", "fp16"}}}}));
  EXPECT_THAT(Text(result), HasSubstr("It is correct."));
  EXPECT_THAT(Text(result), HasSubstr("1.5"));
  EXPECT_EQ(result["structuredContent"]["feedback"], Text(result));
  ASSERT_EQ(notified_.size(), 3u);
  for (size_t i = 0; i < notified_.size(); ++i) {
    EXPECT_EQ(notified_[i]["params"]["progress"], i + 1);
    EXPECT_EQ(notified_[i]["params"]["progressToken"], "t");
  }
  EXPECT_THAT(notified_[2]["params"]["message"].get<std::string>(), HasSubstr("judging"));
}

TEST_F(McpTest, OneThatNobodyHereCanWaitForIsToldAsItIs) {
  const std::string id(32, 'a');
  api_.Says("GET /v1/evaluations/" + id, View(json::object(), "queued"), 202);
  const json result = Call("explain_verdict", {{"id", id}});
  EXPECT_THAT(Text(result), HasSubstr("Call explain_verdict with id " + id));
  EXPECT_LT(api_.asked.size(), 10u);
  EXPECT_TRUE(notified_.empty());
}

TEST_F(McpTest, WhatIsWrongAndWhereComesFirst) {
  const json incorrect = SampleIncorrect("e2", "1/19");
  api_.Says("GET /v1/entries/e2", {{"evaluation", incorrect}});
  const json stored = Call("explain_verdict", {{"id", "e2"}});
  EXPECT_THAT(Text(stored), HasSubstr("worst element"));
  EXPECT_EQ(stored["structuredContent"]["fault"], "candidate");
  json compiled = {{"state", "done"},
                   {"compiled", false},
                   {"verdict", "build_failed"},
                   {"reason", "the compiler refused it"},
                   {"compiler_output", "kernel.cpp:1:1: error: what is this"},
                   {"findings", json::array()},
                   {"notes", json::array()},
                   {"error", nullptr},
                   {"fault", "candidate"}};
  api_.Says("POST /v1/compilations", compiled);
  const json arguments = {{"problem", "1/19"}, {"source", "x"}};
  EXPECT_THAT(Text(Call("compile", arguments)), HasSubstr("error: what is this"));
  api_.answers.erase("POST /v1/compilations");
  compiled.update({{"compiled", true}, {"verdict", nullptr}, {"notes", {"a note"}}});
  api_.Says("POST /v1/compilations", compiled);
  EXPECT_THAT(Text(Call("compile", arguments)), HasSubstr("It compiles."));
}

TEST_F(McpTest, AProfileIsToldAsKernels) {
  const json kernel = {{"name", "relu_kernel"}, {"us", 12.5}, {"share", 1}, {"calls", 1}};
  const json profile = {{"kernels", {kernel}}, {"launches", 1}, {"span_us", 12.5}, {"busy_us", 12.5}, {"idle_us", 0}};
  api_.Says("POST /v1/profiles", {{"state", "done"},
                                  {"verdict", "correct"},
                                  {"reason", nullptr},
                                  {"fault", nullptr},
                                  {"error", nullptr},
                                  {"profile", profile},
                                  {"evaluation", SampleCorrect("e1", "1/19", 2)}});
  EXPECT_THAT(Text(Call("profile", {{"problem", "1/19"}, {"source", "x"}})), HasSubstr("relu_kernel"));
}

TEST_F(McpTest, TheBestIsTheOneThatIsSurelyFastest) {
  const auto entry = [](const char* id, const char* size, double speedup, double low) {
    return json{{"id", id},
                {"problem", "1/19"},
                {"size", size},
                {"device", "cpu"},
                {"speedup", speedup},
                {"speedup_interval", {low, 2 * speedup}},
                {"protocol", "quick"},
                {"baseline_us", 2},
                {"candidate_us", 1},
                {"model", nullptr},
                {"run", "r"},
                {"device_name", "a CPU"}};
  };
  api_.Says("GET /v1/problems/1/19", json::object());
  const std::string page = "GET /v1/entries?verdict=correct&limit=1000&problem=1/19";
  api_.Says(page, {{"entries", {entry("a", "standard", 3, 1.1), entry("b", "small", 9, 8)}}, {"next", 7}});
  api_.Says(page + "&before=7", {{"entries", {entry("c", "standard", 2, 1.9)}}, {"next", nullptr}});
  api_.Says("GET /v1/entries/c", {{"evaluation", {{"candidate", {{"path", "k.cpp"}, {"source", "int x;"}}}}}});
  const json best = Call("best_so_far", {{"problem", "1/19"}});
  EXPECT_EQ(best["structuredContent"]["evaluation_id"], "c");
  EXPECT_EQ(best["structuredContent"]["source"], "int x;");
  EXPECT_EQ(Call("best_so_far", {{"problem", "1/19"}, {"size", "odd"}})["structuredContent"]["found"], false);
}

TEST_F(McpTest, ACallThatIsCancelledIsNotAnswered) {
  api_.waits = true;
  const json params = {{"name", "evaluate"}, {"arguments", {{"problem", "1/19"}, {"source", "x"}}}};
  EXPECT_EQ(Send(Request("tools/call", params, "seven").dump()).status, 0);
  const auto cancel = [&](const json& id) {
    const json told = {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}};
    return Send(told.dump()).status;
  };
  EXPECT_EQ(cancel("eight"), 202);
  EXPECT_EQ(api_.forgotten, 0);
  // Two answers: of the notification, and that there is none to the call.
  answered_ = 0;
  EXPECT_EQ(cancel("seven"), 202);
  EXPECT_EQ(api_.forgotten, 1);
  EXPECT_EQ(answered_, 2);
  api_.told({200, "application/json", View(SampleCorrect("e1", "1/19", 2)).dump(), {}});
  EXPECT_EQ(answered_, 2);
  EXPECT_EQ(cancel("seven"), 202);
  EXPECT_EQ(api_.forgotten, 1);
}

TEST_F(McpTest, WhatIsNotKeptEndsWithItsCall) {
  const std::string id(32, 'a');
  for (const bool keep : {false, true}) {
    api_ = {};
    api_.waits = true;
    const json arguments = {{"problem", "1/19"}, {"source", "x"}, {"keep", keep}};
    Send(Request("tools/call", {{"name", "evaluate"}, {"arguments", arguments}}).dump());
    api_.told({202, "application/json", View(json::object(), "judging").dump(), {}});
    mcp_.ForgetAll();
    const std::vector<std::string> looks = {"POST /v1/evaluations", "GET /v1/evaluations/" + id};
    EXPECT_EQ(std::vector(api_.asked.begin(), api_.asked.begin() + 2), looks);
    EXPECT_EQ(api_.asked.size(), keep ? 2u : 3u);
    EXPECT_EQ(api_.asked.back(), keep ? looks[1] : "DELETE /v1/evaluations/" + id);
  }
}

}  // namespace
}  // namespace kb::server
