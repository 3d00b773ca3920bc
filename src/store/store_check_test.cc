// Checking and cleaning up, on real files: what is damaged by hand must be found, what is used must stay.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/temp_dir.h"
#include "store/compress.h"
#include "store/store.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAreArray;

json OldEvaluation(const std::string& id, const std::string& created = "2020-01-01T10:00:00Z") {
  const std::string source = "class ModelNew: pass  # " + id;
  return {{"id", id},
          {"created", created},
          {"problem", "1/19"},
          {"problem_sha256", "of " + id},
          {"size", "small"},
          {"device", "cpu"},
          {"device_info", {{"name", "CPU of " + id}}},
          {"protocol", "quick"},
          {"baseline", "eager"},
          {"undisturbed_baseline_us", 10.0},
          {"candidate", {{"path", "a.py"}, {"sha256", Sha256(source)}, {"source", source}}},
          {"verdict", "correct"},
          {"samples", {{{"index", 0}}}},
          {"measurements", {{"rounds", json::array()}}},
          {"engine_us", {{"build", 1.0}}}};
}

json OfRun(json evaluation, int sample) {
  evaluation["run"] = "r";
  evaluation["model"] = "m";
  evaluation["sample"] = sample;
  return evaluation;
}

class MaintenanceTest : public ::testing::Test {
 protected:
  MaintenanceTest() : directory_(TempDir::Create("kb-maintenance-test").value()), path_(directory_.path() / "s.db") {}
  Store Open() const { return Store::Open(path_).value(); }
  void Fill(const std::vector<json>& evaluations) const {
    Store store = Open();
    for (const json& evaluation : evaluations) ASSERT_TRUE(store.Add(evaluation));
  }
  // Jobs 1 to `count` of run "r", the first of them done with the evaluation "done".
  void AddJobs(int count) const {
    Store store = Open();
    std::vector<Job> jobs;
    for (int i = 0; i < count; ++i) jobs.push_back(QueuedJob(i));
    ASSERT_TRUE(store.AddJobs("r", jobs));
    ASSERT_TRUE(store.ClaimJob(1, "o").value());
    ASSERT_TRUE(store.FinishJob(1, "o", OfRun(OldEvaluation("done"), 0)));
  }
  // As somebody with another tool would, whom no constraint stops.
  void Damage(const std::string& sql) const {
    SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
    ASSERT_GT(database.exec(sql), 0) << sql;
  }
  void DamageBlob(const std::string& sql, const std::string& blob) const {
    SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE);
    SQLite::Statement update(database, sql);
    update.bind(1, blob.data(), static_cast<int>(blob.size()));
    ASSERT_EQ(update.exec(), 1) << sql;
  }
  std::vector<std::string> Wrong() const { return Open().Check().value().wrong; }
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    const std::vector<json> all = Open().List().value();
    for (const json& each : all) ids.push_back(each.at("id"));
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  Garbage Collect(const GarbageOptions& options = {}) const { return Open().CollectGarbage(options).value(); }

  TempDir directory_;
  std::filesystem::path path_;
};

TEST_F(MaintenanceTest, ASoundStoreIsCounted) {
  Fill({OldEvaluation("a"), OldEvaluation("b")});
  AddJobs(2);
  const StoreHealth health = Open().Check().value();
  EXPECT_THAT(health.wrong, IsEmpty());
  EXPECT_THAT(health.stranded, IsEmpty());
  EXPECT_EQ(health.rows.at("evaluations"), 3);
  EXPECT_EQ(health.rows.at("samples"), 3);
  EXPECT_EQ(health.rows.at("measurements"), 3);
  EXPECT_EQ(health.rows.at("audits"), 0);
  EXPECT_THAT(health.states, ElementsAre(Pair("done", 1), Pair("queued", 1)));
}

TEST_F(MaintenanceTest, DamagedBlobsAreNamed) {
  Fill({OldEvaluation("a"), OldEvaluation("b"), OldEvaluation("c")});
  std::string frame = Compress(OldEvaluation("a").dump());
  frame[frame.size() / 2] = static_cast<char>(~frame[frame.size() / 2]);
  DamageBlob("UPDATE evaluations SET json = ? WHERE id = 'a'", frame);
  DamageBlob("UPDATE samples SET data = ? WHERE evaluation_id = 'b'", Compress("[{}, {}]"));
  DamageBlob("UPDATE evaluations SET json = ? WHERE id = 'c'", Compress("no JSON"));
  DamageBlob("UPDATE measurements SET data = ? WHERE evaluation_id = 'c'", Compress("no JSON"));
  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("the evaluation a cannot be decompressed"),
                                   HasSubstr("the evaluation c is no JSON"), HasSubstr("the samples of b are not 1"),
                                   HasSubstr("what was measured for c is no JSON")));
}

