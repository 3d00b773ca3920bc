#include "interop/inspect_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "base/temp_dir.h"
#include "interop/zip_file.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The archive's members by their names, as Python's zipfile reads them, checksums included.
json Members(const fs::path& file) {
  constexpr char kRead[] =
      "import json, sys, zipfile\n"
      "with zipfile.ZipFile(sys.argv[1]) as z:\n"
      "    assert z.testzip() is None\n"
      "    print(json.dumps({name: json.loads(z.read(name)) for name in z.namelist()}))\n";
  const auto python = FindProgram("python3");
  if (!python) return {};
  const auto done = RunToEnd({.argv = {*python, "-c", kRead, file}}, std::chrono::seconds(60));
  return done ? json::parse(done->output, nullptr, false) : json();
}

class InspectLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!FindProgram("python3")) GTEST_SKIP() << "there is no python3";
  }
  fs::path Path(const std::string& name) const { return directory_.path() / name; }
  void Add(const json& evaluation) {
    const Status added = store_.Add(evaluation);
    ASSERT_TRUE(added) << added.error().message;
  }
  // All of the run "r".
  InspectLog Log() const {
    InspectLog log{"r", "m", "cpu", "Some CPU", "quick", "small", "eager", store_.Scores({.run = "r"}).value(),
                   {},  {},  {}};
    log.metrics = {{"fast_1", "fast_p", 1.0, 0.5}, {"correct", "", {}, 0.75}};
    return log;
  }
  // The members of the only file that is written of this log.
  json Written(const InspectLog& log) {
    const auto written = WriteInspectLogs(store_, {&log, 1}, Path("logs"));
    EXPECT_TRUE(written) << written.error().message;
    return written && written->files.size() == 1 ? Members(written->files[0]) : json();
  }
  std::vector<std::string> Files(const fs::path& directory) const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
    return names;
  }
  // An answer of `m` about 1/19 from which this candidate was taken.
  void Answer(int candidate, const std::string& source, const GenerationAnswer& answer) {
    GenerationRequest request;
    request.model = "m";
    request.problem = "1/19";
    request.sample = request.candidate = candidate;
    const int64_t id = (*store_.ClaimRequest("r", request, OwnerName()).value()).id;
    const int64_t first = store_.AddAnswer(id, OwnerName(), answer).value();
    ASSERT_TRUE(store_.SettleAnswer(first, OwnerName(), source, "py", "", true));
  }
  TempDir directory_ = TempDir::Create("kb-inspect-test").value();
  Store store_ = Store::Open(directory_.path() / "store").value();
};

