// Which evaluation comes next: the one of highest priority, and among equals one of the problem that a device holds
// already, for loading a problem and finding out what its answers may err takes as long as many evaluations.
#ifndef JOBS_TASK_QUEUE_H_
#define JOBS_TASK_QUEUE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/candidate/candidate.h"
#include "judge/problem/problem_catalog.h"
#include "judge/protocol/protocol.h"

namespace kb {

// One evaluation to make. Small: ten thousand of them may wait.
struct Task {
  int64_t id = 0;  // the caller's
  ProblemFile problem;
  std::string size = "standard";
  std::shared_ptr<const Protocol> protocol;
  std::function<Result<Candidate>()> read;  // the candidate, once its turn has come
  int priority = 0;                         // higher ones first
};

// Not thread-safe.
class TaskQueue {
 public:
  void Push(Task task);
  // `device` stays with the problem of its last task while that has tasks and nothing of higher priority waits;
  // otherwise it takes the oldest problem of the highest priority, one that no other device is at if there is one.
  std::optional<Task> Pop(int device);
  size_t size() const { return size_; }

 private:
  struct Group {
    int priority = 0;
    std::string key;  // problem, size and precision
    std::deque<Task> tasks;
  };
  std::deque<Group> groups_;       // in the order in which they began; none is empty
  std::map<int, std::string> at_;  // key of each device's last task
  size_t size_ = 0;
};

}  // namespace kb

#endif  // JOBS_TASK_QUEUE_H_
