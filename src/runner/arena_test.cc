#include "runner/arena.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace kb::runner {
namespace {

constexpr uint64_t kBase = uint64_t{1} << 40;
constexpr size_t kMegabyte = size_t{1} << 20;

TEST(Arena, HandsOutTheLowestPlaceThatFits) {
  Arena arena(kBase, 10 * kMegabyte);
  const uint64_t a = arena.Take(4 * kMegabyte), b = arena.Take(4 * kMegabyte);
  EXPECT_EQ(a, kBase);
  EXPECT_EQ(b, kBase + 4 * kMegabyte);
  EXPECT_EQ(arena.Take(4 * kMegabyte), 0u);
  EXPECT_TRUE(arena.Give(a));
  EXPECT_EQ(arena.Take(kMegabyte), kBase);
  EXPECT_EQ(arena.Take(2 * kMegabyte), kBase + kMegabyte);
}

TEST(Arena, KnowsTheSizeOfWhatIsTaken) {
  Arena arena(kBase, kMegabyte);
  const uint64_t a = arena.Take(1000);
  EXPECT_EQ(arena.SizeOf(a), 1024u);
  EXPECT_EQ(arena.SizeOf(a + 512), 0u);
  EXPECT_TRUE(arena.Give(a));
  EXPECT_EQ(arena.SizeOf(a), 0u);
}

TEST(Arena, RefusesWhatIsNotItsOwn) {
  Arena arena(kBase, kMegabyte);
  const uint64_t a = arena.Take(1000);
  EXPECT_FALSE(arena.Give(a + 512));
  EXPECT_FALSE(arena.Give(kBase - 512));
  EXPECT_TRUE(arena.Give(a));
  EXPECT_FALSE(arena.Give(a));
  EXPECT_EQ(arena.Take(~size_t{0}), 0u);
}

TEST(Arena, PiecesNeverOverlapAndGrowTogetherAgain) {
  Arena arena(kBase, 64 * kMegabyte);
  std::mt19937_64 random(1);
  std::vector<std::pair<uint64_t, size_t>> held;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 2 == 0 || held.empty()) {
      const size_t bytes = 1 + random() % (3 * kMegabyte);
      const uint64_t address = arena.Take(bytes);
      if (address == 0) continue;
      EXPECT_EQ(address % Arena::kAlignment, 0u);
      EXPECT_GE(address, kBase);
      EXPECT_LE(address + bytes, kBase + 64 * kMegabyte);
      for (const auto& [other, size] : held) ASSERT_TRUE(address + bytes <= other || other + size <= address);
      held.emplace_back(address, bytes);
    } else {
      const size_t i = random() % held.size();
      EXPECT_TRUE(arena.Give(held[i].first));
      held.erase(held.begin() + static_cast<long>(i));
    }
  }
  for (const auto& [address, size] : held) EXPECT_TRUE(arena.Give(address));
  EXPECT_EQ(arena.Take(64 * kMegabyte), kBase);
}

}  // namespace
}  // namespace kb::runner
