#include "device/compare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "base/result.h"
#include "device/mismatch_where.h"

namespace kb {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kBlocksPerPiece = 64;      // of a parallel job
constexpr double kSmallestScale = 1e-6;      // a block's magnitude counts as at least this much of the whole output's
constexpr double kConstantSpread = 0x1p-23;  // relative; what an fp32 reference cannot resolve is not information
// A block's magnitude counts as at most this many standard deviations of the output: more would let TF32 through where
// outputs have an offset, less would refuse n positive terms added up one after the other.
constexpr double kMostSpreads = 20;
constexpr int64_t kTellsSpread = 16;  // as many numbers tell a standard deviation well enough for that

int64_t CountBlocks(int64_t elements) { return (elements + kBlockElements - 1) / kBlockElements; }

double ErrorRatio(double error, double allowed) { return error == 0 ? 0.0 : error / allowed; }

// Allowed errors of one block.
struct Limits {
  double rms = 0, max = 0;
};

// One comparison in progress.
struct Comparison {
  const CompareKernels& kernels;
  const void* got;
  const void* expected;
  int64_t elements;
  const ErrorBudget& budget;
  const Tolerance& tolerance;
  BlockRule rule;  // what all blocks share
  WholeLimits whole;
  std::vector<BlockStats> stats;

  bool allclose() const { return tolerance.mode == Tolerance::Mode::kAllclose; }
  int64_t SizeOf(int64_t block) const { return std::min(kBlockElements, elements - block * kBlockElements); }
};

const void* At(const void* data, int64_t element, const CompareKernels& kernels) {
  return static_cast<const char*>(data) + element * kernels.components * kernels.component_size;
}

BlockStats BlockStatsOf(const Comparison& comparison, int64_t block) {
  const CompareKernels& kernels = comparison.kernels;
  const void* got = At(comparison.got, block * kBlockElements, kernels);
  const void* expected = At(comparison.expected, block * kBlockElements, kernels);
  const int64_t n = comparison.SizeOf(block) * kernels.components;
  const auto fast = comparison.allclose() ? kernels.fast_allclose : kernels.fast;
  const BlockStats stats = fast(got, expected, n, comparison.rule);
  return Usable(kernels, stats) ? stats : kernels.masked(got, expected, n, comparison.rule);
}

// First pass: sums of every block. This is all that a right output costs.
void GatherStats(ThreadPool& pool, Comparison& comparison) {
  const int64_t blocks = CountBlocks(comparison.elements);
  comparison.stats.resize(blocks);
  pool.Run(blocks, kBlocksPerPiece, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) comparison.stats[block] = BlockStatsOf(comparison, block);
  });
}

Limits LimitsOf(const Comparison& comparison, int64_t block) {
  if (!comparison.kernels.floating) return {0.5, 0.5};
  const Tolerance& tolerance = comparison.tolerance;
  const WholeLimits& whole = comparison.whole;
  const BlockStats& stats = comparison.stats[block];
  const double scale = std::max(stats.expected_rms, whole.scale_floor);
  const auto floor = [&](double relative) {
    return std::max(relative * std::min(scale, whole.scale_ceiling), std::min(relative, 2 * whole.epsilon) * scale);
  };
  const auto step = [&](double magnitude) { return std::max(whole.epsilon * magnitude, whole.smallest); };
  const double rms =
      std::max((tolerance.rms_factor + 1) * comparison.budget.BlockRms(block), floor(tolerance.rtol_rms));
  const double max = std::max((tolerance.max_factor + 1) * comparison.budget.BlockMax(block), floor(tolerance.rtol));
  const Limits limits = {std::min(rms, whole.cap), std::min(max, whole.cap)};
  if (whole.smallest == 0) return limits;
  // Elements that round to the other neighbour.
  const double largest_step = step(stats.expected_max);
  const double square = floor(tolerance.rtol_rms) * step(scale) +
                        largest_step * std::min(stats.error_max, largest_step) / std::max(stats.compared, 1);
  return {std::max(limits.rms, std::min(std::sqrt(square), whole.cap)), std::max(limits.max, largest_step)};
}

