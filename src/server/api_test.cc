#include "server/api.h"

#include <gmock/gmock.h>

#include <future>
#include <memory>
#include <vector>

#include "base/interrupt.h"
#include "server/api_test_util.h"
#include "server/http_test_util.h"

namespace kb::server {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST_F(ApiTest, WhatIsAskedForIsJudged) {
  Serve();
  const auto [status, view] = Post("/v1/evaluations?wait=600&whole=true", Request("one"));
  EXPECT_EQ(status, 200);
  EXPECT_EQ(view["state"], "done");
  EXPECT_EQ(view["evaluation"]["id"], view["evaluation_id"]);
  const std::string id = view["id"];
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + id).second["state"], "done");
  EXPECT_EQ(Ask("DELETE", "/v1/evaluations/" + id).first, 409);
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + std::string(32, '0')).first, 404);
  EXPECT_EQ(Ask("GET", "/v1/evaluations/%00").first, 400);
  EXPECT_EQ(Ask("GET", "/v1/evaluations/..%2F..%2Fetc").first, 404);
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + id + "?wait=forever").first, 400);
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + id + "?other=1").first, 400);
  EXPECT_EQ(Ask("PUT", "/v1/evaluations/" + id).first, 405);
}

TEST_F(ApiTest, AProblemsTextNeedsARight) {
  std::string judged;
  judging_.judge = [&judged](const kb::Request& request) -> Result<Evaluation> {
    judged = request.problem.from_client ? request.problem.text : "a file";
    return Evaluation();
  };
  const TokenFile tokens(path("tokens.json"));
  const std::string plain = tokens.Add({.name = "plain"}).value();
  const std::string trainer = tokens.Add({.name = "trainer", .rights = {"judge", "problems"}}).value();
  Serve("127.0.0.1:0");
  const json text = {{"problem_text", kProblem}, {"source", "one"}};
  const std::string lacks = "403 plain lacks the right problems";
  EXPECT_THAT(Detail(Post("/v1/evaluations", text, plain)), HasSubstr(lacks));
  EXPECT_THAT(Detail(Post("/v1/batches", {{"evaluations", {Request("two"), text}}}, plain)), HasSubstr(lacks));
  EXPECT_THAT(Detail(Post("/v1/rewards", {{"reward", "staged"}, {"evaluations", {text}}}, plain)), HasSubstr(lacks));
  EXPECT_TRUE(store_.Runs()->empty());
  const json view = Post("/v1/evaluations?wait=600", text, trainer).second;
  EXPECT_EQ(view["state"], "done") << view;
  EXPECT_EQ(view["problem_source"], "client");
  EXPECT_EQ(judged, kProblem);
  // Neither the key of an earlier request nor the name of the problem makes one of the other.
  const json keyed = {{"problem_text", kProblem}, {"source", "three"}, {"idempotency_key", "k"}};
  json other = keyed;
  other["problem_text"] = std::string(kProblem) + "\n";
  EXPECT_THAT(Post("/v1/evaluations", keyed, trainer).first, AnyOf(200, 202));
  EXPECT_THAT(Detail(Post("/v1/evaluations", other, trainer)), HasSubstr("409 "));
  EXPECT_THAT(Detail(Post("/v1/evaluations", Request("three", {{"idempotency_key", "k"}}), trainer)),
              HasSubstr("409 "));
}

