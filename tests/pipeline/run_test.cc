// Many candidates in one command: every one gets its verdict whatever happens to the others, to the engine, or to the
// machine, and none gets two.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "run_fixture.h"
#include "store/store.h"

namespace kb::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// How many spans each lane of a timeline holds.
std::map<std::string, int> LanesOf(const std::string& timeline) {
  const json trace = json::parse(ReadFile(timeline).value());
  std::map<std::string, int> lanes;
  std::map<int, std::string> names;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") names[event.at("tid").get<int>()] = event.at("args").at("name").get<std::string>();
  }
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") ++lanes[names.at(event.at("tid").get<int>())];
  }
  return lanes;
}

// One candidate meets a busy machine twice, the other once.
TEST_F(RunTest, WhatABusyMachineGaveNoNumberIsJudgedAgainAtTheEnd) {
  const std::string directory = MakeRun({{"first.cpp", kReluNative}, {"second.cpp", First("  (void)0;\n")}});
  Script script;
  for (const int evaluation : {1, 2, 3}) {
    script.push_back(Answers<ops::Baseline>({.waited_us = 400}, {.request = InRound(), .evaluation = evaluation}));
  }
  Play(script);
  const Ended ended = Run({"run", directory, "--protocol", "quick", "--profile-ms", "0", "--name", "test"});
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.out, HasSubstr("1 correct without a speedup (machine_busy)"));
  EXPECT_THAT(ended.out, HasSubstr("1 correct"));
  std::multiset<bool> timed;
  for (const json& evaluation : Stored()) timed.insert(evaluation.at("speedup").is_number());
  EXPECT_EQ(timed, (std::multiset<bool>{false, true})) << "each has one verdict";
}

TEST_F(RunTest, EveryCandidateGetsItsVerdictOnceAndTheSameAgain) {
  const std::string directory = MakeRun({{"right.cpp", kReluNative},
                                         {"wrong.cpp", Wrong()},
                                         {"crashes.cpp", Crashes()},
                                         {"broken.cpp", "no C++\n#include <kernelbench/kernel.h> kb_forward\n"},
                                         {"again.cpp", kReluNative}});
  const std::string timeline = (root() / "trace.json").string();
  const Ended first = Run(Command(directory, {"--json", "--timeline", timeline}));
  EXPECT_EQ(first.code, 0) << first;
  std::map<int, std::string> verdicts;
  for (const json& line : first.Evaluations()) {
    EXPECT_EQ(line.at("run"), "test");
    EXPECT_EQ(line.at("model"), "m");
    verdicts[line.at("sample").get<int>()] = line.at("verdict").get<std::string>();
  }
  EXPECT_THAT(verdicts, testing::ElementsAre(testing::Pair(0, "correct"), testing::Pair(1, "incorrect"),
                                             testing::Pair(2, "crashed"), testing::Pair(3, "build_failed"),
                                             testing::Pair(4, "correct")));
  const json summary = first.Lines().back();
  EXPECT_EQ(summary.at("judged"), 5);
  EXPECT_EQ(summary.at("not_judged"), 0);
  const json& device = summary.at("devices").at(0);
  EXPECT_EQ(device.at("device"), "cpu");
  EXPECT_GT(device.at("judging_s"), 0);
  EXPECT_GT(device.at("idle_s").at("builds"), 0) << "on the CPU compilers work first";
  std::map<std::string, int> lanes = LanesOf(timeline);
  EXPECT_EQ(lanes["cpu"], 5);
  int prepared = 0;
  for (const auto& [lane, spans] : lanes) prepared += lane.starts_with("prepare") ? spans : 0;
  EXPECT_EQ(prepared, 5);

  const Ended rejudged = Run({"rejudge", "test", "--json"});
  EXPECT_EQ(rejudged.code, 0) << rejudged;
  ASSERT_EQ(rejudged.Evaluations().size(), 5u);
  for (const json& line : rejudged.Evaluations()) {
    EXPECT_EQ(line.at("verdict"), line.at("verdict_again"));
    EXPECT_EQ(line.at("verdict_agrees"), true);
    EXPECT_TRUE(line.at("speedup_agrees").is_null());
  }
  EXPECT_EQ(StoredEvaluations(), 5) << "nothing is added";
  EXPECT_EQ(Run({"rejudge", "another"}).code, 2);

  const Ended second = Run(Command(directory, {"--json"}));
  EXPECT_EQ(second.code, 0) << second;
  EXPECT_TRUE(second.Evaluations().empty()) << "all have their verdict";

  Write("run/wrong.cpp", kReluNative);
  const Ended third = Run(Command(directory, {"--json"}));
  ASSERT_EQ(third.Evaluations().size(), 1u) << "one has another text now";
  EXPECT_EQ(third.Evaluations()[0].at("verdict"), "correct");
  EXPECT_EQ(Stored().size(), 6u) << "what was judged before stays";
  EXPECT_EQ(Run(Command(directory, {"--json", "--again", "--samples", "0,4"})).Evaluations().size(), 2u);
  ExpectNoProcessLeft();
}

