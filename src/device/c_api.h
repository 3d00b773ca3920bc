// The C ABI through which the device process (Python with PyTorch) uses the device library. No Python and no torch type
// appears in it, so one binary serves every PyTorch.
//
// Results are JSON texts that live until the next call with the same handle. Functions that can fail return null or
// {"error": text}. One thread only.
#ifndef DEVICE_C_API_H_
#define DEVICE_C_API_H_

#include <cstdint>

#define KBD_EXPORT extern "C" __attribute__((visibility("default")))

KBD_EXPORT int64_t kbd_now_ns();
KBD_EXPORT void* kbd_open(const char* kind, int threads);  // kind: "cpu" or "cuda"; null: see kbd_error
KBD_EXPORT const char* kbd_info(void* device);
// Fills `to` with `elements` numbers uniform in [0, 1) (device/random_fill.h).
KBD_EXPORT void kbd_fill_uniform(void* device, float* to, int64_t elements, uint64_t seed);

// How far the reference itself is from the truth: one budget for each output and input distribution.
KBD_EXPORT void* kbd_budget_new();
KBD_EXPORT void kbd_budget_free(void* budget);
// One that anchors can be added to while this one stays as it is; null if there is no memory for it.
KBD_EXPORT void* kbd_budget_copy(void* device, const void* budget);
// `expected`: contiguous, of the given DLPack dtype; `truth`: contiguous fp64.
KBD_EXPORT void kbd_budget_add(void* device, void* budget, int code, int bits, int64_t elements, const void* expected,
                               const double* truth);
// Every block may err as the worst does (ErrorBudget::Pool).
KBD_EXPORT void kbd_budget_pool(void* budget);
// `tolerance`: {"mode", "atol", "rtol", "rtol_rms", "rms_factor", "max_factor", "cap"}.
KBD_EXPORT int kbd_budget_judgeable(void* budget, const char* tolerance);

// {"anchors", "reference_rms", "output_rms", "output_std"}: see ErrorBudget.
KBD_EXPORT const char* kbd_budget_info(void* device, void* budget);

// Would `got` be judged right for `expected`? Contiguous tensors of one form in the device's memory; budget null:
// tolerance only. One mismatch, as in kbd_compare.
KBD_EXPORT const char* kbd_judge(void* device, void* budget, int code, int bits, int dimensions, const int64_t* shape,
                                 const void* got, const void* expected, const char* tolerance);

// A session: what one runner is called through. `layout`: an ops::Layout (wire/ops.h).
KBD_EXPORT void* kbd_session_new(void* device, const char* layout);
KBD_EXPORT void kbd_session_free(void* session);
KBD_EXPORT const char* kbd_error();  // of the last function that failed
// Makes the memory that a runner shares; `arena_bytes`: the outputs lie anywhere in so much; 0: at fixed places.
// `before`: a session whose runner is gone, and whose memory serves again where it is of the same size; or null. 1, and
// the descriptors to hand to the runner: doorbell, inputs, outputs, parameters; 0: see kbd_error().
// `reference`: the session of the reference's own process, whose inputs this one shares; or null.
KBD_EXPORT int kbd_session_share(void* session, void* before, void* reference, uint64_t arena_bytes, int fds[4]);
// The same for the reference's process on a GPU, which gets its doorbell and inputs; the others are the inputs again.
// Its outputs stay its own, for who holds one exported memory can reach all (bench/results/cuda_assumptions.md).
KBD_EXPORT int kbd_session_share_inputs(void* session, int fds[4]);
KBD_EXPORT void kbd_session_attach(void* session, int pid, int pidfd);  // takes the pidfd; freezes the process
// Backs the memory with pages. It may run while the runner starts, which needs the descriptors only.
KBD_EXPORT void kbd_session_populate(void* session);
KBD_EXPORT void kbd_set_parameters(void* session, const void* const* parameters);
// Step 2 of a round. `inputs`: the private inputs, in the layout's order. On a GPU the next call puts them in place, on
// a CPU this does. `placing`: 0, small ones come where the device is held after go, others before go; 1, all come
// before go; 2, as 0, but what 0 puts there before go is there already, because another session that shares this one's
// inputs has put it there and found it unchanged.
KBD_EXPORT void kbd_present(void* session, const void* const* inputs, int placing);
// Step 3: an ops::Called.
KBD_EXPORT const char* kbd_call(void* session, int kind, uint64_t argument, int64_t timeout_ns, int clocked);
// A call on the private `inputs` that only asks whose code runs in it. `settings`: "custom" (file name of each object
// of the candidate: its name in results), "anonymous" (custom, library or other: what executable memory without a file
// is), "interval_us" (between stops). An ops::Observe::Reply.
KBD_EXPORT const char* kbd_observe(void* session, const void* const* inputs, uint64_t argument, int64_t timeout_ns,
                                   const char* settings);
KBD_EXPORT void kbd_flush(void* device);             // as kbd_present does
KBD_EXPORT void kbd_flush_last_level(void* device);  // Device::FlushLastLevel
// Step 4: an ops::CheckInputs::Reply.
KBD_EXPORT const char* kbd_check_inputs(void* session, const void* const* inputs);
// Whether the secret positions still hold what was read inside the clock: to be asked after the comparison, for what
// was compared is then what had been there in time.
KBD_EXPORT int kbd_secrets_hold(void* session);
// Step 6: [mismatch...]; `budgets` one for each output, null: tolerance only.
KBD_EXPORT const char* kbd_compare(void* session, const void* const* expected, void* const* budgets,
                                   const char* tolerance);
// Copies the outputs of the last call away, or (second time) says whether the outputs equal that copy bit for bit.
KBD_EXPORT int kbd_keep_outputs(void* session);  // 0: see kbd_error
KBD_EXPORT int kbd_outputs_equal_kept(void* session);

#endif  // DEVICE_C_API_H_