TEST_F(ApiTest, WhatIsToBeBuiltIsNotJudgedAndNotKept) {
  Serve();
  const auto [status, built] = Post("/v1/compilations", Request("one"));
  EXPECT_EQ(status, 200);
  EXPECT_EQ(built["compiled"], true) << built;
  EXPECT_TRUE(built["verdict"].is_null());
  EXPECT_TRUE(built["fault"].is_null());
  EXPECT_EQ(Ask("GET", "/v1/compilations/" + built["id"].get<std::string>()).second, built);
  EXPECT_TRUE(judging_.judged.empty());
  EXPECT_TRUE(store_.Runs()->empty());
  EXPECT_TRUE(desk_->counts().ended.empty());
  EXPECT_THAT(Detail(Post("/v1/compilations", Request("one", {{"keep", true}}))), HasSubstr("400 /keep: "));
  EXPECT_THAT(Detail(Post("/v1/profiles", Request("one"))), HasSubstr("400 a profile takes an NVIDIA GPU"));
  EXPECT_EQ(Ask("GET", "/v1/compilations/none").first, 404);
  // Each is asked for as what it is.
  const std::string id = built["id"], judged = Post("/v1/evaluations?wait=60", Request("two")).second["id"];
  EXPECT_EQ(Detail(Ask("GET", "/v1/compilations/" + judged)), "404 there is no compilation " + judged);
  EXPECT_EQ(Detail(Ask("GET", "/v1/profiles/" + judged)), "404 there is no profile " + judged);
  EXPECT_EQ(Detail(Ask("GET", "/v1/profiles/" + id)), "404 there is no profile " + id);
  EXPECT_EQ(Detail(Ask("GET", "/v1/evaluations/" + id)), "404 there is no evaluation " + id);
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + judged).second["fault"], nullptr) << "the fake judge says not_run";
}

TEST_F(ApiTest, AProfileIsOfWhatWasTracedAndNotTimed) {
  reader_ = std::make_shared<const OrderReader>(path("problems"), std::string(KB_SOURCE_DIR) + "/protocols", "cuda");
  judging_.judge = [](const kb::Request& request) -> Result<Evaluation> {
    EXPECT_FALSE(request.protocol.measure);
    EXPECT_EQ(request.protocol.name, "quick");
    EXPECT_EQ(request.protocol.precision, "fp16");
    Evaluation evaluation;
    evaluation.verdict = request.candidate.source == "wrong" ? Verdict::kIncorrect : Verdict::kCorrect;
    evaluation.protocol = request.protocol;
    evaluation.device_info = {{"cores", 132}, {"compute_capability", "9.0"}, {"copy_gb_s", 4000}, {"rates", {}}};
    const json kernel = {{"name", "relu"}, {"origin", "custom"},   {"share", 1},           {"calls", 1},
                         {"us", 6},        {"grid", {1056, 1, 1}}, {"block", {256, 1, 1}}, {"registers", 32},
                         {"local", 0},     {"static_shared", 0},   {"dynamic_shared", 0}};
    evaluation.measured.authorship = {{"kernels", {kernel}}, {"kernels_span_us", 6}, {"samples", 1}};
    return evaluation;
  };
  Serve();
  const json fp16 = {{"keys", {{"precision", "fp16"}}}};
  const auto [status, profiled] = Post("/v1/profiles", Request("one", fp16));
  EXPECT_EQ(status, 200) << profiled;
  EXPECT_EQ(profiled["profile"]["kernels"][0]["name"], "relu") << profiled;
  EXPECT_TRUE(store_.Runs()->empty());
  const json wrong = Post("/v1/profiles", Request("wrong", fp16)).second;
  EXPECT_EQ(wrong["verdict"], "incorrect");
  EXPECT_TRUE(wrong["profile"].is_null());
}

TEST_F(ApiTest, ABatchThatIsSentAgainIsTheOneOfThen) {
  Serve();
  const json batch = {
      {"evaluations", {Request("one", {{"idempotency_key", "1"}}), Request("two", {{"idempotency_key", "2"}})}}};
  const auto first = Post("/v1/batches", batch), second = Post("/v1/batches", batch);
  EXPECT_THAT(first.first, AnyOf(200, 202));
  EXPECT_EQ(second.second["id"], first.second["id"]);
  const auto [status, found] = Ask("GET", "/v1/batches/" + second.second["id"].get<std::string>() + "?wait=600");
  EXPECT_EQ(status, 200);
  ASSERT_EQ(found["evaluations"].size(), 2u);
  EXPECT_EQ(found["evaluations"][0]["id"], first.second["evaluations"][0]["id"]);
}

