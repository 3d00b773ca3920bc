#include "device/cuda/compare.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace kb::cuda {

// What compare.cu takes to judge a block; the same there.
struct JudgeRule {
  double rms_factor, max_factor, rtol_rms, rtol, atol, scale_floor, scale_ceiling, epsilon, smallest, cap;
  double pooled_rms, pooled_max;  // what every block's budget is at least
  uint64_t poison;
  int32_t kind, padding;
};

namespace {

enum Kind : int32_t { kAnchored = 0, kAllclose = 1, kBits = 2 };  // of JudgeRule

constexpr int64_t kMostMergers = 1 << 16;  // threads that merge sums of blocks: more would leave more to do here

// What a block of threads sums up; the same in compare.cu.
struct TotalsPart {
  double count, mean, deviation, square, error_square, worst_rms, worst_max;
  int64_t compared;
};

struct JudgedPart {
  double worst, error_max, error_square;
  int64_t compared, blocks_wrong;
};

struct ElementsPart {
  double worst, expected, got, error_max, error_square;
  int64_t worst_index, wrong, unwritten, non_finite, compared;
  int64_t histogram[kHistogramBins];
};

int64_t CountBlocks(int64_t elements) { return (elements + kBlockElements - 1) / kBlockElements; }

// In the names of kernels.
std::string TypeName(const CompareKernels& form, kb_dtype dtype) {
  if (!form.floating) return "bits";
  if (dtype.code == KB_FLOAT8_E4M3FN) return "e4m3";
  if (dtype.code == KB_FLOAT8_E5M2) return "e5m2";
  return fmt::format("{}{}", dtype.code == KB_BFLOAT ? "bf" : "f", 8 * form.component_size);
}

ElementStats Element(const ElementsPart& part) {
  ElementStats stats{
      part.wrong,     part.unwritten,    part.non_finite, part.worst, part.worst_index, part.expected, part.got,
      part.error_max, part.error_square, part.compared,   {}};
  std::copy(std::begin(part.histogram), std::end(part.histogram), stats.histogram.begin());
  return stats;
}

Address BlocksOf(const ErrorBudget& budget) {
  return budget.blocks_there() == nullptr ? 0 : At(budget.blocks_there()->data());
}

}  // namespace

CompareResult Comparer::Compare(const void* got, const void* expected, const OutputItem& item,
                                const ErrorBudget& budget, const Tolerance& tolerance, uint64_t poison, bool examine) {
  const CompareKernels* form = FindCompareKernels(item.dtype);
  KB_CHECK(form != nullptr);
  const bool allclose = tolerance.mode == Tolerance::Mode::kAllclose;
  CompareResult result;
  result.total = item.elements();
  result.blocks = CountBlocks(result.total);
  if (result.blocks == 0) return result;
  TakeStats(allclose && form->floating ? "kb_allclose_" : "kb_stats_", got, expected, *form, item.dtype, result.total,
            tolerance, poison);
  const WholeLimits whole = LimitsOfWhole(Totals(result.blocks).truth, budget, tolerance, *form);
  const JudgeRule rule{.rms_factor = tolerance.rms_factor,
                       .max_factor = tolerance.max_factor,
                       .rtol_rms = tolerance.rtol_rms,
                       .rtol = tolerance.rtol,
                       .atol = allclose ? tolerance.atol : 0,
                       .scale_floor = whole.scale_floor,
                       .scale_ceiling = whole.scale_ceiling,
                       .epsilon = whole.epsilon,
                       .smallest = whole.smallest,
                       .cap = whole.cap,
                       .pooled_rms = budget.Pooled().rms,
                       .pooled_max = budget.Pooled().max,
                       .poison = poison,
                       .kind = !form->floating ? kBits
                               : allclose      ? kAllclose
                                               : kAnchored,
                       .padding = 0};
  Judge(result.blocks, rule, budget, &result);
  if (result.ok || !examine) return result;
  if (!form->floating || form->components != 1) return CompareHere(got, expected, item, budget, tolerance, poison);
  ExamineThere(got, expected, item, rule, budget, &result);
  return result;
}

