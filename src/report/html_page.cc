#include "report/html_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/svg_plots.h"
#include "report/text.h"

namespace kb {

using nlohmann::json;

namespace {

// The different non-empty values, in order of appearance, escaped and joined.
template <typename Value>
std::string Distinct(std::span<const View> views, Value value) {
  std::vector<std::string> seen;
  for (const View& view : views) {
    const std::string text = value(view);
    if (!text.empty() && std::find(seen.begin(), seen.end(), text) == seen.end()) seen.push_back(text);
  }
  std::string joined;
  for (const std::string& text : seen) joined += (joined.empty() ? "" : "<br>") + EscapeHtml(text);
  return joined.empty() ? kDash : joined;
}

std::string DeviceText(const View& view) {
  const json& info = MemberAt(*view.raw, "device_info");
  std::string text = view.device_name.empty() ? view.device : view.device_name + " (" + view.device + ")";
  if (const std::string cores = TextAt(info, "cores"); !cores.empty()) text += ", " + cores + " cores";
  return text;
}

std::string SoftwareText(const View& view) {
  const json& info = MemberAt(*view.raw, "device_info");
  std::string text;
  const auto add = [&](const char* name, const char* key) {
    if (const std::string value = TextAt(info, key); !value.empty())
      text += (text.empty() ? "" : ", ") + (name + value);
  };
  add("PyTorch ", "torch");
  add("Python ", "python");
  add("", "compiler");
  return text;
}

std::string Fact(const char* name, const std::string& html) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", name, html);
}

std::string Tile(const char* name, const std::string& number, const std::string& note) {
  return fmt::format("<div class='tile'><span class='name'>{}</span><b>{}</b><span>{}</span></div>", name, number,
                     note);
}

std::string PercentRange(const Proportion& proportion) {
  const Bounds bounds = WilsonInterval(proportion);
  return fmt::format("[{}, {}]", FormatPercent(bounds.low), FormatPercent(bounds.high));
}

std::string Plural(size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", FormatCount(static_cast<double>(count)), count == 1 ? one : many);
}

std::string Bar(const std::string& label, const char* tone, size_t count, size_t total) {
  return fmt::format(
      "<span>{}</span><div class='track {}'><div class='fill' style='width:{:.2f}%'></div></div>"
      "<span class='count'>{}</span>",
      label, tone, total ? 100.0 * static_cast<double>(count) / static_cast<double>(total) : 0, count);
}

std::string GeometricTile(std::span<const Group> groups) {
  if (groups.size() == 1) {
    const std::vector<Outcome> outcomes = groups[0].outcomes();
    const size_t measured = CorrectSpeedups(outcomes).size();
    const auto bounds = GeometricMeanInterval(outcomes);
    const std::string interval = bounds ? FormatInterval(bounds->low, bounds->high) + " at 95%, " : "";
    return Tile("Geometric mean speedup", FormatSpeedup(GeometricMean(outcomes)),
                interval + "over " + Plural(measured, "correct one", "correct ones"));
  }
  std::optional<double> low, high;
  for (const Group& group : groups) {
    const auto mean = GeometricMean(group.outcomes());
    if (!mean) continue;
    low = std::min(low.value_or(*mean), *mean);
    high = std::max(high.value_or(*mean), *mean);
  }
  const std::string range = low == high ? FormatSpeedup(low) : FormatSpeedup(low) + " – " + FormatSpeedup(high);
  return Tile("Geometric mean speedup", range, "one for each setting, see the scores below");
}

std::string GroupRow(const Group& group, size_t index, bool key) {
  const std::vector<Outcome> outcomes = group.outcomes();
  const auto bounds = GeometricMeanInterval(outcomes);
  std::string row = "<tr><td>";
  if (key) row += Swatch(index);
  row += fmt::format("{}<br><small>{}, size {}, against {}</small></td>", EscapeHtml(group.device),
                     EscapeHtml(group.protocol), EscapeHtml(group.size), EscapeHtml(group.baseline));
  for (const double p : kUpstreamThresholds) {
    const Proportion fast = FastP(outcomes, p);
    row += fmt::format("<td class='num'>{}<br><small>{} of {}</small></td>", FormatPercent(fast.value), fast.count,
                       fast.total);
  }
  row += fmt::format("<td class='num'>{}<br><small>{}</small></td><td class='num'>{}</td><td class='num'>{}</td></tr>",
                     FormatSpeedup(GeometricMean(outcomes)), bounds ? FormatInterval(bounds->low, bounds->high) : kDash,
                     FormatSpeedup(GeometricMeanFaster(outcomes)), FormatSpeedup(MedianSpeedup(outcomes)));
  return row;
}

}  // namespace

std::string PageHeader(std::span<const View> views) {
  std::string html = "<header><h1>KernelBench report</h1>";
  if (views.empty()) return html + "</header>";
  std::vector<std::string> problems;
  std::string first = views[0].created;
  std::string last = first;
  for (const View& view : views) {
    problems.push_back(view.problem);
    first = std::min(first, view.created);
    last = std::max(last, view.created);
  }
  std::sort(problems.begin(), problems.end());
  problems.erase(std::unique(problems.begin(), problems.end()), problems.end());
  html += fmt::format("<p class='sub'>{} on {}, {}</p><dl class='facts'>",
                      Plural(views.size(), "evaluation", "evaluations"), Plural(problems.size(), "problem", "problems"),
                      EscapeHtml(FormatDate(first) + (first == last ? "" : " to " + FormatDate(last))));
  html += Fact("Device", Distinct(views, DeviceText));
  html += Fact("Protocol", Distinct(views, [](const View& v) { return v.protocol; }));
  html += Fact("Size", Distinct(views, [](const View& v) { return v.size; }));
  html += Fact("Baseline", Distinct(views, [](const View& v) { return v.baseline; }));
  html += Fact("Software", Distinct(views, SoftwareText));
  html += Fact("Isolation", Distinct(views, [](const View& v) { return v.isolation; }));
  return html + "</dl></header>";
}

