#include "device/memory_ops.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

#if defined(__SSE2__)
#include <cpuid.h>
#include <emmintrin.h>
#endif

namespace kb {
namespace {

constexpr size_t kLine = 64;
constexpr int64_t kPiece = int64_t{1} << 20;     // of a parallel job: long enough to amortise taking it
constexpr size_t kStreamFrom = size_t{1} << 18;  // below, the data is better left in the caches

// Bytes up to the next multiple of a cache line.
size_t BytesToLine(const void* pointer) { return -reinterpret_cast<uintptr_t>(pointer) % kLine; }

// Stores that bypass the caches save reading the lines of dst, a third of a plain copy's traffic.
void StreamCopy(char* dst, const char* src, size_t bytes) {
#if defined(__SSE2__)
  const size_t head = std::min(bytes, BytesToLine(dst));
  std::memcpy(dst, src, head);
  const size_t end = head + (bytes - head) / kLine * kLine;
  for (size_t i = head; i < end; i += kLine) {
    const auto* from = reinterpret_cast<const __m128i*>(src + i);
    auto* to = reinterpret_cast<__m128i*>(dst + i);
    const __m128i a = _mm_loadu_si128(from);
    const __m128i b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2);
    const __m128i d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  std::memcpy(dst + end, src + end, bytes - end);
  _mm_sfence();  // streaming stores are not ordered with the release that tells the caller "done"
#else
  std::memcpy(dst, src, bytes);
#endif
}

// Fills dst with repetitions of `pattern` (16 bytes).
void StreamFill(char* dst, size_t bytes, const char* pattern) {
  std::array<char, 2 * kLine> line;
  for (size_t i = 0; i < line.size(); ++i) line[i] = pattern[i % 16];
  const size_t head = std::min(bytes, BytesToLine(dst));
  std::memcpy(dst, line.data(), head);
  const char* aligned = line.data() + head;  // the pattern as it goes on at the first whole line
  const size_t end = head + (bytes - head) / kLine * kLine;
#if defined(__SSE2__)
  const __m128i value = _mm_loadu_si128(reinterpret_cast<const __m128i*>(aligned));
  for (size_t i = head; i < end; i += kLine) {
    auto* to = reinterpret_cast<__m128i*>(dst + i);
    for (int j = 0; j < 4; ++j) _mm_stream_si128(to + j, value);
  }
  _mm_sfence();
#else
  for (size_t i = head; i < end; i += kLine) std::memcpy(dst + i, aligned, kLine);
#endif
  std::memcpy(dst + end, aligned, bytes - end);
}

template <typename T>
void Gather(const char* data, const int64_t* positions, size_t n, char* out) {
  constexpr size_t kAhead = 32;  // more than the misses one core keeps in flight
  for (size_t i = 0; i < std::min(n, kAhead); ++i) __builtin_prefetch(data + positions[i] * sizeof(T));
  for (size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) __builtin_prefetch(data + positions[i + kAhead] * sizeof(T));
    std::memcpy(out + i * sizeof(T), data + positions[i] * sizeof(T), sizeof(T));
  }
}

// "32768K" as in /sys; 0 if it is nothing of the kind.
size_t ParseCacheSize(const std::string& text) {
  size_t used = 0;
  size_t size = 0;
  try {
    size = std::stoull(text, &used);
  } catch (const std::exception&) {
    return 0;
  }
  if (used < text.size() && text[used] == 'K') size <<= 10;
  if (used < text.size() && text[used] == 'M') size <<= 20;
  return size;
}

std::string FirstWord(const std::string& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}

// Reads only: lines that were written would have to be written back during the call that follows.
void ReadThrough(const char* begin, size_t bytes) {
  uint64_t sum = 0;
  for (size_t i = 0; i + sizeof(uint64_t) <= bytes; i += kLine) {
    uint64_t value;
    std::memcpy(&value, begin + i, sizeof value);
    sum += value;
  }
  asm volatile("" : : "r"(sum));  // makes the loads real
}

}  // namespace

