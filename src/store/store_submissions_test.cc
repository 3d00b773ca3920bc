#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/temp_dir.h"
#include "store/store.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NewSubmission Wanted(const std::string& id, int sample = -1, const std::string& source = "class ModelNew: pass") {
  NewSubmission wanted{.id = id, .client = "ann", .batch = "", .idempotency_key = "", .request = {{"problem", "1/19"}}};
  wanted.run = "r";
  wanted.job = QueuedJob(sample);
  wanted.source = source;
  return wanted;
}

NewSubmission WithKey(NewSubmission wanted, const std::string& key, const std::string& client = "ann") {
  wanted.idempotency_key = key;
  wanted.client = client;
  return wanted;
}

class SubmissionsTest : public ::testing::Test {
 protected:
  SubmissionsTest() : directory_(TempDir::Create("kb-submissions-test").value()), path_(directory_.path() / "s.db") {}
  Store Open() { return Store::Open(path_).value(); }
  static Result<Submission> Add(Store* store, const NewSubmission& wanted) {
    KB_ASSIGN_OR_RETURN(const auto added, store->AddSubmissions(std::vector<NewSubmission>{wanted}));
    return added.at(0);
  }
  TempDir directory_;
  std::filesystem::path path_;
};

TEST_F(SubmissionsTest, WhatIsFiledIsAJobWithItsSource) {
  Store store = Open();
  const Submission filed = Add(&store, Wanted("a")).value();
  EXPECT_EQ(filed.job.state, "queued");
  EXPECT_EQ(filed.job.client, "ann");
  EXPECT_EQ(filed.run, "r");
  EXPECT_EQ(store.Source(filed.job.sha256).value(), "class ModelNew: pass");
  EXPECT_EQ(store.FindSubmission("a")->value().job.id, filed.job.id);
  EXPECT_FALSE(store.FindSubmission("b")->has_value());
}

TEST_F(SubmissionsTest, SamplesThatAreNotNamedAreTheNextOnes) {
  Store store = Open();
  ASSERT_EQ(Add(&store, Wanted("a", 7))->job.sample, 7);
  EXPECT_EQ(Add(&store, Wanted("b"))->job.sample, 8);
  EXPECT_EQ(Add(&store, Wanted("c"))->job.sample, 9);
}

TEST_F(SubmissionsTest, ASampleThatTheRunHasIsRefusedAndNothingOfTheBatchIsFiled) {
  Store store = Open();
  ASSERT_TRUE(Add(&store, Wanted("a", 0)));
  const auto batch = store.AddSubmissions(std::vector<NewSubmission>{Wanted("b"), Wanted("c", 0)});
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().code, ErrorCode::kUsage);
  EXPECT_THAT(batch.error().message, HasSubstr("sample 0"));
  EXPECT_FALSE(store.FindSubmission("b")->has_value());
  EXPECT_EQ(store.Jobs("r")->size(), 1u);
}

TEST_F(SubmissionsTest, AKeyAsksOnce) {
  Store store = Open();
  ASSERT_TRUE(Add(&store, WithKey(Wanted("a"), "k")));
  EXPECT_EQ(Add(&store, WithKey(Wanted("b"), "k"))->id, "a");
  EXPECT_EQ(Add(&store, WithKey(Wanted("c"), "k", "bob"))->id, "c") << "keys are a client's own";
  EXPECT_EQ(store.Jobs("r")->size(), 2u);
  const auto other_source = Add(&store, WithKey(Wanted("d", -1, "another"), "k"));
  ASSERT_FALSE(other_source);
  EXPECT_EQ(other_source.error().code, ErrorCode::kUsage);
  NewSubmission other_request = WithKey(Wanted("e"), "k");
  other_request.request["problem"] = "1/20";
  EXPECT_FALSE(Add(&store, other_request));
}

TEST_F(SubmissionsTest, ABatchComesBackInItsOrder) {
  Store store = Open();
  std::vector<NewSubmission> wanted = {Wanted("b"), Wanted("a"), Wanted("c")};
  for (NewSubmission& one : wanted) one.batch = "many";
  ASSERT_TRUE(store.AddSubmissions(wanted));
  ASSERT_TRUE(Add(&store, Wanted("z")));
  std::vector<std::string> ids;
  const auto batch = store.BatchSubmissions("many");
  for (const Submission& one : batch.value()) ids.push_back(one.id);
  EXPECT_THAT(ids, ElementsAre("b", "a", "c"));
  EXPECT_TRUE(store.BatchSubmissions("")->empty());
}

TEST_F(SubmissionsTest, WhatADeadProcessHadIsQueuedAgainAndWhatIsDoneIsNot) {
  Store store = Open();
  const int64_t done = Add(&store, Wanted("a"))->job.id, left = Add(&store, Wanted("b"))->job.id,
                held = Add(&store, Wanted("c"))->job.id;
  ASSERT_TRUE(store.ClaimJob(done, OwnerName()).value());
  ASSERT_TRUE(store.FinishJob(done, OwnerName(), RunEvaluation("e")).value());
  ASSERT_TRUE(store.ClaimJob(held, OwnerName()).value());
  const pid_t child = ::fork();
  if (child == 0) {
    Store own = Open();
    ::_exit(own.ClaimJob(left, OwnerName()).value_or(false) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(store.FindSubmission("b")->value().job.state, "running");
  const auto queued = store.QueuedSubmissions();
  ASSERT_TRUE(queued) << queued.error().message;
  ASSERT_EQ(queued->size(), 1u);
  EXPECT_EQ(queued->at(0).id, "b");
  EXPECT_EQ(store.FindSubmission("a")->value().job.evaluation_id, "e");
}

TEST_F(SubmissionsTest, SourcesOfWhatIsQueuedAreNoGarbage) {
  Store store = Open();
  const std::string sha256 = Add(&store, Wanted("a"))->job.sha256;
  ASSERT_TRUE(store.CollectGarbage({}));
  EXPECT_TRUE(store.Source(sha256));
}

TEST_F(SubmissionsTest, TextsThatAreNotUtf8AreFiled) {
  Store store = Open();
  NewSubmission wanted = Wanted("a", -1, "\xff\xfe");
  wanted.job.path = "\xff.py";
  wanted.client = "\xff";
  const auto filed = Add(&store, wanted);
  ASSERT_TRUE(filed) << filed.error().message;
  EXPECT_EQ(store.Source(filed->job.sha256).value(), "\xff\xfe");
}

}  // namespace
}  // namespace kb
