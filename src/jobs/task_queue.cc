#include "jobs/task_queue.h"

#include <algorithm>
#include <tuple>

namespace kb {

void TaskQueue::Push(Task task) {
  const std::string key = task.problem.path.string() + '\n' + task.size + '\n' + task.protocol->precision;
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group.key == key && group.priority == task.priority && group.client == task.client;
  });
  Group& group = found != groups_.end() ? *found : groups_.emplace_back(Group{task.priority, task.client, key, {}});
  group.tasks.push_back(std::move(task));
  ++size_;
}

std::optional<Task> TaskQueue::Pop(int device) {
  if (groups_.empty()) return std::nullopt;
  Place& place = at_[device];
  const auto goes_on = [&](const Group& group) {
    return place.left > 0 && group.key == place.key && group.client == place.client;
  };
  const auto last_turn = [&](const Group& group) {
    const auto found = turns_.find(group.client);
    return found == turns_.end() ? 0 : found->second;
  };
  // Better is: higher priority, then the turn that has begun, then the client whose last turn is longest ago, then the
  // problem this device is at, then one that no other is at, then the oldest.
  const auto rank = [&](const Group& group) {
    const bool elsewhere = std::any_of(at_.begin(), at_.end(), [&](const auto& other) {
      return other.first != device && other.second.key == group.key;
    });
    return std::tuple(-group.priority, !goes_on(group), last_turn(group), group.key != place.key, elsewhere);
  };
  const auto best = std::min_element(groups_.begin(), groups_.end(),
                                     [&](const Group& a, const Group& b) { return rank(a) < rank(b); });
  Task task = std::move(best->tasks.front());
  best->tasks.pop_front();
  --size_;
  if (goes_on(*best)) {
    --place.left;
  } else {
    place = {best->client, best->key, kTurn - 1};
    turns_[best->client] = ++turn_;
  }
  if (best->tasks.empty()) groups_.erase(best);
  return task;
}

bool TaskQueue::Remove(int64_t id) {
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    if (std::erase_if(group->tasks, [&](const Task& task) { return task.id == id; }) == 0) continue;
    --size_;
    if (group->tasks.empty()) groups_.erase(group);
    return true;
  }
  return false;
}

std::optional<int> TaskQueue::TopPriority() const {
  if (groups_.empty()) return std::nullopt;
  return std::max_element(groups_.begin(), groups_.end(),
                          [](const Group& a, const Group& b) { return a.priority < b.priority; })
      ->priority;
}

}  // namespace kb
