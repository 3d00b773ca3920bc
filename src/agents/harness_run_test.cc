// Harnesses that are shell scripts, in real boxes.
#include "agents/harness_run.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/fd.h"
#include "base/temp_dir.h"
#include "open_paths.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// What answers each connection's first line with "model: " and that line.
class Model {
 public:
  explicit Model(const fs::path& path) : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX};
    std::strcpy(address.sun_path, path.c_str());
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 8), 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~Model() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

 private:
  void Serve() {
    for (;;) {
      const Fd one(::accept(listener_.get(), nullptr, nullptr));
      if (!one.valid()) return;
      std::string line = "model: ";
      for (char c = 0; ::read(one.get(), &c, 1) == 1;) {
        line += c;
        if (c == '\n') break;
      }
      (void)::send(one.get(), line.data(), line.size(), MSG_NOSIGNAL);
    }
  }
  Fd listener_;
  std::thread thread_;
};

class HarnessRunTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { OpenPaths({KB_PROGRAMS}); }
  void SetUp() override {
    auto folder = TempDir::Create("kernelbench-run");
    ASSERT_TRUE(folder);
    folder_.emplace(std::move(*folder));
    options_.model_socket = folder_->path() / "model.sock";
    model_.emplace(options_.model_socket);
    options_.harness = {.name = "mine",
                        .program = folder_->path() / "agent",
                        .command = {"agent", "{prompt}"},
                        .wires = {{"chat", {{"base_url", "http://127.0.0.1:{port}"}}}},
                        .judge = "shell"};
    options_.values = {.prompt = "do it's \"best\"", .model = "m", .wire = "chat"};
    options_.box.memory_bytes = uint64_t{512} << 20;
    options_.box.processes = 64;
    options_.box.task_bytes = options_.box.scratch_bytes = uint64_t{16} << 20;
    options_.wall = seconds(60);
    tools_.offered = {{"evaluate", "judges", R"({"type":"object","properties":{"path":{"type":"string"}}})"},
                      {"submit", "ends", R"({"type":"object","properties":{"solution_path":{"type":"string"}}})"}};
    tools_.call = [](const ToolCall& call) -> Result<ToolOutcome> {
      ToolOutcome outcome{.text = "judged " + call.arguments};
      if (call.name == "submit") outcome.submitted = AgentCandidate{"model_new.py", "class ModelNew", ""};
      return outcome;
    };
  }

  Result<HarnessEnd> Try(const std::string& script) {
    const fs::path program = folder_->path() / "agent";
    std::ofstream(program) << "#!/usr/bin/env bash\n" << script << "\n";
    chmod(program.c_str(), 0755);
    KB_ASSIGN_OR_RETURN(options_.program, FindHarnessProgram(options_.harness));
    Installation installation;
    installation.libexec = KB_PROGRAMS;
    KB_ASSIGN_OR_RETURN(HarnessRun run, HarnessRun::Create(installation, options_));
    KB_RETURN_IF_ERROR(run.box().folder().Write("TASK.md", "the task\n"));
    return run.Run(tools_);
  }
  HarnessEnd Run(const std::string& script) {
    auto end = Try(script);
    EXPECT_TRUE(end) << end.error().message;
    return end ? *end : HarnessEnd();
  }

  std::optional<TempDir> folder_;
  std::optional<Model> model_;
  HarnessRunOptions options_;
  JudgeTools tools_;
};

TEST_F(HarnessRunTest, ItFindsItsTaskItsSettingsItsModelAndItsJudge) {
  options_.harness.environment = {"ASKS={base_url}"};
  options_.harness.files = {{".config/agent.json", "{\"model\": \"{model}\"}"}};
  std::vector<std::string> told;
  tools_.told = [&](const ToolCall& call, const ToolOutcome&) { told.push_back(call.name + " " + call.arguments); };
  const HarnessEnd end = Run(R"(
    pwd; cat TASK.md; echo "$1"; echo "$ASKS"; cat ~/.config/agent.json; echo
    echo more >>~/.config/agent.json
    exec 3<>/dev/tcp/127.0.0.1/8080; echo hello >&3; head -1 <&3
    mkdir below; cd below; judge evaluate kernel.cpp
    judge submit /task/model_new.py >/dev/null; cat
    )");
  EXPECT_EQ(end.output,
            "/task\nthe task\ndo it's \"best\"\nhttp://127.0.0.1:8080\n{\"model\": \"m\"}\nmodel: hello\n"
            "judged {\"path\":\"/task/below/kernel.cpp\"}\n");
  EXPECT_THAT(told, ElementsAre(R"(evaluate {"path":"/task/below/kernel.cpp"})",
                                R"(submit {"solution_path":"/task/model_new.py"})"));
  EXPECT_EQ(end.ended_by, "submit");
  ASSERT_TRUE(end.submitted);
  EXPECT_EQ(end.submitted->text, "class ModelNew");
}

