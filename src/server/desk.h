// Takes what clients ask for, has it judged by one job loop, and tells them how far it is. What is kept lies in the
// store before it is accepted: a service that was killed finds it there and judges it.
#ifndef SERVER_DESK_H_
#define SERVER_DESK_H_

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "jobs/job_loop.h"
#include "server/access.h"
#include "server/order.h"
#include "server/quota.h"
#include "server/refusal.h"
#include "server/timers.h"
#include "store/store.h"

namespace kb::server {

// Something that happened to an evaluation. The names are part of the API.
struct Event {
  std::string name;  // queued, preparing, judging, round, wrong, done, failed, cancelled
  nlohmann::json data;
  bool last = false;
};

class DeskQueue;

struct DeskOptions {
  JudgeMaker make_judge;
  std::vector<std::string> devices = {"cpu"};
  int compilations = 0;  // as JobLoopOptions
  std::shared_ptr<const OrderReader> reader;
  std::map<std::string, int> builds;  // Client::builds of those whose evaluations an earlier service left
};

class Desk {
 public:
  // `store` outlives it. Queues what an earlier service left there.
  static Result<std::unique_ptr<Desk>> Open(DeskOptions options, Store* store);
  Desk(const Desk&) = delete;  // threads refer to it
  Desk& operator=(const Desk&) = delete;
  ~Desk();

  // Accepts all or none; their ids, in the order of the orders. 409 as Store::AddSubmissions(), 429 over a quota of the
  // client. All are kept or none.
  tl::expected<std::vector<std::string>, Refusal> Take(const Client& client, std::vector<Order> orders,
                                                       const std::string& batch = "");
  // Why Take() would refuse so many more now, without a look at them.
  std::optional<Refusal> OverQuota(const Client& client, size_t more) const;
  // kUsage: this client has none of that id. `whole`: with all that was measured.
  Result<nlohmann::json> Find(const std::string& client, const std::string& id, bool whole);
  Result<std::vector<nlohmann::json>> FindBatch(const std::string& client, const std::string& batch);
  // What is not known here, because it is not there or because the store alone has it, is taken for an evaluation.
  Order::Kind KindOf(const std::string& id) const;
  // Of one that the store has; more exactly than there, while it is open here.
  std::string StateNow(const Submission& submission) const;
  // `told` is called once, on any thread: when it has ended, or after so many seconds, as it is then. kInterrupted: the
  // service stops, and it is not kept. The number is for Forget(); 0: it has been told. `until_held`: of a lease that
  // is enough.
  uint64_t Await(const std::string& client, const std::string& id, double seconds, bool whole,
                 std::function<void(Result<nlohmann::json>)> told, bool until_held = false);
  // `take` is given every event from number `from` on, in order, until the last or until it returns false. It must not
  // block and not call the desk. The number as Await().
  Result<uint64_t> Watch(const std::string& client, const std::string& id, size_t from,
                         std::function<bool(size_t, const Event&)> take);
  // Who waited or watched under that number is told no more. The last one of an evaluation that is not kept cancels it.
  void Forget(const std::string& id, uint64_t number);
  // As it is then: cancelled, for `why`, unless it has ended. What is prepared or judged ends soon after it.
  Result<nlohmann::json> Cancel(const std::string& client, const std::string& id, const std::string& why);

  // Those that are held, or whose device is not free again.
  std::vector<nlohmann::json> Leases() const;

  struct Counts {
    std::map<std::string, int64_t> open;   // by state
    std::map<std::string, int64_t> ended;  // since the start, by verdict, or failed, or cancelled
    double judging_s = 0;
    int64_t Open() const {
      int64_t all = 0;
      for (const auto& [state, count] : open) all += count;
      return all;
    }
  };
  Counts counts() const;
  size_t OpenOf(const std::string& client) const;
  // What ended it, if anything did. Then nothing more is judged.
  Status status() const { return loop_->status(); }
  // That, or what keeps it from judging what is kept for now: a store that cannot be written.
  Status health() const {
    const Status judging = loop_->status();
    return judging ? loop_->trouble() : judging;
  }
  // How much is remembered; for tests.
  struct Remembered {
    size_t entries = 0, open = 0, timers = 0, listeners = 0;
  };
  Remembered remembered() const;
  // Ends what is being judged as soon as that is possible, and tells all that wait. What is kept stays queued.
  void Stop();

 private:
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;

  Desk(DeskOptions options, Store* store);
  struct Filed {
    std::string id;
    EntryPtr entry;  // null: it was asked for before
  };

  Status Resume();
  Status ResumeOne(const Submission& submission);
  Result<std::vector<Filed>> File(const std::string& client, std::vector<Order>* orders, const std::string& batch);
  std::shared_ptr<const Lease> MakeLease(const EntryPtr& entry, const LeaseTerms& terms);
  void Lend(const EntryPtr& entry, const LentDevice& device);
  void Begin(const EntryPtr& entry, const Order& order, double deadline_s, int builds);
  Result<EntryPtr> Known(const std::string& client, const std::string& id) const;
  Result<nlohmann::json> FromStore(const std::string& client, const std::string& id, bool whole) const;
  Result<nlohmann::json> Seen(const Entry& entry, bool whole) const;
  void Attend(const EntryPtr& entry);
  void Tell(Entry* entry, Event event);
  void CountDown(const std::string& client, size_t count);
  bool Close(Entry* entry);
  void Step(int64_t job, const std::string& state, nlohmann::json data);
  Status End(const JobEnd& end);
  void Finish(const EntryPtr& entry, const std::string& state, const nlohmann::json* evaluation, const Error* error);
  void Abandon(const EntryPtr& entry);
  void TimeOut(const EntryPtr& entry, uint64_t number);

  const DeskOptions options_;
  Store* const store_;
  const std::unique_ptr<DeskQueue> queue_;
  mutable std::mutex mutex_;  // of all below, and of entries
  std::map<std::string, EntryPtr> entries_;
  std::map<int64_t, EntryPtr> by_job_;  // of those that have not ended, and what Leases() tells of
  std::map<std::string, size_t> open_;  // how many of each client, and of what it is asking for
  std::deque<std::string> ended_;       // still in entries_, oldest first
  Counts counts_;
  DeviceUse use_;
  uint64_t listeners_ = 0;
  bool stopped_ = false;
  std::unique_ptr<JobLoop> loop_;  // its threads use all of the others
  Timers timers_;                  // last: its calls use the loop, whose threads have ended when it goes
};

}  // namespace kb::server

#endif  // SERVER_DESK_H_