// Error over allowed error of a block; above 1 it is wrong.
double RatioOf(const Comparison& comparison, int64_t block) {
  const BlockStats& stats = comparison.stats[block];
  if (stats.mismatched != 0) return kInfinity;
  if (comparison.allclose()) return stats.ratio_max;
  const Limits limits = LimitsOf(comparison, block);
  return std::max(ErrorRatio(stats.error_rms, limits.rms), ErrorRatio(stats.error_max, limits.max));
}

void JudgeBlocks(const Comparison& comparison, CompareResult& result) {
  long double square = 0;
  int64_t compared = 0;
  result.blocks = static_cast<int64_t>(comparison.stats.size());
  for (int64_t block = 0; block < result.blocks; ++block) {
    const BlockStats& stats = comparison.stats[block];
    const double ratio = RatioOf(comparison, block);
    result.blocks_wrong += ratio > 1;
    result.worst = std::max(result.worst, ratio);
    result.max_abs_error = std::max(result.max_abs_error, stats.error_max);
    square += static_cast<long double>(stats.error_rms) * stats.error_rms * stats.compared;
    compared += stats.compared;
  }
  if (compared > 0) result.rms_error = static_cast<double>(std::sqrt(square / compared));
  result.ok = result.blocks_wrong == 0;
}

// The rule for single elements that agrees with the verdict on their block.
BlockRule ElementRule(const Comparison& comparison, int64_t block) {
  BlockRule rule = comparison.rule;
  const BlockStats& stats = comparison.stats[block];
  const Limits limits = LimitsOf(comparison, block);
  rule.allowed = limits.max;
  const bool only_rms = ErrorRatio(stats.error_rms, limits.rms) > 1 && !(ErrorRatio(stats.error_max, limits.max) > 1);
  if (only_rms) {
    rule.allowed = limits.rms;
    rule.force = stats.error_max;  // whatever rounding says, the largest error is one of the wrong ones
  }
  return rule;
}

// Second pass, only over a wrong output: every element.
void ExamineElements(ThreadPool& pool, const Comparison& comparison, std::span<const int64_t> shape,
                     CompareResult& result) {
  static_assert(kBlockElements % 64 == 0);  // so no two blocks share a word
  const int64_t blocks = result.blocks;
  std::vector<uint64_t> wrong(blocks * (kBlockElements / 64), 0);
  std::vector<ElementStats> pieces((blocks + kBlocksPerPiece - 1) / kBlocksPerPiece);
  pool.Run(blocks, kBlocksPerPiece, [&](int64_t begin, int64_t end) {
    ElementStats piece;  // apart from the others', so that threads do not write to one cache line
    for (int64_t block = begin; block < end; ++block) {
      comparison.kernels.elements(comparison.got, comparison.expected, block * kBlockElements, comparison.SizeOf(block),
                                  ElementRule(comparison, block), &wrong[block * (kBlockElements / 64)], piece);
    }
    pieces[begin / kBlocksPerPiece] = piece;
  });
  ElementStats all;
  for (const ElementStats& piece : pieces) Merge(piece, all);
  TellElements(all, wrong, shape, comparison.kernels.floating, result);
}

Comparison Begin(kb_dtype dtype, std::span<const int64_t> shape, const ErrorBudget& budget, const Tolerance& tolerance,
                 uint64_t poison) {
  const CompareKernels* kernels = FindCompareKernels(dtype);
  KB_CHECK(kernels != nullptr);
  const int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  KB_CHECK(budget.anchors() == 0 || budget.blocks() == CountBlocks(elements));
  Comparison comparison{.kernels = *kernels,
                        .got = nullptr,
                        .expected = nullptr,
                        .elements = elements,
                        .budget = budget,
                        .tolerance = tolerance,
                        .rule = {.poison = poison},
                        .whole = {},
                        .stats = {}};
  if (comparison.allclose()) {
    comparison.rule.allclose = true;
    comparison.rule.atol = tolerance.atol;
    comparison.rule.rtol = tolerance.rtol;
  }
  return comparison;
}

}  // namespace

