#include "report/score_plots.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/svg_parts.h"
#include "report/text.h"

namespace kb {
namespace {

constexpr double kWidth = 560;
constexpr double kHeight = 300;

std::string CurveOf(const KCurve& curve, size_t index, const svg::Axis& x, const svg::Axis& y) {
  std::string path, marks;
  for (const auto& [k, share] : curve.points) {
    const double at = x(static_cast<double>(k));
    path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", at, y(share.value));
    marks += fmt::format("<line class='bound s{}' x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}'/>", index % 6, at,
                         y(share.interval.low), at, y(share.interval.high));
    marks += fmt::format(
        "<circle class='dot s{}' cx='{:.1f}' cy='{:.1f}' r='3'><title>{}, k = {}: {} [{}, {}]</title></circle>",
        index % 6, at, y(share.value), EscapeHtml(curve.label), k, FormatPercent(share.value),
        FormatPercent(share.interval.low), FormatPercent(share.interval.high));
  }
  return fmt::format("<path class='curve s{}' d='{}'/>", index % 6, path) + marks;
}

}  // namespace

std::string SamplesOfKPlot(std::span<const KCurve> curves) {
  std::vector<int64_t> ks;
  for (const KCurve& curve : curves) {
    for (const auto& point : curve.points) ks.push_back(point.k);
  }
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  if (ks.empty()) return "";
  const svg::Axis x{static_cast<double>(ks.front()), std::max(2.0, static_cast<double>(ks.back())), 60, kWidth - 20,
                    true};
  const svg::Axis y{0, 1, kHeight - 46, 14, false};
  std::string plot = svg::Open(kWidth, kHeight, "share over the number of samples");
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    plot += svg::Rule(46, y(share), kWidth - 16, y(share), share == 0 ? "axis" : "grid");
    plot += svg::Text(40, y(share) + 4, "class='tick' text-anchor='end'", FormatPercent(share));
  }
  double free_from = 0;  // ticks that would touch the one before are left out
  for (const int64_t k : ks) {
    const double at = x(static_cast<double>(k));
    if (at < free_from) continue;
    free_from = at + 26;
    plot += svg::Text(at, y(0) + 17, "class='tick' text-anchor='middle'", std::to_string(k));
  }
  plot += svg::Text((60 + kWidth) / 2, kHeight - 6, "class='label' text-anchor='middle'",
                    "k: samples of each problem (log scale)");
  for (size_t i = 0; i < curves.size(); ++i) plot += CurveOf(curves[i], i, x, y);
  return plot + "</svg>";
}

}  // namespace kb
