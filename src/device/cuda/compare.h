// The comparison of device/compare.h with its passes on the GPU that holds the tensors: a right output costs one pass
// over both tensors and some sums, a wrong one another pass. Only sums, and one bit for each element of a wrong output,
// come to the host.
#ifndef DEVICE_CUDA_COMPARE_H_
#define DEVICE_CUDA_COMPARE_H_

#include <memory>

#include "device/compare.h"
#include "device/cuda/launcher.h"
#include "device/cuda/memory.h"

namespace kb::cuda {

struct JudgeRule;

class Comparer {
 public:
  Comparer(const Functions& driver, Launcher* kernels, ThreadPool* pool)
      : driver_(driver), kernels_(kernels), pool_(pool) {}

  // As kb::Compare(). Without `examine` a wrong output is told by ok, worst, blocks_wrong and the errors only.
  CompareResult Compare(const void* got, const void* expected, const OutputItem& form, const ErrorBudget& budget,
                        const Tolerance& tolerance, uint64_t poison, bool examine);
  // As ErrorBudget::AddAnchor().
  void AddAnchor(ErrorBudget* budget, const void* expected, kb_dtype dtype, int64_t elements, const double* truth);

 private:
  void TakeStats(const std::string& kind, const void* got, const void* expected, const CompareKernels& form,
                 kb_dtype dtype, int64_t elements, const Tolerance& tolerance, uint64_t poison);
  AnchorTotals Totals(int64_t blocks);
  void Judge(int64_t blocks, const JudgeRule& rule, const ErrorBudget& budget, CompareResult* result);
  void ExamineThere(const void* got, const void* expected, const OutputItem& form, const JudgeRule& rule,
                    const ErrorBudget& budget, CompareResult* result);
  CompareResult CompareHere(const void* got, const void* expected, const OutputItem& form, const ErrorBudget& budget,
                            const Tolerance& tolerance, uint64_t poison);
  std::unique_ptr<Buffer> Allocate(size_t bytes);
  template <typename Part>
  const Part* Parts(unsigned count);

  const Functions& driver_;
  Launcher* kernels_;
  ThreadPool* pool_;
  std::unique_ptr<Buffer> stats_;  // BlockStats of the comparison in progress
  std::unique_ptr<Pinned> parts_;  // sums of single warps
};

}  // namespace kb::cuda

#endif  // DEVICE_CUDA_COMPARE_H_