void Moments::Add(const BlockStats& stats) {
  if (stats.finite == 0) return;
  const long double n = stats.finite, mean_here = stats.expected_mean;
  const long double mean_square = static_cast<long double>(stats.expected_rms) * stats.expected_rms;
  Merge({n, mean_here, std::max(0.0L, mean_square - mean_here * mean_here) * n, mean_square * n});
}

// Chan, Golub and LeVeque, "Algorithms for computing the sample variance" (1983).
void Moments::Merge(const Moments& other) {
  if (other.count == 0) return;
  const long double shift = other.mean - mean, together = count + other.count;
  deviation += other.deviation + shift * shift * count * other.count / together;
  mean += shift * other.count / together;
  square += other.square;
  count = together;
}

double Moments::Std() const { return count < 2 ? 0 : static_cast<double>(std::sqrt(deviation / (count - 1))); }

double Moments::Rms() const { return count == 0 ? 0 : static_cast<double>(std::sqrt(square / count)); }

void ErrorBudget::AddAnchor(ThreadPool& pool, const void* expected, kb_dtype dtype, int64_t elements,
                            const double* truth) {
  const CompareKernels* kernels = FindCompareKernels(dtype);
  KB_CHECK(kernels != nullptr && elements >= 0);
  if (!kernels->floating) return;
  std::vector<BlockStats> stats(static_cast<size_t>(CountBlocks(elements)));
  pool.Run(CountBlocks(elements), kBlocksPerPiece, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kBlockElements;
      const int64_t n = std::min(kBlockElements, elements - first) * kernels->components;
      stats[block] = kernels->anchor(At(expected, first, *kernels), truth + first * kernels->components, n, {});
    }
  });
  blocks_.resize(stats.size());
  AnchorTotals totals;
  for (size_t block = 0; block < stats.size(); ++block) {
    blocks_[block].rms = std::max(blocks_[block].rms, stats[block].error_rms);
    blocks_[block].max = std::max(blocks_[block].max, stats[block].error_max);
    totals.truth.Add(stats[block]);
    totals.error_square +=
        static_cast<long double>(stats[block].error_rms) * stats[block].error_rms * stats[block].compared;
    totals.compared += stats[block].compared;
    totals.worst.rms = std::max(totals.worst.rms, stats[block].error_rms);
    totals.worst.max = std::max(totals.worst.max, stats[block].error_max);
  }
  AddTotals(dtype, elements, totals);
}

void ErrorBudget::AddAnchorThere(kb_dtype dtype, int64_t elements, const AnchorTotals& totals,
                                 std::shared_ptr<Buffer> blocks) {
  blocks_there_ = std::move(blocks);
  AddTotals(dtype, elements, totals);
}

ErrorBudget ErrorBudget::WithBlocks(std::vector<BlockBudget> blocks) const {
  ErrorBudget copy = *this;
  copy.blocks_ = std::move(blocks);
  return copy;
}

ErrorBudget ErrorBudget::WithBlocksThere(std::shared_ptr<Buffer> blocks) const {
  ErrorBudget copy = *this;
  copy.blocks_there_ = std::move(blocks);
  return copy;
}

void ErrorBudget::AddTotals(kb_dtype dtype, int64_t elements, const AnchorTotals& totals) {
  if (anchors_ == 0) {
    dtype_ = dtype;
    elements_ = elements;
  }
  KB_CHECK(elements == elements_ && dtype.code == dtype_.code && dtype.bits == dtype_.bits);
  ++anchors_;
  truth_.Merge(totals.truth);
  worst_ = {std::max(worst_.rms, totals.worst.rms), std::max(worst_.max, totals.worst.max)};
  if (totals.compared > 0) {
    const double rms = static_cast<double>(std::sqrt(totals.error_square / totals.compared));
    reference_rms_ = std::max(reference_rms_, rms);
  }
}