TEST_F(RunTest, ARowOfAListLosesNoOther) {
  const std::string relu = Write("relu.py", kReluProblem);
  const auto row = [&](int sample, const json& code) {
    return json{{"problem", relu}, {"sample", sample}, {"language", "cpp"}, {"code", code}}.dump();
  };
  std::string with_nan = row(0, kReluNative);
  with_nan.insert(with_nan.size() - 1, ", \"speedup\": NaN");
  const std::string fenced = "Here:\n```cpp\n" + std::string(kReluNative) + "\n```\n";
  const std::string list =
      Write("list.jsonl", "no JSON\n" + with_nan + "\n" + row(1, nullptr) + "\n{\"code\": \"x\"}\n" + row(2, fenced) +
                              "\n" + row(3, std::string(5 << 20, '/')) + "\n");
  const Ended judged = Run(Command(list, {"--json"}));
  EXPECT_EQ(judged.code, 0) << judged;
  std::map<int, std::string> verdicts, reasons;
  for (const json& line : judged.Evaluations()) {
    verdicts[line.at("sample")] = line.at("verdict");
    reasons[line.at("sample")] = line.at("reason");
  }
  EXPECT_EQ(verdicts, (std::map<int, std::string>{
                          {0, "correct"}, {1, "static_rejected"}, {2, "correct"}, {3, "static_rejected"}}));
  EXPECT_THAT(reasons[1], HasSubstr("holds no code"));
  EXPECT_THAT(reasons[3], HasSubstr("a candidate may have"));
  EXPECT_THAT(judged.err, testing::AllOf(HasSubstr("list.jsonl:1: left out"), HasSubstr("list.jsonl:4: left out")));
  EXPECT_EQ(Run(Command(Write("odd.jsonl", "no JSON\n"))).code, 2) << "nothing is left";
}

