// The queue of a desk: what is kept lies in the store, the rest in memory, under negative numbers.
#ifndef SERVER_DESK_QUEUE_H_
#define SERVER_DESK_QUEUE_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "jobs/queue.h"

namespace kb::server {

class DeskQueue : public Queue {
 public:
  explicit DeskQueue(Store* store) : stored_(QueueInStore(store, "")) {}

  // Before the job is submitted: one of the store, and its run. Or with 0 one that is not kept, whose number comes
  // back.
  int64_t Enter(int64_t id, const std::string& run);

  std::string RunOf(int64_t id) const override;
  Result<Job> Add(const Job& job) override { return job; }  // Store::AddSubmissions() does
  Result<bool> Claim(int64_t id) override;
  Status Renew() override { return stored_->Renew(); }
  Result<bool> Finish(int64_t id, const nlohmann::json& evaluation) override;
  Result<bool> GiveBack(int64_t id, const Error& error) override;
  Result<bool> Cancel(int64_t id, const std::string& why) override;
  Result<int64_t> Release() override { return 0; }
  Result<std::vector<Job>> Watch(int64_t) override { return std::vector<Job>(); }

 private:
  struct Entered {
    std::string run;
    bool claimed = false;
  };
  bool Leave(int64_t id, bool claimed);
  Result<bool> ClaimStored(int64_t id);

  const std::unique_ptr<Queue> stored_;
  mutable std::mutex mutex_;
  std::map<int64_t, Entered> entered_;  // and not ended
  int64_t unkept_ = 0;
  std::optional<Error> failure_;  // of the store, when a job was claimed last, at
  int64_t failed_ns_ = 0;
};

}  // namespace kb::server

#endif  // SERVER_DESK_QUEUE_H_
