// The bootstrap: how much means over problems would differ if other problems like them had been chosen.
#ifndef SCORE_BOOTSTRAP_H_
#define SCORE_BOOTSTRAP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "score/score.h"

namespace kb {

struct BootstrapOptions {
  double confidence = 0.95;
  int resamples = 1000;
  uint64_t seed = 1;  // fixed, so that the same evaluations give the same intervals everywhere
};

// Percentile intervals of the mean of each column. A row holds the figures of one problem; as many rows as there are
// are drawn with replacement, whole ones, so samples of a problem stay together and columns stay comparable. All rows
// have the same length; none gives none.
std::vector<Bounds> BootstrapMeans(std::span<const std::vector<double>> rows, const BootstrapOptions& options = {});

// Uniform in [0, count), the same for a seed with every standard library.
template <typename Generator>
uint64_t DrawBelow(Generator& generator, uint64_t count) {
  return ((generator() >> 32) * count) >> 32;
}

}  // namespace kb

#endif  // SCORE_BOOTSTRAP_H_
