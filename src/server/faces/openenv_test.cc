#include "server/faces/openenv.h"

#include <gmock/gmock.h>

#include <thread>

#include "base/interrupt.h"
#include "server/api.h"
#include "server/faces/openenv_observation.h"
#include "server/faces/openenv_session.h"
#include "server/http_client.h"
#include "server/http_test_util.h"
#include "server/service_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json Line(const std::string& name, const std::string& deck, int level) {
  return {{"name", name}, {"title", "title of " + name}, {"deck", deck}, {"level", level}};
}

const json kProblems = {Line("1/1", "kernelbench", 1), Line("1/19", "kernelbench", 1), Line("2/40", "kernelbench", 2),
                        Line("4/1", "kernelbench", 4), Line("v3:1/1", "v3", 1),        Line("modern:3", "modern", 0)};

// The API as the face sees it: `rewards` are the answers to POST /v1/rewards, in order.
class FakeApi {
 public:
  ApiAsk ask() {
    return [this](const Asked& asked, const std::function<void(HttpAnswer)>& told) -> Forget {
      asked_.push_back(asked.method + " " + asked.target);
      if (asked.method == "GET") {
        told(Get(asked.target));
      } else if (asked.method == "DELETE") {
        told(JsonAnswer(json::object()));
      } else if (asked.target == "/v1/evaluations") {
        told(JsonAnswer({{"id", "e"}, {"state", "judging"}}, 202));
      } else {
        bodies_.push_back(asked.body);
        held_ = told;
        if (!rewards.empty()) Release();
      }
      return [this] { ++forgotten_; };
    };
  }
  // What POST /v1/rewards answers to the one that waits.
  void Release() {
    const json next = rewards.front();
    rewards.erase(rewards.begin());
    std::exchange(held_, nullptr)(next.contains("status") ? AnswerOf(Refusal{next["status"], "no", "caller", false, 0})
                                                          : JsonAnswer({{"rewards", {next}}}));
  }

  std::vector<json> rewards, bodies_;
  std::vector<std::string> asked_;
  int forgotten_ = 0;

 private:
  static HttpAnswer Get(const std::string& target) {
    if (target == "/v1/problems") return JsonAnswer({{"problems", kProblems}});
    if (target == "/v1/rewards")
      return JsonAnswer({{"rewards", {{{"name", "sure_increments"}}, {{"name", "staged"}}}}});
    if (target == "/health") return JsonAnswer({{"device", "cpu"}, {"devices", {"cpu"}}});
    if (target.starts_with("/v1/evaluations/")) return AnswerOf(CallersFault(404, "gone"));
    for (json problem : kProblems) {
      if (target != "/v1/problems/" + problem["name"].get<std::string>()) continue;
      problem["source"] = "class Model";
      return JsonAnswer(problem);
    }
    return AnswerOf(CallersFault(404, "there is no " + target));
  }

  std::function<void(HttpAnswer)> held_;
};

json Judged(const json& reward, const std::string& verdict = "correct", const json& speedup = nullptr) {
  json view = {{"id", "e"},          {"state", "done"},         {"verdict", verdict},         {"speedup", speedup},
               {"reason", "why"},    {"no_speedup", nullptr},   {"authorship", "custom"},     {"fault", nullptr},
               {"retryable", false}, {"evaluation_id", "20 e"}, {"speedup_interval", nullptr}};
  if (speedup.is_number()) view["speedup_interval"] = {speedup.get<double>() - 0.1, speedup.get<double>() + 0.1};
  return {{"reward", reward}, {"evaluation", view}};
}
json Lost(const std::string& state, const std::string& error = "") {
  return {{"reward", nullptr},
          {"evaluation",
           {{"id", "e"},
            {"state", state},
            {"verdict", nullptr},
            {"error", error},
            {"fault", "engine"},
            {"retryable", true}}}};
}

class OpenEnvTest : public testing::Test {
 protected:
  std::shared_ptr<OpenEnvEpisode> Begin(const json& reset) {
    std::shared_ptr<OpenEnvEpisode> episode;
    OpenEnvEpisode::Begin(reset, api_.ask(), [&](auto begun) {
      refused_ = begun ? "" : begun.error().detail;
      if (begun) episode = *begun;
    });
    return episode;
  }
  // What becomes of a step; null: nothing yet.
  json Step(const std::shared_ptr<OpenEnvEpisode>& episode, const std::string& code = "class ModelNew: 1") {
    json told;
    episode->Step({{"code", code}}, 50, api_.ask(), [&](const OpenEnvEpisode::Answer& answer) {
      told = answer ? *answer : json(std::to_string(answer.error().status) + " " + answer.error().detail);
    });
    return told;
  }
  json State(const std::shared_ptr<OpenEnvEpisode>& episode) {
    json state;
    episode->State(50, api_.ask(), [&](const OpenEnvEpisode::Answer& answer) { state = *answer; });
    return state;
  }

