#include "jobs/job_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "base/interrupt.h"
#include "base/temp_dir.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Judges what its test says, by the candidate's path; else at once.
class FakeJudge : public Judge {
 public:
  using Script = std::map<std::string, std::function<Result<Evaluation>()>>;
  explicit FakeJudge(const Script* script) : script_(script) {}
  Result<Prepared> Prepare(const Request& request) override { return Prepared{.request = request}; }
  Evaluation Unjudged(const Prepared&) override { return Evaluation(); }
  Status AddLacking(Prepared*) override { return {}; }
  Status MakeReady(const Request&) override { return {}; }
  Result<Evaluation> Evaluate(Prepared* prepared, std::span<const Request* const>) override {
    const auto found = script_->find(prepared->request.candidate.path.string());
    Result<Evaluation> evaluation = found == script_->end() ? Evaluation() : found->second();
    if (evaluation) {
      evaluation->id = "evaluation of " + prepared->request.candidate.path.string();
      evaluation->created = "2026-01-01T00:00:00Z";
      evaluation->problem = prepared->request.problem.name;
    }
    return evaluation;
  }
  Result<Evaluation> Charge(const Request&, const Error& error) override { return tl::make_unexpected(error); }
  Status Lend(const std::function<void(const LentDevice&)>&) override { return {}; }

 private:
  const Script* const script_;
};

class JobLoopTest : public ::testing::Test {
 protected:
  JobLoopTest() : dir_(TempDir::Create("kb-job-loop-test").value()), store_(Open()) {}
  Store Open() const { return std::move(Store::Open(dir_.path() / "store.db").value()); }
  std::unique_ptr<JobLoop> Start(Queue* queue) { return std::move(JobLoop::Create(Options(queue)).value()); }
  JobLoopOptions Options(Queue* queue) {
    JobLoopOptions options;
    options.make_judge = [this](const std::string&, const Shares&) -> Result<std::shared_ptr<Judge>> {
      return std::make_shared<FakeJudge>(&script_);
    };
    options.devices = {"cuda"};
    options.queue = queue;
    options.tell = [this](const JobEnd& end) -> Status {
      const std::string said = end.elsewhere ? "elsewhere" : end.evaluation ? "judged" : end.evaluation.error().message;
      told_.push_back(std::to_string(end.job.sample) + " " + said);
      return broken_;
    };
    return options;
  }
  // Its candidate's path is its sample's number.
  static Job MakeJob(int sample) {
    Job job;
    job.model = "m";
    job.problem = "1/19";
    job.size = "small";
    job.sample = sample;
    job.device = "cuda";
    job.protocol = "quick";
    job.sha256 = "text " + std::to_string(sample);
    return job;
  }
  static Task MakeTask(const Job& job) {
    Task task;
    task.problem.name = job.problem;
    task.protocol = std::make_shared<const Protocol>();
    task.read = [sample = job.sample]() -> Result<Candidate> {
      Candidate candidate;
      candidate.path = std::to_string(sample);
      return candidate;
    };
    return task;
  }
  Job Submit(JobLoop* loop, Queue* queue, int sample) {
    Job job = queue->Add(MakeJob(sample)).value();
    loop->Submit(job, MakeTask(job));
    return job;
  }
  std::string StateOf(int64_t id) const {
    const std::vector<Job> jobs = store_.Jobs("r").value();
    for (const Job& job : jobs) {
      if (job.id == id) return job.state;
    }
    return "none";
  }

  TempDir dir_;
  Store store_;
  FakeJudge::Script script_;
  std::vector<std::string> told_;
  Status broken_;
};

TEST_F(JobLoopTest, KeepsWhatBecomesOfEachJobAndTellsOfIt) {
  script_["2"] = []() -> Result<Evaluation> { return Fail(ErrorCode::kUnavailable, "no device"); };
  const auto queue = QueueInStore(&store_, "r");
  const auto loop = Start(queue.get());
  const Job first = Submit(loop.get(), queue.get(), 1), second = Submit(loop.get(), queue.get(), 2);
  loop->Drain();
  EXPECT_TRUE(loop->Stop());
  EXPECT_THAT(told_, UnorderedElementsAre("1 judged", "2 no device"));
  EXPECT_EQ(StateOf(first.id), "done");
  EXPECT_EQ(StateOf(second.id), "failed");
  const json kept = store_.Get("evaluation of 1").value();
  EXPECT_EQ(kept.at("run"), "r");
  EXPECT_EQ(kept.at("model"), "m");
  EXPECT_EQ(kept.at("sample"), 1);
}

