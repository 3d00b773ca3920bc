// Harnesses that are shell scripts, in real boxes, with a real relay and store; the provider and the judge say what the
// test wrote down.
#include "agents/harness_episode.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "agents/agent_test_util.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/temp_dir.h"
#include "model/test_streams.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kMe[] = "me";

// `ask TEXT` prints what the model says, `ask TEXT stream` as it comes; exit code 1 without an answer.
constexpr char kAsk[] = R"(#!/usr/bin/env bash
ask() {
  python3 -c '
import json, sys, urllib.request
body = {"model": "any", "stream": len(sys.argv) > 2, "messages": [{"role": "user", "content": sys.argv[1]}]}
request = urllib.request.Request("http://127.0.0.1:8080/v1/chat/completions", json.dumps(body).encode(),
                                 {"Content-Type": "application/json"})
for line in urllib.request.urlopen(request): print(line.decode(), flush=True)
' "$@" 2>/dev/null
}
)";

class HarnessEpisodeTest : public testing::Test {
 protected:
  struct Settled {
    bool answered = false;
    CallCost lost;
  };
  using Provide = std::function<void(const ServedRequest& request, int call, ServedConnection* connection)>;

  void SetUp() override {
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"}) unsetenv(name);
    setenv("KB_TEST_KEY", "sk-test-0123456789abcdef", 1);
    GenerationRequest request;
    request.model = "m";
    request.problem = "1/19";
    work_.request = store_.ClaimRequest("r", request, kMe).value().value();
    work_.owner = kMe;
    work_.most = [](int64_t bytes) { return CallCost{.tokens = bytes + 1000, .usd = 0.5}; };
    work_.admit = [](const CallCost&, const std::function<bool()>&) { return true; };
    work_.settle = [this](const CallCost&, const Completion* completion, const CallCost& lost) {
      settled_.push_back({completion != nullptr, lost});
      return completion != nullptr ? EpisodeWork::Cost{0.01, "a table"} : EpisodeWork::Cost();
    };
    work_.model_answers = [this] { return model_answers_; };
    work_.may_evaluate = [] { return true; };
    work_.evaluated = [](bool) {};
    options_.harness = "mine";
    options_.opening.task = "the task";
    options_.limits.turns = 20;
    options_.counts.solution = "model_new.py";
    options_.folder.files.push_back({"TASK.md", 0644, 8, Sha256("the task")});
    options_.folder.contents[Sha256("the task")] = "the task";
  }
  static void Whole(const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(PlainAnswer("200 OK", "Content-Type: application/json\r\n", WholeOf(Wire::kChat, "said")));
  }

  static void Refuses(const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(
        PlainAnswer("401 Unauthorized", "Content-Type: application/json\r\n", R"({"error":{"message":"wrong key"}})"));
  }

  // A process with nothing but the store.
  Result<std::optional<EpisodeWorkDone>> Run(const std::string& script, const Provide& provide = Whole) {
    const fs::path program = directory_.path() / "agent";
    std::ofstream(program) << kAsk << script << "\n";
    chmod(program.c_str(), 0755);
    TestServer provider(provide);
    HarnessEpisode episode(options_, work_, &store_, &judge_);
    HarnessRunOptions wanted{.model_socket = directory_.path() / "sockets" / "model.sock"};
    fs::create_directory(wanted.model_socket.parent_path());
    fs::remove(wanted.model_socket);
    wanted.harness = {.name = "mine",
                      .program = program,
                      .command = {"agent", "{prompt}"},
                      .wires = {{"chat", {{"base_url", "http://127.0.0.1:{port}"}}}},
                      .judge = "shell",
                      .error_text = error_text_};
    wanted.values = {.prompt = "work", .model = "m", .wire = "chat"};
    wanted.box.memory_bytes = uint64_t{512} << 20;
    wanted.box.processes = 64;
    wanted.box.task_bytes = wanted.box.scratch_bytes = uint64_t{16} << 20;
    KB_ASSIGN_OR_RETURN(wanted.program, FindHarnessProgram(wanted.harness));
    Box* box = nullptr;
    wanted.over = [&] {
      if (box != nullptr && box->folder().Read("interrupt")) interrupted_ = true;
      if (box != nullptr && waits_) (void)box->folder().Write("waits", "");
      return episode.Over();
    };
    wanted.model_error = [&] { return episode.ModelError(); };
    KB_ASSIGN_OR_RETURN(auto relay, Relay::Start({.settings = QuickSettings(Wire::kChat, provider.url()),
                                                  .socket = wanted.model_socket},
                                                 &episode));
    KB_ASSIGN_OR_RETURN(HarnessRun run, HarnessRun::Create(BoxPrograms(), std::move(wanted)));
    box = &run.box();
    AgentTools tools(box, &judge_, {}, {.solution = "model_new.py"});
    const WorksUnder under(interrupted_);
    auto done = episode.Run(&run, &tools, [&] {
      if (at_end_) at_end_();
      relay.reset();
    });
    requests_ = provider.requests().size();
    return done;
  }
  EpisodeWorkDone RunToItsEnd(const std::string& script, const Provide& provide = Whole) {
    auto done = Run(script, provide);
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_TRUE(done.value_or(std::nullopt)) << "it is open still";
    return done.value_or(std::nullopt).value_or(EpisodeWorkDone());
  }
  Error Failure(const std::string& script, const Provide& provide = Whole) {
    const auto done = Run(script, provide);
    EXPECT_FALSE(done);
    return done ? Error() : done.error();
  }
  Episode Stored() { return store_.FindEpisode(work_.request.id).value().value(); }
  std::vector<Turn> Turns() { return store_.Turns(work_.request.id).value(); }
  std::vector<std::string> States() {
    std::vector<std::string> states;
    for (const Turn& turn : Turns()) states.push_back(turn.state);
    return states;
  }
  std::vector<std::string> FilesAfter(int turn) {
    std::vector<std::string> paths;
    const std::vector<TurnFile> files = store_.FolderAfter(work_.request.id, turn).value();
    for (const TurnFile& file : files) paths.push_back(file.path);
    return paths;
  }

