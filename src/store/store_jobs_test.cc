#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/temp_dir.h"
#include "store/compress.h"
#include "store/migrations.h"
#include "store/store.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

using nlohmann::json;

class JobsTest : public ::testing::Test {
 protected:
  JobsTest() : directory_(TempDir::Create("kb-jobs-test").value()), path_(directory_.path() / "store.db") {}
  Store Open() { return Store::Open(path_).value(); }
  static std::vector<std::string> States(const Store& store) {
    std::vector<std::string> states;
    const std::vector<Job> jobs = store.Jobs("r").value();
    for (const Job& job : jobs) states.push_back(job.state);
    return states;
  }
  TempDir directory_;
  std::filesystem::path path_;
};

TEST_F(JobsTest, AJobGoesFromQueuedToDone) {
  Store store = Open();
  const std::vector<Job> jobs = {QueuedJob(0), QueuedJob(1)};
  EXPECT_EQ(store.AddJobs("r", jobs).value(), 2);
  EXPECT_EQ(store.AddJobs("r", jobs).value(), 0) << "known already";
  const int64_t id = store.Jobs("r")->at(1).id;
  EXPECT_TRUE(store.ClaimJob(id, "me").value());
  EXPECT_FALSE(store.ClaimJob(id, "you").value()) << "one owner";
  ASSERT_TRUE(store.FinishJob(id, "me", RunEvaluation("e", 1)));
  EXPECT_THAT(States(store), testing::ElementsAre("queued", "done"));
  EXPECT_EQ(store.Jobs("r")->at(1).evaluation_id, "e");
  EXPECT_EQ(store.Jobs("r")->at(1).attempts, 1);
}

TEST_F(JobsTest, WhoLostAJobAddsNothing) {
  Store store = Open();
  ASSERT_TRUE(store.AddJobs("r", std::vector<Job>{QueuedJob(0)}));
  const int64_t id = store.Jobs("r")->at(0).id;
  ASSERT_TRUE(store.ClaimJob(id, "gone").value());
  EXPECT_TRUE(store.FinishJob(id, "other", RunEvaluation("e")));
  EXPECT_TRUE(store.List()->empty());
  EXPECT_THAT(States(store), testing::ElementsAre("running"));
}

TEST_F(JobsTest, AnotherTextOrAWishQueuesAnew) {
  Store store = Open();
  ASSERT_TRUE(store.AddJobs("r", std::vector<Job>{QueuedJob(0)}));
  const int64_t id = store.Jobs("r")->at(0).id;
  ASSERT_TRUE(store.ClaimJob(id, "me").value());
  ASSERT_TRUE(store.FinishJob(id, "me", RunEvaluation("e")));
  EXPECT_EQ(store.AddJobs("r", std::vector<Job>{QueuedJob(0, "changed")}).value(), 1);
  EXPECT_THAT(States(store), testing::ElementsAre("queued"));
  ASSERT_TRUE(store.ClaimJob(id, "me").value());
  ASSERT_TRUE(store.FinishJob(id, "me", RunEvaluation("f")));
  EXPECT_EQ(store.AddJobs("r", std::vector<Job>{QueuedJob(0, "changed")}, true).value(), 1);
  EXPECT_EQ(store.Jobs("r")->at(0).id, id);
  EXPECT_EQ(store.List()->size(), 2u) << "what was judged before stays";
}

TEST_F(JobsTest, AnotherTextOfTheProblemQueuesAnew) {
  Store store = Open();
  const auto add = [&](const std::string& text) {
    return store.AddJobs("r", std::vector{QueuedJobAbout(text)}).value();
  };
  const auto judge = [&](const std::string& id, const std::string& text) {
    const int64_t job = store.Jobs("r")->at(0).id;
    ASSERT_TRUE(store.ClaimJob(job, "me").value());
    json evaluation = RunEvaluation(id);
    evaluation["problem_sha256"] = text;
    ASSERT_TRUE(store.FinishJob(job, "me", evaluation));
  };
  EXPECT_EQ(add("p"), 1);
  judge("e", "p");
  EXPECT_EQ(add("p"), 0);
  EXPECT_EQ(add(""), 0) << "who does not know the text asks nothing about it";
  EXPECT_EQ(add("q"), 1);
  EXPECT_EQ(store.Jobs("r")->at(0).problem_sha256, "q");
  judge("f", "r");
  EXPECT_EQ(store.Jobs("r")->at(0).problem_sha256, "r") << "changed again, before it was judged";
  EXPECT_EQ(add("r"), 0);
  EXPECT_EQ(add("q"), 1);
  EXPECT_EQ(store.List()->size(), 2u) << "what was judged before stays";
  EXPECT_EQ(store.Scores()->at(0).problem_sha256, "r") << "the latest";
}

