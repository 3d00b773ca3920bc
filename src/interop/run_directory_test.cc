#include "interop/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "base/temp_dir.h"
#include "interop/candidates.h"
#include "interop/kernelbench_results.h"
#include "interop/original_run.h"
#include "judge/candidate/folder.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

json Evaluation(const std::string& problem, int sample, const std::string& model = "m") {
  const std::string source = "source of " + problem + "\n";
  return {{"id", problem + model + std::to_string(sample)},
          {"created", "2026-01-01T10:00:00Z"},
          {"run", "r"},
          {"model", model},
          {"sample", sample},
          {"problem", problem},
          {"size", "standard"},
          {"device", "cuda"},
          {"device_info", {{"name", "NVIDIA H200"}}},
          {"protocol", "strict"},
          {"baseline", "eager"},
          {"candidate", {{"path", "x/a.cu"}, {"sha256", Sha256(source)}, {"source", source}}},
          {"verdict", sample == 0 ? "correct" : "crashed"},
          {"reason", ""},
          {"speedup", sample == 0 ? json(2.0) : json()},
          {"candidate_us", 500.0},
          {"samples", {{{"scored", true}, {"void", nullptr}, {"candidate_us", 500.0}}}}};
}

class RunDirectoryTest : public ::testing::Test {
 protected:
  fs::path Path(const std::string& name) const { return directory_.path() / name; }
  void Add(const json& evaluation) {
    const Status added = store_.Add(evaluation);
    ASSERT_TRUE(added) << added.error().message;
  }
  std::vector<std::string> Files(const fs::path& directory) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
    return names;
  }
  TempDir directory_ = TempDir::Create("kb-run-test").value();
  Store store_ = Store::Open(directory_.path() / "store").value();
};

TEST_F(RunDirectoryTest, OneModelOnOneLevelIsOneDirectory) {
  Add(Evaluation("1/19", 1));
  Add(Evaluation("1/19", 0));
  Add(Evaluation("1/3", 0));
  json older = Evaluation("1/3", 0);
  older["id"] = "older";
  older["created"] = "2025-01-01T10:00:00Z";
  older["candidate"]["path"] = "b.py";
  older["candidate"]["source"] = "older source";
  Add(older);
  Add(Evaluation("modern:3", 0));
  json library = Evaluation("1/4", 0);
  library["speedup"] = nullptr;
  library["reason"] = "a library did the work";
  Add(library);
  const auto written = WriteRunDirectory(store_, "r", Path("out"));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_THAT(written->directories, ElementsAre(Path("out")));
  EXPECT_EQ(written->evaluations, 4);
  EXPECT_EQ(written->candidates, 4);
  EXPECT_THAT(written->notes, ElementsAre(HasSubstr("modern:3"), HasSubstr("a library did the work")));
  EXPECT_THAT(Files(Path("out")),
              UnorderedElementsAre("level_1_problem_3_sample_0_kernel.cu", "level_1_problem_4_sample_0_kernel.cu",
                                   "level_1_problem_19_sample_0_kernel.cu", "level_1_problem_19_sample_1_kernel.cu",
                                   "eval_results.json", "pass_at_k_results.json", "generation_config.yaml"));
  std::vector<std::string> notes;
  const auto candidates = ReadCandidates(Path("out"), &notes);
  ASSERT_TRUE(candidates) << candidates.error().message;
  EXPECT_THAT(notes, IsEmpty());
  ASSERT_EQ(candidates->size(), 4u);
  EXPECT_EQ(candidates->at(0).model, "m");
  EXPECT_EQ(candidates->at(0).problem, "1/3");
  EXPECT_EQ(ReadSource(candidates->at(0))->text, "source of 1/3\n");
  const auto original = ReadOriginalRun(Path("out"));
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(original->level, 1);
  EXPECT_EQ(original->results.size(), 4u);
  EXPECT_EQ(original->results[0].runtime_ms, 0.5);

  EXPECT_EQ(WriteRunDirectory(store_, "r", Path("out")).error().code, ErrorCode::kUsage) << "not empty";
  EXPECT_EQ(WriteRunDirectory(store_, "other", Path("none")).error().code, ErrorCode::kUsage);
  EXPECT_EQ(WriteRunDirectory(store_, "", Path("none")).error().code, ErrorCode::kUsage);
  EXPECT_FALSE(fs::exists(Path("none")));
}

