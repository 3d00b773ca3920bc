// A scheduler whose judge follows a script.
#ifndef JOBS_SCHEDULER_TEST_UTIL_H_
#define JOBS_SCHEDULER_TEST_UTIL_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "base/clock.h"
#include "jobs/scheduler.h"

namespace kb {

// A door that whoever comes waits at until it is opened.
class Door {
 public:
  void Open() { opened_.set_value(); }
  void Pass() const { may_.wait(); }

 private:
  std::promise<void> opened_;
  std::shared_future<void> may_ = opened_.get_future().share();
};

// What the fake judges do with a candidate, by its path; what is not here is judged at once and correct.
struct Script {
  std::map<std::string, std::function<Result<Evaluation>()>> evaluate;
  std::map<std::string, std::function<void()>> build;  // has a compilation
  std::set<std::string> asks;                          // lacks an extension when it is judged first
  std::function<void()> add_lacking;
  MemoryGauge memory;           // of the devices
  std::string not_lent;         // why they are not
  std::string fails_first;      // cannot be prepared the first time
  std::atomic<int> judges = 0;  // that live
};

class FakeJudge : public Judge {
 public:
  explicit FakeJudge(Script* script) : script_(script) { ++script_->judges; }
  FakeJudge(const FakeJudge&) = delete;  // counted
  FakeJudge& operator=(const FakeJudge&) = delete;
  ~FakeJudge() override { --script_->judges; }

  Result<Prepared> Prepare(const Request& request) override {
    const std::string path = request.candidate.path.string();
    const auto found = script_->build.find(path);
    if (found != script_->build.end()) found->second();
    if (script_->fails_first == path) {
      script_->fails_first.clear();
      return Fail(ErrorCode::kEngine, "no memory for a build");
    }
    return Prepared{.request = request};
  }
  Status MakeReady(const Request&) override { return {}; }
  Evaluation Unjudged(const Prepared&) override {
    Evaluation unjudged;
    unjudged.reason = "not judged";
    return unjudged;
  }
  Status AddLacking(Prepared* prepared) override {
    if (script_->add_lacking) script_->add_lacking();
    prepared->lacking.reset();
    return {};
  }
  Result<Evaluation> Evaluate(Prepared* prepared, std::span<const Request* const>) override {
    const std::string path = prepared->request.candidate.path.string();
    if (script_->asks.erase(path) > 0) prepared->lacking = ExtensionRequest{"key", {}};
    const auto found = script_->evaluate.find(path);
    return found == script_->evaluate.end() ? Evaluation() : found->second();
  }
  Result<Evaluation> Charge(const Request&, const Error& error) override {
    Evaluation charged;
    charged.reason = "charged: " + error.message;
    return charged;
  }
  Status Lend(const std::function<void(const LentDevice&)>& use) override {
    if (!script_->not_lent.empty()) return Fail(ErrorCode::kUnavailable, script_->not_lent);
    use({.name = "cuda", .cores = {}, .memory = script_->memory});
    return {};
  }

 private:
  Script* const script_;
};

class SchedulerTest : public ::testing::Test {
 protected:
  // On "cuda" what is ready first is judged first; on "cpu" the order of a window is that of its tasks.
  SchedulerOptions Options(const std::string& device = "cuda") {
    SchedulerOptions options;
    options.make_judge = [this](const std::string&, const Shares&) -> Result<std::shared_ptr<Judge>> {
      return std::make_shared<FakeJudge>(&script_);
    };
    options.devices = {device};
    options.on_host = device == "cpu";
    options.compilations = 2;
    options.begin = [this](int64_t id) { return id != refused_; };
    options.judging = [this](const Task& task) { order_.push_back(task.id); };  // of one device
    options.end = [this](TaskEnd end) { ends_.insert_or_assign(end.id, std::move(end)); };
    return options;
  }
  // One window takes all that is submitted before the door is opened.
  SchedulerOptions OptionsBehind(Door* submitted, const std::string& device) {
    SchedulerOptions options = Options(device);
    options.begin = [submitted](int64_t) {
      submitted->Pass();
      return true;
    };
    return options;
  }
  std::unique_ptr<Scheduler> Start(SchedulerOptions options) {
    return std::move(Scheduler::Create(std::move(options)).value());
  }
  // Its candidate's path is "1" for the id 1.
  static Task MakeTask(int64_t id, int priority = 0, const std::string& client = "") {
    Task task;
    task.id = id;
    task.problem.path = "problem";
    task.protocol = std::make_shared<const Protocol>();
    task.priority = priority;
    task.client = client;
    task.read = [id]() -> Result<Candidate> {
      Candidate candidate;
      candidate.path = std::to_string(id);
      return candidate;
    };
    return task;
  }
  // Has the evaluation of this candidate say that it began, and wait.
  void Hold(const std::string& candidate) {
    script_.evaluate[candidate] = [this]() -> Result<Evaluation> {
      began_.Open();
      go_.Pass();
      return Evaluation();
    };
  }
  ErrorCode CodeOf(int64_t id) const { return ends_.at(id).evaluation.error().code; }

  Script script_;
  Door began_, go_;
  int64_t refused_ = -1;
  std::vector<int64_t> order_;       // of judging
  std::map<int64_t, TaskEnd> ends_;  // may be read when the scheduler has drained or stopped
};

}  // namespace kb

#endif  // JOBS_SCHEDULER_TEST_UTIL_H_
