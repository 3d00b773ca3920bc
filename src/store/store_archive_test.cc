#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/hash.h"
#include "base/temp_dir.h"
#include "store/compress.h"
#include "store/migrations.h"
#include "store/store.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class ArchiveTest : public ::testing::Test {
 protected:
  fs::path Path(const std::string& name) const { return directory_.path() / name; }
  Store Open(const std::string& name) const { return Store::Open(Path(name)).value(); }
  static std::vector<std::string> States(const Store& store, const std::string& run) {
    std::vector<std::string> states;
    const std::vector<Job> jobs = store.Jobs(run).value();
    for (const Job& job : jobs) states.push_back(job.state);
    return states;
  }
  static void Finish(Store& store, const std::string& run, size_t job, const std::string& id) {
    const std::vector<Job> jobs = store.Jobs(run).value();
    ASSERT_TRUE(store.ClaimJob(jobs[job].id, "me").value());
    ASSERT_TRUE(store.FinishJob(jobs[job].id, "me", RunEvaluation(id, jobs[job].sample, run)));
  }
  // An archive of one evaluation and its job, to which `change` was done.
  fs::path Changed(const std::string& sql) const {
    fs::remove(Path("plain.sqlite"));
    EXPECT_TRUE(DecompressFile(Path("good.kbrun"), Path("plain.sqlite"), 1 << 30));
    {
      SQLite::Database database(Path("plain.sqlite").string(), SQLite::OPEN_READWRITE);
      database.exec(sql);
    }
    EXPECT_TRUE(CompressFile(Path("plain.sqlite"), Path("changed.kbrun")));
    return Path("changed.kbrun");
  }
  void WriteGood() const {
    Store store = Open("good");
    ASSERT_TRUE(store.AddJobs("r", std::vector<Job>{QueuedJob(0)}));
    Finish(store, "r", 0, "e");
    ASSERT_TRUE(store.ExportRun("r", Path("good.kbrun")));
  }
  // The archive is refused, and what the store holds stays.
  void ExpectRefused(const fs::path& archive, const std::string& said) const {
    Store store = Open("mine");
    if (store.Runs()->empty()) {
      ASSERT_TRUE(store.Add(RunEvaluation("mine", 0, "mine")));
    }
    const auto imported = store.ImportRun(archive);
    ASSERT_FALSE(imported) << said;
    EXPECT_THAT(imported.error().message, AllOf(HasSubstr(archive.filename().string()), HasSubstr(said)));
    EXPECT_THAT(store.Runs().value(), ElementsAre("mine"));
    EXPECT_EQ(store.List()->size(), 1u);
  }

  TempDir directory_ = TempDir::Create("kb-archive-test").value();
};

TEST_F(ArchiveTest, WhatComesOutIsWhatWentIn) {
  Store from = Open("from");
  ASSERT_TRUE(WriteFileAtomic(Path("waits.py"), "waits"));
  ASSERT_TRUE(WriteFileAtomic(Path("other.py"), "other"));
  ASSERT_TRUE(from.AddJobs("r", std::vector<Job>{QueuedJob(0), QueuedJob(1, Sha256("waits"), Path("waits.py")),
                                                 QueuedJob(2, "changed", Path("other.py")), QueuedJob(3)}));
  Finish(from, "r", 0, "a");
  ASSERT_TRUE(from.ClaimJob(from.Jobs("r")->at(2).id, "me").value());
  ASSERT_TRUE(from.ClaimJob(from.Jobs("r")->at(3).id, "me").value());
  ASSERT_TRUE(from.GiveUpJob(from.Jobs("r")->at(3).id, "me", "no device", false));
  ASSERT_TRUE(from.Add(RunEvaluation("b", 4)));
  ASSERT_TRUE(from.Add(RunEvaluation("elsewhere", 0, "other run")));

  const auto exported = from.ExportRun("r", Path("r.kbrun"));
  ASSERT_TRUE(exported) << exported.error().message;
  EXPECT_EQ(exported->evaluations, 2);
  EXPECT_EQ(exported->jobs, 4);
  EXPECT_EQ(exported->jobs_without_source, 2);
  EXPECT_EQ(from.ExportRun("nobody's", Path("n.kbrun")).error().code, ErrorCode::kUsage);
  EXPECT_FALSE(fs::exists(Path("n.kbrun")));
  EXPECT_EQ(from.ExportRun("r", "/nowhere/r.kbrun").error().code, ErrorCode::kUnavailable);

  Store to = Open("to");
  const auto imported = to.ImportRun(Path("r.kbrun"));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->run, "r");
  EXPECT_EQ(imported->evaluations, 2);
  EXPECT_EQ(imported->jobs, 4);
  EXPECT_EQ(to.List().value(), from.List({.run = "r"}).value());
  EXPECT_EQ(to.Get("a").value(), from.Get("a").value());
  EXPECT_EQ(to.Source(Sha256("waits")).value(), "waits");
  EXPECT_EQ(to.Source(Sha256("other")).error().code, ErrorCode::kUsage);
  EXPECT_THAT(States(to, "r"), ElementsAre("done", "queued", "queued", "failed"));
  EXPECT_EQ(to.Jobs("r")->at(0).evaluation_id, "a");
  EXPECT_EQ(to.Jobs("r")->at(3).error, "no device");

  const auto again = to.ImportRun(Path("r.kbrun"));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->evaluations + again->jobs, 0);
  EXPECT_EQ(again->known_evaluations, 2);
  EXPECT_EQ(again->known_jobs, 4);
}

