// `kernelbench serve` as its clients meet it: the real binary, real HTTP, and candidates that are judged in a second.

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>

#include <algorithm>
#include <fstream>

#include "base/fd.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "harness.h"
#include "server/http_client.h"
#include "server/http_test_util.h"

namespace kb::e2e {
namespace {

using server::HttpCall;
using server::HttpClient;
using server::RawClient;
using server::Soon;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

class ServiceTest : public EngineTest {
 protected:
  std::filesystem::path socket() const { return root() / "store.sock"; }
  static std::string Right() { return kReluNative; }
  static std::string Wrong() { return Replaced(kReluNative, "0.0f", "1.0f"); }
  static std::string NotBuilt() { return Replaced(kReluNative, "return 0;", "return zero;"); }
  static std::string Slow() {
    return "#include <unistd.h>\n" + Replaced(kReluNative, "return 0;", "usleep(300'000);\n  return 0;");
  }
  // What is right is judged and not timed.
  static json Request(const std::string& source, const json& more = json::object()) {
    json request = {{"problem", "1/19"},  {"size", "small"}, {"protocol", "quick"}, {"keys", {{"measure", false}}},
                    {"name", "relu.cpp"}, {"source", source}};
    request.update(more);
    return request;
  }

  // Returns when it answers.
  Engine Serve(Arguments more = {}) const {
    more.insert(more.begin(), "serve");
    Engine engine = Start(more);
    EXPECT_TRUE(Soon([&] { return HttpClient::ConnectUnix(socket()).has_value(); })) << engine.Wait();
    return engine;
  }
  static std::pair<int, json> Send(Result<HttpClient> client, const HttpCall& call) {
    if (!client) return {0, {{"detail", client.error().message}}};
    const auto answer = client->Send(call);
    if (!answer) return {0, {{"detail", answer.error().message}}};
    return {answer->status, json::parse(answer->body, nullptr, false)};
  }
  std::pair<int, json> Ask(const std::string& method, const std::string& target, const std::string& body = "") const {
    HttpCall call{.method = method, .target = target, .body = body};
    call.timeout = std::chrono::minutes(5);
    return Send(HttpClient::ConnectUnix(socket()), call);
  }
  std::pair<int, json> Get(const std::string& target) const { return Ask("GET", target); }
  std::pair<int, json> Post(const std::string& target, const json& body) const {
    return Ask("POST", target, body.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  std::string Metrics() const {
    auto client = HttpClient::ConnectUnix(socket());
    const auto answer = client ? client->Send({.target = "/metrics"}) : tl::make_unexpected(client.error());
    return answer ? answer->body : answer.error().message;
  }
  // Its events, without rounds, until it has ended or one of that name comes.
  std::vector<std::string> EventsTo(const std::string& id, const std::string& last) const {
    std::vector<std::string> events;
    auto client = HttpClient::ConnectUnix(socket());
    EXPECT_TRUE(client && client->Stream({.target = "/v1/evaluations/" + id + "/events"}, [&](const SseEvent& event) {
      if (event.type != "round") events.push_back(event.type);
      return event.type != last;
    }));
    return events;
  }
};

TEST_F(ServiceTest, CandidatesAreJudgedAndRewarded) {
  Engine engine = Serve();
  const auto [status, judged] = Post("/v1/evaluations?wait=300&whole=true", Request(Right(), {{"run", "r"}}));
  ASSERT_EQ(status, 200) << judged;
  EXPECT_EQ(judged["verdict"], "correct") << judged["reason"];
  EXPECT_EQ(judged["no_speedup"], "not_measured");
  EXPECT_EQ(judged["evaluation"]["verdict"], "correct");
  const std::string id = judged["id"];
  EXPECT_THAT(EventsTo(id, "done"), ElementsAre("queued", "preparing", "judging", "done"));
  EXPECT_THAT(Run({"show", judged["evaluation_id"].get<std::string>(), "--json"}).out, HasSubstr("\"correct\""));

  const json measured = Request(Right(), {{"keys", json::object()}});
  const json wanted = {{"reward", "staged"},
                       {"evaluations", {Request(Right()), Request(Wrong()), Request(NotBuilt()), measured}}};
  const auto [rewarded, answer] = Post("/v1/rewards", wanted);
  ASSERT_EQ(rewarded, 200) << answer;
  const json& rewards = answer["rewards"];
  EXPECT_TRUE(rewards[0]["reward"].is_null()) << "it was not to be timed";
  EXPECT_EQ(rewards[1]["reward"], 0.1);
  EXPECT_EQ(rewards[1]["evaluation"]["verdict"], "incorrect");
  EXPECT_EQ(rewards[2]["reward"], 0.0);
  EXPECT_EQ(rewards[2]["evaluation"]["verdict"], "build_failed");
  EXPECT_EQ(rewards[3]["evaluation"]["verdict"], "correct");
  const json& speedup = rewards[3]["evaluation"]["speedup"];
  if (speedup.is_null()) {
    EXPECT_TRUE(rewards[3]["reward"].is_null());
    EXPECT_FALSE(rewards[3]["evaluation"]["no_speedup"].is_null());
  } else {
    EXPECT_NEAR(rewards[3]["reward"].get<double>(), 0.4 + std::clamp(speedup.get<double>() - 1, 0.0, 2.0), 1e-9);
  }
  engine.Signal(SIGTERM);
  EXPECT_EQ(engine.Wait().code, 0);
  EXPECT_FALSE(std::filesystem::exists(socket()));
  EXPECT_EQ(StoredEvaluations(), 5);
  ExpectNoProcessLeft();
  ExpectNoFilesLeft();
}

// Another process waits for the end of its lease, and is killed.
TEST_F(ServiceTest, ADeviceThatIsLentJudgesNothingUntilItsHolderIsGone) {
  constexpr const char* kHolder =
      "import socket, sys\n"
      "s = socket.socket(socket.AF_UNIX)\n"
      "s.connect(sys.argv[1])\n"
      "s.sendall(f'GET /v1/leases/{sys.argv[2]}?wait=600 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'.encode())\n"
      "s.recv(1)\n";
  Engine engine = Serve();
  EXPECT_EQ(Post("/v1/evaluations?wait=300", Request(Right())).second["verdict"], "correct") << "all is warm then";
  const auto [status, lease] = Post("/v1/leases", {{"seconds", 600}, {"holder", "a test"}});
  ASSERT_EQ(status, 201) << lease;
  const std::string id = lease["id"];
  SpawnOptions options;
  options.argv = {"python3", "-c", kHolder, socket(), id};
  auto holder = Subprocess::Spawn(options);
  ASSERT_TRUE(holder) << holder.error().message;
  EXPECT_EQ(Get("/v1/service").second["leases"][0]["holder"], "a test");
  const std::string waiting = Post("/v1/evaluations", Request(Right() + "// again")).second["id"];
  EXPECT_EQ(Get("/v1/evaluations/" + waiting + "?wait=6").first, 202) << "it is judged all the same";
  holder->Kill();
  EXPECT_EQ(Get("/v1/evaluations/" + waiting + "?wait=300").second["verdict"], "correct");
  EXPECT_EQ(Get("/v1/leases/" + id).second["error"], "cancelled: its client went away");
  engine.Signal(SIGTERM);
  EXPECT_EQ(engine.Wait().code, 0);
  ExpectNoProcessLeft();
}

TEST_F(ServiceTest, AfterAKillEachOfABatchIsJudgedOnce) {
  std::string batch;
  std::vector<std::string> ids;
  {
    Engine engine = Serve();
    json wanted = {{"evaluations", json::array()}};
    for (int i = 0; i < 6; ++i) {
      wanted["evaluations"].push_back(
          Request(Right() + "// " + std::to_string(i), {{"idempotency_key", std::to_string(i)}}));
    }
    const auto [status, accepted] = Post("/v1/batches", wanted);
    ASSERT_EQ(status, 202) << accepted;
    batch = "/v1/batches/" + accepted["id"].get<std::string>();
    for (const json& evaluation : accepted["evaluations"]) ids.push_back(evaluation["id"]);
    EXPECT_EQ(Get("/v1/evaluations/" + ids[0] + "?wait=300").second["verdict"], "correct");
    EXPECT_GT(Get(batch).second.value("open", 0), 0);
    engine.Signal(SIGKILL);
    EXPECT_EQ(engine.Wait().signal, SIGKILL);
  }
  Engine engine = Serve();
  for (const std::string& id : ids) EXPECT_EQ(Get("/v1/evaluations/" + id + "?wait=300").second["verdict"], "correct");
  EXPECT_EQ(Get(batch).second["open"], 0);
  EXPECT_EQ(StoredEvaluations(), 6);
}

TEST_F(ServiceTest, WhatItsClientLeavesIsCancelledAndWhatIsKeptOutlivesTheService) {
  std::vector<std::string> queued;
  {
    Engine engine = Serve();
    const std::string slow = Post("/v1/evaluations", Request(Slow())).second["id"];
    EventsTo(slow, "judging");
    for (int i = 0; i < 2; ++i) {
      queued.push_back(Post("/v1/evaluations", Request(Right() + "// " + std::to_string(i))).second["id"]);
    }
    {
      RawClient client(socket());
      const std::string body = Request(Right(), {{"keep", false}}).dump();
      client.Write("POST /v1/evaluations HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
                   "\r\n\r\n" + body);
      ASSERT_TRUE(Soon([&] { return Metrics().find("state=\"queued\"} 3") != std::string::npos; })) << Metrics();
    }
    EXPECT_TRUE(Soon([&] { return Metrics().find("{verdict=\"cancelled\"} 1") != std::string::npos; })) << Metrics();
    engine.Signal(SIGTERM);
    EXPECT_EQ(engine.Wait().code, 0);
    EXPECT_EQ(StoredEvaluations(), 1) << "what was being judged was judged to its end";
    ExpectNoProcessLeft();
  }
  Engine engine = Serve();
  for (const std::string& id : queued)
    EXPECT_EQ(Get("/v1/evaluations/" + id + "?wait=300").second["verdict"], "correct");
  EXPECT_EQ(StoredEvaluations(), 3);
}

TEST_F(ServiceTest, ItRefusesToStartWhereItWouldDoHarm) {
  const auto refused = [&](const Arguments& arguments, const char* why) {
    const Ended ended = Run(arguments);
    EXPECT_NE(ended.code, 0) << ended;
    EXPECT_THAT(ended.err, HasSubstr(why));
  };
  refused({"serve", "--no-auth"}, "--no-auth is for --listen");
  for (const char* address : {"0.0.0.0:0", "[::]:0", "10.0.0.1:80", "127.example.org:80", "example.org:80"}) {
    refused({"serve", "--no-auth", "--listen", address}, "loopback");
  }
  refused({"serve", "--allow-problems"}, "--allow-problems is for --no-auth");
  refused({"serve", "--listen", "nonsense"}, "nonsense");
  refused({"serve", "--socket", std::string(200, 'x')}, "shorter");
  refused({"serve", "--socket", Write("file", "x")}, "no socket");
  refused({"token", "add", "../ann"}, "letters");
  refused({"token", "add", "local"}, "taken");
  refused({"token", "add", "ann", "--rights", "root"}, "root");
  Engine engine = Serve();
  refused({"serve", "--socket", (root() / "other.sock").string()}, "another service has the store");
  refused({"serve", "--store", (root() / "other.sqlite").string(), "--socket", socket().string()}, "another server");
  EXPECT_EQ(Get("/health").first, 200);
}

TEST_F(ServiceTest, OfTwoThatAreStartedAtOnceBothCallersHaveOne) {
  for (int i = 0; i < 3; ++i) {
    Engine one = Start({"service", "start"}), other = Start({"service", "start"});
    for (Engine* engine : {&one, &other}) {
      const Ended ended = engine->Wait();
      EXPECT_EQ(ended.code, 0) << ended;
      EXPECT_THAT(ended.out + ended.err, HasSubstr("judges on cpu"));
    }
    EXPECT_EQ(Run({"service", "stop"}).code, 0);
  }
  // Somebody has the store, and listens later.
  const std::string lock = store().string() + ".serve.lock";
  const Fd locked(::open(lock.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(locked.get(), LOCK_EX | LOCK_NB), 0);
  Engine late = Start({"service", "start"});
  EXPECT_TRUE(Soon([&] {
    return ReadFile(store().string() + ".serve.log").value_or("").find("another service has") != std::string::npos;
  }));
  Engine engine = Serve({"--store", (root() / "other.sqlite").string(), "--socket", socket().string()});
  const Ended ended = late.Wait();
  EXPECT_EQ(ended.code, 0) << ended;
}

TEST_F(ServiceTest, OverTcpTokensAreNeeded) {
  const auto add = [&](const Arguments& more) {
    Arguments arguments = {"token", "add"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::string token = Run(arguments).out;
    EXPECT_TRUE(token.starts_with("kb_")) << token;
    return token.substr(0, token.find('\n'));
  };
  const std::string ann = add({"ann"}), boss = add({"boss", "--rights", "judge,admin"});
  const Ended taken = Run({"token", "add", "ann"});
  EXPECT_NE(taken.code, 0);
  EXPECT_THAT(taken.err, HasSubstr("revoke it first"));
  Engine engine = Serve({"--listen", "127.0.0.1:0"});
  std::string address;
  ASSERT_TRUE(Soon([&] {
    std::ifstream err(root() / "err3");  // of the fourth program that this test runs
    const std::string said((std::istreambuf_iterator<char>(err)), {});
    const size_t at = said.find("http://");
    if (at == std::string::npos) return false;
    address = said.substr(at + 7, said.find('\n', at) - at - 7);
    return true;
  }));
  const auto ask = [&](const std::string& target, const std::string& token, const std::string& host = "") {
    HttpCall call{.target = target};
    if (!token.empty()) call.headers.emplace_back("Authorization", "Bearer " + token);
    if (!host.empty()) call.headers.emplace_back("Origin", host);
    return Send(HttpClient::ConnectTcp(address), call).first;
  };
  EXPECT_EQ(ask("/health", ""), 200);
  EXPECT_EQ(ask("/v1/problems", ""), 401);
  EXPECT_EQ(ask("/v1/problems", ann + "0"), 401);
  EXPECT_EQ(ask("/v1/problems", ann), 200);
  EXPECT_EQ(ask("/v1/problems", ann, "http://evil.example.org"), 403);
  EXPECT_EQ(ask("/v1/service", ann), 403);
  EXPECT_EQ(ask("/v1/service", boss), 200);
  EXPECT_EQ(Run({"token", "revoke", "ann"}).code, 0);
  EXPECT_EQ(ask("/v1/problems", ann), 401) << "at once";
  EXPECT_THAT(Run({"token", "list"}).out, testing::Not(HasSubstr("ann")));
}

TEST_F(ServiceTest, HostileRequestsDoNoHarm) {
  Engine engine = Serve();
  const std::string nul("a\0b", 3), terminal = "\x1b]0;owned\x07";
  for (const json& more : {json{{"run", nul}}, json{{"model", terminal}}, json{{"run", std::string(10'000, 'r')}},
                           json{{"problem", "../../etc/passwd"}}, json{{"protocol", "../quick"}},
                           json{{"idempotency_key", nul}}, json{{"size", terminal}}, json{{"unknown", 1}},
                           json{{"keys", {{"measure", {1, {2}}}}}}, json{{"source", nullptr}}}) {
    const auto [status, answer] = Post("/v1/evaluations", Request(Right(), more));
    EXPECT_EQ(status, 400) << more << answer;
    EXPECT_EQ(answer.value("fault", ""), "caller");
  }
  for (const char* file : {"../../evil.py", "/tmp/evil.py", "a/../../evil.py", "evil\x1b.py/"}) {
    json request = Request("");
    request.erase("source");
    request["files"] = {{"model_new.py", kReluModule}, {file, "x = 1"}};
    EXPECT_EQ(Post("/v1/evaluations", request).first, 400) << file;
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "[";
  const std::string nested = R"({"problem": "1/19", "source": "x", "keys": {"a": )" + deep;
  EXPECT_EQ(Ask("POST", "/v1/evaluations", deep).first, 400);
  EXPECT_EQ(Ask("POST", "/v1/evaluations", nested + std::string(100'000, ']') + "}}").first, 400);
  EXPECT_EQ(Ask("POST", "/v1/batches", std::string(size_t{100} << 20, ' ')).first, 413);
  EXPECT_EQ(Get("/v1/evaluations/" + std::string(10'000, 'x')).first, 404);
  EXPECT_EQ(Get("/v1/evaluations/%00").first, 400);
  EXPECT_EQ(Get("/health").first, 200);
  EXPECT_EQ(StoredEvaluations(), 0);
}

}  // namespace
}  // namespace kb::e2e