  const TempDir directory_{TempDir::Create("kb-episode-test").value()};
  Store store_{Store::Open(directory_.path() / "store.sqlite").value()};
  ScriptedApi api_;
  AgentJudge judge_{
      {.ask = api_.Ask(), .request = {{"problem", "1/19"}}, .stop = {}, .patience = std::chrono::milliseconds(0)}};
  EpisodeWork work_;
  HarnessEpisodeOptions options_;
  bool model_answers_ = false;  // on other problems
  std::string error_text_;      // of the harness
  std::vector<Settled> settled_;
  std::atomic<bool> interrupted_ = false;
  std::atomic<bool> waits_ = false;  // the program is told so by a file
  std::function<void()> at_end_;     // of the program, before that of the relay
  size_t requests_ = 0;              // of the provider
};

TEST_F(HarnessEpisodeTest, FromTheTaskToASubmission) {
  const EpisodeWorkDone done = RunToItsEnd(R"(
    ask one; echo first >model_new.py
    ask two; judge submit model_new.py)");
  EXPECT_EQ(done.source, "first\n");
  EXPECT_EQ(done.answer.input, 120);
  EXPECT_EQ(done.answer.cache_read, 80);
  EXPECT_EQ(done.answer.output, 100);
  EXPECT_NEAR(done.answer.cost_usd.value_or(0), 0.02, 1e-9);
  EXPECT_EQ(Stored().ended_by, "submit");
  EXPECT_THAT(States(), ElementsAre("done", "done"));
  EXPECT_THAT(FilesAfter(1), ElementsAre("TASK.md", "model_new.py"));
  const auto verdicts = store_.TurnVerdicts(work_.request.id).value();
  ASSERT_THAT(verdicts, SizeIs(1));
  EXPECT_EQ(verdicts[0].turn, 2);
  EXPECT_EQ(verdicts[0].call, -1);
}

TEST_F(HarnessEpisodeTest, AModelThatFailsLeavesTheWorkOpen) {
  const Error error = Failure("echo kept >notes; ask one; exit 0", Refuses);
  EXPECT_EQ(error.code, ErrorCode::kUsage);
  EXPECT_THAT(error.message, HasSubstr("wrong key"));
  EXPECT_EQ(Stored().ended_by, "");
  const Turn failed = Turns().at(0);
  EXPECT_EQ(failed.calls, 0);
  EXPECT_EQ(failed.lost, 0);
  EXPECT_THAT(failed.results, HasSubstr("wrong key"));
  ASSERT_THAT(settled_, SizeIs(1));
  EXPECT_FALSE(settled_[0].answered);
  EXPECT_EQ(settled_[0].lost.tokens, 0);
  options_.limits.turns = 1;  // what failed was none
  EXPECT_EQ(RunToItsEnd("ask one; cp notes n.py; judge submit n.py").source, "kept\n");
}