TEST_F(RunDirectoryTest, WhatDiffersNamesTheDirectories) {
  Add(Evaluation("1/1", 0, "google/a"));
  Add(Evaluation("1/1", 0, "google_a"));
  Add(Evaluation("1/1", 0, ".."));
  Add(Evaluation("1/1", 0, ""));
  const auto written = WriteRunDirectory(store_, "r", Path("out"));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_THAT(Files(Path("out")), UnorderedElementsAre("google_a", "google_a_2", "run..", "run"));
  EXPECT_THAT(Files(Path("out/run..")), testing::Contains("level_1_problem_1_sample_0_kernel.cu"));
  EXPECT_EQ(ReadGenerationConfig(Path("out/run..") / "generation_config.yaml")->model, "..");
}

TEST_F(RunDirectoryTest, LevelsAndSizesAreKeptApart) {
  Add(Evaluation("1/1", 0));
  Add(Evaluation("2/1", 0));
  json small = Evaluation("2/1", 0);
  small["id"] = "small";
  small["size"] = "small";
  Add(small);
  ASSERT_TRUE(WriteRunDirectory(store_, "r", Path("out")));
  EXPECT_THAT(Files(Path("out")), UnorderedElementsAre("level1_standard", "level2_standard", "level2_small"));
}

// Such a candidate has seen no device. Left out, or in a directory of its own, it would make pass@k look better.
TEST_F(RunDirectoryTest, WhatItsTextAloneRefusedCountsWhereTheOthersWereJudged) {
  Add(Evaluation("1/19", 0));
  json rejected = Evaluation("1/19", 1);
  rejected["device_info"] = json::object();
  rejected["verdict"] = "static_rejected";
  rejected["samples"] = json::array();
  Add(rejected);
  auto written = WriteRunDirectory(store_, "r", Path("out"));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_THAT(written->directories, ElementsAre(Path("out")));
  const auto results = ReadEvalResults(Path("out/eval_results.json"));
  ASSERT_EQ(results->size(), 2u);
  EXPECT_EQ(results->at(1).metadata["hardware"], "NVIDIA H200");
  EXPECT_EQ(json::parse(*ReadFile(Path("out/pass_at_k_results.json")))["averages"]["avg_pass@1"], 0.5);

  json elsewhere = Evaluation("1/19", 0);
  elsewhere["id"] = "elsewhere";
  elsewhere["device_info"]["name"] = "NVIDIA H100";
  Add(elsewhere);
  json on_cpu = Evaluation("1/19", 0);
  on_cpu["id"] = "on the cpu";
  on_cpu["device"] = "cpu";
  on_cpu["device_info"]["name"] = "a processor";
  Add(on_cpu);
  ASSERT_TRUE(WriteRunDirectory(store_, "r", Path("more")));
  for (const auto& [name, count] : {std::pair("NVIDIA_H200", 2u), {"NVIDIA_H100", 2u}, {"a_processor", 1u}}) {
    EXPECT_EQ(ReadEvalResults(Path("more") / name / "eval_results.json")->size(), count) << name;
  }
}

TEST_F(RunDirectoryTest, AnswersThatNobodyHasJudgedGoAlong) {
  const auto answer = [&](int sample, const std::optional<std::string>& source) {
    GenerationRequest request;
    request.model = "m";
    request.problem = "1/2";
    request.sample = request.candidate = sample;
    const int64_t id = (*store_.ClaimRequest("r", request, OwnerName()).value()).id;
    ASSERT_TRUE(
        store_.SettleAnswer(store_.AddAnswer(id, OwnerName(), {}).value(), OwnerName(), source, "cu", "", true));
  };
  answer(0, "a kernel");
  answer(1, std::nullopt);
  const auto written = WriteRunDirectory(store_, "r", Path("out"));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->candidates, 1);
  EXPECT_EQ(written->evaluations, 0);
  EXPECT_THAT(written->notes, ElementsAre("1/2 sample 0 of m: nobody has asked for its verdict"));
  EXPECT_EQ(ReadFile(Path("out/level_1_problem_2_sample_0_kernel.cu")).value(), "a kernel");
}