void ParallelCopy(ThreadPool& pool, void* dst, const void* src, size_t bytes) {
  if (bytes == 0) return;
  if (bytes < kStreamFrom) {
    std::memcpy(dst, src, bytes);
    return;
  }
  pool.Run(static_cast<int64_t>(bytes), kPiece, [&](int64_t begin, int64_t end) {
    StreamCopy(static_cast<char*>(dst) + begin, static_cast<const char*>(src) + begin, end - begin);
  });
}

void ParallelFill(ThreadPool& pool, void* dst, size_t bytes, const void* element, size_t element_size) {
  KB_CHECK(element_size != 0 && element_size <= 16 && (element_size & (element_size - 1)) == 0);
  char pattern[16];
  for (size_t i = 0; i < sizeof pattern; i += element_size) std::memcpy(pattern + i, element, element_size);
  static_assert(kPiece % sizeof pattern == 0);  // so every piece starts with the pattern's first byte
  pool.Run(static_cast<int64_t>(bytes), kPiece,
           [&](int64_t begin, int64_t end) { StreamFill(static_cast<char*>(dst) + begin, end - begin, pattern); });
}

bool ParallelEqual(ThreadPool& pool, const void* a, const void* b, size_t bytes) {
  std::atomic<bool> equal{true};
  pool.Run(static_cast<int64_t>(bytes), kPiece, [&](int64_t begin, int64_t end) {
    if (!equal.load(std::memory_order_relaxed)) return;
    if (std::memcmp(static_cast<const char*>(a) + begin, static_cast<const char*>(b) + begin, end - begin) != 0) {
      equal.store(false, std::memory_order_relaxed);
    }
  });
  return equal.load();
}

size_t ElementSize(kb_dtype dtype) {
  const int bits = dtype.bits * dtype.lanes;
  return bits % 8 == 0 ? bits / 8 : 0;
}

uint64_t PoisonPattern(kb_dtype dtype, uint64_t secret) {
  struct Format {
    uint8_t code, bits;
    uint64_t quiet_nan;  // exponent and quiet bit
  };
  static constexpr Format kFloats[] = {
      {KB_FLOAT, 16, 0x7e00},      {KB_FLOAT, 32, 0x7fc00000},   {KB_FLOAT, 64, 0x7ff8000000000000},
      {KB_BFLOAT, 16, 0x7fc0},     {KB_COMPLEX, 64, 0x7fc00000}, {KB_COMPLEX, 128, 0x7ff8000000000000},
      {KB_FLOAT8_E4M3FN, 8, 0x7f}, {KB_FLOAT8_E5M2, 8, 0x7e}};
  int width = dtype.bits * dtype.lanes;
  uint64_t bits = secret;
  for (const Format& format : kFloats) {
    if (format.code != dtype.code || format.bits != dtype.bits || dtype.lanes != 1) continue;
    width = format.code == KB_COMPLEX ? format.bits / 2 : format.bits;
    const uint64_t sign = uint64_t{1} << (width - 1);
    const uint64_t payload = ~(format.quiet_nan | sign) & (sign - 1);
    bits |= format.quiet_nan;
    if ((bits & payload) == 0) bits |= 1;  // an empty payload is the NaN that arithmetic produces
  }
  if (dtype.code == KB_BOOL && (bits & 0xfe) == 0) bits |= 2;
  if (width >= 64) return bits;
  bits &= (uint64_t{1} << width) - 1;
  for (int filled = width; filled < 64; filled *= 2) bits |= bits << filled;
  return bits;
}

void Poison(ThreadPool& pool, void* dst, size_t bytes, kb_dtype dtype, uint64_t secret) {
  const uint64_t pattern = PoisonPattern(dtype, secret);
  ParallelFill(pool, dst, bytes, &pattern, sizeof pattern);
}

void PopulatePages(ThreadPool& pool, void* data, size_t bytes) {
#if !defined(MADV_POPULATE_WRITE)
  constexpr int MADV_POPULATE_WRITE = 23;  // Linux 5.14; an older kernel refuses, and pages come when they are touched
#endif
  pool.Run(static_cast<int64_t>(bytes), kPiece, [&](int64_t begin, int64_t end) {
    madvise(static_cast<char*>(data) + begin, static_cast<size_t>(end - begin), MADV_POPULATE_WRITE);
  });
}