TEST_F(RunTest, AnotherTextOfAProblemIsJudgedAgain) {
  const std::string relu = kReluProblem, directory = MakeRun({{"a.cpp", kReluNative}, {"b.cpp", kReluNative}}, "1/12");
  for (const auto& [place, text] :
       {std::pair("old", relu), std::pair("copy", relu), std::pair("commented", relu + "# A comment.\n"),
        std::pair("new", relu + "# What it computes is another thing.\nK = 1\n")})
    Write(std::string(place) + "/level1/12_relu.py", text);
  const auto judged = [&](const std::string& place, const Arguments& more = {}) {
    Arguments flags = {"--json", "--problems", (root() / place).string()};
    flags.insert(flags.end(), more.begin(), more.end());
    const Ended ended = Run(Command(directory, flags));
    EXPECT_EQ(ended.code, 0) << ended;
    std::vector<std::string> verdicts;
    for (const json& line : ended.Evaluations()) verdicts.push_back(line.at("verdict").get<std::string>());
    return verdicts;
  };
  const auto score = [&] { return Run({"score", "test", "--json"}).Lines().at(0); };
  EXPECT_THAT(judged("old"), testing::ElementsAre("correct", "correct"));
  EXPECT_THAT(judged("copy"), testing::IsEmpty()) << "the same text in another place";
  EXPECT_THAT(judged("commented"), testing::ElementsAre("correct", "correct"));
  EXPECT_EQ(score().at("mixed_texts"), json::array());

  Play({Answers<ops::CheckInputs>({.inputs_changed = {0}})});
  EXPECT_THAT(judged("new", {"--samples", "0"}), testing::ElementsAre("wrong_form"));
  const json mixed = score();
  EXPECT_EQ(mixed.at("models").at(0).at("verdicts"), json({{"correct", 1}, {"wrong_form", 1}}));
  ASSERT_EQ(mixed.at("mixed_texts").size(), 1u);
  EXPECT_EQ(mixed.at("mixed_texts")[0].at("problem"), "1/12");
  EXPECT_EQ(mixed.at("mixed_texts")[0].at("texts").size(), 2u);
  const std::string said = Run({"score", "test", "--format", "csv"}).err;
  EXPECT_THAT(said, HasSubstr("1/12"));
  const std::string exported = (root() / "exported").string();
  EXPECT_THAT(Run({"export", "test", "--kernelbench", exported}).err, HasSubstr(said));
  EXPECT_THAT(Run({"original", exported, "--run", "test"}).err, HasSubstr(said));
  const Ended rejudged = Run({"rejudge", "test", "--json", "--problems", (root() / "new").string()});
  EXPECT_EQ(rejudged.Evaluations().size(), 1u) << rejudged;
  EXPECT_THAT(rejudged.err, HasSubstr("1 of 2 evaluations of run test are left out"));

  EXPECT_THAT(judged("new"), testing::ElementsAre("wrong_form"));
  EXPECT_EQ(score().at("mixed_texts"), json::array());
  EXPECT_EQ(Stored().size(), 6u) << "what was judged before stays";
}

TEST_F(RunTest, WhatCannotBeJudgedIsToldApartAndTriedAgain) {
  const std::string directory = MakeRun({{"right.cpp", kReluNative}});
  const std::string broken = Write("broken.py", kReluProblem);
  const std::string good = Write("relu.py", kReluProblem);
  Write("run/manifest.jsonl", json{{"problem", broken}, {"path", "right.cpp"}, {"sample", 0}}.dump() + "\n" +
                                  json{{"problem", good}, {"path", "right.cpp"}, {"sample", 1}}.dump() + "\n");
  Play({Refuses<ops::LoadProblem>("no such luck", false, {.problem = "broken.py"})});
  const Ended first = Run(Command(directory, {"--json"}));
  EXPECT_EQ(first.code, 3) << first;
  ASSERT_EQ(first.Evaluations().size(), 2u);
  for (const json& line : first.Evaluations()) {
    if (line.at("sample") == 0) {
      EXPECT_THAT(line.at("not_judged").get<std::string>(), HasSubstr("no such luck"));
      EXPECT_FALSE(line.contains("verdict"));
    } else {
      EXPECT_EQ(line.at("verdict"), "correct");
    }
  }
  EXPECT_EQ(StoredEvaluations(), 1);
  EXPECT_EQ(Run(Command(directory, {"--samples", "1"})).code, 0);
  const Job failed = Store::Open(store())->Jobs("test")->at(0);
  EXPECT_EQ(failed.state, "failed") << "no command has asked for it since";
  EXPECT_THAT(failed.error, HasSubstr("no such luck"));
  Play({});
  const Ended second = Run(Command(directory, {"--json"}));
  EXPECT_EQ(second.code, 0) << second;
  ASSERT_EQ(second.Evaluations().size(), 1u);
  EXPECT_EQ(second.Evaluations()[0].at("sample"), 0);
}

