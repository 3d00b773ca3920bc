// What the engine's own memory work around one call costs, for 64 MiB of fp32 inputs and 64 MiB of fp32 outputs,
// against a plain memcpy that touches the same bytes with the same threads. The sum should stay within 1.3 times
// memcpy. Then: how cold is what a call left behind, after so much other memory was read? Between two calls of one side
// a flush, which reads the last level's size once, comes twice.
//
//   kb_memory_bench [threads]      (default: one a core)
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "device/compare.h"
#include "device/memory_ops.h"
#include "device/thread_pool.h"

namespace {

constexpr size_t kBytes = size_t{64} << 20;
constexpr int64_t kElements = kBytes / sizeof(float);
constexpr int kRepetitions = 20;
constexpr kb_dtype kFloat32 = {KB_FLOAT, 32, 1};

struct Time {
  double minimum = 0, median = 0;  // milliseconds
  void Add(const Time& other) {
    minimum += other.minimum;
    median += other.median;
  }
};

Time Summarise(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return {times.front(), (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2};
}

double Milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

struct Row {
  std::string name;
  size_t touched;  // bytes
  std::function<void()> work;
};

// Median microseconds to read `bytes` again that were read just before `between` bytes of something else.
double RereadUs(kb::ThreadPool& pool, const std::vector<char>& kept, size_t bytes, const std::vector<char>& other,
                size_t between) {
  std::vector<double> times;
  for (int repetition = 0; repetition < 3 * kRepetitions; ++repetition) {
    for (int i = 0; i < 2; ++i) kb::FlushCaches(pool, kept.data(), bytes);
    for (size_t read = 0; read < between; read += other.size()) {
      kb::FlushCaches(pool, other.data(), std::min(other.size(), between - read));
    }
    times.push_back(1e3 * Milliseconds([&] { kb::FlushCaches(pool, kept.data(), bytes); }));
  }
  return Summarise(times).median;
}

void PrintColdness(kb::ThreadPool& pool) {
  const size_t level = kb::LastLevelCacheBytes();
  const std::vector<char> kept(size_t{16} << 20, 1), other(level, 1);
  fmt::print(
      "\nmicroseconds to read memory again after reading so many times the last level ({} MiB) elsewhere\n\n{:<8}",
      level >> 20, "");
  const double amounts[] = {0, 0.5, 1, 2, 3, 4, 6};
  for (const double amount : amounts) fmt::print(" {:>8}", amount);
  for (const size_t bytes : {size_t{4} << 20, size_t{16} << 20}) {
    fmt::print("\n{:>4} MiB", bytes >> 20);
    for (const double amount : amounts) {
      const auto between = static_cast<size_t>(amount * static_cast<double>(level));
      fmt::print(" {:>8.0f}", RereadUs(pool, kept, bytes, other, between));
    }
  }
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  kb::ThreadPool pool(argc > 1 ? std::max(1, std::atoi(argv[1])) : cores);
  std::vector<float> inputs(kElements), shared_inputs(kElements), outputs(kElements), expected(kElements);
  for (int64_t i = 0; i < kElements; ++i) inputs[i] = expected[i] = static_cast<float>(i % 1009) - 504;
  outputs = expected;
  shared_inputs = inputs;

  std::vector<double> truth(expected.begin(), expected.end());
  kb::ErrorBudget budget;
  budget.AddAnchor(pool, expected.data(), kFloat32, kElements, truth.data());
  const int64_t shape[] = {kElements};
  // As a plain program would: one memcpy a thread.
  const auto plain_copy = [&](size_t bytes) {
    pool.RunOnEach([&](int index) {
      const size_t begin = bytes / pool.threads() * index;
      const size_t end = index + 1 == pool.threads() ? bytes : begin + bytes / pool.threads();
      std::memcpy(reinterpret_cast<char*>(shared_inputs.data()) + begin,
                  reinterpret_cast<const char*>(inputs.data()) + begin, end - begin);
    });
  };
  std::vector<float> poisoned(kElements);
  const std::vector<Row> rows = {
      {"present", 2 * kBytes, [&] { kb::ParallelCopy(pool, shared_inputs.data(), inputs.data(), kBytes); }},
      {"poison", kBytes, [&] { kb::Poison(pool, poisoned.data(), kBytes, kFloat32, 12345); }},
      {"compare", 2 * kBytes,
       [&] { KB_CHECK(kb::Compare(pool, outputs.data(), expected.data(), kFloat32, shape, budget, {}, 12345).ok); }},
      {"check inputs", 2 * kBytes,
       [&] { KB_CHECK(kb::ParallelEqual(pool, shared_inputs.data(), inputs.data(), kBytes)); }},
  };

  // Each row next to its memcpy, all rows in turn, so that a busy machine is as unfair to everybody.
  std::vector<std::vector<double>> ours(rows.size()), plain(rows.size());
  for (int repetition = -2; repetition < kRepetitions; ++repetition) {
    for (size_t i = 0; i < rows.size(); ++i) {
      const double copy = Milliseconds([&] { plain_copy(rows[i].touched / 2); });
      const double own = Milliseconds(rows[i].work);
      if (repetition < 0) continue;  // warm-up: page faults
      plain[i].push_back(copy);
      ours[i].push_back(own);
    }
  }

  fmt::print("{}, {} cores, {} threads, last-level cache {} MiB, copy touches {:.1f} GB/s\n", ProcessorName(), cores,
             pool.threads(), kb::LastLevelCacheBytes() >> 20, kb::CopyRate(pool) / 1e9);
  fmt::print("{} repetitions; milliseconds: minimum, median\n\n", kRepetitions);
  fmt::print("{:<14} {:>8}   {:>16}   {:>16}   {:>14}\n", "", "touched", "ours", "memcpy", "ours / memcpy");
  const auto print = [](const std::string& name, size_t touched, const Time& own, const Time& copy) {
    fmt::print("{:<14} {:>4} MiB   {:>7.2f} {:>8.2f}   {:>7.2f} {:>8.2f}   {:>6.2f} {:>7.2f}\n", name, touched >> 20,
               own.minimum, own.median, copy.minimum, copy.median, own.minimum / copy.minimum,
               own.median / copy.median);
  };
  Time own_sum, copy_sum;
  size_t touched_sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Time own = Summarise(ours[i]);
    const Time copy = Summarise(plain[i]);
    print(rows[i].name, rows[i].touched, own, copy);
    own_sum.Add(own);
    copy_sum.Add(copy);
    touched_sum += rows[i].touched;
  }
  print("sum", touched_sum, own_sum, copy_sum);
  PrintColdness(pool);
  return 0;
}
