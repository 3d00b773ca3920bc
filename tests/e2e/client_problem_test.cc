// A problem whose text a client sends: an honest one gets the verdict of its named twin, and a hostile one costs its
// own evaluation and nothing else.

#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>

#include "harness.h"
#include "server/http_client.h"
#include "server/http_test_util.h"

namespace kb::e2e {
namespace {

using server::HttpCall;
using server::HttpClient;
using server::Soon;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kModule = R"(
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=%s)
)";

// The socket by which the device process talks with the engine, and how to say anything there.
constexpr const char* kEngine = R"(
import gc, json, os, signal, socket, struct, sys, time
engine = [each for each in gc.get_objects() if isinstance(each, socket.socket)][0]
def say(data):
    engine.sendall(struct.pack("<I", len(data)) + data)
)";

class ClientProblemTest : public EngineTest {
 protected:
  std::filesystem::path socket() const { return root() / "store.sock"; }
  static std::string Relu() {
    std::ifstream file(std::filesystem::path(KB_SOURCE_DIR) / "problems/level1/19_ReLU.py");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string Module(const char* least) {
    std::string text = kModule;
    return text.replace(text.find("%s"), 2, least);
  }
  static json Request(const json& more) {
    json request = {{"protocol", "quick"}, {"keys", {{"measure", false}, {"reference_timeout_s", 30}}}};
    request.update(more);
    return request;
  }
  Engine Serve(Arguments more = {}) const {
    more.insert(more.begin(), "serve");
    Engine engine = Start(more);
    EXPECT_TRUE(Soon([&] { return HttpClient::ConnectUnix(socket()).has_value(); })) << engine.Wait();
    return engine;
  }
  json Ask(const std::string& method, const std::string& target, const json& body = nullptr) const {
    HttpCall call{.method = method, .target = target, .body = body.is_null() ? "" : body.dump()};
    call.timeout = std::chrono::minutes(5);
    auto client = HttpClient::ConnectUnix(socket());
    if (!client) return {{"detail", client.error().message}};
    const auto answer = client->Send(call);
    return answer ? json::parse(answer->body, nullptr, false) : json{{"detail", answer.error().message}};
  }
  json Judge(const json& more) const { return Ask("POST", "/v1/evaluations?wait=300", Request(more)); }
  // Of a text that cannot be judged: why, by its client's fault.
  std::string WhyNot(const std::string& text, const json& more = json::object()) const {
    json request = {{"problem_text", text}, {"name", "relu.cpp"}, {"source", kReluNative}};
    request.update(more);
    const json view = Judge(request);
    EXPECT_EQ(view.value("state", ""), "failed") << view;
    EXPECT_EQ(view.value("fault", json()), "caller") << view;
    EXPECT_EQ(view.value("retryable", true), false) << view;
    return view.value("error", json()).is_string() ? view["error"].get<std::string>() : view.dump();
  }
  void ExpectOthersAreJudged() const {
    const json right = Judge({{"problem", "1/19"}, {"size", "small"}, {"name", "relu.cpp"}, {"source", kReluNative}});
    EXPECT_EQ(right.value("verdict", json()), "correct") << right;
    const json wrong = Judge({{"problem", "1/19"}, {"size", "small"}, {"source", Module("0.5")}});
    EXPECT_EQ(wrong.value("verdict", json()), "incorrect") << wrong;
  }
};

TEST_F(ClientProblemTest, AnHonestTextGetsTheVerdictOfItsNamedTwin) {
  Engine engine = Serve();
  const json candidates[] = {
      {{"name", "relu.cpp"}, {"source", kReluNative}}, {{"source", Module("0")}}, {{"source", Module("0.5")}}};
  for (const json& candidate : candidates) {
    json named = candidate, sent = candidate;
    named.update({{"problem", "1/19"}, {"size", "small"}});
    sent.update({{"problem_text", Relu()}, {"size", "small"}});
    const json twin = Judge(named), view = Judge(sent);
    EXPECT_TRUE(twin.value("verdict", json()).is_string()) << twin;
    EXPECT_EQ(view.value("verdict", json()), twin["verdict"]) << view;
    EXPECT_EQ(twin["problem_source"], "file");
    EXPECT_EQ(view["problem_source"], "client");
    EXPECT_THAT(view["problem"].get<std::string>(), StartsWith("client:"));
    const json shown = json::parse(Run({"show", view["evaluation_id"].get<std::string>(), "--json"}).out);
    EXPECT_EQ(shown.value("problem_source", ""), "client");
    EXPECT_EQ("client:" + shown.value("problem_sha256", ""), view["problem"]);
  }
  // Timed, against a reference of its own.
  const json timed =
      Judge({{"problem_text", Relu()}, {"size", "small"}, {"source", Module("0")}, {"keys", json::object()}});
  EXPECT_EQ(timed.value("verdict", json()), "correct") << timed;
  EXPECT_TRUE(timed["speedup"].is_number() || timed["no_speedup"].is_string()) << timed;
  engine.Signal(SIGTERM);
  EXPECT_EQ(engine.Wait().code, 0);
  EXPECT_THAT(Run({"score", "local"}).out, HasSubstr("a client of a service sent its text"));
  ExpectNoProcessLeft();
  ExpectNoFilesLeft();
}

// Each of these works for an unconfined process of the user, or of root. What did work is in the message.
TEST_F(ClientProblemTest, ATextReachesNothingOutside) {
  Engine engine = Serve();
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof loopback;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&loopback), size), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  getsockname(listener, reinterpret_cast<sockaddr*>(&loopback), &size);
  const std::string secret = Write("secret", "the-secret");
  std::filesystem::permissions(secret, std::filesystem::perms::all);
  const std::string text = fmt::format(R"(
import ctypes, os, resource, signal, socket, subprocess, sys
worked = []
def attempt(what, function):
    try:
        function()
        worked.append(what)
    except Exception:
        pass
def traced():
    if ctypes.CDLL(None, use_errno=True).ptrace(16, os.getppid(), 0, 0):
        raise OSError
def all_signalled():
    reached = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            directory = os.open("/proc/" + pid, os.O_RDONLY | os.O_DIRECTORY)
            signal.pidfd_send_signal(directory, 0)
            reached += int(pid) == {0}
        except OSError:
            pass
    if not reached:
        raise OSError
attempt("reading a file", lambda: open({1}).read())
attempt("reading the store", lambda: open({2}, "rb").read(4))
attempt("writing a file", lambda: open({1}, "w").write("x"))
attempt("writing beside it", lambda: open({1} + "2", "w"))
attempt("changing Python", lambda: open(os.__file__, "a"))
attempt("changing the engine", lambda: open(sys.modules["kernelbench_torch.problem"].__file__, "a"))
attempt("a connection", lambda: socket.create_connection(("127.0.0.1", {3}), 2))
attempt("a socket", lambda: socket.socket(socket.AF_UNIX))
attempt("fork", lambda: os.fork() or os._exit(0))
attempt("a program", lambda: subprocess.run(["/bin/true"]))
attempt("a signal to the engine", lambda: os.kill({0}, 0))
attempt("a signal to a handle of the engine", all_signalled)
attempt("a handle", lambda: os.pidfd_open(os.getppid()))
attempt("tracing", traced)
attempt("memory of another", lambda: open("/proc/1/mem", "rb"))
attempt("the environment of another", lambda: open("/proc/1/environ", "rb").read())
attempt("files of another", lambda: os.listdir("/proc/1/root"))
attempt("a setting of the machine", lambda: open("/proc/sys/vm/drop_caches", "w"))
attempt("who dies first", lambda: open("/proc/1/oom_score_adj", "w").write("0"))
attempt("a limit of another", lambda: resource.prlimit(1, resource.RLIMIT_NOFILE))
attempt("a priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -5))
attempt("the environment", lambda: os.environ["KERNELBENCH_STORE"])
attempt("root", lambda: os.setuid(0))
raise RuntimeError("worked: " + ", ".join(worked) + ".")
)",
                                       Ask("GET", "/v1/service").value("pid", 0), "'" + secret + "'",
                                       "'" + store().string() + "'", ntohs(loopback.sin_port));
  EXPECT_THAT(WhyNot(text), HasSubstr("worked: ."));
  close(listener);
  EXPECT_FALSE(std::filesystem::exists(secret + "2"));
  ExpectOthersAreJudged();
  ExpectNoFilesLeft();
}