void Comparer::AddAnchor(ErrorBudget* budget, const void* expected, kb_dtype dtype, int64_t elements,
                         const double* truth) {
  const CompareKernels* form = FindCompareKernels(dtype);
  KB_CHECK(form != nullptr);
  if (!form->floating) return;
  const int64_t blocks = CountBlocks(elements);
  std::shared_ptr<Buffer> kept = budget->blocks_there();
  if (kept == nullptr) {
    kept = Allocate(static_cast<size_t>(blocks) * sizeof(BlockBudget));
    Must(driver_, driver_.cuMemsetD32Async(At(kept->data()), 0, kept->size() / 4, nullptr), "clearing a budget");
  }
  TakeStats("kb_anchor_", expected, truth, *form, dtype, elements, {}, 0);
  kernels_->Launch("kb_budget", static_cast<uint64_t>(blocks), At(stats_->data()), blocks, At(kept->data()));
  budget->AddAnchorThere(dtype, elements, Totals(blocks), std::move(kept));
}

// Sums of every block of kBlockElements elements, as compare_kernels.h defines them, into stats_.
void Comparer::TakeStats(const std::string& kind, const void* got, const void* expected, const CompareKernels& form,
                         kb_dtype dtype, int64_t elements, const Tolerance& tolerance, uint64_t poison) {
  static_assert(sizeof(BlockStats) == 56);  // as in compare.cu
  const int64_t blocks = CountBlocks(elements);
  const size_t bytes = static_cast<size_t>(blocks) * sizeof(BlockStats);
  if (!stats_ || stats_->size() < bytes) {
    stats_.reset();
    stats_ = Allocate(bytes);
  }
  const bool allclose = tolerance.mode == Tolerance::Mode::kAllclose;
  // Integers count bytes.
  const int parts = form.floating ? form.components : form.components * form.component_size;
  const auto launch = [&](const std::string& kernel) {
    kernels_->Launch(kernel + TypeName(form, dtype), static_cast<uint64_t>(blocks) * 32, At(got), At(expected),
                     elements * parts, static_cast<int32_t>(kBlockElements * parts), allclose ? tolerance.atol : 0.0,
                     allclose ? tolerance.rtol : 0.0, poison, At(stats_->data()));
  };
  launch(kind);
  if (form.floating) launch(kind + "again_");  // blocks that hold what is not finite
}

AnchorTotals Comparer::Totals(int64_t blocks) {
  const auto items = static_cast<uint64_t>(std::min(blocks, kMostMergers));
  const unsigned count = kernels_->Blocks(items);
  const auto* parts = Parts<TotalsPart>(count);
  kernels_->Launch("kb_totals", std::max<uint64_t>(items, 2), At(stats_->data()), blocks, At(parts));
  Must(driver_, driver_.cuStreamSynchronize(nullptr), "summing up a comparison");
  AnchorTotals totals;
  for (unsigned i = 0; i < count; ++i) {
    totals.truth.Merge({parts[i].count, parts[i].mean, parts[i].deviation, parts[i].square});
    totals.error_square += parts[i].error_square;
    totals.compared += parts[i].compared;
    totals.worst.rms = std::max(totals.worst.rms, parts[i].worst_rms);
    totals.worst.max = std::max(totals.worst.max, parts[i].worst_max);
  }
  return totals;
}

