#include "jobs/task_queue.h"

#include <algorithm>
#include <tuple>

namespace kb {

void TaskQueue::Push(Task task) {
  const std::string key = task.problem.path.string() + '\n' + task.size + '\n' + task.protocol->precision;
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group.key == key && group.priority == task.priority;
  });
  Group& group = found != groups_.end() ? *found : groups_.emplace_back(Group{task.priority, key, {}});
  group.tasks.push_back(std::move(task));
  ++size_;
}

std::optional<Task> TaskQueue::Pop(int device) {
  if (groups_.empty()) return std::nullopt;
  // Better is: higher priority, then the problem this device is at, then one that no other is at, then the oldest.
  const auto rank = [&](const Group& group) {
    const auto own = at_.find(device);
    const bool here = own != at_.end() && own->second == group.key;
    const bool elsewhere = std::any_of(
        at_.begin(), at_.end(), [&](const auto& other) { return other.first != device && other.second == group.key; });
    return std::tuple(-group.priority, !here, elsewhere);
  };
  const auto best = std::min_element(groups_.begin(), groups_.end(),
                                     [&](const Group& a, const Group& b) { return rank(a) < rank(b); });
  Task task = std::move(best->tasks.front());
  best->tasks.pop_front();
  --size_;
  at_[device] = best->key;
  if (best->tasks.empty()) groups_.erase(best);
  return task;
}

}  // namespace kb
