// Where jobs wait for those who judge them, and what became of each: the jobs of one run. In a store, several processes
// and machines hold an object each. One who judges has a job under a lease, which a job loop renews; when that is over,
// or his process is gone, another may have it, and what he says of it then is not kept.
#ifndef JOBS_QUEUE_H_
#define JOBS_QUEUE_H_

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace kb {

// Thread-safe. An error is the queue's own, of its database, say.
class Queue {
 public:
  virtual ~Queue() = default;
  // Of a job that this object claimed: evaluations say it, with their job's model and sample; empty: they say none.
  virtual std::string RunOf(int64_t id) const = 0;
  // The job as it is then: queued if it is new, or as it was.
  virtual Result<Job> Add(const Job& job) = 0;
  // Takes a queued job. False: it is not queued any more.
  virtual Result<bool> Claim(int64_t id) = 0;
  // Of all that this object claimed and has still.
  virtual Status Renew() = 0;
  // What became of a claimed job: an evaluation, or an error, after which it is judged again if that is kInterrupted.
  // False: this object has it no longer.
  virtual Result<bool> Finish(int64_t id, const nlohmann::json& evaluation) = 0;
  virtual Result<bool> GiveBack(int64_t id, const Error& error) = 0;
  // Takes a job away from all that is queued, or that this object has: it has failed, for `why`. False: it has ended,
  // or another one has it.
  virtual Result<bool> Cancel(int64_t id, const std::string& why) = 0;
  // Queues what is held by nobody any more. How many those were.
  virtual Result<int64_t> Release() = 0;
  // Jobs that changed since the change `since` of the run (Job::changed), in that order. From 0: all.
  virtual Result<std::vector<Job>> Watch(int64_t since) = 0;
};

// How long a lease is, and how often it is renewed. Both in seconds.
inline constexpr int kLease = 60, kRenewal = 20;

// `store` outlives it.
std::unique_ptr<Queue> QueueInStore(Store* store, std::string run);
// For jobs that nobody else judges, and that are gone with it.
std::unique_ptr<Queue> QueueInMemory();

}  // namespace kb

#endif  // JOBS_QUEUE_H_