TEST_F(ClientProblemTest, ATextThatCannotBeJudgedIsItsClientsFault) {
  Engine engine = Serve();
  const std::pair<const char*, const char*> cases[] = {
      {"x = 1", "does not define Model"},
      {"def (", "SyntaxError"},
      {"raise ValueError('boom')", "ValueError: boom"},
      {"import os\nos._exit(3)", "exit code 3"},
      {"import ctypes\nctypes.string_at(0)", "SIGSEGV"},
      {"import sys\nsys.exit('bye')", "SystemExit: bye"},
      {"import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(1000,), "
       "daemon=True).start()",
       ""},
      {"n = 0\nwhile True:\n    open(f'/tmp/{n}', 'wb').write(bytes(1 << 24))\n    n += 1", ""},
      {"class Model:\n    pass\ndef get_inputs():\n    return []", "torch.nn.Module"},
  };
  for (const auto& [text, why] : cases) EXPECT_THAT(WhyNot(text), HasSubstr(why)) << text;
  const json soon = {{"keys", {{"measure", false}, {"reference_timeout_s", 3}}}};
  EXPECT_THAT(WhyNot("while True:\n    pass", soon), HasSubstr("did not finish in time"));
  EXPECT_THAT(WhyNot("import os\nwhile True:\n    os.write(1, bytes(65536))\n    os.write(2, bytes(65536))", soon),
              HasSubstr("did not finish in time"));
  ExpectOthersAreJudged();
  engine.Signal(SIGTERM);
  EXPECT_EQ(engine.Wait().code, 0);
  ExpectNoProcessLeft();
  ExpectNoFilesLeft();
}