  FakeApi api_;
  std::string refused_;
};

TEST_F(OpenEnvTest, AResetChoosesAProblem) {
  for (const auto& [id, name] : {std::pair("1/19", "1/19"),
                                 {"L1_19_ReLU", "1/19"},
                                 {"level1/19_ReLU.py", "1/19"},
                                 {"L2_40", "2/40"},
                                 {"v3:1/1", "v3:1/1"},
                                 {"modern:3", "modern:3"}}) {
    const auto episode = Begin({{"problem_id", id}});
    ASSERT_TRUE(episode) << refused_;
    EXPECT_EQ(episode->First()["observation"]["problem_id"], name) << id;
  }
  EXPECT_FALSE(Begin({{"problem_id", "L1_190"}}));
  EXPECT_EQ(refused_, "/problem_id: there is no problem L1_190; there are 1/1 to 1/19, 2/40, 4/1, v3:1/1, modern:3");
  EXPECT_FALSE(Begin({{"problem_id", "1/1"}, {"reward", "none"}}));
  EXPECT_THAT(refused_, HasSubstr("/reward: there is no none"));
  EXPECT_FALSE(Begin({{"level", 3}}));
  EXPECT_THAT(refused_, HasSubstr("/level: there are only 1/1"));

  std::vector<std::string> seeded;
  for (int seed = 0; seed < 4; ++seed) seeded.push_back(Begin({{"seed", seed}})->First()["observation"]["problem_id"]);
  EXPECT_THAT(seeded, ElementsAre("1/1", "1/19", "2/40", "1/1")) << "of levels 1 to 3 of KernelBench";
  EXPECT_EQ(Begin({{"level", 4}, {"seed", 7}, {"problem_id", nullptr}})->First()["observation"]["problem_id"], "4/1");

  const json first = Begin({{"problem_id", "2/40"}, {"episode_id", "mine"}})->First();
  EXPECT_EQ(first["observation"]["max_turns"], 12);
  EXPECT_EQ(first["observation"]["reference_code"], "class Model");
  EXPECT_EQ(first["metadata"]["episode_id"], "mine");
  EXPECT_TRUE(first["reward"].is_null());
  EXPECT_EQ(first["done"], false);
}

TEST_F(OpenEnvTest, StepsPayWhatIsAboveTheBest) {
  const auto episode = Begin({{"problem_id", "1/19"}, {"max_turns", 5}, {"size", "small"}, {"keys", nullptr}});
  api_.rewards = {Judged(-0.5), Judged(0.3, "correct", 0.9), Judged(0, "incorrect"), Judged(0.8, "correct", 2.0),
                  Judged(0.3)};
  std::vector<double> rewards;
  std::vector<bool> done;
  for (int turn = 1; turn <= 5; ++turn) {
    const json told = Step(episode);
    rewards.push_back(told["reward"]);
    done.push_back(told["done"]);
    EXPECT_EQ(told["observation"]["turn"], turn);
    EXPECT_EQ(told["observation"]["metadata"], told["metadata"]);
    EXPECT_EQ(State(episode)["solved"], turn >= 4);
  }
  EXPECT_THAT(rewards, ElementsAre(-0.5, 0.8, 0, 0.5, 0));
  EXPECT_THAT(done, ElementsAre(false, false, false, false, true));
  EXPECT_EQ(State(episode)["best_speedup"], 2.0);
  EXPECT_EQ(State(episode)["best_reward"], 0.8);
  EXPECT_EQ(Step(episode), "409 the episode is over: reset");
  const json& sent = api_.bodies_[0]["evaluations"][0];
  EXPECT_EQ(sent["size"], "small");
  EXPECT_EQ(sent["name"], "candidate.py");
  EXPECT_FALSE(sent.contains("keys"));
  EXPECT_NE(sent["idempotency_key"], api_.bodies_[1]["evaluations"][0]["idempotency_key"]);
}