TEST_F(MaintenanceTest, SourcesMustHaveTheirHash) {
  Fill({OldEvaluation("a"), OldEvaluation("b")});
  const std::string a = Sha256("class ModelNew: pass  # a"), b = Sha256("class ModelNew: pass  # b");
  DamageBlob("UPDATE candidates SET source = ? WHERE sha256 = '" + a + "'", Compress("class ModelNew: cheat"));
  DamageBlob("UPDATE candidates SET source = ? WHERE sha256 = '" + b + "'", "");
  EXPECT_THAT(Wrong(), testing::UnorderedElementsAre(HasSubstr("the source " + a + " has another hash"),
                                                     HasSubstr("the source " + b + " cannot be decompressed")));
}

TEST_F(MaintenanceTest, JobsMustAgreeWithTheirEvaluations) {
  Fill({OldEvaluation("other")});
  AddJobs(7);
  Open().ClaimJob(7, "o").value();
  ASSERT_TRUE(Open().FinishJob(7, "o", OfRun(OldEvaluation("seventh"), 6)));
  Damage("UPDATE jobs SET state = 'done', evaluation_id = 'gone' WHERE id = 2");
  Damage("UPDATE jobs SET state = 'done', evaluation_id = 'other' WHERE id = 3");
  Damage("UPDATE jobs SET evaluation_id = 'other' WHERE id = 4");
  Damage("UPDATE jobs SET state = 'running' WHERE id = 5");
  Damage("UPDATE jobs SET state = 'done' WHERE id = 6");
  Damage("UPDATE jobs SET problem_sha256 = 'another' WHERE id = 1");
  const auto wrong = Wrong();
  for (const char* said : {"the job 1 of the run r is done, but its evaluation done is of something else",
                           "the job 2 of the run r is done, but its evaluation gone is not there",
                           "the job 3 of the run r is done, but its evaluation other is of something else",
                           "the job 4 of the run r is queued, but has the evaluation other",
                           "the job 5 of the run r is running, but its owner is \"\"",
                           "the job 6 of the run r is done without an evaluation"}) {
    EXPECT_THAT(wrong, Contains(said));
  }
  EXPECT_THAT(wrong, Not(Contains(HasSubstr("the job 7 ")))) << "that one is right";
}

TEST_F(MaintenanceTest, JobsOfDeadProcessesAreNoDamage) {
  AddJobs(3);
  const std::string self = OwnerName();
  const std::string dead = self.substr(0, self.rfind(' ')) + " 1";  // this process, had it started earlier
  {
    Store store = Open();
    ASSERT_TRUE(store.ClaimJob(2, self).value());
    ASSERT_TRUE(store.ClaimJob(3, dead).value());
  }
  const StoreHealth health = Open().Check().value();
  EXPECT_THAT(health.wrong, IsEmpty());
  EXPECT_THAT(health.stranded, ElementsAre(HasSubstr("the job 3 of the run r")));
}

TEST_F(MaintenanceTest, BrokenReferencesAndTexts) {
  Fill({OldEvaluation("a")});
  Damage("DELETE FROM problems");
  Damage("UPDATE devices SET info = 'no JSON'");
  EXPECT_THAT(Wrong(), ElementsAre(HasSubstr("1 rows of baselines refer to problems that are not there"),
                                   HasSubstr("1 rows of evaluations refer to problems that are not there"),
                                   "the device in row 1 is no JSON"));
}

