// The C ABI through which the Python module runner and its zygote use this directory (ctypes).
#ifndef RUNNER_C_API_H_
#define RUNNER_C_API_H_

#include <cstddef>
#include <cstdint>

#define KBR_EXPORT extern "C" __attribute__((visibility("default")))

// Runs `work` in a new worker process, in namespaces of its own if `namespaces`; see confine.h. Does not return.
// `work` returns the worker's exit code. Lists are texts with one item a line.
KBR_EXPORT void kbr_run_worker(int hello_fd, int status_fd, int namespaces, uint64_t tmp_bytes, const char* keep,
                               const char* without, int (*work)());

// Where kbr_run_worker() would run `work`, returns in the new worker's supervisor-to-be instead, which becomes a
// program that supervises its own worker (kb-runner).
KBR_EXPORT void kbr_enter(int namespaces, uint64_t tmp_bytes, const char* keep, const char* without);

// `confinement` is JSON (wire/runner_spec.h). Null, or a message that lives until the next call.
KBR_EXPORT const char* kbr_confine(const char* confinement);

// Prints what a candidate could do here, one line of JSON a probe; `probe` is JSON (worker::Probe).
KBR_EXPORT void kbr_probe(const char* probe);

// Opens the GPU, after kbr_confine(); null, or a message that lives until the next call. Then: the device memory whose
// handle lies in `fd` (null: see stderr).
KBR_EXPORT const char* kbr_open_gpu();
KBR_EXPORT void* kbr_map_gpu(int fd);

// From now on the allocator below takes memory from `bytes` at `base`, and what does not fit there from the device.
KBR_EXPORT void kbr_arena_open(void* base, uint64_t bytes);
// As torch's CUDAPluggableAllocator calls them.
KBR_EXPORT void* kbr_arena_alloc(size_t bytes, int device, void* stream);
KBR_EXPORT void kbr_arena_free(void* memory, size_t bytes, int device, void* stream);

// Traces the GPU's kernels (kernel_trace.h) until the second call, after the device was synchronized: what ran is part
// of the next report. Null, or a message that lives until the next call.
KBR_EXPORT const char* kbr_trace_start(const char* cupti);
KBR_EXPORT const char* kbr_trace_stop();

// Maps a shared segment; null if it is empty or cannot be mapped.
KBR_EXPORT void* kbr_map(int fd);

KBR_EXPORT void* kbr_mailbox(void* doorbell);
// Sleeps until the judge rings; returns the CallKind and stores the argument.
KBR_EXPORT uint32_t kbr_wait(void* mailbox, uint64_t* argument);
// Writes a report. `forms`: for each output code, bits, lanes, ndim, its offset in the arena, then its extents, all as
// int64.
KBR_EXPORT void kbr_write_report(void* mailbox, int status, int state_differs, const char* text, uint64_t text_size,
                                 int outputs, const int64_t* forms);
KBR_EXPORT void kbr_answer(void* mailbox);
// Ends a call: waits for the GPU if there is one, answers, and then adds the times: between the events `start` and
// `end` (CUevent, or null), and until all had been launched. Nothing of Python's lies between the device's end and the
// answer. Null; or how the device failed, and then nothing was answered. The text lives until the next call.
KBR_EXPORT const char* kbr_finish(void* mailbox, void* start, void* end, uint64_t launched_ns);

#endif  // RUNNER_C_API_H_