TEST_F(JobLoopTest, WhatAnotherLoopHasIsNotJudged) {
  const auto queue = QueueInStore(&store_, "r"), other = QueueInStore(&store_, "r");
  const auto loop = Start(queue.get());
  const Job job = queue->Add(MakeJob(1)).value();
  ASSERT_TRUE(other->Claim(job.id).value());
  loop->Submit(job, MakeTask(job));
  loop->Drain();
  EXPECT_TRUE(loop->Stop());
  EXPECT_THAT(told_, ElementsAre("1 elsewhere"));
  EXPECT_EQ(StateOf(job.id), "running");
  EXPECT_FALSE(queue->GiveBack(job.id, {ErrorCode::kInterrupted, ""}).value())
      << "an object of the same process has it";
}

// While the first judges, its lease runs out and a second one judges the same job: one result is kept, the second's.
TEST_F(JobLoopTest, OneWhoseLeaseIsOverKeepsNothing) {
  const auto queue = QueueInStore(&store_, "r"), other = QueueInStore(&store_, "r");
  const auto loop = Start(queue.get());
  int64_t id = 0;
  std::promise<void> added;
  script_["1"] = [&]() -> Result<Evaluation> {
    added.get_future().wait();
    // As if it had been claimed long ago.
    const std::string owner = store_.Jobs("r")->at(0).owner;
    EXPECT_TRUE(store_.RenewJobs(owner, 1));
    EXPECT_EQ(other->Release().value(), 1);
    EXPECT_TRUE(other->Claim(id).value());
    json theirs = RunEvaluation("theirs", 1, "r");
    EXPECT_TRUE(other->Finish(id, theirs).value());
    return Evaluation();
  };
  id = Submit(loop.get(), queue.get(), 1).id;
  added.set_value();
  loop->Drain();
  EXPECT_TRUE(loop->Stop());
  EXPECT_THAT(told_, ElementsAre("1 elsewhere"));
  EXPECT_EQ(store_.Jobs("r")->at(0).evaluation_id, "theirs");
  EXPECT_FALSE(store_.Get("evaluation of 1"));
}

TEST_F(JobLoopTest, AnInterruptQueuesWhatIsBeingJudgedAndIsOfThisLoopAlone) {
  std::promise<void> began;
  script_["1"] = [&]() -> Result<Evaluation> {
    began.set_value();
    while (!Interrupted()) std::this_thread::yield();
    return Fail(ErrorCode::kInterrupted, "interrupted");
  };
  const auto queue = QueueInStore(&store_, "r");
  const auto loop = Start(queue.get());
  const Job job = Submit(loop.get(), queue.get(), 1);
  began.get_future().wait();
  loop->Interrupt();
  loop->Drain();
  const Status stopped = loop->Stop();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(StateOf(job.id), "queued");
  const auto next = Start(queue.get());
  Submit(next.get(), queue.get(), 2);
  next->Drain();
  EXPECT_TRUE(next->Stop());
}

TEST_F(JobLoopTest, OfWhatIsCancelledNothingIsKept) {
  std::promise<void> began, go;
  script_["1"] = [&]() -> Result<Evaluation> {
    began.set_value();
    go.get_future().wait();
    return Evaluation();
  };
  const auto queue = QueueInStore(&store_, "r"), other = QueueInStore(&store_, "r");
  const auto loop = Start(queue.get());
  const Job first = Submit(loop.get(), queue.get(), 1);
  began.get_future().wait();
  const Job second = Submit(loop.get(), queue.get(), 2), third = Submit(loop.get(), queue.get(), 3);
  EXPECT_FALSE(other->Cancel(first.id, "cancelled: by another").value()) << "this one has it";
  EXPECT_TRUE(loop->Cancel(second.id, "cancelled").value());
  EXPECT_TRUE(loop->Cancel(first.id, "cancelled: for a test").value());
  EXPECT_EQ(StateOf(first.id), "failed") << "at once";
  go.set_value();
  loop->Drain();
  EXPECT_FALSE(loop->Cancel(third.id, "cancelled").value()) << "it has ended";
  EXPECT_TRUE(loop->Stop());
  EXPECT_THAT(told_, ElementsAre("1 elsewhere", "3 judged"));
  EXPECT_EQ(StateOf(first.id), "failed");
  EXPECT_EQ(StateOf(second.id), "failed");
  EXPECT_EQ(store_.Jobs("r")->at(0).error, "cancelled: for a test");
  EXPECT_EQ(store_.List()->size(), 1u);
}

TEST_F(JobLoopTest, AnErrorOfItsTellerEndsIt) {
  broken_ = Fail(ErrorCode::kStore, "disk full");
  const auto queue = QueueInMemory();
  const auto loop = Start(queue.get());
  for (int sample = 1; sample <= 100; ++sample) Submit(loop.get(), queue.get(), sample);
  loop->Drain();
  const Status stopped = loop->Stop();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().message, "disk full");
  const auto judged =
      std::count_if(told_.begin(), told_.end(), [](const std::string& text) { return text.ends_with("judged"); });
  EXPECT_LT(judged, 100);
  EXPECT_EQ(told_.size(), 100u) << "who waits for one hears of it";
}