TEST_F(JobsTest, WhoJudgesAnOldTextOfTheProblemAddsNothing) {
  Store store = Open();
  const Job job = store.AddJob("r", QueuedJobAbout("p")).value();
  ASSERT_TRUE(store.ClaimJob(job.id, "me").value());
  EXPECT_EQ(store.AddJob("r", QueuedJobAbout("q")).value().state, "queued");
  EXPECT_TRUE(store.FinishJob(job.id, "me", RunEvaluation("e")));
  EXPECT_THAT(States(store), testing::ElementsAre("queued"));
  EXPECT_TRUE(store.List()->empty());
}

// What an evaluation says that did without the problem's text holds for any text only if the candidate's own decided
// it.
TEST_F(JobsTest, AVerdictAboutNoTextOfTheProblemIsNotTrusted) {
  Store store = Open();
  for (const auto& [sample, verdict] : {std::pair(0, "static_rejected"), std::pair(1, "crashed")}) {
    const Job job = store.AddJob("r", QueuedJobAbout("", sample)).value();
    ASSERT_TRUE(store.ClaimJob(job.id, "me").value());
    json evaluation = RunEvaluation(verdict, sample);
    evaluation["problem_sha256"] = "";
    evaluation["verdict"] = verdict;
    ASSERT_TRUE(store.FinishJob(job.id, "me", evaluation));
  }
  EXPECT_EQ(store.AddJobs("r", std::vector{QueuedJobAbout("p", 0), QueuedJobAbout("p", 1)}).value(), 1);
  EXPECT_THAT(States(store), testing::ElementsAre("done", "queued"));
}

TEST_F(JobsTest, FailuresOfTheEngineAreTriedAgainAndThenToldApart) {
  Store store = Open();
  ASSERT_TRUE(store.AddJobs("r", std::vector<Job>{QueuedJob(0)}));
  const int64_t id = store.Jobs("r")->at(0).id;
  ASSERT_TRUE(store.ClaimJob(id, "me").value());
  ASSERT_TRUE(store.GiveUpJob(id, "me", "no device", true));
  EXPECT_THAT(States(store), testing::ElementsAre("queued"));
  ASSERT_TRUE(store.ClaimJob(id, "me").value());
  ASSERT_TRUE(store.GiveUpJob(id, "me", "still no device", false));
  EXPECT_THAT(States(store), testing::ElementsAre("failed"));
  EXPECT_EQ(store.Jobs("r")->at(0).error, "still no device");
  EXPECT_EQ(store.Jobs("r")->at(0).attempts, 2);
  EXPECT_EQ(store.ReleaseJobs("r", false).value(), 0);
  EXPECT_EQ(store.ReleaseJobs("r", true).value(), 1);
}

TEST_F(JobsTest, WhatADeadProcessRanIsQueuedAgain) {
  Store store = Open();
  ASSERT_TRUE(store.AddJobs("r", std::vector<Job>{QueuedJob(0), QueuedJob(1)}));
  const auto jobs = store.Jobs("r").value();
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string name = OwnerName();
    _exit(write(pipe_ends[1], name.data(), name.size()) == static_cast<ssize_t>(name.size()) ? 0 : 1);
  }
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  char name[512];
  const ssize_t size = read(pipe_ends[0], name, sizeof name);
  ASSERT_GT(size, 0);
  const std::string dead(name, static_cast<size_t>(size));
  EXPECT_TRUE(OwnerLives(OwnerName()));
  EXPECT_FALSE(OwnerLives(dead)) << "nobody has waited for it yet";
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_FALSE(OwnerLives(dead));
  EXPECT_TRUE(OwnerLives("another-machine x 1 1")) << "cannot be known";
  ASSERT_TRUE(store.ClaimJob(jobs[0].id, dead).value());
  ASSERT_TRUE(store.ClaimJob(jobs[1].id, OwnerName()).value());
  EXPECT_EQ(store.ReleaseJobs("r", false).value(), 1);
  EXPECT_THAT(States(store), testing::ElementsAre("queued", "running"));
}

