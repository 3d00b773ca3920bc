#include "report/svg_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/text.h"

namespace kb::svg {

double Axis::operator()(double value) const {
  const double share = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return from + std::clamp(share, 0.0, 1.0) * (to - from);
}

std::vector<double> LogTicks(double low, double high, size_t most) {
  for (const int count : {3, 1}) {
    std::vector<double> ticks;
    for (int power = -9; power <= 9; ++power) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double tick = digit * std::pow(10, power);
        if (tick >= low * 0.999 && tick <= high * 1.001 && (digit == 1 || count == 3)) ticks.push_back(tick);
      }
    }
    if (ticks.size() <= most) return ticks;
  }
  return {};
}

std::vector<double> LinearTicks(double low, double high) {
  const double raw = (high - low) / 4;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  const double step = power * (raw / power < 1.5 ? 1 : raw / power < 3.5 ? 2 : raw / power < 7.5 ? 5 : 10);
  std::vector<double> ticks;
  for (double tick = std::ceil(low / step) * step; tick <= high; tick += step) ticks.push_back(tick);
  return ticks;
}

std::string Text(double x, double y, const char* attributes, const std::string& escaped) {
  return fmt::format("<text x='{:.1f}' y='{:.1f}' {}>{}</text>", x, y, attributes, escaped);
}

std::string Rule(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line class='{}' x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}'/>", style, x1, y1, x2, y2);
}

std::string Open(double width, double height, const std::string& label) {
  return fmt::format(
      "<svg class='plot' viewBox='0 0 {0:.0f} {1:.0f}' width='{0:.0f}' height='{1:.0f}' role='img' "
      "aria-label='{2}'>",
      width, height, EscapeHtml(label));
}

std::string Multiple(double value) { return fmt::format("{:g}×", value); }

}  // namespace kb::svg
