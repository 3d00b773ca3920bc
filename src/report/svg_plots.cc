#include "report/svg_plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "report/svg_parts.h"
#include "report/text.h"
#include "score/score.h"

namespace kb {

using nlohmann::json;
using namespace svg;

namespace {

// ---- fast_p

constexpr double kCurveWidth = 640;
constexpr double kCurveHeight = 330;

struct CurveFrame {
  Axis x, y;
};

CurveFrame MakeCurveFrame(std::span<const Curve> curves) {
  double low = 0.5;
  double high = 2;
  for (const Curve& curve : curves) {
    for (const double speedup : CorrectSpeedups(curve.outcomes)) {
      low = std::min(low, speedup);
      high = std::max(high, speedup);
    }
  }
  return {{low / 1.15, high * 1.15, 70, kCurveWidth - 16, true}, {0, 1, kCurveHeight - 46, 14, false}};
}

constexpr double kZero = 50;  // where p = 0 lies, left of the logarithmic axis

std::string CurveGrid(const CurveFrame& frame) {
  std::string svg;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    svg += Rule(46, frame.y(share), kCurveWidth - 16, frame.y(share), share == 0 ? "axis" : "grid");
    svg += Text(40, frame.y(share) + 4, "class='tick' text-anchor='end'", FormatPercent(share));
  }
  for (const double p : LogTicks(frame.x.low, frame.x.high, 12)) {
    svg += Rule(frame.x(p), 14, frame.x(p), frame.y(0), p == 1 ? "one" : "grid");
    // The first label may lie where that of p = 0 is.
    if (frame.x(p) < kZero + 36) continue;
    svg += Text(frame.x(p), frame.y(0) + 17, "class='tick' text-anchor='middle'", Multiple(p));
  }
  svg += Text(kZero, frame.y(0) + 17, "class='tick' text-anchor='middle'", "0");
  svg += Text((70 + kCurveWidth) / 2, kCurveHeight - 6, "class='label' text-anchor='middle'",
              "p: speedup to exceed (log scale)");
  return svg;
}

// Right-continuous steps: at p the curve already excludes a speedup of exactly p, as the definition does. `value` picks
// what is drawn of each proportion.
template <typename Value>
std::vector<std::pair<double, double>> Steps(const CurveFrame& frame, const std::vector<Outcome>& outcomes,
                                             Value value) {
  std::vector<double> speedups = CorrectSpeedups(outcomes);
  std::sort(speedups.begin(), speedups.end());
  const auto height_from = [&](size_t first) {  // where only the speedups from this one on exceed p
    Proportion fast{static_cast<int64_t>(speedups.size() - first), static_cast<int64_t>(outcomes.size()), 0};
    if (fast.total > 0) fast.value = static_cast<double>(fast.count) / static_cast<double>(fast.total);
    return frame.y(value(fast));
  };
  std::vector<std::pair<double, double>> points;
  double height = height_from(0);
  points.emplace_back(frame.x(frame.x.low), height);
  for (size_t i = 0; i < speedups.size(); ++i) {
    if (i + 1 < speedups.size() && speedups[i + 1] == speedups[i]) continue;
    points.emplace_back(frame.x(speedups[i]), height);
    height = height_from(i + 1);
    points.emplace_back(frame.x(speedups[i]), height);
  }
  points.emplace_back(frame.x.to, height);
  return points;
}

std::string Path(const std::vector<std::pair<double, double>>& points) {
  std::string path;
  for (const auto& [x, y] : points) path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", x, y);
  return path;
}

std::string CurveOf(const CurveFrame& frame, const Curve& curve, size_t index, bool shade) {
  const std::vector<Outcome>& outcomes = curve.outcomes;
  std::string svg;
  if (shade) {
    auto band = Steps(frame, outcomes, [](const Proportion& fast) { return WilsonInterval(fast).high; });
    const auto lower = Steps(frame, outcomes, [](const Proportion& fast) { return WilsonInterval(fast).low; });
    band.insert(band.end(), lower.rbegin(), lower.rend());
    svg += fmt::format("<path class='band' d='{}Z'/>", Path(band));
  }
  const auto steps = Steps(frame, outcomes, [](const Proportion& fast) { return fast.value; });
  const Proportion correct = FastP(outcomes, 0);
  const double y0 = frame.y(correct.value);
  svg += fmt::format("<path class='curve s{}' d='{}'><title>{}</title></path>", index % 6, Path(steps),
                     EscapeHtml(curve.label));
  svg +=
      fmt::format("<circle class='dot s{}' cx='{}' cy='{:.1f}' r='3.5'><title>p = 0: {} of {} correct</title></circle>",
                  index % 6, kZero, y0, correct.count, correct.total);
  for (const double p : kUpstreamThresholds) {
    if (p == 0) continue;
    const Proportion fast = FastP(outcomes, p);
    svg += fmt::format(
        "<circle class='dot s{}' cx='{:.1f}' cy='{:.1f}' r='3'><title>p = {}: {} of {} ({})</title></circle>",
        index % 6, frame.x(p), frame.y(fast.value), p, fast.count, fast.total, FormatPercent(fast.value));
  }
  return svg;
}

// ---- speedups

constexpr double kDotWidth = 1140;
constexpr double kLabelEnd = 330;
constexpr double kDotRight = 930;  // the longest interval, "[0.0095×, 0.012×]", fits beside it
constexpr double kRow = 24;
constexpr double kMark = 11;  // width of a mark with its outline

const char* PaceStyle(Pace pace) {
  return pace == Pace::kFaster ? "faster" : pace == Pace::kSlower ? "slower" : "even";
}

// Shape as well as colour tells faster (disc), slower (square) and undecided (ring) apart.
std::string Mark(Pace pace, double x, double y) {
  if (pace == Pace::kSlower) {
    return fmt::format("<rect class='mark slower' x='{:.1f}' y='{:.1f}' width='8' height='8'/>", x - 4, y - 4);
  }
  return fmt::format("<circle class='mark {}' cx='{:.1f}' cy='{:.1f}' r='4.5'/>", PaceStyle(pace), x, y);
}

std::string DotRow(const View& view, const Axis& x, double y, bool first, const std::string& setting) {
  std::string svg = "<g class='row'>";
  svg += fmt::format("<title>{}</title>",
                     EscapeHtml(fmt::format("{} {}: {} {}, {} on {}, {}", view.problem, view.candidate_path,
                                            FormatSpeedup(view.speedup), FormatInterval(view.low, view.high),
                                            view.protocol, view.device_name, view.size)));
  svg += fmt::format("<rect class='hit' x='0' y='{:.1f}' width='{}' height='{}'/>", y - kRow / 2, kDotWidth, kRow);
  if (first) svg += Text(4, y + 4, "class='problem'", EscapeHtml(OneLine(view.problem, 12)));
  const std::string name = OneLine(view.candidate_name, setting.empty() ? 34 : 33 - DisplayWidth(setting));
  svg +=
      Text(kLabelEnd - 14, y + 4, "class='name' text-anchor='end'",
           EscapeHtml(name) + (setting.empty() ? "" : "<tspan class='setting'> " + EscapeHtml(setting) + "</tspan>"));
  const Pace pace = view.pace();
  if (view.low && view.high && *view.low > 0) {
    const double left = x(*view.low);
    const double right = x(*view.high);
    const std::string style = std::string("whisker ") + PaceStyle(pace);
    // Caps that touch the mark would make a disc look like the square of a slower one.
    if (right - left > kMark + 2) {
      svg += Rule(left, y, right, y, style.c_str()) + Rule(left, y - 5, left, y + 5, style.c_str()) +
             Rule(right, y - 5, right, y + 5, style.c_str());
    }
  }
  svg += Mark(pace, x(*view.speedup), y);
  svg += Text(kDotRight + 66, y + 4, "class='value' text-anchor='end'", FormatSpeedup(view.speedup));
  svg += Text(kDotRight + 76, y + 4, "class='interval'", FormatInterval(view.low, view.high));
  return svg + "</g>";
}

std::vector<const View*> MeasuredInOrder(std::span<const View> views) {
  std::vector<const View*> rows;
  for (const View& view : views) {
    if (view.correct() && view.speedup && *view.speedup > 0) rows.push_back(&view);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const View* a, const View* b) {
    if (a->problem != b->problem) return NaturalLess(a->problem, b->problem);
    return *a->speedup > *b->speedup;
  });
  return rows;
}

