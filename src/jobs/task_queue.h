// Which evaluation comes next: one of the client whose turn it is; of that client's the one of highest priority; and
// among equals one of the problem that a device holds already, for loading a problem and finding out what its answers
// may err takes as long as many evaluations.
#ifndef JOBS_TASK_QUEUE_H_
#define JOBS_TASK_QUEUE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "jobs/lease.h"
#include "judge/protocol/protocol.h"
#include "judge/request.h"

namespace kb {

// One evaluation to make. Small: ten thousand of them may wait.
struct Task {
  int64_t id = 0;  // the caller's
  ProblemFile problem;
  std::string size = "standard";
  std::shared_ptr<const Protocol> protocol;
  std::function<Result<Candidate>()> read;                 // the candidate, once its turn has come
  std::function<Result<std::string>()> read_problem = {};  // and the text of a client's problem; else empty
  RoundWatch watch = {};
  int priority = 0;         // higher ones first
  std::string client;       // who wants it; "": whoever started this process
  int builds = 0;           // how many of that client's may be in preparation with this one; 0: any number
  bool build_only = false;  // it ends when it is prepared, as Unjudged() tells
  // Nothing is judged: the device is lent, when its turn comes.
  std::shared_ptr<const Lease> lease = {};
  std::shared_ptr<std::atomic<bool>> cancelled = {};  // the scheduler's
};

// Not thread-safe.
class TaskQueue {
 public:
  void Push(Task task);
  // Of a client as many more, or fewer, are in preparation; tasks that may not begin beside them stay.
  void AddBuilds(const std::string& client, int more);
  // Clients take turns of kTurn tasks of one problem, or fewer where the problem has no more. A turn ends early where
  // its client has something more urgent, or another one has whose last turn is longer ago. `device` stays with the
  // problem of its last task while that has tasks and the client's turn lasts; otherwise it takes the client's oldest
  // problem, one that no other device is at if there is one. Leases take turns with what is judged of their client's:
  // neither waits for all of the other.
  std::optional<Task> Pop(int device);
  // Takes a task back. False if it is not here.
  bool Remove(int64_t id);
  // The task that Pop() would give that device; null if there is none, or all must wait. Valid until the queue changes.
  const Task* Next(int device) const;
  // Whether something of that client is here that is at least as urgent.
  bool Has(const std::string& client, int priority) const;
  size_t size() const { return size_; }

  static constexpr int kTurn = 4;

 private:
  struct Group {
    int priority = 0;
    std::string client;
    std::string key;  // problem, size and precision
    bool lease = false;
    std::deque<Task> tasks;
  };
  // Where a device is.
  struct Place {
    std::string client, key;  // of its last task
    int left = 0;             // tasks of that client's turn
    bool lent = false;        // a lease came after that task
  };
  const Group* Best(int device) const;
  int64_t LastTurn(const std::string& client) const;
  bool GoesOn(int device, const Group& group) const;
  bool MustWait(const Group& group) const;

  std::deque<Group> groups_;  // in the order in which they began; none is empty
  std::map<int, Place> at_;
  std::map<std::string, int64_t> turns_;  // by client: which turn was its last
  int64_t turn_ = 0;
  std::map<std::string, int> builds_;  // by client: how many are in preparation, where there is one
  size_t size_ = 0;
};

}  // namespace kb

#endif  // JOBS_TASK_QUEUE_H_