TEST_F(ArchiveTest, AnotherName) {
  WriteGood();
  Store store = Open("to");
  ASSERT_TRUE(store.ImportRun(Path("good.kbrun"), "renamed"));
  EXPECT_THAT(store.Runs().value(), ElementsAre("renamed"));
  EXPECT_EQ(store.Get("e")->at("run"), "renamed");
  EXPECT_EQ(store.List({.run = "renamed"})->size(), 1u);
  EXPECT_THAT(States(store, "renamed"), ElementsAre("done"));
}

TEST_F(ArchiveTest, WhatIsInAnotherRunStaysThere) {
  Store store = Open("here");
  ASSERT_TRUE(store.AddJobs("r", std::vector<Job>{QueuedJob(0), QueuedJob(1)}));
  Finish(store, "r", 0, "a");
  Finish(store, "r", 1, "b");
  ASSERT_TRUE(store.ExportRun("r", Path("judged.kbrun")));
  for (const char* as : {"second", "\xff"}) {
    const auto all = store.ImportRun(Path("judged.kbrun"), as);
    ASSERT_FALSE(all);
    EXPECT_EQ(all.error().code, ErrorCode::kUsage);
    EXPECT_THAT(all.error().message, AllOf(HasSubstr("judged.kbrun"), HasSubstr("all 2"), HasSubstr("in the run r")));
    EXPECT_THAT(store.Runs().value(), ElementsAre("r"));
  }

  Store there = Open("there");
  ASSERT_TRUE(there.ImportRun(Path("judged.kbrun")));
  ASSERT_TRUE(there.AddJobs("r", std::vector<Job>{QueuedJob(2), QueuedJob(3)}));
  Finish(there, "r", 2, "c");
  ASSERT_TRUE(there.ExportRun("r", Path("more.kbrun")));
  for (const bool again : {false, true}) {
    const auto imported = store.ImportRun(Path("more.kbrun"), "second");
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_EQ(imported->evaluations, again ? 0 : 1);
    EXPECT_EQ(imported->known_evaluations, again ? 1 : 0);
    EXPECT_THAT(imported->elsewhere, ElementsAre(Pair("r", 2)));
    EXPECT_EQ(imported->jobs, again ? 0 : 2);
    EXPECT_EQ(imported->known_jobs, again ? 2 : 0);
    EXPECT_EQ(imported->jobs_elsewhere, 2);
  }
  EXPECT_THAT(States(store, "r"), ElementsAre("done", "done"));
  EXPECT_THAT(States(store, "second"), ElementsAre("done", "queued"));
  EXPECT_THAT(store.Check()->wrong, IsEmpty());

  const auto home = store.ImportRun(Path("more.kbrun"));
  ASSERT_TRUE(home) << home.error().message;
  EXPECT_THAT(home->elsewhere, ElementsAre(Pair("second", 1)));
  EXPECT_THAT(States(store, "r"), ElementsAre("done", "done", "queued"));
  EXPECT_THAT(store.Check()->wrong, IsEmpty());
}

