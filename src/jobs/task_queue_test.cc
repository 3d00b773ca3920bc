#include "jobs/task_queue.h"

#include <gtest/gtest.h>

namespace kb {
namespace {

Task MakeTask(int64_t id, const std::string& problem, int priority = 0) {
  Task task;
  task.id = id;
  task.problem.path = problem;
  task.protocol = std::make_shared<Protocol>();
  task.priority = priority;
  return task;
}

std::vector<int64_t> Ids(TaskQueue& queue, const std::vector<int>& devices) {
  std::vector<int64_t> ids;
  for (const int device : devices) {
    const auto task = queue.Pop(device);
    ids.push_back(task ? task->id : -1);
  }
  return ids;
}

using Ids_t = std::vector<int64_t>;

TEST(TaskQueue, StaysWithAProblem) {
  TaskQueue queue;
  for (const auto& [id, problem] : {std::pair(1, "a"), {2, "b"}, {3, "a"}, {4, "b"}}) queue.Push(MakeTask(id, problem));
  EXPECT_EQ(queue.size(), 4u);
  EXPECT_EQ(Ids(queue, {0, 0, 0, 0, 0}), (Ids_t{1, 3, 2, 4, -1}));
}

TEST(TaskQueue, TwoDevicesShareProblemsOnlyAtTheEnd) {
  TaskQueue queue;
  for (const auto& [id, problem] : {std::pair(1, "a"), {2, "a"}, {3, "a"}, {4, "b"}}) queue.Push(MakeTask(id, problem));
  EXPECT_EQ(Ids(queue, {0, 1, 0, 1}), (Ids_t{1, 4, 2, 3}));
}

TEST(TaskQueue, PriorityGoesFirst) {
  TaskQueue queue;
  queue.Push(MakeTask(1, "a"));
  queue.Push(MakeTask(2, "a"));
  EXPECT_EQ(Ids(queue, {0}), (Ids_t{1}));
  queue.Push(MakeTask(3, "b", 1));
  EXPECT_EQ(Ids(queue, {0, 0}), (Ids_t{3, 2}));
}

TEST(TaskQueue, AnotherSizeIsAnotherProblem) {
  TaskQueue queue;
  queue.Push(MakeTask(1, "a"));
  Task small = MakeTask(2, "a");
  small.size = "small";
  queue.Push(small);
  queue.Push(MakeTask(3, "a"));
  EXPECT_EQ(Ids(queue, {0, 0, 0}), (Ids_t{1, 3, 2}));
}

}  // namespace
}  // namespace kb