TEST_F(JobsTest, ALeaseThatIsOverIsNobodys) {
  Store store = Open();
  const std::vector<Job> jobs = {QueuedJob(0), QueuedJob(1), QueuedJob(2)};
  store.AddJobs("r", jobs).value();
  const std::vector<Job> added = store.Jobs("r").value();
  const std::string own = OwnerName("a"), beside = OwnerName("b"), elsewhere = "other-machine boot 1 1 c";
  const int64_t over = 1'000'000'000, far = 4'000'000'000;
  ASSERT_TRUE(store.ClaimJob(added[0].id, own, over).value());
  ASSERT_TRUE(store.ClaimJob(added[1].id, beside, over).value());
  ASSERT_TRUE(store.ClaimJob(added[2].id, elsewhere, far).value());
  ASSERT_TRUE(store.RenewJobs(beside, far));
  EXPECT_EQ(store.ReleaseJobs("r", false).value(), 1);
  EXPECT_EQ(States(store), (std::vector<std::string>{"queued", "running", "running"}));
  EXPECT_FALSE(store.FinishJob(added[0].id, own, RunEvaluation("late")).value());
  EXPECT_FALSE(store.Get("late"));
  ASSERT_TRUE(store.RenewJobs(elsewhere, over));
  EXPECT_EQ(store.ReleaseJobs("r", false).value(), 1) << "of a machine that does not answer";
}

TEST_F(JobsTest, ScoresTellChangedRulesApart) {
  Store store = Open();
  ASSERT_TRUE(store.Add(RunEvaluation("a")));
  json changed = RunEvaluation("b");
  changed["protocol_keys"] = {{"precision", "fp16"}, {"warmup_rounds", 2}};
  changed["protocol_changed"] = {"precision"};
  ASSERT_TRUE(store.Add(changed));
  const auto rows = store.Scores().value();
  ASSERT_EQ(rows.size(), 2u) << "the one does not take the place of the other";
  EXPECT_EQ(rows[0].protocol, "quick");
  EXPECT_EQ(rows[1].protocol, "quick, precision=fp16");
}

TEST_F(JobsTest, ScoresSayWhyASpeedupDoesNotCount) {
  Store store = Open();
  json refused = RunEvaluation("a", 0), wrong = RunEvaluation("b", 1);
  refused["reason"] = "authorship: library is not accepted under this protocol";
  wrong["verdict"] = "incorrect";
  wrong["reason"] = "one element is wrong";
  ASSERT_TRUE(store.Add(refused));
  ASSERT_TRUE(store.Add(wrong));
  const auto rows = store.Scores().value();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].reason, refused["reason"]);
  EXPECT_EQ(rows[1].reason, "");
}

TEST_F(JobsTest, OwnWorkIsSurelyFasterAndCustom) {
  Store store = Open();
  const auto add = [&](const std::string& id, int sample, const char* authorship, double low, const std::string& run) {
    json evaluation = RunEvaluation(id, sample, run);
    evaluation["authorship"] = {{"class", authorship}, {"custom", 1.0}, {"library", 0.0}};
    evaluation["speedup_interval"] = {low, 3.0};
    ASSERT_TRUE(store.Add(evaluation));
  };
  add("own", 0, "custom", 1.5, "r");
  add("by a library", 1, "library", 1.5, "r");
  add("perhaps", 2, "custom", 0.9, "r");
  add("another", 0, "custom", 1.5, "s");
  EXPECT_EQ(store.OwnWork().value(), (std::set<std::string>{"own", "another"}));
  EXPECT_EQ(store.OwnWork("r").value(), std::set<std::string>{"own"});
}