TEST_F(ApiTest, OneThatIsWrongInABatchIsNamedAndNoneIsAccepted) {
  Serve();
  json batch = {{"evaluations", {Request("one"), Request("two", {{"priority", 1000}})}}};
  EXPECT_THAT(Detail(Post("/v1/batches", batch)), HasSubstr("400 /evaluations/1/priority: "));
  batch["evaluations"][1] = Request("two", {{"problem", "9/9"}});
  EXPECT_THAT(Detail(Post("/v1/batches", batch)), HasSubstr("400 /evaluations/1/problem: there is no problem"));
  batch["evaluations"][1] = Request("two", {{"keep", false}});
  EXPECT_THAT(Detail(Post("/v1/batches", batch)), HasSubstr("400 /evaluations/1/keep: "));
  EXPECT_TRUE(store_.Runs()->empty());
}

TEST_F(ApiTest, RewardsComeTogetherInTheOrderOfTheRequest) {
  judging_.judge = [](const kb::Request& request) -> Result<Evaluation> {
    if (request.candidate.source == "broken engine") return Fail(ErrorCode::kEngine, "broken");
    Evaluation evaluation;
    evaluation.verdict = request.candidate.source == "wrong" ? Verdict::kIncorrect : Verdict::kBuildFailed;
    return evaluation;
  };
  Serve();
  json wanted = {{"reward", "staged"},
                 {"evaluations", {Request("wrong"), Request("not built"), Request("broken engine")}}};
  const auto [status, told] = Post("/v1/rewards", wanted);
  ASSERT_EQ(status, 200) << told;
  EXPECT_EQ(told["rewards"][0]["reward"], 0.1);
  EXPECT_EQ(told["rewards"][0]["evaluation"]["verdict"], "incorrect");
  EXPECT_EQ(told["rewards"][1]["reward"], 0.0);
  EXPECT_TRUE(told["rewards"][2]["reward"].is_null());
  EXPECT_EQ(told["rewards"][2]["evaluation"]["fault"], "engine");
  for (const json& odd : {json("1"), json::array(), json::object(), json(true)}) {
    wanted["best"] = {1, odd, nullptr};
    EXPECT_EQ(Detail(Post("/v1/rewards", wanted)), "400 /best/1: must be a number or null");
  }
  wanted["best"] = {1};
  EXPECT_EQ(Detail(Post("/v1/rewards", wanted)), "400 /best: give one for each evaluation");
  wanted.erase("best");
  wanted["reward"] = "none";
  EXPECT_THAT(Detail(Post("/v1/rewards", wanted)), HasSubstr("400 /reward: there is no none"));
}

// A client's run is its own, whatever it is called: neither the user's nor another client's.
TEST_F(ApiTest, AClientWritesIntoItsOwnRunsAlone) {
  Serve("127.0.0.1:0");
  const TokenFile file(path("tokens.json"));
  const std::string ann = file.Add({"ann"}).value(), boss = file.Add({"boss", {"judge", "admin"}}).value();
  EXPECT_EQ(Post("/v1/evaluations?wait=600", Request("one", {{"run", "main"}})).second["run"], "main");
  EXPECT_EQ(Post("/v1/evaluations?wait=600", Request("two", {{"run", "main"}}), ann).second["run"], "ann/main");
  EXPECT_EQ(Post("/v1/evaluations?wait=600", Request("three", {{"run", "main"}}), boss).second["run"], "main");
  EXPECT_EQ(Post("/v1/evaluations?wait=600", Request("four"), ann).second["run"], "ann");
  EXPECT_EQ(store_.Jobs("main")->size(), 2u);
}

TEST_F(ApiTest, OtherRightsAreOtherDocuments) {
  Serve("127.0.0.1:0");
  const TokenFile file(path("tokens.json"));
  const auto ask = [&](const std::string& token, const std::string& tag) {
    HttpCall call{.method = "GET", .target = "/v1/pages/catalog.json"};
    call.headers = {{"Authorization", "Bearer " + token}, {"If-None-Match", tag}};
    return HttpClient::ConnectTcp(http_->address())->Send(call).value();
  };
  const auto tag = [](const HttpAnswer& answer) {
    for (const auto& [key, value] : answer.headers) {
      if (key == "etag") return value;
    }
    return std::string();
  };
  const std::string boss = file.Add({"ann", {"judge", "admin"}}).value(), seen = tag(ask(boss, ""));
  EXPECT_EQ(ask(boss, seen).status, 304);
  ASSERT_TRUE(file.Revoke("ann").value());
  EXPECT_EQ(ask(file.Add({"ann"}).value(), seen).status, 200);
}

