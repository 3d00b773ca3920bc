// Runs that go to another machine, and to KernelBench and back.

#include <algorithm>
#include <set>

#include "base/file.h"
#include "fixture.h"
#include "store/store.h"

namespace kb::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kWrongNative[] = R"(
#include "kernelbench/kernel.h"
extern "C" int kb_forward(const kb_call*) { return 0; }
)";

class InteropTest : public PipelineTest {
 protected:
  // A run of three candidates for 1/7: two right ones, and one that computes nothing. What the engine said of them is
  // filed as a run by hand, and the second as if it were a module.
  void JudgeRun() {
    const json row = {{"level", 1}, {"problem_id", 7}, {"name", "7_Rectify"}, {"code", kReluProblem}};
    problems_ = Write("data.jsonl", row.dump() + "\n");
    Play({Answers<ops::Call>({.us = kEmptyUs + 60}, {.request = OfKind(CallKind::kForward), .every = 2})});
    const Ended judged = Run({"eval", "1/7", Write("right.cpp", kReluNative), Write("again.cpp", kReluNative),
                              Write("wrong.cpp", kWrongNative), "--problems", problems_, "--protocol", "quick",
                              "--json", "--store", (root() / "scratch.sqlite").string()});
    ASSERT_EQ(judged.code, 1) << judged;
    auto stored = Store::Open(store());
    ASSERT_TRUE(stored) << stored.error().message;
    int sample = 0;
    for (json evaluation : judged.Lines()) {
      evaluation["run"] = "r";
      evaluation["model"] = "google/m";
      evaluation["sample"] = sample++;
      if (sample == 2) {
        evaluation["candidate"].update({{"path", "module.py"}, {"kind", "module"}, {"source", kReluModule}});
      }
      ASSERT_TRUE(stored->Add(evaluation));
    }
    ASSERT_EQ(sample, 3);
  }
  void GoesToAnotherMachine();
  void GoesToKernelBenchAndBack();
  void ASecondNameMakesNoSecondRun();  // leaves an evaluation and a job more in the store
  void GoesToInspect();                // leaves two more jobs

  std::string List(const fs::path& from) const {
    const Ended list = Run({"list", "--json", "--store", from.string()});
    EXPECT_EQ(list.code, 0) << list;
    return list.out;
  }
  std::string problems_;
};

TEST_F(InteropTest, ARunTravels) {
  JudgeRun();
  if (HasFatalFailure()) return;
  GoesToAnotherMachine();
  GoesToKernelBenchAndBack();
  ASecondNameMakesNoSecondRun();
  GoesToInspect();
}

void InteropTest::GoesToAnotherMachine() {
  const std::string archive = (root() / "r.kbrun").string(), other = (root() / "other.sqlite").string();
  const Ended exported = Run({"export", "r", "-o", archive, "--store", store().string()});
  EXPECT_EQ(exported.code, 0) << exported;
  EXPECT_THAT(exported.out, HasSubstr("3 evaluations and 0 jobs"));

  const Ended imported = Run({"import", archive, "--store", other});
  EXPECT_EQ(imported.code, 0) << imported;
  EXPECT_THAT(imported.out, AllOf(HasSubstr("run r"), HasSubstr("3 evaluations (0 were here already)")));
  EXPECT_EQ(List(other), List(store()));
  const std::string id = json::parse(List(other).substr(0, List(other).find('\n'))).at("id");
  EXPECT_EQ(Run({"show", id, "--json", "--store", other}).out,
            Run({"show", id, "--json", "--store", store().string()}).out);
  EXPECT_THAT(Run({"import", archive, archive, "--store", other}).out,
              HasSubstr("0 evaluations (3 were here already)"));
  EXPECT_EQ(List(other), List(store()));

  const std::string before = List(other);
  std::string damaged = ReadFile(archive).value();
  damaged.resize(damaged.size() / 2);
  const Ended refused = Run({"import", Write("damaged.kbrun", damaged), "--store", other});
  EXPECT_EQ(refused.code, 2) << refused;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("damaged.kbrun"), HasSubstr("cannot be imported")));
  EXPECT_EQ(Run({"import", (root() / "nowhere.kbrun").string(), "--store", other}).code, 2);
  EXPECT_THAT(Run({"import", root().string(), "--store", other}).err, HasSubstr("is a directory"));
  EXPECT_EQ(List(other), before);
}

