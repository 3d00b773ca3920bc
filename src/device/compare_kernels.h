// The loops of the comparison: one pass of sums over a block of neighbouring elements at the speed of memory, and one
// pass that looks at every element. A table for each element type; which instructions they use is decided at load time.
//
// A complex element counts as two components; the other types have one. Inputs need no alignment. Nothing that is read
// is used as an index, so memory that changes meanwhile gives wrong numbers and nothing worse.
#ifndef DEVICE_COMPARE_KERNELS_H_
#define DEVICE_COMPARE_KERNELS_H_

#include <array>
#include <cstdint>
#include <limits>

#include "kernelbench/kernel.h"

namespace kb {

inline constexpr int64_t kBlockElements = 1024;

// Upper bounds of the bins of error over allowed error; the last bin takes everything above the one before.
inline constexpr int kHistogramBins = 10;
extern const std::array<double, kHistogramBins> kHistogramBounds;

// Sums over one block. An error is |got - expected| of a pair of finite components.
struct BlockStats {
  double error_rms = 0;  // over `compared`
  double error_max = 0;
  double ratio_max = 0;      // allclose: the largest error / (atol + rtol * |expected|)
  double expected_rms = 0;   // over `finite`
  double expected_mean = 0;  // the same
  int32_t compared = 0;      // pairs of finite components
  int32_t finite = 0;        // finite expected components
  int32_t mismatched = 0;    // pairs that are not both finite and do not match in place. Integers: 1 if any bit differs
  float expected_max = 0;    // the largest finite |expected|, in types of one or two bytes
};

struct BlockRule {
  bool allclose = false;
  double atol = 0, rtol = 0;                               // of allclose
  double allowed = 0;                                      // otherwise: the error allowed to one component, and
  double force = std::numeric_limits<double>::infinity();  // an error that is wrong all the same (the largest of a
                                                           // block whose RMS is too large)
  uint64_t poison = 0;                                     // bits of one component, in the low bits
};

// What the pass over every element adds up. Components that do not match count as infinitely wrong in `worst`, and not
// at all in the errors.
struct ElementStats {
  int64_t wrong = 0, unwritten = 0, non_finite = 0;
  double worst = -1;  // error over allowed error of the worst element
  int64_t worst_index = -1;
  double expected = 0, got = 0;  // of its worse component
  double error_max = 0;
  long double error_square = 0;
  int64_t compared = 0;
  std::array<int64_t, kHistogramBins> histogram{};
};

struct CompareKernels {
  bool floating;
  int components;
  int component_size;  // bytes
  double epsilon;      // spacing of the type's numbers at 1
  double smallest;     // and at 0, of types of one or two bytes; 0 for others

  // Sums over n components. `rule` gives atol and rtol for `allclose`; poison matters to `masked` only. The results of
  // `fast` and `fast_allclose` count only if Usable() below says so; `masked` copes with everything and is slower.
  using StatsFunction = BlockStats (*)(const void* got, const void* expected, int64_t n, const BlockRule& rule);
  StatsFunction fast;
  StatsFunction fast_allclose;
  StatsFunction masked;

  // The same of a reference (`got`) against fp64 truth (`expected`: double*); `finite` equals `compared`.
  StatsFunction anchor;

  // Adds elements [first, first + n) of the buffers to `stats`; bit i of `wrong` is set if element first + i is wrong.
  void (*elements)(const void* got, const void* expected, int64_t first, int64_t n, const BlockRule& rule,
                   uint64_t* wrong, ElementStats& stats);
};

// Null for a type that cannot be compared.
const CompareKernels* FindCompareKernels(kb_dtype dtype);

// Whether the sums of a fast pass can be trusted: everything was finite, and no square over- or underflowed.
bool Usable(const CompareKernels& kernels, const BlockStats& stats);

}  // namespace kb

#endif  // DEVICE_COMPARE_KERNELS_H_
