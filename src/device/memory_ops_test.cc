#include "device/memory_ops.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace kb {
namespace {

const size_t kSizes[] = {0, 1, 15, 63, 64, 65, 1000, 262143, 262144, 262145, (1 << 20) + 7, (3 << 20) + 129};

std::vector<char> RandomBytes(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<char> bytes(n);
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST(MemoryOps, CopiesWhatItShouldAndNoMore) {
  ThreadPool pool(2);
  for (size_t size : kSizes) {
    for (size_t dst_offset : {0, 1, 33}) {
      for (size_t src_offset : {0, 7}) {
        const std::vector<char> src = RandomBytes(size + 64, size);
        std::vector<char> dst(size + 128, 'x');
        ParallelCopy(pool, dst.data() + dst_offset, src.data() + src_offset, size);
        EXPECT_EQ(std::memcmp(dst.data() + dst_offset, src.data() + src_offset, size), 0) << size;
        EXPECT_EQ(std::string(dst.data(), dst_offset), std::string(dst_offset, 'x'));
        EXPECT_EQ(std::string(dst.data() + dst_offset + size, 64), std::string(64, 'x'));
      }
    }
  }
}

TEST(MemoryOps, FillsWithWholeElements) {
  ThreadPool pool(2);
  const std::vector<char> element = RandomBytes(16, 5);
  for (size_t element_size : {1, 2, 4, 8, 16}) {
    for (size_t size : kSizes) {
      for (size_t offset : {0, 1, 8, 40}) {
        std::vector<char> dst(size + 128, 'x');
        ParallelFill(pool, dst.data() + offset, size, element.data(), element_size);
        size_t wrong = 0;
        for (size_t i = 0; i < size; ++i) wrong += dst[offset + i] != element[i % element_size];
        EXPECT_EQ(wrong, 0u) << size << " bytes, elements of " << element_size << ", offset " << offset;
        EXPECT_EQ(std::string(dst.data(), offset), std::string(offset, 'x'));
        EXPECT_EQ(std::string(dst.data() + offset + size, 64), std::string(64, 'x'));
      }
    }
  }
}

TEST(MemoryOps, EqualSeesEveryBit) {
  ThreadPool pool(2);
  std::mt19937_64 random(1);
  for (size_t size : kSizes) {
    const std::vector<char> a = RandomBytes(size, 2);
    std::vector<char> b = a;
    EXPECT_TRUE(ParallelEqual(pool, a.data(), b.data(), size));
    if (size == 0) continue;
    for (size_t at : {size_t{0}, size - 1, random() % size}) {
      b[at] ^= static_cast<char>(1 << (random() % 8));
      EXPECT_FALSE(ParallelEqual(pool, a.data(), b.data(), size));
      b[at] = a[at];
    }
  }
  const float zeros[] = {0.0f, -0.0f};
  EXPECT_FALSE(ParallelEqual(pool, &zeros[0], &zeros[1], sizeof(float)));
}

TEST(MemoryOps, ReadsPositions) {
  std::mt19937_64 random(3);
  for (size_t element_size : {1, 2, 4, 8, 16}) {
    const std::vector<char> data = RandomBytes(5000 * element_size, element_size);
    for (size_t n : {0, 1, 31, 32, 33, 4096}) {
      std::vector<int64_t> positions(n);
      for (int64_t& position : positions) position = static_cast<int64_t>(random() % 5000);
      if (n > 0) positions[0] = 4999;
      std::vector<char> out(n * element_size);
      ReadSecretPositions(data.data(), element_size, positions.data(), n, out.data());
      for (size_t i = 0; i < n; ++i) {
        EXPECT_EQ(std::memcmp(&out[i * element_size], &data[positions[i] * element_size], element_size), 0);
      }
    }
  }
}

TEST(PoisonPattern, FloatsAreQuietNansThatArithmeticDoesNotMake) {
  std::mt19937_64 random(4);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const uint64_t secret = i == 0 ? 0 : i == 1 ? ~uint64_t{0} : i == 2 ? uint64_t{1} << 63 : random();
    const auto single = static_cast<uint32_t>(PoisonPattern({KB_FLOAT, 32, 1}, secret));
    EXPECT_TRUE(std::isnan(std::bit_cast<float>(single)));
    EXPECT_EQ(single & 0x00400000u, 0x00400000u);
    EXPECT_NE(single & 0x003fffffu, 0u);
    const uint64_t wide = PoisonPattern({KB_FLOAT, 64, 1}, secret);
    EXPECT_TRUE(std::isnan(std::bit_cast<double>(wide)));
    EXPECT_NE(wide & 0x0007ffffffffffffu, 0u);
    const auto half = static_cast<uint16_t>(PoisonPattern({KB_FLOAT, 16, 1}, secret));
    EXPECT_EQ(half & 0x7e00, 0x7e00);
    EXPECT_NE(half & 0x01ff, 0);
    const auto brain = static_cast<uint16_t>(PoisonPattern({KB_BFLOAT, 16, 1}, secret));
    EXPECT_EQ(brain & 0x7fc0, 0x7fc0);
    EXPECT_NE(brain & 0x003f, 0);
    EXPECT_GT(PoisonPattern({KB_BOOL, 8, 1}, secret) & 0xff, 1u);
    EXPECT_EQ(PoisonPattern({KB_INT, 64, 1}, secret), secret);
    EXPECT_EQ(PoisonPattern({KB_COMPLEX, 64, 1}, secret), PoisonPattern({KB_FLOAT, 32, 1}, secret));
    EXPECT_EQ(PoisonPattern({KB_COMPLEX, 128, 1}, secret), PoisonPattern({KB_FLOAT, 64, 1}, secret));
    seen.insert(single);
  }
  EXPECT_GT(seen.size(), 990u);
}

TEST(PoisonPattern, RepeatsTheElement) {
  for (uint8_t bits : {8, 16, 32, 64}) {
    const uint64_t pattern = PoisonPattern({KB_UINT, bits, 1}, 0x0123456789abcdef);
    EXPECT_EQ(pattern, std::rotl(pattern, bits % 64));
  }
}

TEST(Poison, FillsEveryElementWithThePattern) {
  ThreadPool pool(2);
  std::vector<uint16_t> output(100003);
  Poison(pool, output.data(), output.size() * 2, {KB_BFLOAT, 16, 1}, 77);
  for (uint16_t element : output) ASSERT_EQ(element, static_cast<uint16_t>(PoisonPattern({KB_BFLOAT, 16, 1}, 77)));
}

// The last byte of scratch lies at the end of a page that nothing follows: reading further would be a SIGSEGV.
TEST(MemoryOps, FlushReadsNothingBeyondItsScratch) {
  ThreadPool pool(2);
  const size_t page = 4096;
  auto* pages = static_cast<char*>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + 2 * page, page, PROT_NONE), 0);
  for (size_t size : {0, 63, 64, 127, 128, 8191, 8192}) FlushCaches(pool, pages + 2 * page - size, size);
  munmap(pages, 3 * page);
}