Axis SpeedupAxis(const std::vector<const View*>& rows) {
  double low = 0.8;
  double high = 1.25;
  for (const View* view : rows) {
    low = std::min(low, view->low && *view->low > 0 ? *view->low : *view->speedup);
    high = std::max(high, view->high.value_or(*view->speedup));
  }
  const double margin = std::pow(high / low, 0.04);
  return {low / margin, high * margin, kLabelEnd, kDotRight, true};
}

// What tells rows apart beside their names, where evaluations differ in it.
std::vector<std::string> Settings(const std::vector<const View*>& rows) {
  std::set<std::string> devices, protocols, sizes;
  for (const View* view : rows) {
    devices.insert(view->device_name);
    protocols.insert(view->protocol);
    sizes.insert(view->size);
  }
  std::vector<std::string> settings;
  for (const View* view : rows) {
    std::string setting;
    if (protocols.size() > 1) setting += " " + view->protocol;
    if (sizes.size() > 1) setting += " " + view->size;
    if (devices.size() > 1) setting += " " + OneLine(view->device_name, 12);
    settings.push_back(setting.empty() ? "" : "·" + OneLine(setting, 20));
  }
  return settings;
}

// ---- samples

constexpr double kSamplesWidth = 520;
constexpr double kSamplesHeight = 230;