TEST_F(InspectLogTest, OneCandidateIsOneSample) {
  Add(RunEvaluation("a", 0));
  json wrong = RunEvaluation("b", 1);
  wrong["verdict"] = "incorrect";
  wrong["reason"] = "every element is off";
  wrong["speedup"] = wrong["speedup_interval"] = nullptr;
  Add(wrong);
  json unmeasured = RunEvaluation("c", 2);
  unmeasured["speedup"] = unmeasured["speedup_interval"] = nullptr;
  unmeasured["no_speedup"] = "machine_busy";
  Add(unmeasured);
  const json members = Written(Log());
  ASSERT_TRUE(members.is_object());

  const json& header = members["header.json"];
  EXPECT_EQ(header["version"], 2);
  EXPECT_EQ(header["status"], "success");
  EXPECT_EQ(header["eval"]["created"], "2026-01-01T10:00:00+00:00");
  EXPECT_EQ(header["eval"]["model"], "m");
  EXPECT_EQ(header["eval"]["config"]["epochs"], 3);
  EXPECT_EQ(header["eval"]["dataset"]["sample_ids"], json::array({"1/19"}));
  EXPECT_EQ(header["eval"]["metadata"]["protocol"], "quick");
  EXPECT_EQ(header["results"]["total_samples"], 3);
  const json& metrics = header["results"]["scores"][0]["metrics"];
  EXPECT_EQ(metrics["fast_1"]["value"], 0.5);
  EXPECT_EQ(metrics["fast_1"]["params"]["p"], 1.0);
  EXPECT_EQ(metrics["correct"]["value"], 0.75);
  EXPECT_EQ(members["_journal/start.json"]["eval"], header["eval"]);

  const json& first = members["samples/1/19_epoch_1.json"];
  EXPECT_EQ(first["id"], "1/19");
  EXPECT_EQ(first["epoch"], 1);
  EXPECT_EQ(first["uuid"], "a");
  EXPECT_EQ(first["messages"].back()["role"], "assistant");
  EXPECT_EQ(first["messages"].back()["content"], "```python\nsource a\n```\n");
  const json& score = first["scores"]["judge"];
  EXPECT_EQ(score["value"], (json{{"speedup", 1.5}, {"correct", 1}}));
  EXPECT_EQ(score["answer"], "source a");
  EXPECT_EQ(score["explanation"], "correct: 1.5 times as fast as eager [1.4, 1.6]");
  EXPECT_EQ(score["metadata"]["evaluation"], "a");
  EXPECT_EQ(score["metadata"]["speedup_interval"], json::array({1.4, 1.6}));
  const json& second = members["samples/1/19_epoch_2.json"]["scores"]["judge"];
  EXPECT_EQ(second["value"], (json{{"speedup", 0}, {"correct", 0}}));
  EXPECT_EQ(second["explanation"], "incorrect: every element is off");
  const json& third = members["samples/1/19_epoch_3.json"]["scores"]["judge"];
  EXPECT_EQ(third["value"], (json{{"speedup", nullptr}, {"correct", 1}})) << "a time that is not known is no zero";
  EXPECT_EQ(third["metadata"]["no_speedup"], "machine_busy");
  EXPECT_EQ(third["explanation"], "correct, without a speedup: machine_busy");

  const json& summaries = members["summaries.json"];
  ASSERT_EQ(summaries.size(), 3u);
  EXPECT_EQ(summaries[0]["scores"]["judge"]["value"], score["value"]);
  EXPECT_FALSE(summaries[0].contains("messages"));
}

TEST_F(InspectLogTest, ConversationsAreKeptWithTokensAndCost) {
  Add(RunEvaluation("a", 0));
  GenerationAnswer answer;
  answer.prompt =
      json{{"system", "You write kernels."}, {"messages", {{{"role", "user"}, {"text", "Problem 1/19"}}}}}.dump();
  answer.response = "Here: \xff";
  answer.reasoning = "a loop will do";
  answer.finish = "length";
  answer.input = 10;
  answer.cache_read = 5;
  answer.output = 7;
  answer.cost_usd = 0.25;
  Answer(0, "source a", answer);
  Add(RunEvaluation("b", 1));
  Answer(1, "not what was judged", answer);
  const json members = Written(Log());
  const json& sample = members["samples/1/19_epoch_1.json"];
  EXPECT_EQ(sample["input"], "Problem 1/19");
  ASSERT_EQ(sample["messages"].size(), 3u);
  EXPECT_EQ(sample["messages"][0], (json{{"role", "system"}, {"content", "You write kernels."}}));
  EXPECT_EQ(sample["messages"][2]["content"][0]["reasoning"], "a loop will do");
  EXPECT_EQ(sample["messages"][2]["content"][1]["text"], "Here: \xEF\xBF\xBD");
  EXPECT_EQ(sample["output"]["choices"][0]["stop_reason"], "max_tokens");
  EXPECT_EQ(sample["model_usage"]["m"]["total_tokens"], 22);
  EXPECT_EQ(sample["model_usage"]["m"]["total_cost"], 0.25);
  EXPECT_EQ(sample["metadata"]["cost_usd"], 0.25);
  EXPECT_EQ(members["samples/1/19_epoch_2.json"]["messages"].size(), 2u) << "the answer is not the candidate";
  EXPECT_EQ(members["header.json"]["stats"]["model_usage"]["m"]["input_tokens"], 10);
}