// It is in the process that talks with the engine, so it can say anything there, and can change all Python code.
TEST_F(ClientProblemTest, WhatATextSaysToTheEngineIsNotBelieved) {
  Engine engine = Serve();
  const std::string problem = R"({"sha256": "x", "fresh": true, "roomy": true, "needs_rng": false, "weight_seeds": [%s],
      "distributions": [], "notes": [], "form": {"inputs": [], "outputs": [], "parameters": [], "structure": null,
      "output_structure": null, "init": null, "scalars": null, "init_scalars": null, "may_alias": false,
      "construct_on": "cpu"}})";
  const auto forged = [&](const char* seeds) {
    std::string reply = problem;
    return reply.replace(reply.find("%s"), 2, seeds);
  };
  const std::pair<std::string, const char*> cases[] = {
      {"while True:\n    engine.sendall(bytes([255]) * 65536)", "no answer"},
      {"say(b'[' * 1000000)\ntime.sleep(1000)", "no answer"},
      {"say(b'{}')\ntime.sleep(1000)", ""},
      {"say(b'[1]')\ntime.sleep(1000)", ""},
      {"say(b'{\"problem_error\": {\"a\": [1]}}')\ntime.sleep(1000)", "[1]"},
      {"engine.sendall(struct.pack('<I', 1 << 20))\nnothing = os.open('/dev/null', 0)\nwhile True:\n"
       "    socket.send_fds(engine, [b' '], [nothing] * 16)",
       "no answer"},
      {"say(b'''" + forged("") + "''')\ntime.sleep(1000)", "weights"},
      {"while True:\n    say(b'''" + forged("1") + "''')", ""},
  };
  for (const auto& [text, why] : cases) EXPECT_THAT(WhyNot(kEngine + text), HasSubstr(why)) << text;

  const std::pair<const char*, const char*> changes[] = {
      {"host.Host.compare = lambda self, _: {'outputs': [{'ok': 'maybe', 'worst': {}}], 'late': False, "
       "'own_anchor': False}",
       "nonsense"},
      {"host.Host.call = lambda self, _: {'end': 'done', 'us': -1, 'waited_us': -1, 'surely_waited_us': 0, 'gap_us': "
       "0, "
       "'elapsed_us': 0, 'launched_us': 0, 'report': None, 'malformed': ''}",
       "a time that cannot be"},
      {"host.Host.draw = lambda self, _: os.abort()", "SIGABRT"},
      {"torch.Tensor.contiguous = lambda *_: 1 / 0", ""},
      {"host.Host.share = lambda self, _: ({'arena_bytes': 1, 'output_turns': 0}, [])", "shared memory"},
      {"for pid in filter(str.isdigit, os.listdir('/proc')):\n    if int(pid) != os.getpid():\n        try:\n"
       "            signal.pidfd_send_signal(os.open('/proc/' + pid, os.O_RDONLY | os.O_DIRECTORY), 9)\n"
       "        except OSError:\n            pass\ntime.sleep(1000)",
       ""},
  };
  const json small = {{"size", "small"}};
  for (const auto& [change, why] : changes) {
    const std::string text = Relu() + kEngine + "import kernelbench_torch.device_host as host\n" + change + "\n";
    EXPECT_THAT(WhyNot(text, small), HasSubstr(why)) << change;
  }
  ExpectOthersAreJudged();
  engine.Signal(SIGTERM);
  EXPECT_EQ(engine.Wait().code, 0);
  ExpectNoProcessLeft();
  ExpectNoFilesLeft();
}

TEST_F(ClientProblemTest, AServiceThatStartsAgainJudgesWhatWasQueued) {
  std::vector<std::string> ids;
  {
    Engine engine = Serve();
    for (const char* least : {"0", "0.5", "0"}) {
      const json request = Request({{"problem_text", Relu()}, {"size", "small"}, {"source", Module(least)}});
      ids.push_back(Ask("POST", "/v1/evaluations", request).value("id", ""));
    }
    engine.Signal(SIGKILL);
    EXPECT_EQ(engine.Wait().signal, SIGKILL);
  }
  EXPECT_EQ(Run({"store", "gc"}).code, 0);
  Engine engine = Serve();
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + ids[0] + "?wait=300")["verdict"], "correct");
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + ids[1] + "?wait=300")["verdict"], "incorrect");
  EXPECT_EQ(Ask("GET", "/v1/evaluations/" + ids[2] + "?wait=300")["verdict"], "correct");
  engine.Signal(SIGTERM);
  EXPECT_EQ(engine.Wait().code, 0);
  ExpectNoProcessLeft();
  ExpectNoFilesLeft();
}

}  // namespace
}  // namespace kb::e2e