void FlushCaches(ThreadPool& pool, const void* scratch, size_t bytes) {
  const size_t share = bytes / pool.threads() / kLine * kLine;
  pool.RunOnEach([&](int index) { ReadThrough(static_cast<const char*>(scratch) + index * share, share); });
}

void FlushCore() {
  static const std::vector<char> scratch = [] {
    constexpr long kUnknown = 2 << 20;
    const long second = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return std::vector<char>(2 * static_cast<size_t>(second > 0 ? second : kUnknown), 1);
  }();
  ReadThrough(scratch.data(), scratch.size());
}

#if defined(__SSE2__)
bool CanEvictLines() {
  constexpr unsigned kClflushopt = 1u << 23;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kClflushopt) != 0;
}

void EvictLines(ThreadPool& pool, const void* data, size_t bytes) {
  const size_t lead = reinterpret_cast<uintptr_t>(data) % kLine;  // the first line begins before the data
  const size_t lines = bytes == 0 ? 0 : (lead + bytes + kLine - 1) / kLine;
  pool.RunOnEach([&](int index) {
    const size_t threads = static_cast<size_t>(pool.threads()), thread = static_cast<size_t>(index);
    const char* base = static_cast<const char*>(data) - lead;
    for (size_t line = lines * thread / threads; line < lines * (thread + 1) / threads; ++line) {
      asm volatile("clflushopt %0" : : "m"(base[line * kLine]) : "memory");
    }
    asm volatile("sfence" : : : "memory");
  });
}
#else
bool CanEvictLines() { return false; }
void EvictLines(ThreadPool&, const void*, size_t) { KB_CHECK(false && "CanEvictLines()"); }
#endif

void ReadSecretPositions(const void* data, size_t element_size, const int64_t* positions, size_t n, void* out) {
  const char* from = static_cast<const char*>(data);
  char* to = static_cast<char*>(out);
  struct Wide {
    char bytes[16];
  };
  switch (element_size) {
    case 1:
      return Gather<uint8_t>(from, positions, n, to);
    case 2:
      return Gather<uint16_t>(from, positions, n, to);
    case 4:
      return Gather<uint32_t>(from, positions, n, to);
    case 8:
      return Gather<uint64_t>(from, positions, n, to);
    case 16:
      return Gather<Wide>(from, positions, n, to);
  }
  KB_CHECK(false && "element size");
}

double CopyRate(ThreadPool& pool) {
  constexpr size_t kBytes = size_t{64} << 20;
  constexpr int kCopies = 6;
  const auto free_buffer = [](void* buffer) { std::free(buffer); };
  const std::unique_ptr<void, decltype(free_buffer)> a(std::aligned_alloc(4096, kBytes), free_buffer);
  const std::unique_ptr<void, decltype(free_buffer)> b(std::aligned_alloc(4096, kBytes), free_buffer);
  KB_CHECK(a && b);
  const char touch = 1;  // the kernel backs untouched memory with one page of zeros, which copies too fast
  ParallelFill(pool, a.get(), kBytes, &touch, 1);
  ParallelFill(pool, b.get(), kBytes, &touch, 1);
  int64_t best = INT64_MAX;
  for (int i = 0; i < kCopies; ++i) {
    const int64_t start = NowNs();
    ParallelCopy(pool, b.get(), a.get(), kBytes);
    best = std::min(best, NowNs() - start);
  }
  return 2.0 * kBytes / (static_cast<double>(std::max<int64_t>(best, 1)) * 1e-9);
}

size_t LastLevelCacheBytes() {
  size_t size = 0;
  int level = 0;
  for (int index = 0; index < 16; ++index) {
    const std::string directory = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    const int here = std::atoi(FirstWord(directory + "/level").c_str());
    if (here == 0) break;
    if (here <= level || FirstWord(directory + "/type") == "Instruction") continue;
    const size_t bytes = ParseCacheSize(FirstWord(directory + "/size"));
    if (bytes == 0) continue;
    level = here;
    size = bytes;
  }
  for (int name : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    if (size != 0) break;
    if (const long bytes = sysconf(name); bytes > 0) size = bytes;
  }
  return size != 0 ? size : size_t{32} << 20;
}

}  // namespace kb