TEST_F(ArchiveTest, ARunsNameThatIsNotUtf8) {
  WriteGood();
  Store store = Open("to");
  ASSERT_TRUE(store.ImportRun(Path("good.kbrun"), "\xff"));
  EXPECT_THAT(store.Runs().value(), ElementsAre("\xef\xbf\xbd"));
  EXPECT_THAT(store.Check()->wrong, IsEmpty());
}

TEST_F(ArchiveTest, HalvesOfARunComeTogether) {
  const std::vector<Job> jobs = {QueuedJob(0), QueuedJob(1), QueuedJob(2), QueuedJob(3, "edited there")};
  Store here = Open("here"), there = Open("there");
  ASSERT_TRUE(here.AddJobs("r", jobs));
  ASSERT_TRUE(there.AddJobs("r", jobs));
  ASSERT_TRUE(here.AddJobs("r", std::vector<Job>{QueuedJob(3, "edited here")}));
  Finish(here, "r", 0, "here0");
  Finish(there, "r", 0, "there0");
  Finish(there, "r", 1, "there1");
  Finish(there, "r", 3, "there3");
  ASSERT_TRUE(there.ExportRun("r", Path("there.kbrun")));
  const auto imported = here.ImportRun(Path("there.kbrun"));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->evaluations, 3);
  EXPECT_EQ(imported->jobs, 1);
  EXPECT_THAT(States(here, "r"), ElementsAre("done", "done", "queued", "queued"));
  EXPECT_EQ(here.Jobs("r")->at(0).evaluation_id, "here0") << "what was judged here stays";
  EXPECT_EQ(here.Jobs("r")->at(1).evaluation_id, "there1");
}

TEST_F(ArchiveTest, JobsKeepTheirProblemsText) {
  Store here = Open("here"), there = Open("there"), third = Open("third");
  ASSERT_TRUE(there.AddJobs("r", std::vector{QueuedJobAbout("p", 0), QueuedJobAbout("p", 1), QueuedJobAbout("p", 2)}));
  for (const size_t job : {0, 1, 2}) Finish(there, "r", job, "there" + std::to_string(job));
  ASSERT_TRUE(there.ExportRun("r", Path("there.kbrun")));
  ASSERT_TRUE(third.ImportRun(Path("there.kbrun")));
  EXPECT_EQ(third.Jobs("r")->at(0).problem_sha256, "p");

  ASSERT_TRUE(here.AddJobs("r", std::vector{QueuedJobAbout("another", 0), QueuedJobAbout("p", 1), QueuedJob(2)}));
  const auto imported = here.ImportRun(Path("there.kbrun"));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(imported->evaluations, 3);
  EXPECT_THAT(States(here, "r"), ElementsAre("queued", "done", "done")) << "the first is about another text";
  EXPECT_EQ(here.Jobs("r")->at(2).problem_sha256, "p") << "which was not known";
  EXPECT_THAT(here.Check()->wrong, IsEmpty());
}

TEST_F(ArchiveTest, DamagedArchivesChangeNothing) {
  WriteGood();
  const std::string good = ReadFile(Path("good.kbrun")).value();
  const auto write = [&](const std::string& bytes) {
    EXPECT_TRUE(WriteFileAtomic(Path("changed.kbrun"), bytes));
    return Path("changed.kbrun");
  };
  ExpectRefused(Path("missing.kbrun"), "cannot be imported");
  ExpectRefused(directory_.path(), "cannot be imported");
  ExpectRefused(write(""), "ends too early");
  ExpectRefused(write("no archive"), "cannot be imported");
  ExpectRefused(write(good.substr(0, good.size() / 2)), "ends too early");
  ExpectRefused(write(good + "x"), "follows");
  for (size_t at = 4; at < good.size(); at += good.size() / 16) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x55);
    ExpectRefused(write(flipped), "cannot be imported");
  }
  ExpectRefused(write(Compress("no database, but compressed")), "damaged");
  ExpectRefused(write(Compress(std::string(size_t{300} << 20, '\0'))), "holds more than");
}

