#include "jobs/queue.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/random.h"

namespace kb {
namespace {

class StoreQueue : public Queue {
 public:
  StoreQueue(Store* store, std::string run)
      : store_(store), run_(std::move(run)), owner_(OwnerName(fmt::format("{:016x}", RandomBits()))) {}

  std::string RunOf(int64_t) const override { return run_; }
  Result<Job> Add(const Job& job) override { return store_->AddJob(run_, job); }
  Result<bool> Claim(int64_t id) override { return store_->ClaimJob(id, owner_, UtcSeconds() + kLease); }
  Status Renew() override { return store_->RenewJobs(owner_, UtcSeconds() + kLease); }
  Result<bool> Finish(int64_t id, const nlohmann::json& evaluation) override {
    return store_->FinishJob(id, owner_, evaluation);
  }
  Result<bool> GiveBack(int64_t id, const Error& error) override {
    return store_->GiveUpJob(id, owner_, error.message, error.code == ErrorCode::kInterrupted);
  }
  Result<bool> Cancel(int64_t id, const std::string& why) override { return store_->CancelJob(id, owner_, why); }
  Result<int64_t> Release() override { return store_->ReleaseJobs(run_, false); }
  Result<std::vector<Job>> Watch(int64_t since) override { return store_->ChangedJobs(run_, since); }

 private:
  Store* const store_;
  const std::string run_;
  const std::string owner_;  // of this object alone, so that one that lost a job cannot end it for its next owner
};

class MemoryQueue : public Queue {
 public:
  std::string RunOf(int64_t) const override { return ""; }
  Result<Job> Add(const Job& job) override {
    const std::lock_guard lock(mutex_);
    Job added = job;
    added.id = static_cast<int64_t>(jobs_.size()) + 1;
    added.state = "queued";
    added.changed = ++changes_;
    return jobs_[added.id] = added;
  }
  Result<bool> Claim(int64_t id) override { return Change(id, "queued", "running", ""); }
  Status Renew() override { return {}; }
  Result<bool> Finish(int64_t id, const nlohmann::json&) override { return Change(id, "running", "done", ""); }
  Result<bool> GiveBack(int64_t id, const Error& error) override {
    return Change(id, "running", error.code == ErrorCode::kInterrupted ? "queued" : "failed", error.message);
  }
  Result<bool> Cancel(int64_t id, const std::string& why) override {
    return Change(id, "queued", "failed", why) || Change(id, "running", "failed", why);
  }
  Result<int64_t> Release() override { return 0; }
  Result<std::vector<Job>> Watch(int64_t since) override {
    const std::lock_guard lock(mutex_);
    std::map<int64_t, Job> changed;
    for (const auto& [id, job] : jobs_) {
      if (job.changed > since) changed[job.changed] = job;
    }
    std::vector<Job> in_order;
    for (auto& [at, job] : changed) in_order.push_back(std::move(job));
    return in_order;
  }

 private:
  bool Change(int64_t id, const char* from, const char* to, const std::string& error) {
    const std::lock_guard lock(mutex_);
    const auto job = jobs_.find(id);
    if (job == jobs_.end() || job->second.state != from) return false;
    job->second.attempts += job->second.state == "queued" ? 1 : 0;
    job->second.state = to;
    job->second.error = error;
    job->second.changed = ++changes_;
    return true;
  }

  std::mutex mutex_;
  std::map<int64_t, Job> jobs_;
  int64_t changes_ = 0;
};

}  // namespace

std::unique_ptr<Queue> QueueInStore(Store* store, std::string run) {
  return std::make_unique<StoreQueue>(store, std::move(run));
}

std::unique_ptr<Queue> QueueInMemory() { return std::make_unique<MemoryQueue>(); }

}  // namespace kb