// A command is killed in each step of its job loop, and each job is judged once in the end.
TEST_F(RunTest, KilledInEachStepItJudgesEachJobOnce) {
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < 8; ++i) {  // texts that no build cache has
    files.emplace_back(std::to_string(i) + ".cpp", kReluNative + ("\n// " + root().string() + std::to_string(i)));
  }
  const std::string directory = MakeRun(files);
  const auto jobs_in = [&](const std::string& state) -> size_t {
    const auto opened = Store::Open(store(), {.create = false});
    if (!opened) return 0;
    const auto jobs = opened->Jobs("test", state);
    return jobs ? jobs->size() : 0;
  };
  const auto has = [](const char* name) {
    return [name](pid_t pid) {
      const std::vector<Process> below = Descendants(pid);
      return std::any_of(below.begin(), below.end(), [&](const Process& each) { return IsNamed(each, name); });
    };
  };
  size_t done = 0;
  const std::pair<const char*, std::function<bool(pid_t)>> kSteps[] = {
      {"queued", [&](pid_t) { return jobs_in("queued") > 0; }},
      {"claimed", [&](pid_t) { return jobs_in("running") > 0; }},
      {"being prepared", has("cc1plus")},
      {"being judged", has("kb-runner")},
      {"kept", [&](pid_t) { return jobs_in("done") > done; }},
  };
  for (const auto& [name, reached] : kSteps) {
    SCOPED_TRACE(name);
    Engine engine = Start(Command(directory));
    bool there = false;
    for (int i = 0; i < 6000 && !there; ++i) {
      usleep(10'000);
      there = reached(engine.pid());
    }
    EXPECT_TRUE(there);
    engine.Signal(SIGKILL);
    EXPECT_EQ(engine.Wait().signal, SIGKILL);
    ExpectNoProcessLeft();
    done = jobs_in("done");
    EXPECT_EQ(StoredEvaluations(), static_cast<int>(done));
  }
  EXPECT_LT(done, files.size());
  const Ended ended = Run(Command(directory, {"--json"}));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(ended.Evaluations().size(), files.size() - done);
  EXPECT_EQ(jobs_in("done"), files.size());
  EXPECT_EQ(StoredEvaluations(), static_cast<int>(files.size()));
}

