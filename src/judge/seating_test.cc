#include "judge/seating.h"

#include <gmock/gmock.h>

namespace kb {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Seating, EachDeviceHasWholeCoresNearToIt) {
  Seating seating({{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}});
  EXPECT_THAT(seating.Elsewhere().cores, IsEmpty()) << "all of them";
  const Seat first = seating.Take({4, 5, 6, 7, 12, 13, 14, 15}, 0),
             lane = seating.Take({4, 5, 6, 7, 12, 13, 14, 15}, 0),
             second = seating.Take({4, 5, 6, 7, 12, 13, 14, 15}, 1);
  EXPECT_THAT(first.cores, ElementsAre(4, 5, 12, 13));
  EXPECT_EQ(lane.cores, first.cores) << "another lane of the same device";
  EXPECT_THAT(second.cores, ElementsAre(6, 7, 14, 15));
  EXPECT_EQ(first.nice, -20);
  EXPECT_THAT(seating.Elsewhere().cores, ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));
  EXPECT_THAT(seating.Take({4}, 2).cores, ElementsAre(0, 1, 8, 9)) << "those near are taken";
  EXPECT_THAT(seating.Take({4}, 3).cores, ElementsAre(2, 3, 10, 11)) << "what no other device has";
  EXPECT_THAT(seating.Elsewhere().cores, ElementsAre(2, 3, 10, 11));
}

TEST(Seating, ADeviceOfAnotherNumberBeginsWithOtherCores) {
  Seating one({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}}),
      other({{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}});
  EXPECT_THAT(one.Take({2, 3, 4, 5, 6, 7, 8, 9}).cores, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(other.Take({2, 3, 4, 5, 6, 7, 8, 9}, 1).cores, ElementsAre(6, 7, 8, 9));
}

TEST(Seating, AsManyAreLeftForAllElse) {
  Seating seating({{0}, {1}, {2}, {3}, {4}, {5}, {6}});
  EXPECT_THAT(seating.Take({}).cores, IsEmpty());
  EXPECT_THAT(seating.Elsewhere().cores, IsEmpty());
  Seating two({{0}, {1}});
  EXPECT_EQ(two.Take({}).nice, FirstNice()) << "others compute on these cores, too";
  Seating whole({{0, 1, 2, 3, 4, 5, 6, 7}});
  EXPECT_THAT(whole.Take({}).cores, IsEmpty());
}

TEST(Seat, CoresAreListedAsTheKernelDoes) {
  EXPECT_THAT(ParseCores("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
  for (const char* text : {"", "3-1", "a", "1-", "-2", "99999"}) EXPECT_THAT(ParseCores(text), IsEmpty()) << text;
}

}  // namespace
}  // namespace kb