TEST_F(ApiTest, TokensAndRightsAreAskedForOverTcp) {
  Serve("127.0.0.1:0");
  const TokenFile file(path("tokens.json"));
  const std::string ann = file.Add({"ann", {"judge"}, 2}).value();
  EXPECT_EQ(Ask("GET", "/v1/problems", "", "kb_wrong").first, 401);
  EXPECT_EQ(Ask("GET", "/v1/problems", "", ann).first, 200);
  EXPECT_THAT(Detail(Ask("GET", "/v1/service", "", ann)), HasSubstr("403 ann lacks the right admin"));
  EXPECT_EQ(Ask("GET", "/v1/service").first, 200) << "the user may";
  EXPECT_EQ(Ask("GET", "/health", "", "kb_wrong").first, 200);
  const std::string id = Post("/v1/evaluations?wait=600", Request("one")).second["id"];
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + id, "", ann).first, 404) << "it is the user's";
  std::promise<void> promise;
  judging_.judge = [go = promise.get_future().share()](const kb::Request&) -> Result<Evaluation> {
    go.wait();
    return Evaluation();
  };
  const auto most = Post("/v1/batches", {{"evaluations", {Request("1"), Request("2")}}}, ann);
  EXPECT_EQ(most.first, 202);
  const auto full = Post("/v1/evaluations", Request("3"), ann);
  EXPECT_EQ(full.first, 429);
  EXPECT_EQ(full.second["retryable"], true);
  const auto never = Post("/v1/batches", {{"evaluations", {Request("4"), Request("5"), Request("6")}}}, ann);
  EXPECT_EQ(Detail(never), "400 ann may have 2 evaluations open and asks for 3: send fewer");
  EXPECT_EQ(never.second["retryable"], false);
  const std::string batch = "/v1/batches/" + most.second["id"].get<std::string>();
  EXPECT_EQ(Ask("GET", batch + "?wait=0.01", "", ann).second["open"], 2);
  promise.set_value();
  EXPECT_EQ(Ask("GET", batch + "?wait=600", "", ann).second["open"], 0);
  ASSERT_TRUE(file.Revoke("ann").value());
  EXPECT_EQ(Ask("GET", "/v1/problems", "", ann).first, 401);
}

TEST_F(ApiTest, AClientListsItsEvaluations) {
  std::promise<void> promise;
  judging_.judge = [go = promise.get_future().share()](const kb::Request& request) -> Result<Evaluation> {
    if (request.candidate.source == "slow") go.wait();
    Evaluation evaluation;
    evaluation.verdict = request.candidate.source == "2" ? Verdict::kIncorrect : Verdict::kCorrect;
    return evaluation;
  };
  Serve("127.0.0.1:0");
  const std::string ann = TokenFile(path("tokens.json")).Add({"ann"}).value();
  const auto list = [&](const std::string& query, const std::string& token = "") {
    return Ask("GET", "/v1/evaluations" + query, "", token).second;
  };
  EXPECT_EQ(list(""), json({{"evaluations", json::array()}, {"next", nullptr}}));
  json batch = {{"evaluations", {Request("0"), Request("1", {{"run", "other"}}), Request("2")}}};
  const std::string id = Post("/v1/batches", batch).second["id"];
  ASSERT_EQ(Ask("GET", "/v1/batches/" + id + "?wait=600").first, 200);
  Post("/v1/evaluations?wait=600", Request("secret", {{"keep", false}}));
  Post("/v1/evaluations?wait=600", Request("ann's"), ann);
  Post("/v1/evaluations", Request("slow"));
  ASSERT_TRUE(Soon([&] { return desk_->counts().open["judging"] == 1; }));
  Post("/v1/evaluations", Request("queued"));
  const auto states = [](const json& page) {
    std::string text;
    for (const json& line : page["evaluations"]) text += line["state"].get<std::string>() + " ";
    return text;
  };
  EXPECT_EQ(states(list("")), "queued judging done done done ") << "newest first, and what is not kept not at all";
  EXPECT_EQ(states(list("", ann)), "done ");
  EXPECT_EQ(states(list("?state=judging")), "judging ");
  EXPECT_EQ(states(list("?state=preparing")), "");
  EXPECT_EQ(states(list("?state=queued")), "queued ");
  EXPECT_EQ(states(list("?batch=" + id)), "done done done ");
  EXPECT_EQ(states(list("?run=other")), "done ");
  EXPECT_EQ(states(list("?problem=1/20")), "");
  const json first = list("?limit=3"), second = list("?limit=3&before=" + first["next"].dump());
  EXPECT_EQ(states(first), "queued judging done ");
  EXPECT_EQ(states(second), "done done ");
  EXPECT_TRUE(second["next"].is_null());
  const json& last = first["evaluations"][2];
  EXPECT_EQ(last["verdict"], "incorrect");
  EXPECT_EQ(last["run"], "local");
  EXPECT_EQ(Ask("GET", "/v1/evaluations?limit=1001").first, 400);
  EXPECT_EQ(Ask("GET", "/v1/evaluations?state=lost").first, 400);
  promise.set_value();
}