TEST_F(RunDirectoryTest, CandidatesWithoutAVerdictGoAlong) {
  Add(Evaluation("1/1", 0));
  ASSERT_TRUE(WriteFileAtomic(Path("b.py"), "waits"));
  Job job;
  job.model = "m";
  job.problem = "1/2";
  job.size = "standard";
  job.device = "cuda";
  job.protocol = "strict";
  job.path = Path("b.py");
  job.sha256 = Sha256("waits");
  Job lost = job;
  lost.sample = 1;
  lost.sha256 = Sha256("gone");
  Job listed = job;
  listed.sample = 2;
  listed.path = Path("list.jsonl");
  ASSERT_TRUE(WriteFileAtomic(listed.path, R"({"problem": "1/2", "sample": 2, "source": "waits"})"));
  listed.sha256 = Sha256("in a line");
  Job folder = job;
  folder.sample = 3;
  folder.path = Path("mine");
  const FolderFiles files = {{"model_new.py", "waits"}, {"kernels/a.cu", "too"}};
  fs::create_directories(Path("mine/kernels"));
  for (const auto& [path, text] : files) ASSERT_TRUE(WriteFileAtomic(Path("mine/" + path), text));
  folder.sha256 = Sha256(Pack(files).value());
  Job changed = folder;
  changed.sample = 4;
  changed.sha256 = Sha256("before");
  ASSERT_TRUE(store_.AddJobs("r", std::vector<Job>{job, lost, listed, folder, changed}));
  const auto written = WriteRunDirectory(store_, "r", Path("out"));
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->candidates, 3);
  EXPECT_EQ(written->evaluations, 1);
  EXPECT_THAT(written->notes,
              ElementsAre(HasSubstr("sample 0 of m: its job is queued"), HasSubstr("sample 1"), HasSubstr("sample 2"),
                          HasSubstr("sample 3"), HasSubstr("sample 4"), HasSubstr("not there any more"),
                          HasSubstr("sample 2 of m: it has no verdict yet"),
                          HasSubstr("mine: its source is not there any more: it has changed")));
  EXPECT_EQ(ReadFile(Path("out/level_1_problem_2_sample_0_kernel.py")).value(), "waits");
  EXPECT_EQ(ReadFile(Path("out/level_1_problem_2_sample_3_kernel/kernels/a.cu")).value(), "too");
  EXPECT_EQ(ReadEvalResults(Path("out/eval_results.json"))->size(), 1u);
}

TEST_F(RunDirectoryTest, OriginalAndOursSideBySide) {
  fs::create_directory(Path("run"));
  const auto entry = [](int sample, bool correct, double runtime) {
    return json{{"sample_id", sample}, {"compiled", true}, {"correctness", correct}, {"runtime", runtime}};
  };
  const json results = {{"19", {entry(0, true, 2), entry(1, false, -1)}}, {"3", {entry(0, true, -1)}}};
  ASSERT_TRUE(WriteFileAtomic(Path("run/eval_results.json"), results.dump()));
  EXPECT_THAT(ReadOriginalRun(Path("run")).error().message, HasSubstr("--level"));
  ASSERT_TRUE(WriteFileAtomic(Path("run/level_1_problem_19_sample_0_kernel.py"), ""));
  const json times = {{"mean", 3}, {"std", 0}, {"min", 0}, {"max", 0}, {"num_trials", 1}};
  ASSERT_TRUE(WriteFileAtomic(
      Path("b.json"),
      json{{"level1", {{"19_ReLU.py", times}, {"3_X.py", times}}}, {"level2", {{"19_Y.py", times}}}}.dump()));
  const auto original = ReadOriginalRun(Path("run"), {}, Path("b.json"));
  ASSERT_TRUE(original) << original.error().message;
  EXPECT_EQ(original->level, 1);
  EXPECT_EQ(original->model, "run");

  Add(Evaluation("1/19", 0, "run"));
  Add(Evaluation("1/19", 0, "another"));
  Add(Evaluation("1/20", 0, "run"));
  Add(Evaluation("2/19", 1, "run"));
  const auto rows = store_.Scores({.run = "r"}).value();
  const auto pairs = PairSamples(*original, rows);
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_EQ(pairs[0].problem, 3);
  EXPECT_EQ(pairs[0].ours, nullptr);
  EXPECT_FALSE(pairs[0].original_speedup) << "no time, no speedup";
  EXPECT_EQ(pairs[1].original_speedup, 1.5);
  ASSERT_NE(pairs[1].ours, nullptr);
  EXPECT_EQ(pairs[1].ours->model, "run");
  EXPECT_EQ(pairs[2].ours, nullptr) << "another level";
  EXPECT_EQ(pairs[3].problem, 20);
  EXPECT_EQ(pairs[3].original, nullptr);
  EXPECT_THAT(PairSamples(*original, {}), testing::SizeIs(3));
}

}  // namespace
}  // namespace kb
