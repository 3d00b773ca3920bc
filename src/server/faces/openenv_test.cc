#include "server/faces/openenv.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <thread>

#include "base/interrupt.h"
#include "server/api.h"
#include "server/faces/openenv_session.h"
#include "server/faces/openenv_test_util.h"
#include "server/http_client.h"
#include "server/http_test_util.h"
#include "server/service_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- Sessions -----------------------------------------------------------------------------------------------------

class SessionTest : public OpenEnvTest {
 protected:
  SessionTest() : openenv_([](const auto& work) { return work(), true; }, {.sessions = 2, .client_sessions = 1}) {
    openenv_.Serve("ann", api_.ask(), responder_);
    push_ = reply_->Take().message;
  }
  // The frames that a message is answered with.
  std::string Push(const std::string& text) {
    push_(text);
    const auto taken = reply_->Take();
    reply_->Sent();
    ended_ = taken.ended;
    return taken.events;
  }
  json Answer(const json& message) {
    const std::string frames = Push(message.dump());
    return json::parse(frames.substr(std::min(frames.find('{'), frames.size())), nullptr, false);
  }
  std::string Code(const json& message) {
    const json answer = Answer(message);
    return answer["type"] == "error" ? answer["data"]["code"] : answer["type"];
  }

  std::shared_ptr<HttpReply> reply_ = std::make_shared<HttpReply>([] {}, [](const auto& task) { task(); });
  std::shared_ptr<HttpResponder> responder_ = std::make_shared<HttpResponder>(reply_);
  OpenEnv openenv_;
  std::function<void(std::string)> push_;
  bool ended_ = false;
};

