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

TEST(TaskQueue, LeasesAndWhatIsJudgedTakeTurns) {
  TaskQueue queue;
  for (int64_t id = 1; id <= 10; ++id) queue.Push(MakeTask(id, "a"));
  for (int64_t id = 11; id <= 13; ++id) {
    Task task = MakeTask(id, "");
    task.lease = std::make_shared<const Lease>();
    queue.Push(std::move(task));
  }
  queue.Push(MakeTask(14, "b"));
  EXPECT_EQ(Ids(queue, std::vector<int>(14, 0)), (Ids_t{11, 1, 2, 3, 4, 12, 5, 6, 7, 8, 13, 9, 10, 14}))
      << "the problem is not left for a lease";
}

TEST(TaskQueue, ClientsTakeTurns) {
  TaskQueue queue;
  for (int64_t id = 0; id < 9; ++id) queue.Push(OfClient("many", id, "a"));
  queue.Push(OfClient("few", 10, "b"));
  queue.Push(OfClient("few", 11, "c"));
  EXPECT_EQ(Ids(queue, {0, 0, 0, 0}), (Ids_t{0, 1, 2, 3})) << "four of one problem are a turn";
  EXPECT_EQ(Ids(queue, {0, 0, 0, 0, 0}), (Ids_t{10, 4, 5, 6, 7})) << "or all that there are";
  EXPECT_EQ(Ids(queue, {0, 0, 0}), (Ids_t{11, 8, -1}));
}

TEST(TaskQueue, WhatIsUrgentEndsATurnOfAClientThatHadOneSince) {
  TaskQueue queue;
  for (int64_t id = 0; id < 9; ++id) queue.Push(OfClient("many", id, "a"));
  EXPECT_EQ(Ids(queue, {0, 0}), (Ids_t{0, 1}));
  for (int64_t id = 10; id < 13; ++id) queue.Push(OfClient("few", id, "b", 1));
  EXPECT_EQ(Ids(queue, {0, 0, 0, 0}), (Ids_t{10, 11, 12, 2}));
}

TEST(TaskQueue, AnUrgentClientDoesNotStarveAnother) {
  TaskQueue queue;
  for (int64_t id = 0; id < 5; ++id) queue.Push(OfClient("urgent", id, "a", 100));
  for (int64_t id = 10; id < 15; ++id) queue.Push(OfClient("patient", id, "b"));
  EXPECT_EQ(Ids(queue, {0, 0, 0, 0, 0, 0}), (Ids_t{0, 1, 2, 3, 10, 4}))
      << "a turn each, and a patient one's lasts until an urgent one's last is longer ago";
  EXPECT_EQ(Ids(queue, {0, 0, 0, 0, 0}), (Ids_t{11, 12, 13, 14, -1}));
}

TEST(TaskQueue, PrioritiesAreAClientsOwn) {
  TaskQueue queue;
  queue.Push(OfClient("a", 0, "p"));
  queue.Push(OfClient("b", 1, "p", 5));
  queue.Push(OfClient("a", 2, "q", 9));
  EXPECT_EQ(Ids(queue, {0, 0, 0}), (Ids_t{2, 1, 0}));
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
  EXPECT_EQ(queue.Next(0)->id, 2);
  EXPECT_TRUE(queue.Remove(2));
  EXPECT_FALSE(queue.Remove(2));
  EXPECT_EQ(queue.Next(0)->id, 1);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(Ids(queue, {0, 0}), (Ids_t{1, -1}));
  EXPECT_EQ(queue.Next(0), nullptr);
}

TEST(TaskQueue, AClientBeginsNoMoreThanItMayBuildSideBySide) {
  TaskQueue queue;
  for (const int64_t id : {1, 2}) {
    Task task = MakeTask(id, "a");
    task.client = "ann";
    task.builds = 1;
    queue.Push(std::move(task));
  }
  Task other = MakeTask(3, "b");
  other.client = "bob";
  queue.Push(std::move(other));
  EXPECT_EQ(Ids(queue, {0}), (Ids_t{1}));
  queue.AddBuilds("ann", 1);
  EXPECT_EQ(Ids(queue, {0, 0}), (Ids_t{3, -1})) << "the other client need not wait";
  EXPECT_EQ(queue.size(), 1u);
  queue.AddBuilds("ann", -1);
  EXPECT_EQ(Ids(queue, {0}), (Ids_t{2}));
}

}  // namespace
}  // namespace kb