std::string SummaryTiles(std::span<const View> views, std::span<const Group> groups) {
  std::vector<Outcome> outcomes;
  size_t resolved = 0;
  for (const View& view : views) {
    outcomes.push_back({view.problem, view.correct(), view.speedup});
    resolved += view.pace() == Pace::kFaster;
  }
  const Proportion correct = FastP(outcomes, 0);
  const Proportion faster = FastP(outcomes, 1);
  std::string html = "<div class='tiles'>";
  html += Tile("Evaluations", FormatCount(static_cast<double>(views.size())),
               "in " + Plural(groups.size(), "setting", "settings") + " of device, protocol, size");
  html += Tile("Correct", FormatPercent(correct.value),
               fmt::format("{} of {}, {} at 95%", correct.count, correct.total, PercentRange(correct)));
  html += Tile("Correct and faster", FormatPercent(faster.value),
               fmt::format("{} of {}; {} with the whole interval above 1×", faster.count, faster.total, resolved));
  return html + GeometricTile(groups) + "</div>";
}

std::string OutcomeBars(std::span<const View> views) {
  size_t built = 0, ran = 0, correct = 0, faster = 0;
  std::vector<size_t> counts(VerdictKinds().size());
  for (const View& view : views) {
    const VerdictKind& kind = FindVerdict(view.verdict);
    ++counts[static_cast<size_t>(&kind - VerdictKinds().data())];
    built += kind.reached >= Stage::kBuilt;
    ran += kind.reached >= Stage::kRan;
    correct += kind.reached >= Stage::kCorrect;
    faster += view.correct() && view.speedup.value_or(0) > 1;
  }
  std::string html = "<section class='card'><h2>How far they came</h2><h3>Steps passed</h3><div class='bars'>";
  html += Bar("evaluated", "none", views.size(), views.size()) + Bar("built", "none", built, views.size()) +
          Bar("ran to the end", "none", ran, views.size()) + Bar("correct", "good", correct, views.size()) +
          Bar("faster than the baseline", "faster", faster, views.size());
  html += "</div><h3>Verdicts</h3><div class='bars'>";
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) html += Bar(VerdictKinds()[i].label, VerdictKinds()[i].tone, counts[i], views.size());
  }
  return html + "</div></section>";
}

std::string FastPSection(std::span<const Group> groups) {
  std::string html =
      "<section class='card'><h2>fast<sub>p</sub></h2><p class='hint'>The share of all evaluations that are correct "
      "and "
      "more than p times as fast as the baseline; at p = 0, correct at any speed.";
  if (groups.size() == 1) html += " Shaded: 95% confidence (Wilson).";
  html += "</p>";
  if (groups.size() > 1) {
    html += "<ul class='legend'>";
    for (size_t i = 0; i < groups.size(); ++i) html += "<li>" + Swatch(i) + EscapeHtml(groups[i].label()) + "</li>";
    html += "</ul>";
  }
  std::vector<Curve> curves;
  for (const Group& group : groups) curves.push_back({group.label(), group.outcomes()});
  html += "<div class='scroll'><div class='mid'>" + FastPPlot(curves) + "</div></div></section>";
  return html;
}

std::string SpeedupSection(std::span<const View> views) {
  const std::string plot = SpeedupPlot(views);
  std::string html = "<section class='card'><h2>Speedup over the baseline</h2>";
  if (plot.empty()) return html + "<p class='hint'>No correct evaluation has been timed yet.</p></section>";
  html +=
      "<p class='hint'>Correct evaluations only. The whiskers are the interval of each speedup, its systematic floor "
      "included, where it is wider than the mark; one that holds 1× is not called faster or slower.</p><ul "
      "class='legend'>"
      "<li><svg width='12' height='12' aria-hidden='true'><circle class='mark faster' cx='6' cy='6' "
      "r='4'/></svg>faster</li>"
      "<li><svg width='12' height='12' aria-hidden='true'><circle class='mark even' cx='6' cy='6' "
      "r='4'/></svg>undecided"
      "</li><li><svg width='12' height='12' aria-hidden='true'><rect class='mark slower' x='2' y='2' width='8' "
      "height='8'/></svg>slower</li></ul>";
  return html + "<div class='scroll'><div class='wide'>" + plot + "</div></div></section>";
}

std::string ScoreSection(std::span<const Group> groups) {
  std::string html =
      "<section class='card'><h2>Scores</h2><p class='hint'>A score belongs to one device, protocol, size and "
      "baseline. "
      "Geometric means over the correct ones, with their 95% interval (Student's t on the logarithms).</p>"
      "<div class='scroll'><table><thead><tr><th>Setting</th>";
  for (const double p : kUpstreamThresholds) html += fmt::format("<th class='num'>fast<sub>{}</sub></th>", p);
  html +=
      "<th class='num'>geometric mean</th><th class='num'>of the faster ones</th><th "
      "class='num'>median</th></tr></thead><tbody>";
  for (size_t i = 0; i < groups.size(); ++i) html += GroupRow(groups[i], i, groups.size() > 1);
  return html + "</tbody></table></div></section>";
}

}  // namespace kb