TEST_F(SessionTest, ErrorsHaveCodes) {
  EXPECT_THAT(Push("{"), HasSubstr("INVALID_JSON"));
  EXPECT_THAT(Push(std::string(100'000, '[')), HasSubstr("INVALID_JSON"));
  EXPECT_EQ(Code(json::array()), "VALIDATION_ERROR");
  EXPECT_EQ(Code({{"type", "jump"}}), "UNKNOWN_TYPE");
  EXPECT_EQ(Code({{"typ", "reset"}}), "UNKNOWN_TYPE");
  EXPECT_EQ(Code({{"type", "step"}, {"data", {{"code", "x"}}}}), "VALIDATION_ERROR") << "before a reset";
  EXPECT_EQ(Answer({{"type", "state"}})["data"]["episode_id"], nullptr);
  EXPECT_EQ(Code({{"type", "reset"}, {"data", {{"problem_id", "9/9"}}}}), "VALIDATION_ERROR");
  EXPECT_EQ(Code({{"type", "reset"}, {"data", 1}}), "VALIDATION_ERROR");
  EXPECT_EQ(Code({{"type", "reset"}, {"data", {{"problem_id", "1/19"}}}}), "observation");
  for (const json& data : {json{{"kode", "x"}}, json{{"code", 1}}, json()}) {
    EXPECT_EQ(Code({{"type", "step"}, {"data", data}}), "VALIDATION_ERROR");
  }
  const json step = {{"type", "step"}, {"data", {{"code", "x"}}}};
  for (const auto& [status, code] : {std::pair(400, "VALIDATION_ERROR"),
                                     {401, "SESSION_ERROR"},
                                     {429, "CAPACITY_REACHED"},
                                     {503, "CAPACITY_REACHED"},
                                     {500, "EXECUTION_ERROR"}}) {
    api_.rewards = {{{"status", status}}};
    EXPECT_EQ(Code(step), code);
  }
  api_.rewards = {Judged(0.3)};
  EXPECT_EQ(Code(step), "observation");
  EXPECT_EQ(Answer({{"type", "state"}})["data"]["turn"], 1);
  std::string longest;
  for (int i = 0; i < 2000; ++i) longest += "\xC3\xB6";
  const std::string message = Answer({{"type", longest}})["data"]["message"];
  EXPECT_LE(message.size(), 2000U);
  EXPECT_TRUE(message.ends_with("\xC3\xB6")) << "no half character";
  Push(R"({"type":"close"})");
  EXPECT_TRUE(ended_);
}

TEST_F(SessionTest, MessagesWaitForTheirTurn) {
  Push(R"({"type":"reset"})");
  EXPECT_THAT(Push(R"({"type":"step","data":{"code":"x"}})"), IsEmpty());
  EXPECT_THAT(Push(R"({"type":"state"})"), IsEmpty()) << "answers come in order";
  api_.rewards = {Judged(0.3)};
  api_.Release();
  const std::string answers = reply_->Take().events;
  EXPECT_THAT(answers, HasSubstr(R"("reward":0.3)"));
  EXPECT_THAT(answers, HasSubstr(R"("type":"state")"));

  Push(R"({"type":"step","data":{"code":"x"}})");
  for (int i = 0; i < 8; ++i) Push(R"({"type":"state"})");
  EXPECT_TRUE(ended_) << "it does not wait for answers";
  reply_->Gone();
  EXPECT_EQ(api_.asked_.back(), "DELETE /v1/evaluations/e");
}

TEST_F(SessionTest, ThereAreOnlySoMany) {
  std::vector<std::shared_ptr<HttpReply>> replies;
  const auto begin = [&](const std::string& client) {
    replies.push_back(std::make_shared<HttpReply>([] {}, [](const auto& task) { task(); }));
    openenv_.Serve(client, api_.ask(), std::make_shared<HttpResponder>(replies.back()));
    return replies.back()->Take().events;
  };
  EXPECT_THAT(begin("ann"), HasSubstr("ann has 1 sessions"));
  EXPECT_THAT(begin("bob"), IsEmpty());
  EXPECT_THAT(begin("cid"), HasSubstr("CAPACITY_REACHED"));
  replies[1]->Gone();
  EXPECT_THAT(begin("cid"), IsEmpty()) << "bob's has ended";
  push_ = nullptr;
  reply_->Gone();
  EXPECT_THAT(begin("ann"), IsEmpty()) << "the one before has ended";
}

TEST_F(SessionTest, OnlyWhoSendsMuchIsEndedWhereTooMuchWaits) {
  const auto held = std::make_shared<std::atomic<size_t>>(size_t{256} << 20);
  const auto busy = [](const std::function<void()>&) { return true; };
  const auto session = std::make_shared<OpenEnvSession>(busy, api_.ask(), responder_, held);
  session->Push("{}");
  EXPECT_FALSE(reply_->Take().ended);
  session->Push(std::string(1 << 20, 'x'));
  EXPECT_TRUE(reply_->Take().ended);
  session->Gone();
  EXPECT_EQ(*held, size_t{256} << 20);
}

TEST_F(SessionTest, WhatFailsEndsIt) {
  const auto reply = std::make_shared<HttpReply>([] {}, [](const auto& task) { task(); });
  const ApiAsk fails = [](const Asked&, const auto&) -> Forget { throw std::runtime_error("no"); };
  openenv_.Serve("bob", fails, std::make_shared<HttpResponder>(reply));
  reply->Take().message(R"({"type":"reset"})");
  const auto taken = reply->Take();
  EXPECT_TRUE(taken.ended);
  EXPECT_THAT(taken.events, HasSubstr("\x03\xF3the service failed"));
}

// ---- Over HTTP ----------------------------------------------------------------------------------------------------

class HttpEpisodesTest : public OpenEnvTest {
 protected:
  std::shared_ptr<HttpReply> Reset(OpenEnv* openenv, const std::string& id, int max_turns = 1) {
    return Serve([&](const auto& responder) {
      openenv->Reset("ann", {{"problem_id", "1/19"}, {"episode_id", id}, {"max_turns", max_turns}}, api_.ask(),
                     responder);
    });
  }
  std::shared_ptr<HttpReply> Step(OpenEnv* openenv, const std::string& id) {
    const json body = {{"episode_id", id}, {"action", {{"code", "class ModelNew: 1"}}}};
    return Serve([&](const auto& responder) { openenv->Step("ann", body, api_.ask(), responder); });
  }
  std::shared_ptr<HttpReply> State(OpenEnv* openenv, const std::string& id) {
    return Serve([&](const auto& responder) { openenv->State("ann", id, api_.ask(), responder); });
  }
  static int Status(const std::shared_ptr<HttpReply>& reply) { return reply->Take().answer.value().status; }

 private:
  static std::shared_ptr<HttpReply> Serve(const std::function<void(std::shared_ptr<HttpResponder>)>& serve) {
    auto reply = std::make_shared<HttpReply>([] {}, [](const auto& task) { task(); });
    serve(std::make_shared<HttpResponder>(reply));
    return reply;
  }
};

TEST_F(HttpEpisodesTest, WhoGoesAwayLosesNoTurn) {
  OpenEnv openenv([](const auto& work) { return work(), true; });
  Reset(&openenv, "e");
  Step(&openenv, "e")->Gone();
  EXPECT_EQ(api_.forgotten_, 1);
  State(&openenv, "e")->Gone();
  EXPECT_EQ(api_.forgotten_, 2);
  api_.rewards = {Judged(0.3)};
  const json told = json::parse(Step(&openenv, "e")->Take().answer.value().body);
  EXPECT_EQ(told["reward"], 0.3);
  EXPECT_EQ(told["observation"]["turn"], 1);
}

TEST_F(HttpEpisodesTest, ThoseThatAreOverMakeRoom) {
  OpenEnv openenv([](const auto& work) { return work(), true; }, {.episodes = 2});
  api_.rewards = {Judged(0.3)};
  Reset(&openenv, "open");
  Reset(&openenv, "over");
  EXPECT_EQ(Status(Step(&openenv, "over")), 200);
  EXPECT_EQ(Status(State(&openenv, "over")), 200) << "until its place is needed";
  EXPECT_EQ(Status(Reset(&openenv, "next")), 200);
  EXPECT_EQ(Status(State(&openenv, "over")), 404);
  EXPECT_EQ(Status(State(&openenv, "open")), 200);
  EXPECT_EQ(Status(Reset(&openenv, "one more")), 429);
}

TEST_F(HttpEpisodesTest, WhatNobodyAsksAboutEnds) {
  OpenEnv openenv([](const auto& work) { return work(), true; }, {.idle = std::chrono::seconds(1)});
  Reset(&openenv, "e");
  const auto judged = Step(&openenv, "e");
  EXPECT_TRUE(Soon([&] {
    State(&openenv, "another");
    return api_.asked_.back() == "DELETE /v1/evaluations/e";
  }));
  judged->Gone();
}

// ---- Through the service ------------------------------------------------------------------------------------------

class OpenEnvServiceTest : public ServiceTest {
 protected:
  OpenEnvServiceTest() {
    ApiOptions options{.version = "1", .devices = {"cpu"}};
    options.access = {.tokens = path("tokens.json"), .no_auth = false};
    options.rewards = ReadRewards(std::string(KB_SOURCE_DIR) + "/rewards").value();
    api_ = std::make_unique<Api>(std::move(options), reader_, desk_.get(), &store_);
    http_ = HttpServer::Start({path("s"), "127.0.0.1:0"}, {}, api_.get()).value();
  }
  ~OpenEnvServiceTest() override {
    http_->StopAccepting();
    desk_->Stop();
    api_->Stop();
    http_->Stop();
  }
  RawClient Connect() const {
    RawClient client(path("s"));
    client.Write(kWebSocketRequest);
    EXPECT_THAT(client.ReadTo("\r\n\r\n"), HasSubstr(" 101 "));
    return client;
  }
  static void Write(const RawClient& client, const json& message) { client.Write(ClientFrame(0x81, message.dump())); }
  static json Exchange(RawClient* client, const json& message) {
    Write(*client, message);
    return json::parse(client->ReadMessage(), nullptr, false);
  }
  std::pair<int, json> Ask(const std::string& method, const std::string& target, const json& body = {},
                           const std::string& token = "", const std::string& origin = "") const {
    auto client = token.empty() ? HttpClient::ConnectUnix(path("s")) : HttpClient::ConnectTcp(http_->address());
    HttpCall call{.method = method, .target = target, .body = body.is_null() ? "" : body.dump()};
    if (!token.empty()) call.headers = {{"Authorization", "Bearer " + token}};
    if (!origin.empty()) call.headers.emplace_back("Origin", origin);
    const auto answer = client->Send(call);
    EXPECT_TRUE(answer) << answer.error().message;
    return {answer->status, json::parse(answer->body, nullptr, false)};
  }

  std::unique_ptr<Desk> desk_ = Open();
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> http_;
};

const json kReset = {{"type", "reset"}, {"data", {{"problem_id", "1/19"}, {"size", "small"}}}};
const json kStep = {{"type", "step"}, {"data", {{"code", "class ModelNew: 1"}}}};

TEST_F(OpenEnvServiceTest, ASessionIsServed) {
  RawClient client = Connect();
  const json first = Exchange(&client, kReset);
  EXPECT_EQ(first["type"], "observation") << first;
  EXPECT_EQ(first["data"]["observation"]["reference_code"], kProblem);
  const json told = Exchange(&client, kStep);
  EXPECT_EQ(told["data"]["reward"], 0.0) << told;
  EXPECT_EQ(told["data"]["observation"]["verdict"], "not_run");
  EXPECT_EQ(Exchange(&client, {{"type", "state"}})["data"]["step_count"], 1);
  Write(client, {{"type", "close"}});
  EXPECT_EQ(client.ReadTo(""), "\x88\x02\x03\xE8");
}

TEST_F(OpenEnvServiceTest, WhoGoesAwayHasNothingJudged) {
  std::atomic<bool> begun = false;
  judging_.judge = [&](const kb::Request&) -> Result<Evaluation> {
    begun = true;
    while (!Interrupted()) std::this_thread::yield();
    return Fail(ErrorCode::kInterrupted, "interrupted");
  };
  RawClient client = Connect();
  Exchange(&client, kReset);
  Write(client, kStep);
  EXPECT_TRUE(Soon([&] { return begun.load(); }));
  client.Write(ClientFrame(0x89, "?"));
  EXPECT_EQ(client.ReadTo("?"), "\x8A\x01?") << "also while it is judged";
  client.Close();
  EXPECT_TRUE(Soon([&] { return desk_->counts().ended["cancelled"] == 1; }));
}

TEST_F(OpenEnvServiceTest, EpisodesOverHttpAreAClientsOwn) {
  const TokenFile tokens(path("tokens.json"));
  const std::string ann = tokens.Add({.name = "ann"}).value(), bob = tokens.Add({.name = "bob"}).value();
  const auto [status, first] = Ask("POST", "/reset", kReset["data"], ann);
  ASSERT_EQ(status, 200) << first;
  const std::string id = first["metadata"]["episode_id"];
  const json step = {{"action", {{"code", "class ModelNew: 1"}}}, {"episode_id", id}, {"timeout_s", nullptr}};
  EXPECT_EQ(Ask("POST", "/step", step, ann).second["observation"]["turn"], 1);
  EXPECT_EQ(Ask("GET", "/state?episode_id=" + id, {}, ann).second["turn"], 1);
  EXPECT_EQ(Ask("POST", "/step", step, bob).first, 404);
  EXPECT_EQ(Ask("GET", "/state?episode_id=" + id, {}, bob).first, 404);
  EXPECT_EQ(Ask("GET", "/state", {}, ann).first, 400);
  EXPECT_EQ(Ask("POST", "/reset", {{"problem", "1/19"}}, ann).second["detail"], "/problem: there is no such field");
  EXPECT_EQ(Ask("POST", "/reset", kReset["data"], "kb_wrong").first, 401);
  EXPECT_EQ(Ask("GET", "/ws", {}, ann).first, 426);
  EXPECT_EQ(Ask("GET", "/ws", {}, ann, "http://evil.example").first, 403);
  EXPECT_EQ(Ask("GET", "/ws", {}, "kb_wrong").first, 401);
  for (int i = 1; i < 256; ++i) ASSERT_EQ(Ask("POST", "/reset", kReset["data"], ann).first, 200);
  EXPECT_EQ(Ask("POST", "/reset", kReset["data"], ann).first, 429);
  json again = kReset["data"];
  again["episode_id"] = id;
  EXPECT_EQ(Ask("POST", "/reset", again, ann).first, 200) << "it takes its own place";
  EXPECT_EQ(Ask("GET", "/state?episode_id=" + id, {}, ann).second["turn"], 0);
  EXPECT_EQ(Ask("POST", "/reset", again, bob).first, 200);
}

TEST_F(OpenEnvServiceTest, TheSchemaIsWhatClientsExpect) {
  const json schema = Ask("GET", "/schema", {}, "kb_wrong").second;
  EXPECT_EQ(schema["action"]["required"], json({"code"}));
  EXPECT_EQ(schema["action"]["title"], "KernelBenchAction");
  EXPECT_EQ(schema["state"]["title"], "KernelBenchState");
  RawClient client = Connect();
  const json told = Exchange(&client, kReset);
  std::vector<std::string> there, described;
  for (const auto& [key, value] : told["data"]["observation"].items()) there.push_back(key);
  for (const auto& [key, value] : schema["observation"]["properties"].items()) described.push_back(key);
  EXPECT_EQ(there, described);
  EXPECT_EQ(Ask("GET", "/metadata", {}, "kb_wrong").second["name"], "kernelbench");
}

}  // namespace
}  // namespace kb::server
