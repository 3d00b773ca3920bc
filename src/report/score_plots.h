// Plots of a score sheet, beside those of svg_plots.h.
#ifndef REPORT_SCORE_PLOTS_H_
#define REPORT_SCORE_PLOTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "score/samples.h"

namespace kb {

struct KCurve {
  std::string label;
  struct Point {
    int64_t k;
    Estimate share;
  };
  std::vector<Point> points;
};

// A share over the number of samples, which is on a logarithmic axis, with intervals.
std::string SamplesOfKPlot(std::span<const KCurve> curves);

}  // namespace kb

#endif  // REPORT_SCORE_PLOTS_H_
