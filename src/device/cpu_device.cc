// The CPU as a device. How it calls a runner: process_link.h.

#include <fstream>

#include "device/cpu_secret_reader.h"
#include "device/device.h"
#include "device/memory_ops.h"
#include "device/process_link.h"
#include "device/random_fill.h"
#include "device/thread_pool.h"

namespace kb {
namespace {

std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "CPU";
}

// A flush reads the last level's size once. What an earlier call left behind is four fifths out of the caches after
// twice that (bench/results/memory_ops_cpu.md), and twice that lies between two calls of one side, for there is a flush
// before each call of either, and much else. Inputs and outputs are written past the caches in any case.
//
// A last level larger than this is shared by many cores and takes longer to read through than most calls take.
// Then only what every call reads first, its inputs, is taken out of it line by line, and the flush empties the private
// caches. Weights and other memory that a process keeps may stay in the last level, on both sides alike.
constexpr size_t kLargestFlush = size_t{64} << 20;
constexpr size_t kPrivateFlush = size_t{8} << 20;  // a core: more than any private cache
// Read by FlushLastLevel() at most. After twice as much, calls are slower than in rounds; after half, still quicker.
constexpr size_t kLastLevelFlush = size_t{256} << 20;

class HostBuffer : public Buffer {
 public:
  explicit HostBuffer(SharedMemory memory) : memory_(std::move(memory)) {}
  std::byte* data() const override { return memory_.data(); }
  size_t size() const override { return memory_.size(); }
  int fd() const override { return memory_.fd(); }

 private:
  SharedMemory memory_;
};

class CpuDevice : public Device {
 public:
  explicit CpuDevice(int threads)
      : threads_(threads),
        pool_(threads),
        by_line_(LastLevelCacheBytes() > kLargestFlush && CanEvictLines()),
        scratch_(by_line_ ? kPrivateFlush * static_cast<size_t>(threads) : LastLevelCacheBytes()) {}

  nlohmann::json Info() override {
    return {{"name", ProcessorName()},
            {"cores", threads_},
            {"last_level_cache", LastLevelCacheBytes()},
            {"flush", by_line_ ? "private caches, inputs and outputs" : "all caches"},
            {"copy_gb_s", CopyRate(pool_) / 1e9}};
  }

  Result<std::unique_ptr<Buffer>> Share(const char* name, size_t bytes) override {
    KB_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::Create(name, bytes));
    return std::make_unique<HostBuffer>(std::move(memory));
  }

  Result<std::unique_ptr<Buffer>> Allocate(size_t bytes) override { return Share("kb-private", bytes); }

  void Populate(const Buffer& buffer) override { PopulatePages(pool_, buffer.data(), buffer.size()); }

  void Copy(std::span<const CopyItem> copies) override {
    for (const CopyItem& item : copies) ParallelCopy(pool_, item.to, item.from, item.bytes);
  }

  void Present(std::span<const CopyItem> copies, std::span<const OutputItem> outputs, uint64_t secret,
               std::span<const std::span<const std::byte>> cold) override {
    Copy(copies);
    for (const OutputItem& output : outputs) Poison(pool_, output.data, output.bytes(), output.dtype, secret);
    for (const CopyItem& item : copies) Evict(item.to, item.bytes);
    for (const OutputItem& output : outputs) Evict(output.data, output.bytes());
    for (const auto& place : cold) Evict(place.data(), place.size());
    Flush();
  }

  void Flush() override { FlushCaches(pool_, scratch_.data(), scratch_.size()); }

  void FlushLastLevel() override {
    if (!by_line_) return Flush();
    if (last_level_.empty()) last_level_.resize(std::min(LastLevelCacheBytes(), kLastLevelFlush), std::byte{1});
    FlushCaches(pool_, last_level_.data(), last_level_.size());
  }

  bool PlacesInCall() const override { return false; }  // a runner is stopped, and nothing of it works then

  void Clear(std::span<const OutputItem>) override { KB_CHECK(false && "empty calls do nothing on a CPU"); }

  void FillUniform(float* to, int64_t elements, uint64_t seed) override { kb::FillUniform(pool_, to, elements, seed); }

  bool Equal(const void* a, const void* b, size_t bytes) override { return ParallelEqual(pool_, a, b, bytes); }

  CompareResult CompareOutput(const void* got, const void* expected, const OutputItem& form, const ErrorBudget& budget,
                              const Tolerance& tolerance, uint64_t secret, bool /*examine*/) override {
    return Compare(pool_, got, expected, form.dtype, form.shape, budget, tolerance, PoisonPattern(form.dtype, secret));
  }

  void AddAnchor(ErrorBudget* budget, const void* expected, kb_dtype dtype, int64_t elements,
                 const double* truth) override {
    budget->AddAnchor(pool_, expected, dtype, elements, truth);
  }

  std::unique_ptr<RunnerLink> Attach(int pid, Fd pidfd, Doorbell* doorbell, std::span<const OutputItem> outputs,
                                     Calling calling) override {
    return MakeProcessLink(pid, std::move(pidfd), doorbell, MakeSecretReader(outputs), {.calling = std::move(calling)});
  }

  std::unique_ptr<SecretReader> MakeSecretReader(std::span<const OutputItem> outputs) override {
    return std::make_unique<CpuSecretReader>(outputs);
  }

 private:
  void Evict(const void* data, size_t bytes) {
    if (by_line_) EvictLines(pool_, data, bytes);
  }

  int threads_;
  ThreadPool pool_;
  bool by_line_;                                 // inputs and outputs are evicted line by line
  std::vector<std::byte> scratch_, last_level_;  // the second from its first use on
};

}  // namespace

std::unique_ptr<Device> MakeCpuDevice(int threads) { return std::make_unique<CpuDevice>(threads); }

}  // namespace kb
