// `baseline --keep-triton`: pairs of a problem's module and the Triton that Inductor makes of it, judged, as rows of
// the data set KernelBook (docs/reference/kernelbook.md).
#ifndef CLI_KEEP_TRITON_H_
#define CLI_KEEP_TRITON_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/judge_flags.h"
#include "judge/problem/selection.h"
#include "judge/protocol/protocol.h"

namespace kb::cli {

struct KeepTritonOptions {
  std::string file, size, precision, protocol;
  DeviceFlags on;
  bool json = false, quiet = false;
};

// Whether the device is one that Inductor writes Triton for.
Status CanKeepTriton(const std::string& device);

// The exit code.
int KeepTriton(const std::vector<SelectedProblem>& problems, const KeepTritonOptions& options);

}  // namespace kb::cli

#endif  // CLI_KEEP_TRITON_H_