TEST_F(OpenEnvTest, WithoutANumberThereIsNoReward) {
  const auto episode = Begin({{"problem_id", "1/19"}});
  json busy = Judged(nullptr);
  busy["evaluation"].update({{"no_speedup", "machine_busy"}, {"fault", "machine"}, {"retryable", true}});
  api_.rewards = {busy, Lost("failed", "the device has gone"), Judged(0.3)};
  for (const char* why : {"too busy", "the device has gone"}) {
    const json told = Step(episode);
    EXPECT_TRUE(told["reward"].is_null());
    EXPECT_EQ(told["metadata"]["reward_applicable"], false);
    EXPECT_THAT(told["metadata"]["no_reward"], HasSubstr(why));
    EXPECT_THAT(told["observation"]["feedback"], HasSubstr("This turn has no reward"));
    EXPECT_EQ(told["observation"]["retryable"], true);
  }
  EXPECT_EQ(Step(episode)["reward"], 0.3);
}

TEST_F(OpenEnvTest, WhatIsStillJudgedIsWaitedForByTheNextStep) {
  const auto episode = Begin({{"problem_id", "1/19"}, {"max_turns", 1}});
  api_.rewards = {Lost("judging"), Lost("judging"), Judged(0.3), Judged(0.3)};
  json told = Step(episode);
  EXPECT_EQ(told["observation"]["judging"], true);
  EXPECT_EQ(told["observation"]["turn"], 0);
  EXPECT_EQ(told["done"], false);
  EXPECT_TRUE(told["reward"].is_null());
  EXPECT_EQ(State(episode)["judging"], true);
  EXPECT_EQ(State(episode)["judging"], false) << "it has ended, and its reward is the next step's";
  told = Step(episode, "class ModelNew: 2");
  EXPECT_EQ(told["reward"], 0.3);
  EXPECT_EQ(told["done"], true);
  EXPECT_THAT(told["observation"]["feedback"], HasSubstr("The code that was sent now is not judged"));
  for (const json& body : api_.bodies_) EXPECT_EQ(body["evaluations"], api_.bodies_[0]["evaluations"]);
}

TEST_F(OpenEnvTest, ARefusedStepIsNoTurn) {
  const auto episode = Begin({{"problem_id", "1/19"}});
  api_.rewards = {{{"status", 400}}, Judged(0.3)};
  EXPECT_EQ(Step(episode), "400 no");
  EXPECT_EQ(Step(episode, "class ModelNew: 2")["observation"]["turn"], 1);
  EXPECT_EQ(api_.bodies_[1]["evaluations"][0]["source"], "class ModelNew: 2");

  EXPECT_TRUE(Step(episode).is_null());
  EXPECT_THAT(Step(episode), HasSubstr("409 the episode is busy"));
  episode->Abandon(api_.ask());
  EXPECT_EQ(api_.forgotten_, 1);
  EXPECT_EQ(api_.asked_.back(), "DELETE /v1/evaluations/e");
}

TEST(OpenEnv, ACandidateIsFoundInAnAction) {
  const std::string alias = "\n\nModelNew = Model\n";
  for (const char* code :
       {"class Model(nn.Module): pass", "import torch\nclass  Model :\n  pass", "x\nclass Model():"}) {
    EXPECT_EQ(CandidateOf(code, ".py"), code + alias);
    EXPECT_EQ(CandidateOf(code, ".cpp"), code);
  }
  for (const char* code : {"class ModelNew(Model): pass\nclass Model(): pass", " class Model: pass",
                           "class Models(): 1", "# class Model", "class Model", "class ", ""}) {
    EXPECT_EQ(CandidateOf(code, ".py"), code);
  }
  const std::string body = "(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n";
  const auto answer = [&](const char* name) {
    return "Like this:\n```python\nimport torch\n\nclass " + (name + body) + "```\nIt is fast.";
  };
  EXPECT_EQ(CandidateOf(answer("ModelNew"), ".py"), "import torch\n\nclass ModelNew" + body);
  EXPECT_EQ(CandidateOf(answer("Model"), ".py"), "import torch\n\nclass ModelNew" + body + "\n\nModel = ModelNew\n");
}

// ---- Sessions -----------------------------------------------------------------------------------------------------

class SessionTest : public OpenEnvTest {
 protected:
  SessionTest() : openenv_([](const auto& work) { return work(), true; }, {.sessions = 1, .episodes = 1}) {
    openenv_.Serve(api_.ask(), responder_);
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
  const auto begin = [this] {
    const auto reply = std::make_shared<HttpReply>([] {}, [](const auto& task) { task(); });
    openenv_.Serve(api_.ask(), std::make_shared<HttpResponder>(reply));
    const std::string said = reply->Take().events;
    reply->Gone();
    return said;
  };
  EXPECT_THAT(begin(), HasSubstr("CAPACITY_REACHED"));
  push_ = nullptr;
  reply_->Gone();
  EXPECT_THAT(begin(), IsEmpty());
  EXPECT_THAT(begin(), IsEmpty()) << "the one before has ended";
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
