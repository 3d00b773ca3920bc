// Where a module's outputs lie: a stretch of shared memory that PyTorch takes memory from while forward runs, so that a
// candidate's outputs need not be copied to where the judge can read them. On a GPU its allocator takes segments, which
// it keeps and divides itself; on the CPU what is as large as an output (output_memory.h).
//
// There are few of either: first fit in a sorted map is enough.
#ifndef RUNNER_ARENA_H_
#define RUNNER_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace kb::runner {

class Arena {
 public:
  static constexpr size_t kAlignment = 512;  // as that of what cudaMalloc returns is at least 256

  // Addresses [base, base + bytes); base is aligned.
  Arena(uint64_t base, size_t bytes) { free_[base] = bytes / kAlignment * kAlignment; }

  // The lowest free stretch of at least `bytes`; 0 if there is none. From any thread.
  uint64_t Take(size_t bytes);
  // False if `address` was not taken from here. Takes no memory itself.
  bool Give(uint64_t address);
  // Of what was taken at `address`, rounded up; 0 if nothing was.
  size_t SizeOf(uint64_t address);

 private:
  std::mutex mutex_;
  std::map<uint64_t, size_t> free_, taken_;  // size by address
};

}  // namespace kb::runner

#endif  // RUNNER_ARENA_H_