TEST_F(HarnessEpisodeTest, AModelThatRefusesInThreeCommandsEndsIt) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Failure("ask one", Refuses).code, ErrorCode::kUsage);
  EXPECT_EQ(Stored().ended_by, "") << "it has never answered: that is no matter of the problem";
  model_answers_ = true;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Failure("ask one; echo kept >a.py", Refuses).code, ErrorCode::kUsage);
  const auto is_down = [](const ServedRequest&, int, ServedConnection* connection) {
    connection->Send(PlainAnswer("503 Service Unavailable", "", ""));
  };
  EXPECT_EQ(Failure("ask one", is_down).code, ErrorCode::kUnavailable) << "which is no refusal";
  const EpisodeWorkDone done = RunToItsEnd("ask one; ask one", Refuses);
  EXPECT_THAT(done.complaint, HasSubstr("in 3 commands in a row the model refused to answer"));
  EXPECT_THAT(done.complaint, HasSubstr("wrong key"));
  EXPECT_EQ(Stored().ended_by, kModelError);
}

// Each command starts the program anew, and what it asks first is answered again.
TEST_F(HarnessEpisodeTest, ThatIsSoWhereItAnswersSomeOfThem) {
  const auto refuses_second = [](const ServedRequest& request, int call, ServedConnection* connection) {
    call == 0 ? Whole(request, call, connection) : Refuses(request, call, connection);
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Failure("ask one; ask two", refuses_second).code, ErrorCode::kUsage);
  EXPECT_THAT(RunToItsEnd("ask one; ask two", refuses_second).complaint, HasSubstr("in 3 commands in a row"));
  EXPECT_EQ(Stored().ended_by, kModelError);
}

TEST_F(HarnessEpisodeTest, AnAnswerEndsWhatTheModelRefusedBefore) {
  error_text_ = "cannot go on";
  const auto refuses_first = [](const ServedRequest& request, int call, ServedConnection* connection) {
    call == 0 ? Refuses(request, call, connection) : Whole(request, call, connection);
  };
  const Error error = Failure("ask one; ask two; echo cannot go on; exit 1", refuses_first);
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("says that the model failed"));
}

TEST_F(HarnessEpisodeTest, AProgramThatAsksForEverIsStopped) {
  const Error error = Failure("while true; do ask one; done", Refuses);
  EXPECT_THAT(error.message, HasSubstr("wrong key"));
  EXPECT_THAT(Turns(), SizeIs(100));
}

TEST_F(HarnessEpisodeTest, ACallThatTheProgramGaveUpIsNoFaultOfTheModel) {
  const auto hangs = [](const ServedRequest& request, int call, ServedConnection* connection) {
    if (request.body.find("title") == std::string::npos) return Whole(request, call, connection);
    connection->Send(StreamHead() + Chunk(Joined(ChatStream({"half"}), 3)));
    connection->Hang();
  };
  const EpisodeWorkDone done = RunToItsEnd(R"(
    ask one; ask title stream >/tmp/title &
    until [ -s /tmp/title ]; do sleep 0.1; done)",
                                           hangs);
  EXPECT_EQ(Stored().ended_by, "exit");
  EXPECT_THAT(done.complaint, HasSubstr("submitted nothing"));
  EXPECT_THAT(States(), ElementsAre("done", "done"));
  EXPECT_EQ(Turns().at(1).lost, 1);
}

TEST_F(HarnessEpisodeTest, LostCallsCountAsTheMostThatTheyCanHaveTaken) {
  const auto breaks = [](const ServedRequest& request, int call, ServedConnection* connection) {
    if (call == 0) return connection->Close();  // it may have begun
    if (call == 2) connection->Send(StreamHead() + Chunk(Joined(ChatStream({"half"}), 3)));
    call == 2 ? connection->Close() : Whole(request, call, connection);
  };
  const EpisodeWorkDone done = RunToItsEnd(R"(
    ask repeated; ask half stream; ask three
    echo a >model_new.py; judge submit model_new.py)",
                                           breaks);
  const std::vector<Turn> turns = Turns();
  ASSERT_THAT(turns, SizeIs(3));
  ASSERT_THAT(settled_, SizeIs(3));
  for (const int i : {0, 1}) {
    EXPECT_EQ(turns[i].lost, 1);
    EXPECT_GT(turns[i].lost_tokens, 1000);
    EXPECT_EQ(turns[i].lost_usd, 0.5);
    EXPECT_EQ(settled_[i].lost.tokens, turns[i].lost_tokens);
    EXPECT_EQ(settled_[i].lost.usd, 0.5);
  }
  EXPECT_EQ(turns[0].calls, 2);
  EXPECT_EQ(turns[1].calls, 0);
  EXPECT_EQ(turns[1].input, 0);
  EXPECT_FALSE(settled_[1].answered);
  EXPECT_EQ(turns[2].lost, 0);
  EXPECT_EQ(done.answer.input, 120 + turns[0].lost_tokens + turns[1].lost_tokens);
  EXPECT_NEAR(done.answer.cost_usd.value_or(0), 1.02, 1e-9);
}