// An evaluation from elsewhere may hold anything.
TEST_F(InspectLogTest, OddEvaluationsAreWritten) {
  json odd = RunEvaluation("a", 0);
  odd.update({{"notes", "none"}, {"evidence", {1}}, {"mismatch", 3}, {"no_speedup", 4}, {"speedup_interval", "wide"}});
  odd["created"] = "yesterday";
  Add(odd);
  GenerationAnswer answer;
  answer.prompt = R"({"messages": [1, {"role": 2}], "system": []})";
  Answer(0, "source a", answer);
  const json members = Written(Log());
  ASSERT_TRUE(members.is_object());
  EXPECT_EQ(members["samples/1/19_epoch_1.json"]["messages"].size(), 3u);
  EXPECT_FALSE(members["samples/1/19_epoch_1.json"].contains("completed_at"));
}

TEST_F(InspectLogTest, WhatTheEngineFailedAtIsAnError) {
  Add(RunEvaluation("a", 0));
  InspectLog log = Log();
  log.rows.push_back(log.rows[0]);
  log.rows[1].id = log.rows[1].verdict = log.rows[1].created = "";
  log.rows[1].sample = 4;
  log.rows[1].reason = "the GPU fell off the bus";
  log.if_all_pass = {{"fast_1", "fast_p", 1.0, 1.0}};
  const json members = Written(log);
  const json& sample = members["samples/1/19_epoch_5.json"];
  EXPECT_EQ(sample["error"]["message"], "the GPU fell off the bus");
  EXPECT_FALSE(sample.contains("scores")) << "it is no zero";
  EXPECT_THAT(sample["messages"].back()["content"].get<std::string>(), HasSubstr("source a"));
  EXPECT_EQ(members["summaries.json"][1]["error"], "the GPU fell off the bus");
  EXPECT_EQ(members["header.json"]["results"]["total_samples"], 2);
  EXPECT_EQ(members["header.json"]["results"]["completed_samples"], 1);
  const json& range = members["header.json"]["results"]["scores"][1];
  EXPECT_EQ(range["name"], "if_all_pass");
  EXPECT_EQ(range["metrics"]["fast_1"]["value"], 1.0);
}

TEST_F(InspectLogTest, OneFileForEachLogAndAllOrNone) {
  Add(RunEvaluation("a", 0));
  std::vector<InspectLog> logs = {Log(), Log()};
  logs[1].model = "another";
  for (int time = 0; time < 2; ++time) {
    const auto written = WriteInspectLogs(store_, logs, Path("logs"));
    ASSERT_TRUE(written) << written.error().message;
    EXPECT_EQ(written->samples, 2);
    EXPECT_EQ(Files(Path("logs")).size(), 2u) << "the second time takes the place of the first";
  }
  logs[1].rows[0].id = "gone";
  EXPECT_FALSE(WriteInspectLogs(store_, logs, Path("none")));
  EXPECT_THAT(Files(Path("none")), IsEmpty());
  EXPECT_EQ(WriteInspectLogs(store_, {}, Path("nothing")).error().code, ErrorCode::kUsage);
  EXPECT_FALSE(fs::exists(Path("nothing")));
  EXPECT_EQ(WriteInspectLogs(store_, logs, Path("store") / "logs").error().code, ErrorCode::kUsage);
}

TEST_F(InspectLogTest, AZipFileAsOthersReadIt) {
  EXPECT_EQ(Crc32("123456789"), 0xCBF43926u) << "the check value of CRC-32";
  EXPECT_EQ(Crc32(""), 0u);
  {
    auto file = ZipFile::Create(Path("left.zip"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->Add("a", "1"));
  }
  EXPECT_THAT(Files(directory_.path()), testing::Not(testing::Contains(testing::StartsWith("left"))));
  auto file = ZipFile::Create(Path("x.zip"));
  ASSERT_TRUE(file);
  const json big = std::string(100'000, 'x');
  ASSERT_TRUE(file->Add("folder/\xC3\xA9.json", big.dump()));
  ASSERT_TRUE(file->Add("empty", "null"));
  ASSERT_TRUE(file->Commit());
  EXPECT_EQ(Members(Path("x.zip")), (json{{"folder/\xC3\xA9.json", big}, {"empty", nullptr}}));
}

}  // namespace
}  // namespace kb
