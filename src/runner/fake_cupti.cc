// What CUPTI's library looks like from kernel_trace.cc, without a GPU: a flush hands out made-up records.
#include <cstdint>
#include <cstring>

#include "runner/kernel_trace.h"

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {

using kb::runner::CuptiKernel;

constexpr size_t kStride = 216;  // of a record, more than what is read of it

void (*requested)(uint8_t**, size_t*, size_t*) = nullptr;
void (*completed)(void*, uint32_t, uint8_t*, size_t, size_t) = nullptr;
bool enabled = false;
size_t given = 0;  // bytes of the buffer that have been handed out

CuptiKernel Launch(const char* name, uint64_t start, uint64_t end, int blocks) {
  CuptiKernel kernel{};
  kernel.kind = kb::runner::kCuptiConcurrentKernel;
  kernel.registers = 40;
  kernel.start = start;
  kernel.end = end;
  kernel.grid[0] = blocks;
  kernel.grid[1] = kernel.grid[2] = kernel.block[1] = kernel.block[2] = 1;
  kernel.block[0] = 256;
  kernel.static_shared = 1024;
  kernel.dynamic_shared = -1;
  kernel.local = 16;
  kernel.name = name;
  return kernel;
}

}  // namespace

FAKE int cuptiActivityRegisterCallbacks(decltype(requested) on_request, decltype(completed) on_complete) {
  requested = on_request;
  completed = on_complete;
  return 0;
}

FAKE int cuptiActivityEnable(int kind) {
  enabled = kind == kb::runner::kCuptiConcurrentKernel;
  return enabled ? 0 : 1;
}

FAKE int cuptiActivityDisable(int) {
  enabled = false;
  return 0;
}

FAKE int cuptiActivityFlushAll(uint32_t flags) {
  if (!enabled || flags != kb::runner::kCuptiFlushForced) return 2;
  const CuptiKernel launches[] = {Launch("_Z4reluIfEvPT_i", 1000, 1500, 8), Launch("_Z4reluIfEvPT_i", 2000, 2700, 8),
                                  Launch("_Z4reluIfEvPT_i", 3000, 3100, 4),  // another configuration
                                  Launch("triton_kernel", 4000, 9000, 8), Launch(nullptr, 500, 400, 1)};
  uint8_t* buffer = nullptr;
  size_t size = 0, most = 0;
  requested(&buffer, &size, &most);
  if (buffer == nullptr || size < 6 * kStride) return 3;
  std::memset(buffer, 0xee, 6 * kStride);
  size_t at = 0;
  for (const CuptiKernel& launch : launches) {
    std::memcpy(buffer + at, &launch, sizeof launch);
    at += kStride;
  }
  const uint32_t copy = 1;  // CUPTI_ACTIVITY_KIND_MEMCPY
  std::memcpy(buffer + at, &copy, sizeof copy);
  given = 0;
  completed(nullptr, 0, buffer, size, at + kStride);
  return 0;
}

FAKE int cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, void** record) {
  if (given + kStride > valid) return 12;  // CUPTI_ERROR_MAX_LIMIT_REACHED
  *record = buffer + given;
  given += kStride;
  return 0;
}

FAKE int cuptiGetResultString(int code, const char** text) {
  *text = code == 2 ? "made up: not enabled" : "made up";
  return 0;
}