void InteropTest::ASecondNameMakesNoSecondRun() {
  const std::string archive = (root() / "twice.kbrun").string();
  const Arguments as_other = {"import", archive, "--as", "other", "--store", store().string()};
  const auto add_job = [&](const json& evaluation, const std::string& owner) {
    Store stored = Store::Open(store()).value();
    Job job;
    job.model = "google/m";
    job.problem = evaluation.at("problem");
    job.size = evaluation.at("size");
    job.device = "cpu";
    job.protocol = "quick";
    job.sample = owner.empty() ? 8 : 7;
    job.sha256 = "s";
    const int64_t id = stored.AddJob("r", job)->id;
    if (owner.empty()) return;
    ASSERT_TRUE(stored.ClaimJob(id, owner).value());
    json done = evaluation;
    done["id"] = "of-a-job";
    done["run"] = "r";
    done["sample"] = 7;
    ASSERT_TRUE(stored.FinishJob(id, owner, done));
  };
  const json evaluation = Store::Open(store())->Load({.limit = 1})->at(0);
  add_job(evaluation, "me");
  ASSERT_EQ(Run({"export", "r", "-o", archive, "--store", store().string()}).code, 0);
  const std::string before = List(store());
  const Ended refused = Run(as_other);
  EXPECT_EQ(refused.code, 2) << refused;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("all 4 of it are here already, in the run r"), HasSubstr("--as")));
  EXPECT_EQ(List(store()), before);

  add_job(evaluation, "");
  ASSERT_EQ(Run({"export", "r", "-o", archive, "--store", store().string()}).code, 0);
  const Ended imported = Run(as_other);
  EXPECT_EQ(imported.code, 0) << imported;
  EXPECT_THAT(imported.out, AllOf(HasSubstr("run other, 0 evaluations (0 were here already), 1 jobs"),
                                  HasSubstr("4 more evaluations are here already, in the run r"),
                                  HasSubstr("1 jobs were not imported")));
  EXPECT_EQ(List(store()), before);
  const Ended check = Run({"store", "check", "--store", store().string()});
  EXPECT_EQ(check.code, 0) << check;
}