TEST_F(ApiTest, EntriesAndRunsAreThoseOfTheClientOrAll) {
  Serve("127.0.0.1:0");
  const TokenFile file(path("tokens.json"));
  const std::string ann = file.Add({"ann"}).value(), an = file.Add({"an"}).value();
  Post("/v1/evaluations?wait=600", Request("one"), ann);
  const std::string entry =
      Post("/v1/evaluations?wait=600", Request("two", {{"run", "r"}, {"model", "m"}}), ann).second["evaluation_id"];
  Post("/v1/evaluations?wait=600", Request("three"));
  const auto runs = [&](const std::string& token) { return Ask("GET", "/v1/runs", "", token).second["runs"]; };
  EXPECT_EQ(runs(ann), json({"ann", "ann/r"}));
  EXPECT_EQ(runs(an), json::array()) << "a name that begins another";
  EXPECT_EQ(runs(""), json({"ann", "ann/r", "local"}));
  const auto count = [&](const std::string& query, const std::string& token) {
    return Ask("GET", "/v1/entries" + query, "", token).second["entries"].size();
  };
  EXPECT_EQ(count("", ann), 2u);
  EXPECT_EQ(count("", an), 0u);
  EXPECT_EQ(count("", ""), 3u);
  EXPECT_EQ(count("?run=local", ann), 0u);
  EXPECT_EQ(count("?verdict=incorrect", ""), 0u);
  const json page = Ask("GET", "/v1/entries?run=ann/r", "", ann).second;
  EXPECT_EQ(page["entries"][0]["id"], entry);
  EXPECT_EQ(page["entries"][0]["model"], "m");
  EXPECT_TRUE(page["next"].is_null());
  EXPECT_EQ(Ask("GET", "/v1/entries/" + entry, "", ann).second["evaluation"]["id"], entry);
  EXPECT_EQ(Ask("GET", "/v1/entries/" + entry, "", an).first, 404);
  EXPECT_EQ(Ask("GET", "/v1/entries/nonsense").first, 404);
}

TEST_F(ApiTest, ScoresAreOfRunsThatTheClientMaySee) {
  scores_ = [](const std::string& run) -> Result<std::string> { return R"({"of":")" + run + "\"}"; };
  Serve("127.0.0.1:0");
  const std::string ann = TokenFile(path("tokens.json")).Add({"ann"}).value();
  Post("/v1/evaluations?wait=600", Request("one"), ann);
  Post("/v1/evaluations?wait=600", Request("two"));
  EXPECT_EQ(Ask("GET", "/v1/scores?run=ann", "", ann).second["scores"]["of"], "ann");
  EXPECT_EQ(Ask("GET", "/v1/scores?run=local", "", ann).first, 404);
  EXPECT_EQ(Ask("GET", "/v1/scores?run=ann").first, 200);
  EXPECT_EQ(Ask("GET", "/v1/scores?run=none").first, 404);
  EXPECT_EQ(Detail(Ask("GET", "/v1/scores")), "400 run: is missing");
}