TEST_F(JobsTest, ScoresAreTheNewestOfEachSample) {
  Store store = Open();
  ASSERT_TRUE(store.Add(RunEvaluation("a", 0)));
  ASSERT_TRUE(store.Add(RunEvaluation("b", 1)));
  json again = RunEvaluation("c", 1);
  again["created"] = "2026-01-02T10:00:00Z";
  again["verdict"] = "incorrect";
  again["speedup"] = nullptr;
  again["device_info"]["python"] = "of a later session";
  ASSERT_TRUE(store.Add(again));
  const auto rows = store.Scores({.run = "r"}).value();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].id, "a");
  EXPECT_EQ(rows[0].model, "m");
  EXPECT_EQ(rows[0].low, 1.4);
  EXPECT_EQ(rows[1].id, "c");
  EXPECT_EQ(rows[1].sample, 1);
  EXPECT_FALSE(rows[1].speedup);
  EXPECT_TRUE(store.Scores({.run = "other"})->empty());
  EXPECT_EQ(store.Runs().value(), std::vector<std::string>{"r"});
}

TEST_F(JobsTest, ScoresOfAFilterAreTheNewestThatItLetsThrough) {
  Store store = Open();
  json first = RunEvaluation("a", 0);
  first["device_info"]["torch"] = "2.9.1";
  ASSERT_TRUE(store.Add(first));
  json other = first;
  other["id"] = "b";
  other["created"] = "2026-01-02T10:00:00Z";
  other["verdict"] = "crashed";
  ASSERT_TRUE(store.Add(other));
  json elsewhere = RunEvaluation("c", 0);
  elsewhere["problem"] = "1/20";
  ASSERT_TRUE(store.Add(elsewhere));
  const auto ids = [&](const StoreFilter& filter) {
    std::vector<std::string> list;
    const auto rows = store.Scores(filter).value();
    for (const ScoreRow& row : rows) list.push_back(row.id);
    return list;
  };
  EXPECT_THAT(ids({}), testing::ElementsAre("b", "c"));
  EXPECT_THAT(ids({.verdict = "correct"}), testing::ElementsAre("a", "c"));
  EXPECT_THAT(ids({.problem = "1/20"}), testing::ElementsAre("c"));
  EXPECT_THAT(ids({.limit = 1}), testing::SizeIs(1));
  const auto crashed = store.Scores({.verdict = "crashed"}).value();
  ASSERT_EQ(crashed.size(), 1u);
  EXPECT_EQ(crashed[0].torch, "2.9.1");
}

TEST_F(JobsTest, JobsInOneState) {
  Store store = Open();
  ASSERT_TRUE(store.AddJobs("r", std::vector<Job>{QueuedJob(0), QueuedJob(1)}));
  const int64_t id = store.Jobs("r")->at(1).id;
  ASSERT_TRUE(store.ClaimJob(id, "me").value());
  ASSERT_TRUE(store.GiveUpJob(id, "me", "no device", false));
  ASSERT_EQ(store.Jobs("r", "failed")->size(), 1u);
  EXPECT_EQ(store.Jobs("r", "failed")->at(0).id, id);
  EXPECT_EQ(store.Jobs("r", "queued")->size(), 1u);
  EXPECT_TRUE(store.Jobs("r", "running")->empty());
}

TEST_F(JobsTest, OneJobComesBackAsItIsInTheStore) {
  Store store = Open();
  const Job first = store.AddJob("r", QueuedJob(3)).value();
  EXPECT_EQ(first.state, "queued");
  EXPECT_EQ(first.sample, 3);
  ASSERT_TRUE(store.ClaimJob(first.id, "me").value());
  const Job second = store.AddJob("r", QueuedJob(3)).value();
  EXPECT_EQ(second.id, first.id);
  EXPECT_EQ(second.state, "running");
}