TEST_F(HarnessEpisodeTest, NothingIsJudgedAfterASubmission) {
  std::vector<TurnVerdict> at_once;
  at_end_ = [&] { at_once = store_.TurnVerdicts(work_.request.id).value(); };
  const EpisodeWorkDone done = RunToItsEnd(R"(
    echo a >a.py; echo b >b.py
    ask one; judge submit a.py; said=$(judge submit b.py) || ask "$said"; judge compile b.py)");
  EXPECT_EQ(done.source, "a\n");
  EXPECT_THAT(api_.requests, IsEmpty());
  EXPECT_THAT(at_once, SizeIs(1)) << "a kill may follow";
  EXPECT_THAT(store_.TurnVerdicts(work_.request.id).value(), SizeIs(1));
  EXPECT_THAT(Turns().at(1).context, HasSubstr("A candidate is submitted"));
}

TEST_F(HarnessEpisodeTest, TurnsEndInTheirOrder) {
  std::vector<std::string> seen;
  std::atomic<bool> go_on = false;
  const auto provide = [&](const ServedRequest& request, int call, ServedConnection* connection) {
    if (request.body.find("slow") != std::string::npos) {
      const std::vector<std::string> events = ChatStream({"x"});
      connection->Send(StreamHead());
      for (const std::string& event : events) {
        if (event == events.back()) go_on.wait(false);
        connection->Send(Chunk(event));
      }
      return connection->Send(Chunk(""));
    }
    if (request.body.find("third") != std::string::npos) {
      seen = States();
      go_on = true;
      go_on.notify_all();
    }
    Whole(request, call, connection);
  };
  RunToItsEnd(R"(
    ask slow stream >/tmp/slow &
    until [ -s /tmp/slow ]; do sleep 0.1; done
    ask second; echo >after_second; ask third; echo a >a.py; wait; judge submit a.py)",
              provide);
  EXPECT_THAT(seen, ElementsAre("asked", "answered", "asked"));
  EXPECT_THAT(States(), ElementsAre("done", "done", "done"));
  EXPECT_THAT(FilesAfter(2), ElementsAre("TASK.md"));
  EXPECT_THAT(FilesAfter(3), ElementsAre("TASK.md", "a.py", "after_second"));
  EXPECT_EQ(store_.TurnVerdicts(work_.request.id).value().at(0).turn, 3);
}

TEST_F(HarnessEpisodeTest, CallsThatAreOpenCountForTheLimits) {
  options_.limits.turns = 1;
  const auto slow = [](const ServedRequest& request, int, ServedConnection* connection) {
    EXPECT_THAT(request.body, HasSubstr("slow"));
    const std::string all = Joined(ChatStream({"x"}));
    connection->Send(StreamHead() + Chunk(all.substr(0, all.size() - 20)));
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    connection->Send(Chunk(all.substr(all.size() - 20)) + Chunk(""));
  };
  RunToItsEnd(R"(
    ask slow stream >/tmp/slow &
    until [ -s /tmp/slow ]; do sleep 0.1; done
    ask second)",
              slow);
  EXPECT_EQ(requests_, 1u);
  EXPECT_EQ(Stored().ended_by, "turns");
  EXPECT_EQ(Turns().at(0).calls, 1);
}

TEST_F(HarnessEpisodeTest, WhatIsSubmittedBeforeAnInterruptIsKept) {
  const Error error = Failure("ask one; echo a >a.py; judge submit a.py; touch interrupt; ask two; sleep 1000",
                              [](const ServedRequest& request, int call, ServedConnection* connection) {
                                call == 0 ? Whole(request, call, connection) : connection->Hang();
                              });
  EXPECT_EQ(error.code, ErrorCode::kInterrupted);
  for (const std::string& state : States()) EXPECT_EQ(state, "done");
  interrupted_ = false;
  EXPECT_EQ(RunToItsEnd("ask more").source, "a\n");
  EXPECT_EQ(requests_, 0u);
  EXPECT_EQ(Stored().ended_by, "submit");
}