struct SampleSeries {
  double x, candidate, baseline;
  bool scored, is_void;
};

std::vector<SampleSeries> ReadSamples(const View& view) {
  std::vector<SampleSeries> samples;
  for (const json& sample : MemberAt(*view.raw, "samples")) {
    const auto candidate = NumberAt(sample, "candidate_us");
    const auto baseline = NumberAt(sample, "baseline_us");
    if (!candidate || !baseline || *candidate <= 0 || *baseline <= 0) continue;
    const json& scored = MemberAt(sample, "scored");
    samples.push_back({NumberAt(sample, "index").value_or(static_cast<double>(samples.size())), *candidate, *baseline,
                       !scored.is_boolean() || scored.get<bool>(), !TextAt(sample, "void").empty()});
  }
  return samples;
}

// Dots as strokes without length, whose round caps the style draws: one element for a whole series.
void AddDot(std::string& path, double x, double y) { path += fmt::format("M{:.1f} {:.1f}h0", x, y); }
void AddCross(std::string& path, double x, double y) {
  path += fmt::format("M{:.1f} {:.1f}l6 6m-6 0l6 -6", x - 3, y - 3);
}

}  // namespace

std::string FastPPlot(std::span<const Curve> curves) {
  const CurveFrame frame = MakeCurveFrame(curves);
  std::string svg =
      Open(kCurveWidth, kCurveHeight, "fast_p: share of evaluations correct and faster than p") + CurveGrid(frame);
  for (size_t i = 0; i < curves.size(); ++i) svg += CurveOf(frame, curves[i], i, curves.size() == 1);
  return svg + "</svg>";
}

std::string Swatch(size_t index) {
  return fmt::format(
      "<svg width='26' height='10' aria-hidden='true' class='s{}'><line x1='0' y1='5' x2='26' y2='5' "
      "stroke='currentColor' stroke-width='2.5'/></svg> ",
      index % 6);
}

std::string SpeedupPlot(std::span<const View> views) {
  const std::vector<const View*> rows = MeasuredInOrder(views);
  if (rows.empty()) return "";
  const Axis x = SpeedupAxis(rows);
  const std::vector<std::string> settings = Settings(rows);
  const double top = 30;
  const double bottom = top + kRow * static_cast<double>(rows.size());
  std::string svg = Open(kDotWidth, bottom + 46, "speedup over the baseline with its interval");
  for (const double tick : LogTicks(x.low, x.high, 14)) {
    svg += Rule(x(tick), top, x(tick), bottom, "grid");
    for (const double y : {top - 9, bottom + 17}) {
      svg += Text(x(tick), y, "class='tick' text-anchor='middle'", Multiple(tick));
    }
  }
  svg += Rule(x(1), top - 4, x(1), bottom + 4, "one");
  svg += Text((kLabelEnd + kDotRight) / 2, bottom + 38, "class='label' text-anchor='middle'",
              "speedup over the baseline (log scale)");
  for (size_t i = 0; i < rows.size(); ++i) {
    const double y = top + kRow * (static_cast<double>(i) + 0.5);
    const bool first = i == 0 || rows[i - 1]->problem != rows[i]->problem;
    if (first) svg += Rule(0, y - kRow / 2, kDotWidth, y - kRow / 2, "divide");
    svg += DotRow(*rows[i], x, y, first, settings[i]);
  }
  return svg + Rule(0, bottom, kDotWidth, bottom, "divide") + "</svg>";
}