TEST_F(HarnessRunTest, AnMcpClientReachesTheJudge) {
  const HarnessEnd end = Run(R"(
    { echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"evaluate","arguments":{"path":"a"}}}'
      sleep 1; } | /kb/bridge - /kb/judge.sock)");
  EXPECT_THAT(end.output, HasSubstr(R"("text":"judged {\"path\":\"a\"}")"));
}

TEST_F(HarnessRunTest, ItsEndIsRead) {
  options_.harness.limit_codes = {53};
  options_.harness.limit_text = "LimitsExceeded";
  options_.harness.error_text = "[API Error";
  const struct {
    const char *script, *ended_by, *ending;
  } cases[] = {{"exit 0", "exit", "mine ended by itself and submitted nothing"},
               {"exit 53", "limit", "a limit of its own"},
               {"echo LimitsExceeded", "limit", "a limit of its own"},
               {"echo '[API Error: 402'", "model", "mine says that the model failed, and ended (exit code 0)"},
               {"echo no such flag >&2; exit 2", "failed", "mine failed (exit code 2): no such flag"},
               {"kill -SEGV $$", "failed", "SIGSEGV"}};
  for (const auto& [script, ended_by, ending] : cases) {
    const HarnessEnd end = Run(script);
    EXPECT_EQ(end.ended_by, ended_by) << script;
    EXPECT_THAT(end.ending, HasSubstr(ending));
    EXPECT_FALSE(end.submitted);
  }
}

TEST_F(HarnessRunTest, SuccessAfterAnErrorOfTheModelIsNone) {
  options_.model_error = [] { return "402: no credit"; };
  const HarnessEnd end = Run("exit 0");
  EXPECT_EQ(end.ended_by, "model");
  EXPECT_EQ(end.ending, "the model failed (402: no credit), and mine ended (exit code 0)");
}

TEST_F(HarnessRunTest, WhatHangsIsKilledWithAllThatItStarted) {
  options_.wall = milliseconds(5000);  // its box begins within that on a busy machine, too
  const HarnessEnd end = Run("trap '' TERM HUP INT; sleep 1000 & (setsid sleep 1000 &) ; echo waits; wait");
  EXPECT_EQ(end.ended_by, "seconds");
  EXPECT_EQ(end.output, "waits\n");
}

TEST_F(HarnessRunTest, ALimitOfTheRunEndsIt) {
  std::atomic<int> asked = 0;
  options_.over = [&]() -> std::optional<HarnessLimit> {
    if (++asked < 3) return std::nullopt;
    return HarnessLimit{"turns", "it has had its 3 turns"};
  };
  const HarnessEnd end = Run("sleep 1000");
  EXPECT_EQ(end.ended_by, "turns");
  EXPECT_EQ(end.ending, "it has had its 3 turns");
  EXPECT_EQ(asked, 3);
}

TEST_F(HarnessRunTest, WhoeverHasSubmittedHasNotMuchTimeLeft) {
  options_.grace = milliseconds(300);
  const HarnessEnd end = Run("judge submit a.py; sleep 1000");
  EXPECT_EQ(end.ended_by, "submit");
  EXPECT_TRUE(end.submitted);
  EXPECT_THAT(end.output, StartsWith("judged "));
}

TEST_F(HarnessRunTest, TheFileOfTheTaskCountsWhereNothingIsSubmitted) {
  options_.candidate = "model_new.py";
  const HarnessEnd end = Run("echo 'class ModelNew: pass' >model_new.py");
  EXPECT_EQ(end.ended_by, "exit");
  ASSERT_TRUE(end.submitted);
  EXPECT_EQ(end.submitted->name, "model_new.py");
  EXPECT_EQ(end.submitted->text, "class ModelNew: pass\n");
}

TEST_F(HarnessRunTest, AnErrorOfTheJudgeEndsTheRun) {
  tools_.call = [](const ToolCall&) -> Result<ToolOutcome> { return Fail(ErrorCode::kUnavailable, "no service"); };
  const auto end = Try("judge evaluate a.py; echo $? >status; sleep 1000");
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "no service");
}

}  // namespace
}  // namespace kb