// A disk that is full for a while.
class FailingQueue : public Queue {
 public:
  explicit FailingQueue(Queue* queue) : queue_(queue) {}
  std::atomic<bool> fails = false;

  std::string RunOf(int64_t id) const override { return queue_->RunOf(id); }
  Result<Job> Add(const Job& job) override { return queue_->Add(job); }
  Result<bool> Claim(int64_t id) override { return fails ? Full() : queue_->Claim(id); }
  Status Renew() override { return {}; }
  Result<bool> Finish(int64_t id, const json& evaluation) override {
    return fails ? Full() : queue_->Finish(id, evaluation);
  }
  Result<bool> GiveBack(int64_t id, const Error& error) override {
    return fails ? Full() : queue_->GiveBack(id, error);
  }
  Result<bool> Cancel(int64_t id, const std::string& why) override { return queue_->Cancel(id, why); }
  Result<int64_t> Release() override { return queue_->Release(); }
  Result<std::vector<Job>> Watch(int64_t since) override { return queue_->Watch(since); }

 private:
  static Result<bool> Full() { return Fail(ErrorCode::kStore, "disk full"); }
  Queue* const queue_;
};

TEST_F(JobLoopTest, APatientOneWaitsForItsQueue) {
  const auto stored = QueueInStore(&store_, "r");
  FailingQueue queue(stored.get());
  script_["1"] = [&]() -> Result<Evaluation> {
    queue.fails = true;
    return Evaluation();
  };
  std::promise<void> all;
  JobLoopOptions options = Options(&queue);
  options.patient = true;
  options.tell = [this, &all, tell = options.tell](const JobEnd& end) {
    const Status told = tell(end);
    if (told_.size() == 2) all.set_value();
    return told;
  };
  const auto loop = std::move(JobLoop::Create(std::move(options)).value());
  const Job first = Submit(loop.get(), &queue, 1), second = Submit(loop.get(), &queue, 2);
  while (loop->trouble()) std::this_thread::yield();
  EXPECT_EQ(loop->trouble().error().message, "disk full");
  EXPECT_TRUE(loop->status()) << "that ends nothing";
  EXPECT_EQ(StateOf(first.id), "running") << "its result is not lost";
  queue.fails = false;
  all.get_future().wait();
  EXPECT_TRUE(loop->Stop());
  EXPECT_THAT(told_, UnorderedElementsAre("1 judged", "2 judged"));
  EXPECT_EQ(StateOf(first.id), "done");
  EXPECT_EQ(StateOf(second.id), "done");
  EXPECT_EQ(store_.List()->size(), 2u);
}

// Both kinds of queue do the same.
TEST_F(JobLoopTest, AQueueTellsWhatChanged) {
  for (const bool in_store : {false, true}) {
    SCOPED_TRACE(in_store);
    const auto queue = in_store ? QueueInStore(&store_, "r") : QueueInMemory();
    const int64_t one = queue->Add(MakeJob(1))->id, two = queue->Add(MakeJob(2))->id;
    const auto states = [&](int64_t since, int64_t* last) {
      std::vector<std::string> said;
      const std::vector<Job> changed = queue->Watch(since).value();
      for (const Job& job : changed) {
        said.push_back(std::to_string(job.sample) + " " + job.state);
        *last = job.changed;
      }
      return said;
    };
    int64_t seen = 0;
    EXPECT_THAT(states(0, &seen), ElementsAre("1 queued", "2 queued"));
    EXPECT_THAT(states(seen, &seen), IsEmpty());
    EXPECT_TRUE(queue->Claim(two).value());
    EXPECT_FALSE(queue->Claim(two).value());
    EXPECT_TRUE(queue->Cancel(one, "cancelled").value());
    EXPECT_FALSE(queue->Cancel(one, "cancelled").value());
    EXPECT_THAT(states(seen, &seen), ElementsAre("2 running", "1 failed"));
    EXPECT_TRUE(queue->Renew());
    EXPECT_THAT(states(seen, &seen), IsEmpty()) << "a lease is nobody's news";
    EXPECT_TRUE(queue->GiveBack(two, {ErrorCode::kInterrupted, "interrupted"}).value());
    EXPECT_FALSE(queue->GiveBack(two, {ErrorCode::kInterrupted, "interrupted"}).value());
    EXPECT_THAT(states(seen, &seen), ElementsAre("2 queued"));
    EXPECT_TRUE(queue->Claim(two).value());
    EXPECT_TRUE(queue->Cancel(two, "cancelled").value());
    EXPECT_FALSE(queue->GiveBack(two, {ErrorCode::kInterrupted, "interrupted"}).value());
    EXPECT_THAT(states(seen, &seen), ElementsAre("2 failed"));
  }
}

}  // namespace
}  // namespace kb
