// What a runner says after a call. Every byte is hostile: the decoder accepts exactly what the encoder writes.
#ifndef WIRE_REPORT_H_
#define WIRE_REPORT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kernelbench/kernel.h"

namespace kb {

inline constexpr int kMaxDims = 16;
inline constexpr int kMaxOutputs = 256;
inline constexpr size_t kMaxKernels = 64;
inline constexpr size_t kMaxKernelName = 200;  // bytes

// Stable numbers: they travel between executables.
enum class ReportStatus : uint8_t {
  kOk = 0,
  kLoadFailed = 1,   // the candidate could not be loaded or constructed; text says why
  kRaised = 2,       // forward (or prepare) raised or returned an error code; text holds the traceback
  kOutOfMemory = 3,  // likewise, for lack of memory
  kWrongForm = 4,    // outputs of the wrong structure, shape, dtype or device; text says what was expected
  // Text describes an extension that the module asked for and that the runner does not have, as ReadAsked()
  // (judge/compile/extension_request.h) takes it. The runner does nothing more.
  kLacksExtension = 5,
};

struct TensorForm {
  kb_dtype dtype{};
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // in bytes from the start of the shared outputs, where the runner places them itself
};

// Launches of one kernel in one configuration in a traced call (CallKind::kTrace).
struct KernelUse {
  std::string name;  // readable; empty: all those that there was no room for, whose configuration is 0
  uint32_t calls = 0;
  uint64_t total_ns = 0;
  uint32_t grid[3] = {}, block[3] = {};
  uint32_t registers = 0;                          // of a thread
  uint32_t static_shared = 0, dynamic_shared = 0;  // bytes of a block
  uint32_t local = 0;                              // bytes of a thread's local memory: spilled registers, arrays
};

struct Report {
  ReportStatus status = ReportStatus::kOk;
  bool state_differs = false;  // only in values, from the reference's, and these can replace them; text says how
  std::string text;
  std::vector<TensorForm> outputs;
  // After a traced call on a GPU: what ran, and the time from the start of the first to the end of the last.
  std::vector<KernelUse> kernels;
  uint64_t kernels_span_ns = 0;
};

// At most kReportCapacity bytes: longer text is cut at its front. Runners write less, a reason in the first line.
std::string EncodeReport(const Report& report);

// An error names the first field that is malformed.
Result<Report> DecodeReport(std::string_view bytes);

}  // namespace kb

#endif  // WIRE_REPORT_H_
