// Is an output right? Compares what a candidate wrote with what the reference wrote, every element.
//
// Floating outputs are judged against the reference's own error. For the inputs of a few rounds ("anchors") the
// reference also runs in fp64. Per block of 1,024 neighbouring elements a candidate may err rms_factor times the RMS
// error and max_factor times the largest error that the reference itself has; it is compared with the reference, which
// errs too, so one is added to each factor. Below that, a floor in units of the block's magnitude, which counts as at
// most 20 standard deviations of the output, so that an offset hides no error; above, a cap in units of the output's
// standard deviation, so that an output without information never passes. Blocks are local, so garbage cannot hide
// where values are small.
//
// In types of one or two bytes an element that was computed with an allowed error may come out one step of the type
// away, which is more than that error, though only as many elements do as the error is part of a step. So the largest
// error may be a step at the block's largest number, and the floor of the mean square is floor * step, and one such
// element.
//
// Integer and bool outputs must be equal. Pure functions over memory; nothing here knows a device or a problem.
#ifndef DEVICE_COMPARE_H_
#define DEVICE_COMPARE_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/compare_kernels.h"
#include "device/mismatch_map.h"
#include "device/thread_pool.h"
#include "kernelbench/kernel.h"

namespace kb {

class Buffer;  // device.h

struct Tolerance {
  enum class Mode {
    kAnchored = 1,  // by blocks, as above
    kAllclose = 2,  // |got - expected| <= atol + rtol * |expected| for every element; no budget, no cap
  };
  Mode mode = Mode::kAnchored;
  double atol = 0;         // allclose only
  double rtol = 1e-4;      // anchored: floor of the largest error of a block, in units of the block's RMS magnitude
  double rtol_rms = 2e-5;  // anchored: the same for the RMS error
  double rms_factor = 2;   // anchored: times the reference's own RMS error
  double max_factor = 4;   // anchored: times the reference's own largest error
  double cap = 0.1;        // anchored: no error is allowed above this many standard deviations of the output
};

// Mean and squares of many numbers, merged without cancellation.
struct Moments {
  long double count = 0, mean = 0, deviation = 0, square = 0;  // deviation: sum of (x - mean)^2; square: of x^2
  void Add(const BlockStats& stats);                           // the expected components of one block
  void Merge(const Moments& other);
  double Std() const;
  double Rms() const;
};

// What the reference itself errs in one block: the largest of the anchors.
struct BlockBudget {
  double rms = 0, max = 0;
};

// Sums over all blocks of one anchor.
struct AnchorTotals {
  Moments truth;
  long double error_square = 0;
  int64_t compared = 0;
  BlockBudget worst;  // of all blocks
};

// What one output (on one distribution of inputs) may err, gathered from anchors. Copyable; not for several threads at
// once. Complex outputs count as twice as many real components, everywhere.
class ErrorBudget {
 public:
  // `expected`: the reference's output in its own precision; `truth`: the same in fp64, contiguous, as many components.
  // All anchors of a budget have the same type and size. Pairs that are not both finite are left out; integer outputs
  // need no budget, and are ignored.
  void AddAnchor(ThreadPool& pool, const void* expected, kb_dtype dtype, int64_t elements, const double* truth);

  // The same where the device that holds the tensors has summed them up: the budgets of the blocks (BlockBudget[]) stay
  // there, in `blocks`, which is that of the anchors before, brought up to date.
  void AddAnchorThere(kb_dtype dtype, int64_t elements, const AnchorTotals& totals, std::shared_ptr<Buffer> blocks);
  // A copy whose blocks are here, or in other memory of the device.
  ErrorBudget WithBlocks(std::vector<BlockBudget> blocks) const;
  ErrorBudget WithBlocksThere(std::shared_ptr<Buffer> blocks) const;

  // From now on every block may err as the worst of all blocks does, for outputs whose errors wander: where one
  // rounding is carried on, as in a running sum, what an anchor's block errs says little about the same block of the
  // next round.
  void Pool() { pooled_ = true; }

  int anchors() const { return anchors_; }

  // Of the truth, over all elements of all anchors; 0 without anchors. A standard deviation of n - 1, since a scalar
  // output has no more than its anchors.
  double OutputStd() const;
  double OutputRms() const;
  int64_t OutputCount() const { return static_cast<int64_t>(truth_.count); }  // of the numbers that tell these two

  // The reference's own RMS error over a whole output: the largest of the anchors.
  double ReferenceRms() const { return reference_rms_; }

  // Whether the truth varies by no more than rounding, so that its standard deviation says nothing: no cap then.
  bool IsConstant() const;

