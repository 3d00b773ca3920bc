// A device on which both sides run: what the trusted device process needs from it. The CPU is the first; another device
// is another implementation of these two interfaces, not another engine.
#ifndef DEVICE_DEVICE_H_
#define DEVICE_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "device/authorship.h"
#include "device/compare.h"
#include "device/wait_watch.h"
#include "kernelbench/kernel.h"
#include "wire/doorbell.h"

namespace kb {

// Memory that one runner may map too. Sealed: the runner cannot change its size.
class SharedMemory {
 public:
  static Result<SharedMemory> Create(const char* name, size_t bytes);  // pages come when they are touched
  SharedMemory(const SharedMemory&) = delete;                          // one owner unmaps
  SharedMemory& operator=(const SharedMemory&) = delete;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  int fd() const { return fd_.get(); }  // the handle to hand to the runner

 private:
  SharedMemory() = default;
  Fd fd_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Memory of the device.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual std::byte* data() const = 0;  // an address of the device
  virtual size_t size() const = 0;
  virtual size_t whole() const { return size(); }  // with what lies behind it and can be reached too
  virtual int fd() const = 0;  // what a runner needs to map it: the memory itself, or a file with the device's handle
};

struct CopyItem {
  void* to;
  const void* from;
  size_t bytes;
};

struct OutputItem {
  void* data;  // contiguous
  kb_dtype dtype;
  std::vector<int64_t> shape;
  size_t bytes() const;
  int64_t elements() const;
};

// What ended a wait for the runner.
enum class SpanEnd {
  kDone,
  kDied,
  kTimedOut,
  kMalformed,   // the doorbell was rung with a wrong number
  kRanFrozen,   // it ran between calls, though it was stopped
  kNotStopped,  // it could not be stopped after the call
  kMisplaced,   // it said that its outputs lie where they cannot
  kTooEarly,    // something else had the device before late inputs were in place: it may have worked on older ones
};

struct CallSpan {
  SpanEnd end = SpanEnd::kDone;
  int64_t ns = 0;      // from go to the last secret position read
  int64_t gap_ns = 0;  // the longest time that something else held the device just before go (GPU)
  Waits waits;
  // On a GPU, what the runner's own clocks say of the call (doorbell.h): its word. 0: nothing.
  uint64_t elapsed_ns = 0, launched_ns = 0;
};

// Reads 4,096 positions of every output (all of a smaller one) that nobody could guess.
class SecretReader {
 public:
  virtual ~SecretReader() = default;
  virtual void Draw() = 0;                                   // chooses new positions
  virtual void Read() = 0;                                   // reads them, inside the clock
  virtual bool Hold() = 0;                                   // true if the memory still holds what Read() saw
  virtual void Rebind(size_t output, const void* data) = 0;  // the output lies elsewhere now
};

// One call during which the runner was stopped now and then to see which code it was in.
struct ObservedCall {
  SpanEnd end = SpanEnd::kDone;
  int64_t ran_ns = 0;  // without the stops
  int64_t stops = 0;
  std::vector<CodeSample> samples;
  std::string refused;  // why this machine shows nothing; empty if it does
};

// How one runner is called.
struct Calling {
  bool freezes = true;  // the runner is stopped, now and after every call
  bool holds = true;    // on a GPU: the device stays busy for a while after go, so that launches hide
  // Where the runner itself places its outputs: finds them and tells the reader of secret positions, after done and
  // inside the clock. False: what the runner said makes no sense.
  std::function<bool(SecretReader*)> locate = {};
};

// What a call copies to the inputs (Device::PlacesInCall()).
struct CallInputs {
  std::span<const CopyItem> early;  // before go, by the kernel that then watches the device
  // Behind the hold. Where the same is early, it is copied once more, so that the call takes as long as others do.
  std::span<const CopyItem> late = {};
};

// The runner of one candidate, as the device sees it. It is frozen except inside Call().
class RunnerLink {
 public:
  virtual ~RunnerLink() = default;
  // Rings and waits for the answer; reads `secret` positions of the outputs inside the clock if `clocked`. While early
  // inputs come the runner sleeps. It is awake when others come behind the hold, and what its host or copy engines do
  // until then is of no use to it.
  virtual CallSpan Call(CallKind kind, uint64_t argument, int64_t timeout_ns, bool clocked,
                        const CallInputs& inputs = {}) = 0;
  // True if what the clocked call read is still what the outputs hold.
  virtual bool SecretsHold() = 0;
  // A call of the candidate that counts for nothing else, stopped at random, every `interval_ns` on average.
  virtual ObservedCall ObserveForward(uint64_t argument, int64_t timeout_ns, int64_t interval_ns) = 0;
};

// What fails on the device once memory is there (a lost context) ends the process: the engine starts another one.
class Device {
 public:
  virtual ~Device() = default;
  // name, cores, last_level_cache (bytes), flush (text: what a call finds cold), copy_gb_s (measured)
  virtual nlohmann::json Info() = 0;
  // Memory that one runner may map too, and memory that none can reach.
  virtual Result<std::unique_ptr<Buffer>> Share(const char* name, size_t bytes) = 0;
  virtual Result<std::unique_ptr<Buffer>> Allocate(size_t bytes) = 0;
  // Has the system provide a buffer's pages now, and not in the first call. Nothing where memory always is there.
  virtual void Populate(const Buffer& buffer) = 0;
  virtual void Copy(std::span<const CopyItem> copies) = 0;
  // Copies, then fills outputs with the poison of this secret, then flushes the caches: one sequence. `cold`: where
  // other outputs may come to lie, which are to be as cold.
  virtual void Present(std::span<const CopyItem> copies, std::span<const OutputItem> outputs, uint64_t secret,
                       std::span<const std::span<const std::byte>> cold) = 0;
  virtual void Flush() = 0;
  // Takes more out of a last level that Flush() finds too large for it: what a candidate's call in between would do.
  virtual void FlushLastLevel() { Flush(); }
  // Whether a runner's inputs come in its call, and Present() is to leave them alone: work that a runner has armed
  // would run on them while the device idles.
  virtual bool PlacesInCall() const = 0;
  // Writes zeros and waits for it: the work of an empty call, and what empties memory that serves again (GPU).
  virtual void Clear(std::span<const OutputItem> outputs) = 0;
  // See device/random_fill.h.
  virtual void FillUniform(float* to, int64_t elements, uint64_t seed) = 0;
  virtual bool Equal(const void* a, const void* b, size_t bytes) = 0;
  // Without `examine` little more than the verdict on a wrong output is of interest.
  virtual CompareResult CompareOutput(const void* got, const void* expected, const OutputItem& form,
                                      const ErrorBudget& budget, const Tolerance& tolerance, uint64_t secret,
                                      bool examine = true) = 0;
  // Adds to a budget what the reference's output lacks against the truth; see ErrorBudget::AddAnchor.
  virtual void AddAnchor(ErrorBudget* budget, const void* expected, kb_dtype dtype, int64_t elements,
                         const double* truth) = 0;
  // Takes charge of process `pid` and freezes it.
  virtual std::unique_ptr<RunnerLink> Attach(int pid, Fd pidfd, Doorbell* doorbell, std::span<const OutputItem> outputs,
                                             Calling calling) = 0;
  virtual std::unique_ptr<SecretReader> MakeSecretReader(std::span<const OutputItem> outputs) = 0;
};

// `threads`: cores that either side may use.
std::unique_ptr<Device> MakeCpuDevice(int threads);
// The first GPU of an NVIDIA driver; an error says what is missing.
Result<std::unique_ptr<Device>> MakeCudaDevice(int threads);

}  // namespace kb

#endif  // DEVICE_DEVICE_H_