TEST_F(ApiTest, ABatchIsCancelledAlsoWhatIsBeingJudged) {
  std::atomic<int> begun = 0, interrupted = 0;
  judging_.judge = [&](const kb::Request&) -> Result<Evaluation> {
    ++begun;
    while (!Interrupted()) std::this_thread::yield();
    ++interrupted;
    return Fail(ErrorCode::kInterrupted, "interrupted");
  };
  Serve();
  const json batch = {{"evaluations", {Request("one"), Request("two"), Request("three")}}};
  const auto [status, accepted] = Post("/v1/batches", batch);
  EXPECT_EQ(status, 202);
  ASSERT_TRUE(Soon([&] { return begun == 1; })) << "what is cancelled before is not judged at all";
  const std::string target = "/v1/batches/" + accepted["id"].get<std::string>();
  EXPECT_EQ(Ask("GET", target).first, 202) << "it is open";
  const auto [cancelled, view] = Ask("DELETE", target);
  EXPECT_EQ(cancelled, 200);
  for (const json& each : view["evaluations"]) EXPECT_EQ(each["state"], "cancelled");
  EXPECT_TRUE(Soon([&] { return interrupted == 1; })) << "one was being judged";
  EXPECT_EQ(Ask("GET", target).first, 200);
}

TEST_F(ApiTest, HostileBodiesAreRefused) {
  Serve();
  const std::string deep(100'000, '['), deep_object = [] {
    std::string text;
    for (int i = 0; i < 100'000; ++i) text += "{\"a\":";
    return text;
  }();
  const std::string before = R"({"problem": "1/19", "source": "x", "keys": {"a": )";
  for (const std::string& body : {deep, deep_object, before + deep, deep + std::string(100'000, ']'),
                                  before + deep + std::string(100'000, ']') + "}}"}) {
    EXPECT_THAT(Detail(Ask("POST", "/v1/evaluations", body)), HasSubstr("400 /: it nests deeper than"));
  }
  std::string wide = "[0";
  for (int i = 0; i < 1'000'000; ++i) wide += ",0";
  EXPECT_THAT(Detail(Ask("POST", "/v1/evaluations", wide + "]")), HasSubstr("400 /: it has more than"));
  for (const char* body :
       {"", "{", "nonsense", "{\"problem\": \"1/19\", \"source\": \"\xff\"}", "{\"a\": 1e999}", "\"\\ud800\""}) {
    EXPECT_THAT(Detail(Ask("POST", "/v1/evaluations", body)), HasSubstr("400 the body is no JSON")) << body;
  }
  EXPECT_EQ(Detail(Ask("POST", "/v1/evaluations", "null")), "400 /: must be an object");
  const std::string key(1'000'000, 'k');
  const auto named = Ask("POST", "/v1/evaluations", json({{key, 1}}).dump());
  EXPECT_EQ(named.first, 400);
  EXPECT_LT(named.second["detail"].get<std::string>().size(), 3000u) << "what it sends is not sent back whole";
  EXPECT_EQ(Ask("GET", "/health").first, 200);
}

TEST_F(ApiTest, EventsAreSentAsTheyCome) {
  Serve();
  const std::string id = Post("/v1/evaluations?wait=600", Request("one")).second["id"];
  const auto events = [&](const std::string& query, const std::string& last = "") {
    std::string names;
    auto client = HttpClient::ConnectUnix(path("s"));
    HttpCall call{.target = "/v1/evaluations/" + id + "/events" + query};
    if (!last.empty()) call.headers.emplace_back("Last-Event-ID", last);
    const auto answer = client->Stream(call, [&](const SseEvent& event) {
      names += event.type + " ";
      return true;
    });
    return answer ? names + std::to_string(answer->status) : answer.error().message;
  };
  EXPECT_EQ(events(""), "queued preparing judging done 200");
  EXPECT_EQ(events("?from=3"), "done 200");
  EXPECT_EQ(events("?from=4"), "200");
  EXPECT_EQ(events("?from=-1"), "400");
  EXPECT_EQ(events("", "2"), "done 200") << "a connection was lost";
  EXPECT_EQ(events("?from=3", "0"), "done 200");
  EXPECT_EQ(events("", "nonsense"), "queued preparing judging done 200");
  EXPECT_EQ(events("", "18446744073709551615"), "queued preparing judging done 200");
}

// Each waits in vain and goes; what it waits for is judged much later.
TEST_F(ApiTest, ClientsThatGoAwayLeaveNothingBehind) {
  std::promise<void> go;
  const auto gone = go.get_future().share();
  judging_.judge = [gone](const kb::Request&) -> Result<Evaluation> {
    gone.wait();
    return Evaluation();
  };
  Serve();
  const std::string id = Post("/v1/evaluations", Request("first")).second["id"];
  ASSERT_TRUE(Soon([&] { return desk_->counts().open["judging"] == 1; }));
  const std::string kept = Post("/v1/evaluations", Request("kept")).second["id"];
  for (int i = 0; i < 20; ++i) Ask("GET", "/v1/evaluations/" + kept);
  EXPECT_EQ(desk_->remembered().listeners, 0u) << "a look is no waiting";
  {
    std::vector<RawClient> clients;
    const std::string unkept = Request("unkept", {{"keep", false}}).dump();
    for (int i = 0; i < 10; ++i) {
      clients.emplace_back(path("s")).Write("GET /v1/evaluations/" + kept + "?wait=600 HTTP/1.1\r\nHost: x\r\n\r\n");
      clients.emplace_back(path("s")).Write("GET /v1/evaluations/" + kept + "/events HTTP/1.1\r\nHost: x\r\n\r\n");
      clients.emplace_back(path("s")).Write("POST /v1/evaluations HTTP/1.1\r\nHost: x\r\nContent-Length: " +
                                            std::to_string(unkept.size()) + "\r\n\r\n" + unkept);
    }
    ASSERT_TRUE(Soon([&] { return desk_->remembered().listeners == 30; })) << desk_->remembered().listeners;
  }
  EXPECT_TRUE(Soon([&] { return desk_->remembered().listeners == 0; }));
  EXPECT_TRUE(Soon([&] { return desk_->counts().ended["cancelled"] == 10; })) << "nobody is left who wants it";
  EXPECT_EQ(desk_->remembered().timers, 0u);
  EXPECT_EQ(desk_->OpenOf("local"), 2u);
  go.set_value();
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + kept + "?wait=600").second["state"], "done");
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + id).second["state"], "done");
}