// One run of 30 candidates, whose commands are killed, interrupted and lose their reader before two of them finish it.
TEST_F(RunTest, ItGoesOnWhateverEndedIt) {
  constexpr int kAll = 30;
  std::vector<std::pair<std::string, std::string>> files;
  for (int i = 0; i < kAll; ++i) files.emplace_back(std::to_string(i) + ".cpp", kReluNative);
  const std::string directory = MakeRun(files);
  // What a command left: candidates that are done, and none that is half done.
  const auto expect_open = [&](int at_least, bool killed) {
    ExpectNoProcessLeft();
    int done = 0;
    for (const Job& job : Store::Open(store())->Jobs("test").value()) {
      EXPECT_TRUE(killed || job.state == "done" || job.state == "queued") << job.state;
      done += job.state == "done";
    }
    EXPECT_EQ(StoredEvaluations(), done);
    EXPECT_GE(done, at_least);
    EXPECT_LT(done, kAll);
    return done;
  };
  {
    const Engine engine = Start(Command(directory));
    // Somewhere in the middle: a device process is there, so something is being judged.
    ASSERT_TRUE(WaitForProcess(engine.pid(), IsDeviceProcess));
    usleep(300'000);
    engine.Signal(SIGKILL);
  }
  int done = expect_open(0, true);
  {
    Engine engine = Start(Command(directory));
    ASSERT_TRUE(WaitForProcess(engine.pid(), IsDeviceProcess));
    engine.Signal(SIGINT);
    const Ended ended = engine.Wait();
    EXPECT_EQ(ended.code, 130) << ended;
    EXPECT_THAT(ended.out, HasSubstr("still open (the same command goes on)"));
  }
  done = expect_open(done, false);
  {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    Fd read_end(ends[0]), write_end(ends[1]);
    Engine engine = StartInto(write_end.get(), Command(directory, {"--json"}));
    char first = 0;
    ASSERT_EQ(read(read_end.get(), &first, 1), 1);
    read_end.Reset();
    EXPECT_EQ(engine.Wait().code, 141);
  }
  done = expect_open(done + 1, false);
  Engine one = Start(Command(directory, {"--json"})), two = Start(Command(directory, {"--json"}));
  const Ended first = one.Wait(), second = two.Wait();
  EXPECT_EQ(first.code, 0) << first;
  EXPECT_EQ(second.code, 0) << second;
  EXPECT_EQ(static_cast<int>(first.Evaluations().size() + second.Evaluations().size()), kAll - done);
  std::multiset<int> samples;
  for (const json& evaluation : Stored()) {
    EXPECT_EQ(evaluation.at("verdict"), "correct");
    samples.insert(evaluation.at("sample").get<int>());
  }
  EXPECT_EQ(samples.size(), size_t{kAll});
  EXPECT_EQ(std::set<int>(samples.begin(), samples.end()).size(), size_t{kAll}) << "each once";
}

// The engine fails in every attempt at one candidate, and lives: beside others that are judged that is the candidate's
// doing, by itself the engine's.
TEST_F(RunTest, WhoMakesTheEngineFailAlwaysIsCharged) {
  const std::string bad = Write("bad.py", kReluProblem), good = Write("relu.py", kReluProblem);
  const auto row = [](const std::string& problem, int sample) {
    return json{{"problem", problem}, {"path", "right.cpp"}, {"sample", sample}}.dump() + "\n";
  };
  const std::string directory = MakeRun({{"right.cpp", kReluNative}});
  Play({{.op = ops::CheckInputs::kOp, .problem = "bad.py", .whole = true}});
  Write("run/manifest.jsonl", row(bad, 0));
  const Ended alone = Run(Command(directory, {"--json"}));
  EXPECT_EQ(alone.code, 3) << alone;
  EXPECT_EQ(StoredEvaluations(), 0);
  Write("run/manifest.jsonl", row(bad, 0) + row(good, 1));
  const Ended beside = Run(Command(directory, {"--json"}));
  EXPECT_EQ(beside.code, 0) << beside;
  std::map<int, std::string> verdicts;
  for (const json& line : beside.Evaluations()) {
    verdicts[line.at("sample")] = line.at("verdict");
    EXPECT_EQ(line.at("reason").get<std::string>().find("in every attempt") != std::string::npos,
              line.at("sample") == 0);
  }
  EXPECT_EQ(verdicts, (std::map<int, std::string>{{0, "crashed"}, {1, "correct"}}));
}

// A reference that hangs, raises or dies costs the jobs of its problem and no other's.
TEST_F(RunTest, ABadReferenceCostsItsOwnJobs) {
  std::string manifest;
  int sample = 0;
  for (const char* name : {"a.py", "hangs.py", "b.py", "raises.py", "c.py", "dies.py", "d.py"}) {
    for (int i = 0; i < 2; ++i) {
      const json row = {{"problem", Write(name, kReluProblem)}, {"path", "right.cpp"}, {"sample", sample++}};
      manifest += row.dump() + "\n";
    }
  }
  const std::string directory = MakeRun({{"right.cpp", kReluNative}});
  Write("run/manifest.jsonl", manifest);
  Play({{.op = ops::Draw::kOp, .problem = "hangs.py", .act = Act::kSilence},
        Refuses<ops::Expect>("the reference raised KeyError", false, {.problem = "raises.py"}),
        {.op = ops::Anchor::kOp, .problem = "dies.py", .act = Act::kExit, .number = 3}});
  const Ended ended = Run(Command(directory, {"--json", "--reference-timeout-s", "0.3"}));
  EXPECT_EQ(ended.code, 3) << ended;
  int judged = 0;
  for (const json& line : ended.Evaluations()) judged += line.value("verdict", "") == "correct";
  EXPECT_EQ(judged, 8) << ended;
  EXPECT_EQ(StoredEvaluations(), 8);
  ExpectNoProcessLeft();
}

// Speedups that are known by problem, from the first call to the score.
TEST_F(RunTest, ScoresAreOfTheSpeedupsThatWereMeasured) {
  std::string manifest;
  Script script;
  const std::pair<std::string, double> problems[] = {{"1/19", 25}, {"1/20", 50}, {"1/21", 200}};
  const auto all_problems = Run({"problems", "list", "--json"}).Lines();
  for (const auto& [name, us] : problems) {
    manifest += json{{"problem", name}, {"path", "right.cpp"}, {"model", "m"}}.dump() + "\n";
    const auto found = std::find_if(all_problems.begin(), all_problems.end(),
                                    [&](const json& each) { return each.at("name") == name; });
    ASSERT_NE(found, all_problems.end());
    const std::string file = fs::path(found->at("file").get<std::string>()).filename();
    script.push_back(
        Answers<ops::Call>({.us = kEmptyUs + us}, {.request = OfKind(CallKind::kForward), .problem = file}));
  }
  const std::string directory = MakeRun({{"right.cpp", kReluNative}});
  Write("run/manifest.jsonl", manifest);
  Play(script);
  const Ended ended = Run({"run", directory, "--protocol", "quick", "--size", "small", "--name", "test"});
  EXPECT_EQ(ended.code, 0) << ended;
  const json all = Run({"score", "test", "--json"}).Lines().at(0).at("models").at(0).at("all");
  EXPECT_EQ(all.at("measured"), 3);
  EXPECT_NEAR(all.at("geometric_mean"), std::cbrt(4 * 2 * 0.5), 1e-9);
  for (const json& point : all.at("fast_p")) {
    const double p = point.at("p");
    EXPECT_EQ(point.at("count"), (p < 0.5) + (p < 2) + (p < 4)) << p;
  }
  const json capped = Run({"score", "test", "--cap", "3", "--json"}).Lines().at(0).at("models").at(0).at("all");
  EXPECT_NEAR(capped.at("geometric_mean"), std::cbrt(3 * 2 * 0.5), 1e-9);
}

TEST_F(RunTest, ADeviceThatIsNotThereLeavesNoJob) {
  const std::string directory = MakeRun({{"right.cpp", kReluNative}});
  EXPECT_EQ(Run(Command(directory, {"--devices", "tpu"})).code, 2);
  EXPECT_EQ(Run(Command(directory, {"--devices", "cuda:900"})).code, 3);
  EXPECT_FALSE(fs::exists(store()));
}

TEST_F(RunTest, BadArgumentsSayWhatToDo) {
  const std::string directory = MakeRun({{"a.cpp", kReluNative}});
  const std::vector<std::pair<Arguments, std::string>> cases = {
      {{"run", "/no/such/directory"}, "/no/such/directory"},
      {Command(directory, {"--devices", "cpu,cpu"}), "each once"},
      {Command(directory, {"--devices", "cuda:x"}), "cuda:0-3"},
      {Command(directory, {"--without", "seccomp"}), "--without"},  // such a result is never stored
      {Command(directory, {"--model", "nobody"}), "none of the 1 candidates"},
      {Command(directory, {"--precision", "int3"}), "fp32, fp16 or bf16"}};
  for (const auto& [arguments, words] : cases) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 2) << ended;
    EXPECT_THAT(ended.err, HasSubstr(words));
  }
}

}  // namespace
}  // namespace kb::pipeline