// A store as each earlier version wrote it is brought up to date and keeps what it holds.
TEST_F(JobsTest, StoresOfEveryEarlierVersionAreMigrated) {
  const auto steps = Migrations();
  for (size_t version = 1; version < steps.size(); ++version) {
    const auto path = directory_.path() / ("version" + std::to_string(version));
    {
      SQLite::Database database(path.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
      ASSERT_TRUE(Migrate(database, steps.first(version)));
      database.exec(
          "INSERT INTO problems VALUES (1, '1/19', 'x'); INSERT INTO devices VALUES (1, 'f', 'cpu', 'C', '{}')");
      SQLite::Statement insert(database,
                               "INSERT INTO evaluations (id, created, problem_id, problem, size, device_id, device, "
                               "protocol, candidate_sha256, candidate_path, verdict, reason, json) VALUES ('old', "
                               "'2026-01-01', 1, '1/19', 'small', 1, 'cpu', 'quick', 's', 'a.py', 'correct', '', ?)");
      const std::string text = Compress(json{{"id", "old"}}.dump());
      insert.bind(1, text.data(), static_cast<int>(text.size()));
      insert.exec();
    }
    auto store = Store::Open(path);
    ASSERT_TRUE(store) << version << ": " << store.error().message;
    EXPECT_EQ(store->Get("old")->at("id"), "old");
    EXPECT_EQ(store->Scores()->at(0).id, "old");
    EXPECT_TRUE(store->AddJobs("r", std::vector<Job>{QueuedJob(0)}));
    EXPECT_TRUE(store->Audits()->empty());
  }
}

// Jobs from before they named their problem's text: what was judged is judged again only if it has changed since.
TEST_F(JobsTest, OldJobsTakeTheProblemsTextFromTheirEvaluations) {
  const auto steps = Migrations();
  {
    SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    ASSERT_TRUE(Migrate(database, steps.first(4)));
    database.exec(
        "INSERT INTO runs VALUES (1, 'r', '2026'); INSERT INTO devices VALUES (1, 'f', 'cpu', 'C', '{}'); "
        "INSERT INTO problems VALUES (1, '1/19', 'older'), (2, '1/19', 'p'), (3, '1/19', ''); "
        "INSERT INTO evaluations (id, created, run_id, problem_id, problem, size, device_id, device, protocol, "
        "candidate_sha256, candidate_path, verdict, reason, json, model, sample) SELECT 'e' || id, '2026', 1, id, "
        "'1/19', 'small', 1, 'cpu', 'quick', 's', 'a.py', iif(id = 3, 'static_rejected', 'correct'), '', x'', 'm', "
        "id - 1 FROM problems; "
        "INSERT INTO jobs (run_id, model, problem, size, sample, device, protocol, path, sha256, state, evaluation_id) "
        "SELECT 1, 'm', '1/19', 'small', sample, 'cpu', 'quick', 'a.py', 's', 'done', id FROM evaluations; "
        "INSERT INTO jobs (run_id, model, problem, size, sample, device, protocol, path, sha256, state) VALUES "
        "(1, 'm', '1/19', 'small', 3, 'cpu', 'quick', 'a.py', 's', 'queued'), "
        "(1, 'm', '1/19', 'small', 4, 'cpu', 'quick', 'a.py', 's', 'failed')");
  }
  Store store = Open();
  const auto texts = [&] {
    std::vector<std::string> list;
    const std::vector<Job> jobs = store.Jobs("r").value();
    for (const Job& job : jobs) list.push_back(job.problem_sha256);
    return list;
  };
  EXPECT_THAT(texts(), testing::ElementsAre("older", "p", "", "", ""));
  std::vector<Job> now;
  for (int sample = 0; sample < 5; ++sample) now.push_back(QueuedJobAbout("p", sample));
  ASSERT_TRUE(store.AddJobs("r", now));
  EXPECT_THAT(States(store), testing::ElementsAre("queued", "done", "done", "queued", "queued"));
  EXPECT_THAT(texts(), testing::ElementsAre("p", "p", "", "p", "p"));
  EXPECT_EQ(store.AddJobs("r", now).value(), 0);
}

}  // namespace
}  // namespace kb
