#include "jobs/task_queue.h"

#include <algorithm>
#include <tuple>

namespace kb {

void TaskQueue::Push(Task task) {
  const bool lease = task.lease != nullptr;
  const std::string key =
      lease ? "lease" : task.problem.path.string() + '\n' + task.size + '\n' + task.protocol->precision;
  const auto found = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) {
    return group.key == key && group.priority == task.priority && group.client == task.client;
  });
  Group& group =
      found != groups_.end() ? *found : groups_.emplace_back(Group{task.priority, task.client, key, lease, {}});
  group.tasks.push_back(std::move(task));
  ++size_;
}

int64_t TaskQueue::LastTurn(const std::string& client) const {
  const auto found = turns_.find(client);
  return found == turns_.end() ? 0 : found->second;
}

void TaskQueue::AddBuilds(const std::string& client, int more) {
  if ((builds_[client] += more) == 0) builds_.erase(client);
}

bool TaskQueue::MustWait(const Group& group) const {
  const int most = group.tasks.front().builds;
  const auto found = builds_.find(group.client);
  return most > 0 && found != builds_.end() && found->second >= most;
}

// Whether the device's turn goes on with this group.
bool TaskQueue::GoesOn(int device, const Group& group) const {
  const auto place = at_.find(device);
  if (place == at_.end() || place->second.left == 0) return false;
  if (group.key != place->second.key || group.client != place->second.client) return false;
  return std::none_of(groups_.begin(), groups_.end(), [&](const Group& other) {
    return !MustWait(other) && other.priority > group.priority && LastTurn(other.client) <= LastTurn(group.client);
  });
}

const TaskQueue::Group* TaskQueue::Best(int device) const {
  const auto place = at_.find(device);
  // Better is: what may begin, then the turn that goes on, then the client whose last turn is longest ago, then higher
  // priority, then what is not of the kind of the last one, a lease or not, then the problem this device is at, then
  // one that no other is at, then the oldest.
  const bool lent = place != at_.end() && place->second.lent;
  const auto rank = [&](const Group& group) {
    const bool elsewhere = std::any_of(at_.begin(), at_.end(), [&](const auto& other) {
      return other.first != device && other.second.key == group.key;
    });
    const bool here = place != at_.end() && group.key == place->second.key;
    return std::tuple(MustWait(group), !GoesOn(device, group), LastTurn(group.client), -group.priority,
                      group.lease == lent, !here, elsewhere);
  };
  const auto best = std::min_element(groups_.begin(), groups_.end(),
                                     [&](const Group& a, const Group& b) { return rank(a) < rank(b); });
  return best == groups_.end() || MustWait(*best) ? nullptr : &*best;
}

const Task* TaskQueue::Next(int device) const {
  const Group* best = Best(device);
  return best == nullptr ? nullptr : &best->tasks.front();
}

std::optional<Task> TaskQueue::Pop(int device) {
  const Group* found = Best(device);
  if (found == nullptr) return std::nullopt;
  const auto best = std::find_if(groups_.begin(), groups_.end(), [&](const Group& group) { return &group == found; });
  Task task = std::move(best->tasks.front());
  best->tasks.pop_front();
  --size_;
  Place& place = at_[device];
  const bool goes_on = GoesOn(device, *best);
  place.lent = best->lease;
  if (goes_on) {
    --place.left;
  } else {
    if (best->lease) place.left = 0;  // the problem is still there
    if (!best->lease) place = {best->client, best->key, kTurn - 1};
    turns_[best->client] = ++turn_;
  }
  if (best->tasks.empty()) groups_.erase(best);
  return task;
}

bool TaskQueue::Has(const std::string& client, int priority) const {
  return std::any_of(groups_.begin(), groups_.end(),
                     [&](const Group& group) { return group.client == client && group.priority >= priority; });
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

}  // namespace kb
