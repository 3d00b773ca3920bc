// What the CPU device does with tensor memory around a call: present inputs, poison outputs, flush caches, read secret
// positions. Everything runs at the speed of memory, and all sizes are bytes unless the name says otherwise.
//
// Buffers need no alignment. None of these functions stores a pointer, and none reads what it does not say.
#ifndef DEVICE_MEMORY_OPS_H_
#define DEVICE_MEMORY_OPS_H_

#include <cstddef>
#include <cstdint>

#include "device/thread_pool.h"
#include "kernelbench/kernel.h"

namespace kb {

// Copies `bytes` from src to dst, which must not overlap. Large copies bypass the caches on the side of dst.
void ParallelCopy(ThreadPool& pool, void* dst, const void* src, size_t bytes);

// Fills dst with copies of one element of 1, 2, 4, 8 or 16 bytes; a last partial element gets the element's first
// bytes.
void ParallelFill(ThreadPool& pool, void* dst, size_t bytes, const void* element, size_t element_size);

// Whether both buffers hold the same bits. Stops early at a difference, so its time depends on the data.
bool ParallelEqual(ThreadPool& pool, const void* a, const void* b, size_t bytes);

// Bytes of one element; 0 for a type that is not made of whole bytes.
size_t ElementSize(kb_dtype dtype);

// The poison of one round: the bits of one element, repeated to fill 64 bits (complex: both parts hold the same bits,
// so an element of 16 bytes is the value twice). Floating types get a quiet NaN whose sign and payload come from the
// secret and that no ordinary arithmetic produces, bool a byte that is neither 0 nor 1, integers any bits. A candidate
// can read the poison, so the secret must serve nothing else.
uint64_t PoisonPattern(kb_dtype dtype, uint64_t secret);

// Fills an output with PoisonPattern(dtype, secret).
void Poison(ThreadPool& pool, void* dst, size_t bytes, kb_dtype dtype, uint64_t secret);

// Backs page-aligned memory with pages, on all threads: the kernel zeroes each, one after the other on a single one.
void PopulatePages(ThreadPool& pool, void* data, size_t bytes);

// Evicts what other work left in the caches: every thread of the pool reads its share of `scratch`, which must have
// been written once (untouched memory is one page of zeros). Takes twice LastLevelCacheBytes() or more in all to empty
// the last level; private caches only of cores that threads of the pool run on.
void FlushCaches(ThreadPool& pool, const void* scratch, size_t bytes);

// Empties the private caches of the core that this thread is on, code included where they hold it with data.
void FlushCore();

// Whether this processor has an instruction that takes one line out of every cache (clflushopt).
bool CanEvictLines();

// Takes the lines of `data` out of the caches of all cores. Only if CanEvictLines().
void EvictLines(ThreadPool& pool, const void* data, size_t bytes);

// out[i] = the element at positions[i] (counted in elements of 1, 2, 4, 8 or 16 bytes), i < n. Prefetches: the
// positions lie anywhere in a buffer larger than the caches, and the candidate's clock is running.
void ReadSecretPositions(const void* data, size_t element_size, const int64_t* positions, size_t n, void* out);

// Bytes a second that a copy touches (read and written both count) on buffers of 64 MiB: the best of a few copies.
double CopyRate(ThreadPool& pool);

// Size of the last-level cache that serves the first core.
size_t LastLevelCacheBytes();

}  // namespace kb

#endif  // DEVICE_MEMORY_OPS_H_