TEST_F(MaintenanceTest, APageOfRubbishIsFoundAndTheRestIsRead) {
  std::vector<json> many;
  for (int i = 0; i < 50; ++i) many.push_back(OldEvaluation("e" + std::to_string(i)));
  Fill(many);
  int64_t page = 0, size = 0;
  {
    SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    page = database.execAndGet("SELECT rootpage FROM sqlite_schema WHERE name = 'samples'").getInt64();
    size = database.execAndGet("PRAGMA page_size").getInt64();
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp((page - 1) * size);
  file << std::string(static_cast<size_t>(size), 'x');
  file.close();
  const StoreHealth health = Open().Check().value();
  EXPECT_THAT(health.wrong, Contains(AnyOf(HasSubstr("SQLite: "), HasSubstr("damaged"))));
  EXPECT_EQ(health.rows.at("evaluations"), 50);
}

TEST_F(MaintenanceTest, WhatIsUsedStays) {
  Fill({OldEvaluation("a"), OldEvaluation("b")});
  AddJobs(2);
  const Garbage garbage = Collect();
  for (const auto& [table, rows] : garbage.rows) EXPECT_EQ(rows, 0) << table;
  EXPECT_THAT(Ids(), ElementsAre("a", "b", "done"));
  EXPECT_EQ(Open().Get("a")->at("candidate").at("source"), "class ModelNew: pass  # a");
  EXPECT_THAT(Wrong(), IsEmpty());
}

TEST_F(MaintenanceTest, OldEvaluationsGoWithAllThatOnlyTheyUsed) {
  Fill({OldEvaluation("old"), OldEvaluation("new", "2999-01-01T10:00:00Z")});
  for (const char* id : {"old", "new"}) ASSERT_TRUE(Open().AddReview({id, "auditor", "", true, {}, "{}", "{}"}));
  EXPECT_EQ(Collect({.older_than_days = 1, .dry_run = true}).rows.at("evaluations"), 1);
  EXPECT_THAT(Ids(), ElementsAre("new", "old")) << "that was a dry run";
  const Garbage garbage = Collect({.older_than_days = 1});
  for (const auto& [table, rows] : garbage.rows) EXPECT_EQ(rows, 1) << table;
  EXPECT_LE(garbage.bytes_after.value(), garbage.bytes_before);
  EXPECT_THAT(Ids(), ElementsAre("new"));
  EXPECT_EQ(Open().Get("new")->at("samples").size(), 1u);
  EXPECT_THAT(Wrong(), IsEmpty());
}

// Of one candidate on one device, of which two sessions may say different things.
json OfSession(const std::string& id, const std::string& created, const std::string& session) {
  json evaluation = OldEvaluation(id, created);
  evaluation["device_info"] = {{"name", "CPU"}, {"python", session}};
  return evaluation;
}

TEST_F(MaintenanceTest, TheNewestOfEachCandidateMayStay) {
  json other = OldEvaluation("other device");
  json changed = OfSession("fp16", "2020-01-01T10:00:00Z", "3.12");
  changed["protocol_keys"] = {{"precision", "fp16"}};
  changed["protocol_changed"] = {"precision"};
  Fill({OfSession("first", "2020-01-01T10:00:00Z", "3.11"), OfSession("second", "2020-01-02T10:00:00Z", "3.12"), other,
        changed});
  EXPECT_EQ(Open().Check()->rows.at("devices"), 3);
  EXPECT_EQ(Collect({.older_than_days = 1, .keep_newest = true}).rows.at("evaluations"), 1);
  EXPECT_THAT(Ids(), ElementsAre("fp16", "other device", "second"));
  std::vector<std::string> scored;
  const auto rows = Open().Scores().value();
  for (const ScoreRow& row : rows) scored.push_back(row.id);
  EXPECT_THAT(scored, UnorderedElementsAreArray(Ids())) << "what scores count";
  EXPECT_EQ(Collect({.older_than_days = 1}).rows.at("evaluations"), 3);
}

TEST_F(MaintenanceTest, TheNewestOfARunsJobStaysUnderEachRule) {
  json changed = OfRun(OldEvaluation("fp16"), 0);
  changed["protocol_keys"] = {{"precision", "fp16"}};
  changed["protocol_changed"] = {"precision"};
  Fill({changed, OfRun(OldEvaluation("plain", "2020-01-02T10:00:00Z"), 0)});
  EXPECT_EQ(Collect({.older_than_days = 1}).rows.at("evaluations"), 0);
}

TEST_F(MaintenanceTest, WhatARunNeedsStaysHoweverOld) {
  Fill({OfRun(OldEvaluation("before", "2020-01-01T09:00:00Z"), 0), OfRun(OldEvaluation("earlier"), 1),
        OfRun(OldEvaluation("latest", "2020-01-02T10:00:00Z"), 1), OldEvaluation("nobody's")});
  AddJobs(2);  // "done" is that of job 1; job 2 is queued anew
  Collect({.older_than_days = 1});
  EXPECT_THAT(Ids(), ElementsAre("done", "latest"));
  EXPECT_EQ(Open().Jobs("r")->at(0).evaluation_id, "done");
  EXPECT_THAT(Wrong(), IsEmpty());
}

TEST_F(MaintenanceTest, AReferredEvaluationStaysThoughThereIsANewerOne) {
  AddJobs(1);
  Fill({OfRun(OldEvaluation("newer", "2020-01-02T10:00:00Z"), 0)});
  Collect({.older_than_days = 1});
  EXPECT_THAT(Ids(), ElementsAre("done", "newer"));
}

TEST_F(MaintenanceTest, OrphansOfOtherToolsGo) {
  Fill({OldEvaluation("a"), OldEvaluation("b")});
  Damage("DELETE FROM evaluations WHERE id = 'b'");
  const Garbage garbage = Collect();
  EXPECT_EQ(garbage.rows.at("evaluations"), 0);
  for (const char* table : {"samples", "builds", "baselines", "candidates", "devices", "problems"}) {
    EXPECT_EQ(garbage.rows.at(table), 1) << table;
  }
  EXPECT_THAT(Wrong(), IsEmpty());
}

TEST_F(MaintenanceTest, WhereAnotherProcessWritesNothingIsRemoved) {
  Fill({OldEvaluation("old")});
  Store store = Store::Open(path_, {.busy_timeout_ms = 50}).value();
  SQLite::Database other(path_.string(), SQLite::OPEN_READWRITE);
  const SQLite::Transaction writing(other, SQLite::TransactionBehavior::IMMEDIATE);
  const auto collected = store.CollectGarbage({.older_than_days = 1});
  ASSERT_FALSE(collected);
  EXPECT_EQ(collected.error().code, ErrorCode::kStore);
  EXPECT_THAT(collected.error().message, HasSubstr("locked"));
  EXPECT_THAT(Ids(), ElementsAre("old"));
}

}  // namespace
}  // namespace kb