  // False if the reference itself errs by more than the cap allows: the network is too chaotic to be judged so.
  bool Judgeable(const Tolerance& tolerance) const;

  // Of one block, or where all of them lie if a device keeps them; 0 or null without anchors. Pooled() is what every
  // block has at least.
  double BlockRms(int64_t block) const { return std::max(Pooled().rms, blocks_.empty() ? 0 : blocks_[block].rms); }
  double BlockMax(int64_t block) const { return std::max(Pooled().max, blocks_.empty() ? 0 : blocks_[block].max); }
  BlockBudget Pooled() const { return pooled_ ? worst_ : BlockBudget(); }
  int64_t blocks() const { return static_cast<int64_t>(blocks_.size()); }
  const std::shared_ptr<Buffer>& blocks_there() const { return blocks_there_; }

 private:
  void AddTotals(kb_dtype dtype, int64_t elements, const AnchorTotals& totals);

  int anchors_ = 0;
  kb_dtype dtype_{};
  int64_t elements_ = 0;
  std::vector<BlockBudget> blocks_;
  std::shared_ptr<Buffer> blocks_there_;
  Moments truth_;
  double reference_rms_ = 0;
  BlockBudget worst_;
  bool pooled_ = false;
};

// The keys of the `mismatch` object of docs/reference/evaluation.md; a right output fills in what it can.
struct CompareResult {
  bool ok = true;
  int64_t total = 0;       // elements
  int64_t wrong = 0;       // elements outside the allowed error; at least one in every wrong block
  int64_t unwritten = 0;   // still the poison where something else is expected. Never counted in elements of 1 or 2
                           // bytes that are integers: there the poison is a number like any other
  int64_t non_finite = 0;  // not finite where the expected one is, the other way round, or another infinity; unwritten
                           // floating elements are among them
  // The element with the largest error over allowed error, the first of equals; -1 if ok. Complex: its worse part.
  int64_t worst_index = -1;
  double expected = 0, got = 0;
  // Over all pairs of finite components. For a right integer output 0.
  double max_abs_error = 0, rms_error = 0;
  // The largest error (anchored: also RMS error) over the allowed one; <= 1 if ok. Infinite if a non-finite element
  // does not match, or if no error at all is allowed. Integers: twice the difference.
  double worst = 0;
  int64_t blocks = 0, blocks_wrong = 0;
  std::string where;  // empty if ok
  MismatchMap map;    // no cells if ok
  // Elements by error over allowed error, bin i up to kHistogramBounds[i]; all zero if ok. In a block that is wrong
  // only by its RMS, the allowed error is the allowed RMS.
  std::array<int64_t, kHistogramBins> histogram{};
};

// Whether Compare and ErrorBudget know the type: fp16, bf16, fp32, fp64, complex of the last two, integers, bool.
bool IsComparable(kb_dtype dtype);

// `got` and `expected` are contiguous, of `dtype` (must be comparable) and `shape`. `budget` is empty (then the floor
// decides, capped by the standard deviation of `expected`) or of this very output. `poison` is PoisonPattern() of this
// round. Non-finite elements must match in place: NaN any NaN but the poison, infinities the same.
CompareResult Compare(ThreadPool& pool, const void* got, const void* expected, kb_dtype dtype,
                      std::span<const int64_t> shape, const ErrorBudget& budget, const Tolerance& tolerance,
                      uint64_t poison);

// The parts of a comparison whose passes over the tensors run on a device.
//
// What all blocks take from the whole output. `expected`: the moments of the expected output.
struct WholeLimits {
  double scale_floor = 0;  // a block's magnitude counts as at least this much, and as at most the next
  double scale_ceiling = std::numeric_limits<double>::infinity();
  double epsilon = 0, smallest = 0;  // of the output's type, as in CompareKernels
  double cap = std::numeric_limits<double>::infinity();
};
WholeLimits LimitsOfWhole(const Moments& expected, const ErrorBudget& budget, const Tolerance& tolerance,
                          const CompareKernels& kernels);

// Adds up what two passes over different elements found; ends with the first of the worst elements.
void Merge(const ElementStats& from, ElementStats& to);

// Fills in what is known of a wrong output after the pass over every element. `wrong` as DescribeWhere() takes it.
void TellElements(const ElementStats& all, std::span<const uint64_t> wrong, std::span<const int64_t> shape,
                  bool floating, CompareResult& result);

// Index along each dimension of a contiguous tensor's element.
std::vector<int64_t> Unravel(int64_t flat, std::span<const int64_t> shape);

}  // namespace kb

#endif  // DEVICE_COMPARE_H_