TEST_F(ApiTest, WhoWaitsIsAnsweredWhenItStops) {
  std::promise<void> go;
  const auto gone = go.get_future().share();
  judging_.judge = [gone](const kb::Request&) -> Result<Evaluation> {
    gone.wait();
    return Evaluation();
  };
  Serve();
  Post("/v1/evaluations", Request("first"));
  ASSERT_TRUE(Soon([&] { return desk_->counts().open["judging"] == 1; }));
  auto kept = std::async(std::launch::async, [&] { return Post("/v1/evaluations?wait=600", Request("kept")); });
  auto lost = std::async(std::launch::async, [&] {
    return Post("/v1/evaluations", Request("lost", {{"keep", false}}));
  });
  auto rewards = std::async(std::launch::async, [&] {
    return Post("/v1/rewards", {{"reward", "staged"}, {"evaluations", {Request("r", {{"keep", false}})}}});
  });
  ASSERT_TRUE(Soon([&] { return desk_->remembered().listeners == 3; }));
  auto stopping = std::async(std::launch::async, [&] { StopServing(); });
  ASSERT_TRUE(Soon([&] { return !desk_->Take({"ann"}, {MakeOrder("refused")}); }));
  go.set_value();
  stopping.get();
  const auto [status, view] = kept.get();
  EXPECT_EQ(status, 202);
  EXPECT_EQ(view["state"], "queued");
  for (auto* const answer : {&lost, &rewards}) {
    const auto [refused, why] = answer->get();
    EXPECT_EQ(refused, 503) << why;
    EXPECT_EQ(why["retryable"], true);
  }
}

}  // namespace
}  // namespace kb::server
