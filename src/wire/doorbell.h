// The page through which the judge and one runner talk while rounds are running, and the only memory besides inputs,
// parameters and outputs that they share.
//
// Theory of operation. The judge writes `kind` and `argument`, then `go`, a number that the runner cannot guess and
// that differs from call to call. The runner wakes, does what it is told, writes its report, then copies `go` to
// `done`. Nothing in this page is believed: the judge keeps its own copies of what it wrote, reads `done` and the
// report once for each decision, and takes `done` for a hint, because outputs are read back and compared anyway.
//
// After a call on a GPU the runner adds what its own clocks say, and then `go` once more to `timed`: asking the device
// for it takes microseconds that would be inside the judge's clock, and less steady ones than the clock is to be.
//
// On the CPU both sides sleep on a futex (the low half of `go` and `done`): a judge that spins would take a core from
// the candidate it is timing.
#ifndef WIRE_DOORBELL_H_
#define WIRE_DOORBELL_H_

#include <atomic>
#include <cstdint>

namespace kb {

inline constexpr uint32_t kDoorbellVersion = 4;
inline constexpr uint32_t kReportCapacity = 64 * 1024;

enum class CallKind : uint32_t {
  kEmpty = 1,    // answer at once: the offset is measured with it. Argument 1: by way of all that surrounds a forward
  kLoad = 2,     // load the candidate; after this nothing in the process is trusted
  kPrepare = 3,  // new parameters are in place; argument: the seed of the weights
  kForward = 4,  // one call of the candidate; argument: the seed of the generator that forward may use
  kExit = 5,
  kTrace = 6,  // as kForward, with the GPU's kernels traced: the report names them, or its text says why not
};

struct Doorbell {
  uint32_t version;
  // Written by the judge.
  alignas(64) std::atomic<uint64_t> go;
  std::atomic<uint64_t> argument;
  std::atomic<uint32_t> kind;
  // Written by the runner.
  alignas(64) std::atomic<uint64_t> done;
  std::atomic<uint32_t> report_size;
  // After `done`, and taken once `timed` is `go`; used only as far as the judge's own clock allows.
  std::atomic<uint64_t> timed;
  std::atomic<uint64_t> elapsed_ns;   // between two events around the call; 0: unknown
  std::atomic<uint64_t> launched_ns;  // until the host had launched everything; the reference's alone is used
  alignas(64) unsigned char report[kReportCapacity];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<uint32_t>::is_always_lock_free);

inline constexpr uint32_t kDoorbellBytes = 68 * 1024;  // sizeof(Doorbell) rounded up to whole pages
static_assert(sizeof(Doorbell) <= kDoorbellBytes);

}  // namespace kb

#endif  // WIRE_DOORBELL_H_
