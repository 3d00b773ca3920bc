// Where PyTorch's memory on the CPU comes from while a module is called: libkernelbench_memory.so, which is preloaded
// into the processes in which modules run and in which the reference is timed.
//
// Theory of operation. PyTorch takes the memory of a tensor with posix_memalign() and gives it back with free(), which
// this library defines. Between kbm_enter() and kbm_leave() a thread's requests that are as large as an output come
// from an arena (arena.h), as long as it has room, and everything else comes from libc. So outputs lie where they are
// to be without a copy, and what else a module takes lies where it always does.
#ifndef RUNNER_OUTPUT_MEMORY_H_
#define RUNNER_OUTPUT_MEMORY_H_

#include <cstddef>
#include <cstdint>

#define KBM_EXPORT extern "C" __attribute__((visibility("default")))

// The arena is `bytes` at `base`, for the rest of the process. Once.
KBM_EXPORT void kbm_open(void* base, uint64_t bytes);
// Which requests come from there: of one of these sizes. While no thread is inside.
KBM_EXPORT void kbm_admit(const uint64_t* sizes, int count);
KBM_EXPORT void kbm_enter();
KBM_EXPORT void kbm_leave();
// How many bytes from `base` on have been taken since kbm_admit(), at most.
KBM_EXPORT uint64_t kbm_reach();

#endif  // RUNNER_OUTPUT_MEMORY_H_
