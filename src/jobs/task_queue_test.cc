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

Task OfClient(const std::string& client, int64_t id, const std::string& problem, int priority = 0) {
  Task task = MakeTask(id, problem, priority);
  task.client = client;
  return task;
}

TEST(TaskQueue, ClientsTakeTurns) {
  TaskQueue queue;
  for (int64_t id = 0; id < 9; ++id) queue.Push(OfClient("many", id, "a"));
  queue.Push(OfClient("few", 10, "b"));
  queue.Push(OfClient("few", 11, "c"));
  queue.Push(OfClient("few", 12, "d", 1));
  EXPECT_EQ(Ids(queue, {0, 0, 0}), (Ids_t{12, 0, 1})) << "priority, then whose turn is longest ago";
  EXPECT_EQ(Ids(queue, {0, 0, 0, 0}), (Ids_t{2, 3, 10, 4})) << "four of one problem are a turn, or all that there are";
  EXPECT_EQ(Ids(queue, {0, 0, 0, 0, 0, 0}), (Ids_t{5, 6, 7, 11, 8, -1}));
}

TEST(TaskQueue, TwoDevicesServeTwoClients) {
  TaskQueue queue;
  for (int64_t id = 0; id < 3; ++id) queue.Push(OfClient("a", id, "p"));
  for (int64_t id = 3; id < 5; ++id) queue.Push(OfClient("b", id, "q"));
  EXPECT_EQ(Ids(queue, {0, 1, 0, 1, 0}), (Ids_t{0, 3, 1, 4, 2}));
}

TEST(TaskQueue, WhatWaitsCanBeTakenBack) {
  TaskQueue queue;
  queue.Push(MakeTask(1, "a"));
  queue.Push(MakeTask(2, "a", 3));
  EXPECT_EQ(queue.TopPriority(), 3);
  EXPECT_TRUE(queue.Remove(2));
  EXPECT_FALSE(queue.Remove(2));
  EXPECT_EQ(queue.TopPriority(), 0);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(Ids(queue, {0, 0}), (Ids_t{1, -1}));
  EXPECT_FALSE(queue.TopPriority());
}

}  // namespace
}  // namespace kb