void Comparer::Judge(int64_t blocks, const JudgeRule& rule, const ErrorBudget& budget, CompareResult* result) {
  const auto items = static_cast<uint64_t>(std::min(blocks, kMostMergers));
  const unsigned count = kernels_->Blocks(items);
  const auto* parts = Parts<JudgedPart>(count);
  kernels_->Launch("kb_judge", std::max<uint64_t>(items, 2), At(stats_->data()), blocks, BlocksOf(budget), rule,
                   At(parts));
  Must(driver_, driver_.cuStreamSynchronize(nullptr), "judging a comparison");
  double square = 0;
  int64_t compared = 0;
  for (unsigned i = 0; i < count; ++i) {
    result->worst = std::max(result->worst, parts[i].worst);
    result->max_abs_error = std::max(result->max_abs_error, parts[i].error_max);
    result->blocks_wrong += parts[i].blocks_wrong;
    square += parts[i].error_square;
    compared += parts[i].compared;
  }
  if (compared > 0) result->rms_error = std::sqrt(square / static_cast<double>(compared));
  result->ok = result->blocks_wrong == 0;
}

void Comparer::ExamineThere(const void* got, const void* expected, const OutputItem& item, const JudgeRule& rule,
                            const ErrorBudget& budget, CompareResult* result) {
  const uint64_t items = static_cast<uint64_t>(result->blocks) * 32;
  const unsigned count = kernels_->Blocks(items);
  const auto* parts = Parts<ElementsPart>(count);
  std::vector<uint64_t> wrong(static_cast<size_t>(result->blocks) * (kBlockElements / 64));
  const auto wrong_there = Allocate(wrong.size() * 8);
  Must(driver_, driver_.cuMemsetD32Async(At(wrong_there->data()), 0, wrong.size() * 2, nullptr), "examining");
  kernels_->Launch("kb_elements_" + TypeName(*FindCompareKernels(item.dtype), item.dtype), items, At(got), At(expected),
                   result->total, At(stats_->data()), BlocksOf(budget), rule, At(wrong_there->data()), At(parts));
  Must(driver_, driver_.cuMemcpyDtoHAsync_v2(wrong.data(), At(wrong_there->data()), wrong.size() * 8, nullptr),
       "examining an output");
  Must(driver_, driver_.cuStreamSynchronize(nullptr), "examining an output");
  ElementStats all;
  for (unsigned i = 0; i < count; ++i) Merge(Element(parts[i]), all);
  TellElements(all, wrong, item.shape, true, *result);
}

// For the rare types: a wrong output comes here and is judged as on the CPU.
CompareResult Comparer::CompareHere(const void* got, const void* expected, const OutputItem& item,
                                    const ErrorBudget& budget, const Tolerance& tolerance, uint64_t poison) {
  std::vector<std::byte> got_here(item.bytes()), expected_here(item.bytes());
  Must(driver_, driver_.cuMemcpyDtoHAsync_v2(got_here.data(), At(got), got_here.size(), nullptr), "fetching an output");
  Must(driver_, driver_.cuMemcpyDtoHAsync_v2(expected_here.data(), At(expected), expected_here.size(), nullptr),
       "fetching an output");
  std::vector<BlockBudget> blocks(budget.blocks_there() ? static_cast<size_t>(CountBlocks(item.elements())) : 0);
  if (!blocks.empty()) {
    const size_t bytes = blocks.size() * sizeof(BlockBudget);
    Must(driver_, driver_.cuMemcpyDtoHAsync_v2(blocks.data(), BlocksOf(budget), bytes, nullptr), "fetching a budget");
  }
  Must(driver_, driver_.cuStreamSynchronize(nullptr), "fetching an output");
  return kb::Compare(*pool_, got_here.data(), expected_here.data(), item.dtype, item.shape,
                     budget.WithBlocks(std::move(blocks)), tolerance, poison);
}

std::unique_ptr<Buffer> Comparer::Allocate(size_t bytes) {
  auto buffer = DeviceBuffer::Create(driver_, bytes, nullptr);
  if (buffer) return std::move(*buffer);
  std::fprintf(stderr, "device process: comparing: %s\n", buffer.error().message.c_str());
  std::_Exit(3);
}

template <typename Part>
const Part* Comparer::Parts(unsigned count) {
  const size_t bytes = count * sizeof(Part);
  if (!parts_ || parts_->size() < bytes) parts_ = std::make_unique<Pinned>(driver_, bytes);
  return parts_->as<Part>();
}

}  // namespace kb::cuda
