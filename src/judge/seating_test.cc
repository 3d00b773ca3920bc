#include "judge/seating.h"

#include <gmock/gmock.h>

namespace kb {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::vector<int>> TwoThreadsEach(int count) {
  std::vector<std::vector<int>> cores;
  for (int core = 0; core < count; ++core) cores.push_back({core, core + count});
  return cores;
}

TEST(Seating, EachDeviceHasWholeCoresNearToIt) {
  Seating seating(TwoThreadsEach(16));  // 3 is a core of the threads 3 and 19
  EXPECT_THAT(seating.Elsewhere().cores, IsEmpty()) << "all of them";
  const std::vector<int> near = {8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31};
  const Seat first = seating.Take(near), second = seating.Take(near);
  EXPECT_THAT(first.cores, ElementsAre(8, 9, 10, 11, 24, 25, 26, 27));
  EXPECT_THAT(second.cores, ElementsAre(12, 13, 14, 15, 28, 29, 30, 31));
  EXPECT_EQ(first.nice, -20);
  EXPECT_THAT(seating.Elsewhere().cores, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23));
  EXPECT_THAT(seating.Take({8}).cores, ElementsAre(0, 1, 2, 3, 16, 17, 18, 19)) << "those near are taken";
  EXPECT_THAT(seating.Take({8}).cores, ElementsAre(4, 5, 6, 7, 20, 21, 22, 23)) << "what no other device has";
  EXPECT_THAT(seating.Elsewhere().cores, ElementsAre(4, 5, 6, 7, 20, 21, 22, 23));
}

TEST(Seating, ADeviceOfAnotherNumberBeginsWithOtherCores) {
  Seating one(TwoThreadsEach(10)), other(TwoThreadsEach(10));
  const std::vector<int> near = {2, 3, 4, 5, 6, 7, 8, 9};
  EXPECT_THAT(one.Take(near).cores, ElementsAre(2, 3, 4, 5, 12, 13, 14, 15));
  EXPECT_THAT(other.Take(near, 1).cores, ElementsAre(6, 7, 8, 9, 16, 17, 18, 19));
}

TEST(Seating, AsManyAreLeftForAllElse) {
  Seating seating({{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14}});
  EXPECT_THAT(seating.Take({}).cores, IsEmpty());
  EXPECT_THAT(seating.Elsewhere().cores, IsEmpty());
  Seating two({{0}, {1}});
  EXPECT_EQ(two.Take({}).nice, FirstNice()) << "others compute on these cores, too";
  Seating whole({{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}});
  EXPECT_THAT(whole.Take({}).cores, IsEmpty());
}

TEST(Seat, CoresAreListedAsTheKernelDoes) {
  EXPECT_THAT(ParseCores("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  for (const char* text : {"", "3-1", "a", "1-", "-2", "99999"}) EXPECT_THAT(ParseCores(text), IsEmpty()) << text;
}

}  // namespace
}  // namespace kb