double ErrorBudget::OutputStd() const { return truth_.Std(); }

double ErrorBudget::OutputRms() const { return truth_.Rms(); }

bool ErrorBudget::IsConstant() const { return OutputStd() <= kConstantSpread * OutputRms(); }

bool ErrorBudget::Judgeable(const Tolerance& tolerance) const {
  if (anchors_ == 0 || tolerance.mode == Tolerance::Mode::kAllclose || IsConstant()) return true;
  return reference_rms_ <= tolerance.cap * OutputStd();
}

bool IsComparable(kb_dtype dtype) { return FindCompareKernels(dtype) != nullptr; }

CompareResult Compare(ThreadPool& pool, const void* got, const void* expected, kb_dtype dtype,
                      std::span<const int64_t> shape, const ErrorBudget& budget, const Tolerance& tolerance,
                      uint64_t poison) {
  Comparison comparison = Begin(dtype, shape, budget, tolerance, poison);
  comparison.got = got;
  comparison.expected = expected;
  GatherStats(pool, comparison);
  CompareResult result;
  result.total = comparison.elements;
  Moments moments;
  for (const BlockStats& stats : comparison.stats) moments.Add(stats);
  comparison.whole = LimitsOfWhole(moments, budget, tolerance, comparison.kernels);
  JudgeBlocks(comparison, result);
  if (!result.ok) ExamineElements(pool, comparison, shape, result);
  return result;
}

WholeLimits LimitsOfWhole(const Moments& expected, const ErrorBudget& budget, const Tolerance& tolerance,
                          const CompareKernels& kernels) {
  WholeLimits whole{
      .scale_floor = kSmallestScale * expected.Rms(), .epsilon = kernels.epsilon, .smallest = kernels.smallest};
  double spread = expected.Std();
  auto count = static_cast<int64_t>(expected.count);
  bool constant = spread <= std::max(kConstantSpread, kernels.epsilon) * expected.Rms();
  if (budget.anchors() > 0) {
    spread = budget.OutputStd();
    count = budget.OutputCount();
    constant = budget.IsConstant();
  }
  if (!constant) whole.cap = tolerance.cap * spread;
  if (!constant && count >= kTellsSpread) whole.scale_ceiling = kMostSpreads * spread;
  return whole;
}

void Merge(const ElementStats& from, ElementStats& to) {
  if (from.worst > to.worst || (from.worst == to.worst && from.worst_index < to.worst_index)) {
    to.worst = from.worst;
    to.worst_index = from.worst_index;
    to.expected = from.expected;
    to.got = from.got;
  }
  to.wrong += from.wrong;
  to.unwritten += from.unwritten;
  to.non_finite += from.non_finite;
  to.error_max = std::max(to.error_max, from.error_max);
  to.error_square += from.error_square;
  to.compared += from.compared;
  for (int bin = 0; bin < kHistogramBins; ++bin) to.histogram[bin] += from.histogram[bin];
}

void TellElements(const ElementStats& all, std::span<const uint64_t> wrong, std::span<const int64_t> shape,
                  bool floating, CompareResult& result) {
  result.wrong = all.wrong;
  result.unwritten = all.unwritten;
  result.non_finite = all.non_finite;
  result.worst_index = all.worst_index;
  result.expected = all.expected;
  result.got = all.got;
  result.histogram = all.histogram;
  if (!floating) {  // whose first pass only tests for equality
    result.worst = all.worst;
    result.max_abs_error = all.error_max;
    result.rms_error = static_cast<double>(std::sqrt(all.error_square / std::max<int64_t>(all.compared, 1)));
  }
  result.where = DescribeWhere(wrong, shape);
  result.map = MapMismatch(wrong, shape);
}

std::vector<int64_t> Unravel(int64_t flat, std::span<const int64_t> shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = flat % shape[d];
    flat /= shape[d];
  }
  return index;
}

}  // namespace kb
