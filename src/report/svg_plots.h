// Plots as inline SVG. Colours come from the page's CSS classes, so that they follow its light and dark themes. Every
// text that comes from an evaluation is escaped here.
#ifndef REPORT_SVG_PLOTS_H_
#define REPORT_SVG_PLOTS_H_

#include <span>
#include <string>
#include <vector>

#include "report/view.h"

namespace kb {

struct Curve {
  std::string label;
  std::vector<Outcome> outcomes;
};

// fast_p over p: a step function for each curve, p on a logarithmic axis, p = 0 at its left edge. With a single curve
// the 95% Wilson interval is shaded.
std::string FastPPlot(std::span<const Curve> curves);

// The line by which a plot shows the curve with this index.
std::string Swatch(size_t index);

// One dot with whiskers for each correct and measured evaluation, on a logarithmic axis, sorted by problem and speedup.
// "" when there is none.
std::string SpeedupPlot(std::span<const View> views);

// Candidate and baseline times over the rounds. "" when there are no samples.
std::string SamplesPlot(const View& view);

// Elements by error over allowed error. "" when there is no histogram.
std::string HistogramPlot(const nlohmann::json& histogram);

}  // namespace kb

#endif  // REPORT_SVG_PLOTS_H_
