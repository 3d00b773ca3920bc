// What runs on the GPU during one call: the driver's own records of kernels, read through CUPTI's activity interface.
//
// CUPTI is found when it is needed and spelled out here, so that building needs no CUDA toolkit. Loading it and handing
// it callbacks takes 14 ms and makes launches 1 to 4% slower (bench/results/host_cost.md): a native runner, whose
// candidates launch little, does it while it waits, a module's for its traced call. Recording starts after everything
// that counts is over: from then on launches are slower still. What a runner says about its kernels is as believable as
// the runner.
#ifndef RUNNER_KERNEL_TRACE_H_
#define RUNNER_KERNEL_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/report.h"

namespace kb::runner {

// The leading part of CUpti_ActivityKernel4, which 5 to 10 have kept (CUDA 9 to 13). CUPTI gives the address of each
// record, so what follows, and how long a record is, need not be known. kernel_trace_test.cc holds the offsets against
// NVIDIA's header where there is one.
struct CuptiKernel {
  uint32_t kind;
  uint8_t cache_config, shared_memory_config;
  uint16_t registers;  // of a thread
  uint32_t partitioned_cache_requested, partitioned_cache_executed;
  uint64_t start, end;  // ns; 0 both: unknown
  uint64_t completed;
  uint32_t device, context, stream;
  int32_t grid[3], block[3];
  int32_t static_shared, dynamic_shared;  // bytes of a block
  uint32_t local;                         // bytes of a thread
  uint32_t local_total;
  uint32_t correlation;
  int64_t grid_id;
  const char* name;  // mangled
};
static_assert(offsetof(CuptiKernel, registers) == 6 && offsetof(CuptiKernel, start) == 16 &&
              offsetof(CuptiKernel, grid) == 52 && offsetof(CuptiKernel, block) == 64 &&
              offsetof(CuptiKernel, static_shared) == 76 && offsetof(CuptiKernel, local) == 84 &&
              offsetof(CuptiKernel, grid_id) == 96 && offsetof(CuptiKernel, name) == 104);

inline constexpr int kCuptiConcurrentKernel = 10;  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
inline constexpr int kCuptiKernel = 3;             // CUPTI_ACTIVITY_KIND_KERNEL
inline constexpr uint32_t kCuptiFlushForced = 1;   // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

// One launch, as far as it is of interest.
struct KernelLaunch {
  std::string name;  // mangled
  uint64_t start = 0, end = 0;
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t registers = 0, static_shared = 0, dynamic_shared = 0, local = 0;
};

struct TracedKernels {
  std::vector<KernelUse> kernels;  // the longest first, at most kMaxKernels
  uint64_t span_ns = 0;            // from the start of the first to the end of the last
};

// "void relu<float>(float*)" of "_Z4reluIfEvPT_", without what stands before and behind: "relu<float>". At most
// kMaxKernelName bytes. What is not mangled stays as it is.
std::string ReadableName(const std::string& mangled);
// Launches added up by name and configuration.
TracedKernels AddUp(const std::vector<KernelLaunch>& launches);

// Tracing on and off. At most one trace at a time in a process, for CUPTI has one set of callbacks.
class KernelTrace {
 public:
  // Loads CUPTI from `library` and hands it callbacks: what takes long. An error says what is missing. Afterwards every
  // launch takes longer, which only shows where there are hundreds (bench/results/host_cost.md): not for modules.
  static Status Prepare(const std::string& library);
  // Prepares if need be, and starts to record.
  static Result<KernelTrace> Start(const std::string& library);
  // After the device has been synchronized: ends the recording.
  Result<TracedKernels> Stop() const;

 private:
  struct Functions {
    int (*cuptiActivityRegisterCallbacks)(void (*requested)(uint8_t** buffer, size_t* size, size_t* most_records),
                                          void (*completed)(void* context, uint32_t stream, uint8_t* buffer,
                                                            size_t size, size_t valid));
    int (*cuptiActivityEnable)(int kind);
    int (*cuptiActivityDisable)(int kind);
    int (*cuptiActivityFlushAll)(uint32_t flags);
    int (*cuptiActivityGetNextRecord)(uint8_t* buffer, size_t valid, void** record);
    int (*cuptiGetResultString)(int code, const char** text);
  };

  static Result<KernelTrace> Prepared(const std::string& library);

  explicit KernelTrace(const Functions& functions) : functions_(functions) {}
  Status Check(int code, const char* what) const;
  static void Requested(uint8_t** buffer, size_t* size, size_t* most_records);
  static void Completed(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

  Functions functions_;
};

}  // namespace kb::runner

#endif  // RUNNER_KERNEL_TRACE_H_