TEST_F(ArchiveTest, HostileArchivesChangeNothing) {
  WriteGood();
  const std::pair<std::string, const char*> kCases[] = {
      {"CREATE TRIGGER t AFTER INSERT ON runs BEGIN SELECT 1; END", "schema"},
      {"CREATE VIEW v AS SELECT 1", "schema"},
      {"CREATE TABLE extra (a)", "schema"},
      {"ALTER TABLE samples RENAME TO elsewhere; CREATE VIEW samples AS SELECT * FROM elsewhere", "schema"},
      {"PRAGMA user_version = 99", "newer"},
      {"PRAGMA user_version = 0", "no archive"},
      {"PRAGMA user_version = 1", "schema"},
      {"PRAGMA application_id = 1", "no archive"},
      {"PRAGMA foreign_keys = OFF; DELETE FROM runs", "one run"},
      {"INSERT INTO runs (id, name, created) VALUES (7, 'two', '')", "one run"},
      {"UPDATE runs SET name = ''", "one run"},
      {"UPDATE evaluations SET json = x'00'", "the evaluation e"},
      {"UPDATE samples SET data = zeroblob(100)", "the evaluation e"},
      {"UPDATE jobs SET evaluation_id = 'nowhere'", "a job"},
      {"UPDATE jobs SET sample = 7", "is of something else"},
      {"UPDATE jobs SET problem_sha256 = 'q'", "is of something else"},
      {"INSERT INTO candidates VALUES ('abc', '', '', 1, x'00')", "sources"},
  };
  for (const auto& [sql, said] : kCases) {
    SCOPED_TRACE(sql);
    ExpectRefused(Changed(sql), said);
  }
}

TEST_F(ArchiveTest, HostileRecordsChangeNothing) {
  WriteGood();
  const auto with_json = [&](const std::string& text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (const unsigned char byte : Compress(text)) hex += {kDigits[byte >> 4], kDigits[byte & 15]};
    return Changed("UPDATE evaluations SET json = x'" + hex + "'");
  };
  json evaluation = RunEvaluation("e");
  evaluation["verdict"] = "excellent";
  ExpectRefused(with_json(evaluation.dump()), "the evaluation e");
  ExpectRefused(with_json(RunEvaluation("another").dump()), "another id");
  ExpectRefused(with_json("[]"), "the evaluation e");
  ExpectRefused(with_json("{\"id\": \"e\", \"candidate\": 3}"), "the evaluation e");
  ExpectRefused(with_json("{\"id\": \"e\xff\"}"), "the evaluation e");
  ExpectRefused(with_json("{\"a\": " + std::string(1 << 20, '[') + std::string(1 << 20, ']') + "}"), "too deep");
  ExpectRefused(with_json(std::string(size_t{65} << 20, ' ')), "the evaluation e");
}

TEST_F(ArchiveTest, ArchivesOfEarlierVersionsAreRead) {
  fs::remove(Path("old.sqlite"));
  {
    SQLite::Database database(Path("old.sqlite").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    ASSERT_TRUE(Migrate(database, Migrations().first(1)));
    database.exec(
        "INSERT INTO runs VALUES (1, 'old', '2025'); INSERT INTO problems VALUES (1, '1/19', 'x'); INSERT INTO devices "
        "VALUES (1, 'f', 'cpu', 'C', '{}')");
  }
  ASSERT_TRUE(CompressFile(Path("old.sqlite"), Path("old.kbrun")));
  Store store = Open("to");
  const auto imported = store.ImportRun(Path("old.kbrun"));
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_THAT(store.Runs().value(), ElementsAre("old"));
}

TEST_F(ArchiveTest, JobsOfEarlierArchivesTakeTheProblemsTextFromTheirEvaluations) {
  WriteGood();
  const fs::path changed = Changed(
      "DROP TABLE turn_verdicts; DROP TABLE turn_files; DROP TABLE turns; DROP TABLE episodes; "
      "DROP TABLE submissions; DROP TABLE measurements; DROP INDEX jobs_changed; DROP INDEX jobs_owner; ALTER TABLE "
      "runs DROP COLUMN changes; "
      "ALTER TABLE jobs DROP COLUMN claimed; ALTER TABLE jobs DROP COLUMN changed; ALTER TABLE jobs DROP COLUMN "
      "lease_until; "
      "ALTER TABLE jobs DROP COLUMN priority; ALTER TABLE jobs DROP COLUMN client; "
      "ALTER TABLE jobs DROP COLUMN problem_sha256; PRAGMA user_version = 4");
  Store store = Open("to");
  const auto imported = store.ImportRun(changed);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ(store.Jobs("r")->at(0).problem_sha256, "p");
}

}  // namespace
}  // namespace kb