// It has no result but time, so the test is that it touches what it is told, page ends included, and changes nothing.
TEST(MemoryOps, EvictingLinesChangesNothing) {
  if (!CanEvictLines()) GTEST_SKIP() << "this processor has no clflushopt";
  ThreadPool pool(2);
  const size_t page = 4096;
  auto* pages = static_cast<char*>(mmap(nullptr, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  std::iota(pages + page, pages + 2 * page, 0);
  const std::vector<char> before(pages + page, pages + 2 * page);
  ASSERT_EQ(mprotect(pages, page, PROT_NONE), 0);
  ASSERT_EQ(mprotect(pages + 2 * page, page, PROT_NONE), 0);
  for (size_t size : {0, 1, 63, 64, 65, 4096}) {
    EvictLines(pool, pages + page, size);
    EvictLines(pool, pages + 2 * page - size, size);
  }
  EXPECT_TRUE(std::equal(before.begin(), before.end(), pages + page));
  munmap(pages, 3 * page);
}

TEST(MemoryOps, KnowsTheMachine) {
  ThreadPool pool(2);
  EXPECT_GE(LastLevelCacheBytes(), size_t{128} << 10);
  EXPECT_GT(CopyRate(pool), 1e6);
  EXPECT_EQ(ElementSize({KB_COMPLEX, 128, 1}), 16u);
  EXPECT_EQ(ElementSize({KB_BOOL, 8, 1}), 1u);
  EXPECT_EQ(ElementSize({KB_INT, 4, 1}), 0u);
}

}  // namespace
}  // namespace kb