TEST_F(HarnessEpisodeTest, SoIsOneWithoutACallBeforeIt) {
  EXPECT_EQ(Failure("ask one; echo a >a.py; touch interrupt; sleep 1000").code, ErrorCode::kInterrupted);
  interrupted_ = false;
  EXPECT_EQ(Failure("rm interrupt; judge submit a.py; touch interrupt; sleep 1000").code, ErrorCode::kInterrupted);
  interrupted_ = false;
  EXPECT_EQ(RunToItsEnd("ask more").source, "a\n");
}

TEST_F(HarnessEpisodeTest, NoCallBeginsAfterTheProgramsEnd) {
  int admitted = 0;
  work_.admit = [&](const CallCost&, const std::function<bool()>& stop) {
    if (++admitted == 1) return true;
    waits_ = true;
    while (!stop()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return true;  // there was room just then
  };
  RunToItsEnd(R"(
    ask one; echo a >a.py; judge submit a.py; ask two &
    until [ -e waits ]; do sleep 0.1; done)");
  EXPECT_EQ(admitted, 2);
  EXPECT_EQ(requests_, 1u);
  EXPECT_THAT(States(), ElementsAre("done"));
  ASSERT_THAT(settled_, SizeIs(2));
  EXPECT_FALSE(settled_[1].answered);
  EXPECT_EQ(settled_[1].lost.tokens, 0);
}

TEST_F(HarnessEpisodeTest, FilesThatAreTooLargeAreNotKept) {
  options_.kept_bytes = 100'000;
  RunToItsEnd(R"(
    ask one; head -c 50000 /dev/zero >big; echo a >a.py
    ask two; said=$(judge compile none.py); ask "$said"; judge submit a.py)");
  EXPECT_THAT(FilesAfter(2), ElementsAre("TASK.md", "a.py"));
  EXPECT_THAT(Turns().at(2).context, HasSubstr("big (50000 bytes)"));
}

TEST_F(HarnessEpisodeTest, WhatAKilledProcessAskedIsLost) {
  Episode episode{.request = work_.request.id, .harness = "mine", .opening = OpeningJson(options_.opening)};
  ASSERT_TRUE(store_.BeginEpisode(kMe, episode, {}));
  for (const int number : {1, 2}) {
    ASSERT_TRUE(
        store_.AskTurn(work_.request.id, kMe,
                       {.number = number, .kind = "work", .context = json{{"prompt_bytes", 10 * number}}.dump()}));
  }
  options_.limits.tokens = 100'000;
  const EpisodeWorkDone done = RunToItsEnd("ask three; echo a >a.py; judge submit a.py");
  const std::vector<Turn> turns = Turns();
  ASSERT_THAT(turns, SizeIs(3));
  EXPECT_EQ(turns[0].lost_tokens, 1010);
  EXPECT_EQ(turns[1].lost_tokens, 1020);
  EXPECT_EQ(turns[1].lost, 1);
  EXPECT_EQ(turns[2].lost, 0);
  EXPECT_THAT(States(), ElementsAre("done", "done", "done"));
  EXPECT_EQ(done.answer.input, 60 + 2030);
}

TEST_F(HarnessEpisodeTest, WhatIsAnsweredHasEnded) {
  options_.limits.turns = 1;
  RunToItsEnd("ask one");
  options_.limits.turns = 5;
  work_.answered = true;
  EXPECT_THAT(RunToItsEnd("ask more").complaint, HasSubstr("submitted nothing"));
  EXPECT_EQ(requests_, 0u);
  EXPECT_EQ(Stored().ended_by, "exit");
}

TEST_F(HarnessEpisodeTest, AJudgeThatIsBusyLeavesTheWorkOpen) {
  api_.Says(503, {{"error", {{"message", "it starts"}}}});
  const Error error = Failure("ask one; echo a >model_new.py");
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("model_new.py"));
  EXPECT_EQ(Stored().ended_by, "");
}

TEST_F(HarnessEpisodeTest, ItsTimeIsThatOfAllProcesses) {
  options_.limits.seconds = 2;
  EXPECT_THAT(RunToItsEnd("ask one; sleep 1000").complaint, HasSubstr("submitted nothing"));
  EXPECT_EQ(Stored().ended_by, "seconds");
  EXPECT_GT(Turns().at(0).tool_seconds, 0);
  RunToItsEnd("ask more");
  EXPECT_EQ(requests_, 0u);
  EXPECT_EQ(Stored().ended_by, "seconds");
}

}  // namespace
}  // namespace kb