std::string SamplesPlot(const View& view) {
  const std::vector<SampleSeries> samples = ReadSamples(view);
  if (samples.empty()) return "";
  double low = samples[0].candidate;
  double high = low;
  for (const SampleSeries& sample : samples) {
    low = std::min({low, sample.candidate, sample.baseline});
    high = std::max({high, sample.candidate, sample.baseline});
  }
  const bool logarithmic = high > 5 * low;
  const double margin = logarithmic ? 1.15 : 1 + 0.15 * (high - low) / high + 1e-3;
  const Axis y{low / margin, high * margin, kSamplesHeight - 42, 12, logarithmic};
  const Axis x{samples.front().x - 0.5, std::max(samples.back().x, samples.front().x) + 0.5, 70, kSamplesWidth - 12,
               false};
  std::string svg = Open(kSamplesWidth, kSamplesHeight, "times of candidate and baseline by round");
  for (const double tick : logarithmic ? LogTicks(y.low, y.high, 6) : LinearTicks(y.low, y.high)) {
    svg += Rule(70, y(tick), kSamplesWidth - 12, y(tick), "grid");
    svg += Text(64, y(tick) + 4, "class='tick' text-anchor='end'", FormatTime(tick));
  }
  svg += Rule(70, kSamplesHeight - 42, kSamplesWidth - 12, kSamplesHeight - 42, "axis");
  const double stride = std::max(1.0, std::ceil(static_cast<double>(samples.size()) / 10));
  for (double index = samples.front().x; index <= samples.back().x; index += stride) {
    svg += Text(x(index), kSamplesHeight - 26, "class='tick' text-anchor='middle'", fmt::format("{:.0f}", index));
  }
  svg += Text((70 + kSamplesWidth) / 2, kSamplesHeight - 6, "class='label' text-anchor='middle'",
              logarithmic ? "round (time on a log scale)" : "round (time axis does not start at 0)");
  std::string candidate, baseline, candidate_warm, baseline_warm, crosses;
  for (const SampleSeries& sample : samples) {
    if (sample.is_void) {
      AddCross(crosses, x(sample.x), y(sample.candidate));
      AddCross(crosses, x(sample.x), y(sample.baseline));
    } else {
      AddDot(sample.scored ? candidate : candidate_warm, x(sample.x), y(sample.candidate));
      AddDot(sample.scored ? baseline : baseline_warm, x(sample.x), y(sample.baseline));
    }
  }
  if (view.baseline_us && *view.baseline_us > 0)
    svg += Rule(70, y(*view.baseline_us), kSamplesWidth - 12, y(*view.baseline_us), "middle base");
  if (view.candidate_us && *view.candidate_us > 0)
    svg += Rule(70, y(*view.candidate_us), kSamplesWidth - 12, y(*view.candidate_us), "middle cand");
  svg += fmt::format(
      "<path class='dots base warm' d='{}'/><path class='dots cand warm' d='{}'/><path class='dots base' "
      "d='{}'/><path class='dots cand' d='{}'/><path class='crosses' d='{}'/>",
      baseline_warm, candidate_warm, baseline, candidate, crosses);
  return svg + "</svg>";
}

std::string HistogramPlot(const json& histogram) {
  struct Bar {
    std::string bound;
    double count;
    bool outside;
  };
  std::vector<Bar> bars;
  double largest = 1;
  for (const json& bar : histogram) {
    if (!bar.is_array() || bar.size() != 2 || !bar[1].is_number()) continue;
    bars.push_back(
        {OneLine(Inline(bar[0]), 10), bar[1].get<double>(), !bar[0].is_number() || bar[0].get<double>() > 1});
    largest = std::max(largest, bars.back().count);
  }
  if (bars.empty()) return "";
  const double row = 22;
  const double height = row * static_cast<double>(bars.size()) + 8;
  std::string svg = Open(kSamplesWidth, height, "elements by error over allowed error");
  for (size_t i = 0; i < bars.size(); ++i) {
    const double y = row * static_cast<double>(i) + 4;
    const double width = std::log1p(bars[i].count) / std::log1p(largest) * 290;
    svg += Text(104, y + 15, "class='tick' text-anchor='end'",
                EscapeHtml(bars[i].bound == "inf" ? "more" : "≤ " + bars[i].bound));
    svg += fmt::format("<rect class='bar {}' x='112' y='{:.1f}' width='{:.1f}' height='{}' rx='2'/>",
                       bars[i].outside ? "outside" : "inside", y + 2, width, row - 5);
    svg += Text(120 + width, y + 15, "class='value'", FormatCount(bars[i].count));
  }
  return svg + "</svg>";
}

}  // namespace kb
