// The one message of a runner. Whatever is accepted must be exactly what the encoder would have written.

#include <limits>

#include "base/result.h"
#include "fuzz_target.h"
#include "wire/doorbell.h"
#include "wire/report.h"

namespace kb::fuzz {

std::vector<std::string> Seeds() {
  Report large;
  large.status = ReportStatus::kWrongForm;
  large.state_differs = true;
  large.text = "Traceback (most recent call last):\n  \xff\xfe\x00 not UTF-8";
  large.outputs = {{{KB_FLOAT, 32, 1}, {16, 4096}}, {{KB_BOOL, 8, 1}, {}}, {{KB_BFLOAT, 16, 4}, {0, 1, 2, 3}}};
  Report deep = large;
  deep.outputs[0].shape.assign(kMaxDims, std::numeric_limits<int64_t>::max());
  Report traced;
  traced.kernels = {{std::string(kMaxKernelName, 'k'), 2, 900, {1, 2, 3}, {4, 5, 6}, 32, 48, 64, 8}, {"", 1, 1}};
  traced.kernels_span_ns = std::numeric_limits<uint64_t>::max();
  std::vector<std::string> seeds = {EncodeReport(Report{}), EncodeReport(large), EncodeReport(deep),
                                    EncodeReport(traced)};
  for (const auto status :
       {ReportStatus::kLoadFailed, ReportStatus::kRaised, ReportStatus::kOutOfMemory, ReportStatus::kLacksExtension}) {
    Report report;
    report.status = status;
    report.text = "ValueError: no";
    seeds.push_back(EncodeReport(report));
  }
  return seeds;
}

}  // namespace kb::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto report = kb::DecodeReport(bytes);
  if (!report) return 0;
  KB_CHECK(report->outputs.size() <= kb::kMaxOutputs);
  for (const kb::TensorForm& form : report->outputs) {
    KB_CHECK(form.shape.size() <= kb::kMaxDims);
    for (const int64_t extent : form.shape) KB_CHECK(extent >= 0);
  }
  KB_CHECK(report->kernels.size() <= kb::kMaxKernels);
  for (const kb::KernelUse& kernel : report->kernels) KB_CHECK(kernel.name.size() <= kb::kMaxKernelName);
  KB_CHECK(kb::EncodeReport(*report) == bytes);
  return 0;
}
