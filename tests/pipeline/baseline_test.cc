// Baselines by themselves: measured once, resumed, checked for drift, exchanged with KernelBench. And looking after
// the store they lie in.

#include <signal.h>
#include <sqlite3.h>

#include <algorithm>
#include <sstream>

#include "base/file.h"
#include "fixture.h"

namespace kb::pipeline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class BaselineTest : public PipelineTest {
 protected:
  Ended Baseline(const Arguments& more) const {
    Arguments arguments = {"baseline"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  }
  // Another problem than relu.py.
  std::string Problem(const std::string& name) const { return Write(name, kReluProblem + ("# " + name + "\n")); }
  void Execute(const std::string& sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(store().c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    ASSERT_GT(sqlite3_changes(database), 0) << sql;
    sqlite3_close(database);
  }
};

const char* const kKeys[] = {"origin",  "problem", "sha256",    "size",     "precision",  "kind",        "device",
                             "mean_us", "std_us",  "min_us",    "max_us",   "trials",     "interval",    "median_us",
                             "created", "notes",   "compile_s", "protocol", "confidence", "device_info", "engine_us"};

TEST_F(BaselineTest, AreMeasuredOnce) {
  const Ended first = Baseline({"1/19", "1/36", "--size", "small", "--json"});
  EXPECT_EQ(first.code, 0) << first;
  const auto lines = first.Lines();
  ASSERT_THAT(lines, SizeIs(2));
  for (const json& line : lines) {
    for (const char* key : kKeys) EXPECT_TRUE(line.contains(key)) << key;
    EXPECT_EQ(line.size(), std::size(kKeys));
    EXPECT_THAT(line.at("sha256").get<std::string>(), SizeIs(64));
    EXPECT_EQ(line.at("kind"), "eager");
    EXPECT_EQ(line.at("origin"), "measured");
    EXPECT_FALSE(line.at("device_info").at("torch").get<std::string>().empty());
    EXPECT_THAT(line.at("trials"), ::testing::AnyOf(5, 7, 10, 14, 20)) << "the looks of quick";
    const double median = line.at("median_us");
    EXPECT_GT(line.at("min_us").get<double>(), 0);
    EXPECT_LE(line.at("min_us").get<double>(), line.at("interval").at(0).get<double>());
    EXPECT_LE(line.at("interval").at(0).get<double>(), median);
    EXPECT_LE(median, line.at("interval").at(1).get<double>());
    EXPECT_LE(line.at("interval").at(1).get<double>(), line.at("max_us").get<double>());
  }
  EXPECT_EQ(lines[0].at("problem"), "1/19");
  EXPECT_EQ(lines[1].at("problem"), "1/36");

  EXPECT_EQ(Baseline({"1/19", "1/36", "--size", "small", "--json"}).Lines(), lines) << "measured again";
  EXPECT_THAT(Baseline({"1/19", "1/36", "--size", "small"}).out, HasSubstr("0 measured, 2 known"));
  EXPECT_THAT(Baseline({"1/19", "--size", "odd"}).out, HasSubstr("1 measured, 0 known")) << "another size";
  EXPECT_THAT(Baseline({"1/19", "--size", "small", "--again"}).out, HasSubstr("1 measured, 0 known"));
  EXPECT_EQ(Run({"baseline", "list", "--json"}).Lines().size(), 3u);
  ExpectNoProcessLeft();
}

TEST_F(BaselineTest, OtherThreadsAreAnotherBaseline) {
  for (const char* threads : {"1", "2"}) {
    EXPECT_THAT(Baseline({"1/19", "--size", "small", "--threads", threads}).out, HasSubstr("1 measured, 0 known"));
  }
}

TEST_F(BaselineTest, KindsAreComparedWithEager) {
  const std::string relu = Write("relu.py", kReluProblem);
  const Ended both = Baseline({relu, "--kind", "eager,eager-fp32"});
  EXPECT_EQ(both.code, 0) << both;
  EXPECT_THAT(both.out, AllOf(HasSubstr("2 measured"), HasSubstr("eager-fp32 against eager: "),
                              HasSubstr("(1 of 1 problems have both)")));
  EXPECT_THAT(Run({"baseline", "list"}).out, HasSubstr("(1 of 1 problems have both)"));
  const std::string more = Problem("more.py");
  EXPECT_THAT(Baseline({relu, more, "--kind", "eager-fp32"}).out,
              AllOf(HasSubstr("1 measured, 1 known"), HasSubstr("(1 of 2 problems have both)")))
      << "eager was measured by another command";
  EXPECT_THAT(Run({"baseline", "list"}).out, HasSubstr("(1 of 2 problems have both)"));
  const Ended unknown = Baseline({relu, "--kind", "lazy"});
  EXPECT_EQ(unknown.code, 2) << unknown;
  EXPECT_THAT(unknown.err, HasSubstr("baseline is eager, "));
}

TEST_F(BaselineTest, CompiledOnesAreCompiledBeforeAnyIsMeasured) {
  Play({});
  const Arguments three = {Write("relu.py", kReluProblem), Problem("more.py"), Problem("last.py"), "--json"};
  const auto compiled = [&](const char* jobs) {
    Arguments arguments = three;
    arguments.insert(arguments.end(), {"--kind", "eager,compile-default", "--jobs", jobs, "--again"});
    return Baseline(arguments);
  };
  const Ended first = compiled("2");
  EXPECT_EQ(first.code, 0) << first;
  ASSERT_THAT(first.Lines(), SizeIs(6));
  for (const json& line : first.Lines()) EXPECT_EQ(line.at("compile_s").is_number(), line.at("kind") != "eager");
  // Each has its text asked for when it is compiled ahead, and when it is measured. The last one has none beside it, so
  // it is compiled where it is measured.
  const auto asked = Asked();
  const auto text_at = [&](int count) {
    for (size_t i = 0; i < asked.size(); ++i) {
      if (asked[i] == ops::ReferenceSource::kOp && --count == 0) return i;
    }
    return asked.size();
  };
  const auto measured = [&](size_t from, size_t to) {
    const auto begin = asked.begin() + static_cast<std::ptrdiff_t>(from);
    return std::count(begin, asked.begin() + static_cast<std::ptrdiff_t>(to), ops::Baseline::kOp);
  };
  EXPECT_GT(measured(text_at(1), text_at(2)), 0) << "eager is not compiled";
  EXPECT_EQ(measured(text_at(2), text_at(4)), 0);
  EXPECT_EQ(std::count(asked.begin(), asked.end(), ops::ReferenceSource::kOp), 8);

  for (const json& line : compiled("1").Lines()) EXPECT_TRUE(line.at("compile_s").is_null()) << "it is in the cache";
  ExpectNoProcessLeft();
}

TEST_F(BaselineTest, WhatCompilesTooLongBesideOthersIsCompiledAfterThem) {
  const std::string straggles = Problem("straggles.py"), relu = Write("relu.py", kReluProblem),
                    last = Problem("last.py");
  const Ended ended = Baseline({straggles, relu, last, "--kind", "compile-default", "--jobs", "2", "--json"});
  EXPECT_EQ(ended.code, 0) << ended;
  std::vector<std::string> measured;
  for (const json& line : ended.Lines()) {
    measured.push_back(line.at("problem"));
    EXPECT_TRUE(line.at("compile_s").is_number()) << line;
  }
  EXPECT_EQ(measured, (std::vector{relu, last, straggles}));
  ExpectNoProcessLeft();
}

TEST_F(BaselineTest, WhatTunesForLongIsCompiledByItself) {
  Play({});
  const Ended ended = Baseline({Write("relu.py", kReluProblem), Problem("straggles.py"), "--kind",
                                "compile-max-autotune", "--jobs", "2", "--json"});
  EXPECT_EQ(ended.code, 0) << ended;
  for (const json& line : ended.Lines()) EXPECT_TRUE(line.at("compile_s").is_number()) << line;
  const auto asked = Asked();
  EXPECT_EQ(std::count(asked.begin(), asked.end(), ops::ReferenceSource::kOp), 2) << "only when they are measured";
}

TEST_F(BaselineTest, ABrokenProblemCostsOnlyItself) {
  const std::string good = Write("good.py", kReluProblem), raises = Problem("raises.py"), exits = Problem("exits.py"),
                    last = Problem("last.py");
  Play({Refuses<ops::LoadProblem>("the reference raised KeyError", false, {.problem = "raises.py"}),
        {.op = ops::Baseline::kOp, .problem = "exits.py", .act = Act::kExit}});
  const Ended ended = Baseline({good, raises, exits, last});
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.out, HasSubstr("2 measured, 0 known, 2 could not be measured"));
  EXPECT_THAT(ended.err, AllOf(HasSubstr(raises), HasSubstr("KeyError"), HasSubstr(exits)));
  EXPECT_THAT(Baseline({good, raises, last}).out, HasSubstr("0 measured, 2 known, 1 could not be measured"));
  EXPECT_EQ(Baseline({raises}).code, 2);
}

TEST_F(BaselineTest, WhatWasMeasuredBeforeCtrlCIsKept) {
  const std::string good = Write("good.py", kReluProblem);
  const std::string sleeps = Problem("sleeps.py");
  Play({{.op = ops::Baseline::kOp, .problem = "sleeps.py", .act = Act::kSilence}});
  Engine engine = Start({"baseline", good, sleeps, "--json"});
  const auto asked_for_both = [&] {
    const std::vector<std::string> asked = Asked();
    const auto problems = std::count(asked.begin(), asked.end(), ops::LoadProblem::kOp);
    return problems == 2 && asked.back() == ops::Baseline::kOp;
  };
  for (int i = 0; i < 600 && !asked_for_both(); ++i) usleep(100'000);
  engine.Signal(SIGINT);
  const Ended ended = engine.Wait(std::chrono::seconds(30));
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_THAT(ended.Lines(), SizeIs(1));
  EXPECT_THAT(Run({"baseline", "list", "--json"}).Lines(), SizeIs(1));
  ExpectNoProcessLeft();
}

TEST_F(BaselineTest, PairsWithTritonNeedAGpu) {
  const std::string relu = Write("relu.py", kReluProblem), pairs = (root() / "pairs.jsonl").string();
  const Ended refused = Baseline({relu, "--keep-triton", pairs});
  EXPECT_EQ(refused.code, 2) << refused;
  EXPECT_THAT(refused.err, HasSubstr("add --device cuda"));
  EXPECT_FALSE(std::filesystem::exists(pairs));
  for (const Arguments& more : {Arguments{"--kind", "eager"}, Arguments{"--again"}, Arguments{"--check", "1"}}) {
    Arguments arguments = {relu, "--device", "cuda", "--keep-triton", pairs};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended both = Baseline(arguments);
    EXPECT_EQ(both.code, 2) << both;
    EXPECT_THAT(both.err, HasSubstr(more.front()));
  }
  EXPECT_FALSE(std::filesystem::exists(store()));
}

TEST_F(BaselineTest, ACheckSaysWhatChanged) {
  const std::string relu = Write("relu.py", kReluProblem), more = Problem("more.py");
  const Ended none = Baseline({relu, "--check", "1"});
  EXPECT_EQ(none.code, 2) << none;
  EXPECT_THAT(none.err, HasSubstr("measure some first"));
  ASSERT_EQ(Baseline({relu, more}).code, 0);
  Execute("UPDATE measured_baselines SET json = json_set(json, '$.interval', json('[0, 1e12]'))");
  const Ended same = Baseline({relu, more, "--check", "5"});
  EXPECT_EQ(same.code, 0) << same;
  EXPECT_THAT(same.out, HasSubstr("2 checked, 0 changed"));
  Execute(
      "UPDATE measured_baselines SET json = json_set(json, '$.interval', json('[0.001, 0.002]')) "
      "WHERE problem = '" +
      more + "'");
  const auto stored = Run({"baseline", "list", "--json"}).Lines();
  const Ended changed = Baseline({relu, more, "--check", "5", "--json"});
  EXPECT_EQ(changed.code, 1) << changed;
  for (const json& line : changed.Lines()) {
    EXPECT_EQ(line.at("changed"), line.at("problem") == more) << line;
    EXPECT_GT(line.at("ratio").get<double>(), 0);
    EXPECT_EQ(line.at("stored").at("problem"), line.at("now").at("problem"));
  }
  EXPECT_THAT(changed.Lines(), SizeIs(2));
  EXPECT_THAT(Baseline({relu, more, "--check", "1", "--seed", "4", "--json"}).Lines(), SizeIs(1));
  EXPECT_EQ(Run({"baseline", "list", "--json"}).Lines(), stored) << "a check keeps nothing";
}

TEST_F(BaselineTest, KernelBenchsFilesComeAndGo) {
  ASSERT_EQ(Baseline({"1/19", "1/36", "--size", "small"}).code, 0);
  const std::string file = (root() / "baseline_time_torch.json").string();
  const Ended empty = Run({"baseline", "export", "-o", file});
  EXPECT_EQ(empty.code, 2) << empty;
  EXPECT_THAT(empty.err, HasSubstr("size standard"));
  ASSERT_EQ(Run({"baseline", "export", "-o", file, "--size", "small"}).code, 0);
  const json written = json::parse(ReadFile(file).value());
  EXPECT_THAT(written.at("level1").items().begin().key(), "19_ReLU.py");

  const auto measured = Run({"baseline", "list", "--json"}).Lines();
  EXPECT_NEAR(written["level1"]["19_ReLU.py"]["mean"].get<double>(), measured[0].at("mean_us").get<double>() / 1e3,
              1e-9);
  ASSERT_EQ(Run({"baseline", "import", file, "--size", "small"}).code, 0);
  const auto both = Run({"baseline", "list", "--kind", "eager", "--json"}).Lines();
  ASSERT_THAT(both, SizeIs(4)) << "imported ones stand beside measured ones";
  EXPECT_EQ(
      std::count_if(both.begin(), both.end(), [](const json& each) { return each.at("origin") == "kernelbench"; }), 2);
  std::istringstream table(Run({"baseline", "list"}).out);
  for (std::string line; std::getline(table, line);) {
    if (!line.starts_with("1/")) continue;
    EXPECT_EQ(line.find(" mean ") != std::string::npos, line.find("imported") != std::string::npos) << line;
  }
  const Environment other = {{"KERNELBENCH_STORE", (root() / "other.sqlite").string()}};
  ASSERT_EQ(Run({"baseline", "import", file, "--size", "small"}, other).code, 0);
  EXPECT_THAT(Run({"baseline", "1/19", "--size", "small"}, other).out, HasSubstr("1 measured, 0 known"));

  const Ended unnamed = Run({"baseline", "import", Write("times.json", written.dump())});
  EXPECT_EQ(unnamed.code, 2) << unnamed;
  EXPECT_THAT(unnamed.err, HasSubstr("--kind"));
  EXPECT_EQ(Run({"baseline", "import", Write("baseline_time_torch.json", "[]")}).code, 2);
}

TEST_F(BaselineTest, AStoreIsCheckedAndCleanedUp) {
  EXPECT_EQ(Run({"store", "check"}).code, 2) << "there is none, and none is made";
  EXPECT_FALSE(std::filesystem::exists(store()));
  const Arguments eval = {
      "eval", Write("relu.py", kReluProblem), Write("right.cpp", kReluNative), "--protocol", "quick", "--measure",
      "false"};
  ASSERT_EQ(Run(eval).code, 0);
  const Ended sound = Run({"store", "check", "--json"});
  EXPECT_EQ(sound.code, 0) << sound;
  EXPECT_EQ(sound.Lines().at(0).at("sound"), true);
  EXPECT_EQ(sound.Lines().at(0).at("rows").at("evaluations"), 1);
  EXPECT_THAT(Run({"store", "gc"}).out, HasSubstr("removed       0 of evaluations"));
  EXPECT_EQ(Run({"store", "gc", "--keep-newest"}).code, 2);

  Execute("UPDATE evaluations SET created = '2020-01-01T00:00:00Z'");
  EXPECT_EQ(Run({"store", "gc", "--older-than", "30", "--keep-newest", "--json"})
                .Lines()
                .at(0)
                .at("removed")
                .at("evaluations"),
            0);
  EXPECT_EQ(
      Run({"store", "gc", "--older-than", "30", "--dry-run", "--json"}).Lines().at(0).at("removed").at("evaluations"),
      1);
  EXPECT_EQ(StoredEvaluations(), 1);

  Execute("UPDATE evaluations SET json = zeroblob(100)");
  const Ended damaged = Run({"store", "check"});
  EXPECT_EQ(damaged.code, 1) << damaged;
  EXPECT_THAT(damaged.out, AllOf(HasSubstr("wrong: the evaluation "), HasSubstr("cannot be decompressed")));

  const json removed = Run({"store", "gc", "--older-than", "30", "--json"}).Lines().at(0).at("removed");
  for (const char* table : {"evaluations", "candidates", "problems", "devices"})
    EXPECT_EQ(removed.at(table), 1) << table;
  EXPECT_EQ(Run({"store", "check"}).code, 0);
}

}  // namespace
}  // namespace kb::pipeline