void InteropTest::GoesToKernelBenchAndBack() {
  const fs::path directory = root() / "runs" / "mine";
  const Ended exported = Run({"export", "r", "--kernelbench", directory.string(), "--store", store().string()});
  ASSERT_EQ(exported.code, 0) << exported;
  EXPECT_THAT(exported.out, HasSubstr("3 candidates and 3 results"));
  EXPECT_THAT(exported.err, IsEmpty());
  EXPECT_EQ(ReadFile(directory / "level_1_problem_7_sample_0_kernel.cpp").value(), kReluNative);
  EXPECT_EQ(ReadFile(directory / "level_1_problem_7_sample_1_kernel.py").value(), kReluModule);
  EXPECT_THAT(ReadFile(directory / "generation_config.yaml").value(), HasSubstr("google/m"));
  const json results = json::parse(ReadFile(directory / "eval_results.json").value());
  ASSERT_EQ(results.at("7").size(), 3u);
  const json& right = results["7"][0];
  EXPECT_EQ(right["correctness"], true);
  EXPECT_GT(right["runtime"], 0);
  EXPECT_LE(right["runtime_stats"]["min"], right["runtime"]);
  EXPECT_GE(right["runtime_stats"]["max"], right["runtime"]);
  EXPECT_GE(right["runtime_stats"]["num_trials"], 1);
  EXPECT_EQ(results["7"][2]["correctness"], false);
  EXPECT_EQ(results["7"][2]["runtime"], -1);
  const json pass = json::parse(ReadFile(directory / "pass_at_k_results.json").value());
  EXPECT_NEAR(pass.at("averages").at("avg_pass@1"), 2.0 / 3, 1e-12);

  const json times = {{"mean", 10}, {"std", 0}, {"min", 10}, {"max", 10}, {"num_trials", 1}};
  const std::string baseline = Write("baseline.json", json{{"level1", {{"7_Rectify.py", times}}}}.dump());
  const Ended original = Run(
      {"original", directory.string(), "--run", "r", "--baseline", baseline, "--json", "--store", store().string()});
  ASSERT_EQ(original.code, 0) << original;
  const std::vector<json> lines = original.Lines();
  ASSERT_EQ(lines.size(), 3u);
  for (const json& line : lines) {
    EXPECT_EQ(line.at("problem"), "1/7");
    EXPECT_EQ(line.at("original").at("correct"), line.at("ours").at("correct"));
  }
  EXPECT_NEAR(lines[0]["original"]["speedup"], 10 / right["runtime"].get<double>(), 1e-9);
  const Ended table = Run({"original", directory.string(), "--run", "r", "--store", store().string()});
  EXPECT_THAT(table.out, HasSubstr("3 samples judged by both; on 3 of them"));

  EXPECT_EQ(Run({"export", "r", "--kernelbench", directory.string(), "--store", store().string()}).code, 2)
      << "not empty";
  EXPECT_EQ(Run({"export", "other", "--store", store().string()}).code, 2);
  EXPECT_EQ(Run({"export", "r", "--store", (root() / "none.sqlite").string()}).code, 2);
  EXPECT_EQ(Run({"original", root().string(), "--store", store().string()}).code, 2);
}

// What Inspect itself makes of the log: tests/inspect.
void InteropTest::GoesToInspect() {
  const fs::path directory = root() / "logs";
  const auto export_run = [&](const std::string& run, const fs::path& to) {
    return Run({"export", run, "--inspect", to.string(), "--store", store().string()});
  };
  {
    auto stored = Store::Open(store());
    ASSERT_TRUE(stored) << stored.error().message;
    for (const int sample : {7, 8}) {
      Job job;
      job.model = "google/m";
      job.problem = "1/7";
      job.device = "cpu";
      job.protocol = "quick";
      job.size = "standard";
      job.sample = sample;
      job.sha256 = "what it wrote";
      const auto added = stored->AddJob("r", job);
      ASSERT_TRUE(added) << added.error().message;
      if (sample == 8) continue;  // is not judged yet
      ASSERT_TRUE(stored->ClaimJob(added->id, "me").value());
      ASSERT_TRUE(stored->GiveUpJob(added->id, "me", "the GPU fell off the bus", false));
    }
  }
  const Ended exported = export_run("r", directory);
  ASSERT_EQ(exported.code, 0) << exported;
  EXPECT_THAT(exported.out, HasSubstr("1 of them errors of the engine, written to"));
  EXPECT_THAT(exported.err, HasSubstr("candidates are left out, for they have no verdict yet"));
  const std::vector<fs::path> files(fs::directory_iterator(directory), {});
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].extension(), ".eval");
  // Members are not compressed.
  EXPECT_THAT(
      ReadFile(files[0]).value(),
      AllOf(HasSubstr("samples/1/7_epoch_1.json"), HasSubstr("samples/1/7_epoch_8.json"), HasSubstr("header.json"),
            HasSubstr("the GPU fell off the bus"), HasSubstr(R"("model":"google/m")"), HasSubstr(R"("fast_1.5")")));
  EXPECT_EQ(export_run("r", directory).code, 0) << "again, in place of the first";
  EXPECT_EQ(std::distance(fs::directory_iterator(directory), {}), 1);

  const Ended other = export_run("nobody", root() / "none");
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("no run nobody in"));
  EXPECT_EQ(export_run("r", files[0]).code, 2) << "no directory";
  EXPECT_FALSE(fs::exists(root() / "none"));
}

}  // namespace
}  // namespace kb::pipeline
