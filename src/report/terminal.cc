#include "report/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/text.h"
#include "report/view.h"
#include "score/score.h"

namespace kb {

using nlohmann::json;

namespace {

constexpr size_t kOutputTail = 4000;  // bytes of compiler output and the like that Describe shows
constexpr size_t kCellColumns = 32;
constexpr size_t kIdColumns = 100;  // one that is cut would not be found

const char* Colour(std::string_view tone) {
  if (tone == "good") return "\x1b[32m";
  if (tone == "bad") return "\x1b[31m";
  if (tone == "warn") return "\x1b[33m";
  if (tone == "tampered") return "\x1b[35m";
  return "\x1b[2m";
}

std::string Paint(const std::string& text, std::string_view tone, const TerminalOptions& options) {
  return options.colour ? Colour(tone) + text + "\x1b[0m" : text;
}

std::string Pad(const std::string& text, size_t columns, bool right) {
  const size_t width = DisplayWidth(text);
  const std::string space(columns > width ? columns - width : 0, ' ');
  return right ? space + text : text + space;
}

std::string SettingCell(const View& view) {
  const std::string& device = view.device_name.empty() ? view.device : view.device_name;
  return OneLine(device.empty() ? kDash : device, kCellColumns) + " / " +
         OneLine(view.protocol.empty() ? kDash : view.protocol, kCellColumns);
}

struct Column {
  const char* title;
  bool right;
  std::string (*cell)(const View&);
};

const Column kColumns[] = {
    {"id", false, [](const View& v) { return OneLine(v.id, kIdColumns); }},
    {"problem", false, [](const View& v) { return OneLine(v.problem, kCellColumns); }},
    {"size", false, [](const View& v) { return OneLine(v.size, kCellColumns); }},
    {"candidate", false, [](const View& v) { return OneLine(v.candidate_name, kCellColumns); }},
    {"verdict", false, [](const View& v) { return OneLine(v.verdict, kCellColumns); }},
    {"speedup", true, [](const View& v) { return FormatSpeedup(v.speedup); }},
    {"[low, high]", true, [](const View& v) { return FormatInterval(v.low, v.high); }},
    {"baseline", true, [](const View& v) { return FormatTime(v.baseline_us); }},
    {"candidate", true, [](const View& v) { return FormatTime(v.candidate_us); }},
    {"device / protocol", false, SettingCell},
};
constexpr size_t kIdColumn = 0, kVerdictColumn = 4;

void Line(std::string& out, const char* label, const std::string& value) {
  if (!value.empty() && value != kDash) out += fmt::format("  {:<12}{}\n", label, value);
}

void Block(std::string& out, const char* title, const std::string& text) {
  if (text.empty()) return;
  const std::string_view tail = Tail(text, kOutputTail);
  out += fmt::format("\n{}{}:\n", title, tail.size() < text.size() ? " (end)" : "");
  std::string indented = "  ";
  for (const char c : CleanText(tail)) indented += c == '\n' ? "\n  " : std::string(1, c);
  while (!indented.empty() && (indented.back() == ' ' || indented.back() == '\n')) indented.pop_back();
  out += indented + "\n";
}

// Bars of `counts` as long as their logarithm, because a histogram of errors spans many powers of ten.
std::string Histogram(const json& histogram) {
  double largest = 0;
  for (const json& bar : histogram) {
    if (bar.is_array() && bar.size() == 2 && bar[1].is_number()) largest = std::max(largest, bar[1].get<double>());
  }
  std::string out;
  for (const json& bar : histogram) {
    if (!bar.is_array() || bar.size() != 2 || !bar[1].is_number()) continue;
    const double count = bar[1].get<double>();
    const double share = largest > 0 ? std::log1p(count) / std::log1p(largest) : 0;
    std::string blocks;
    for (int i = 0; i < static_cast<int>(std::lround(30 * share)); ++i) blocks += "█";
    out += fmt::format("    ≤ {} {} {}\n", Pad(OneLine(Inline(bar[0]), 10), 10, true), Pad(blocks, 30, false),
                       FormatCount(count));
  }
  return out.empty() ? "" : "  elements by error over allowed error (log scale):\n" + out;
}

std::string DescribeMismatch(const json& mismatch) {
  if (!mismatch.is_object()) return "";
  std::string out = "\nmismatch:\n";
  const auto text = [&](const char* key) { return OneLine(TextAt(mismatch, key), 100); };
  const auto count = [&](const char* key) {
    const auto number = NumberAt(mismatch, key);
    return number ? FormatCount(*number) : std::string(kDash);
  };
  Line(out, "output", fmt::format("{}, shape [{}], {}", text("output"), text("shape"), text("dtype")));
  Line(out, "seen in", fmt::format("round {}, {} inputs", text("round"), text("distribution")));
  Line(out, "where", text("where"));
  Line(out, "worst",
       fmt::format("at [{}]: expected {}, got {}, {} times the allowed error", text("worst_index"), text("expected"),
                   text("got"), text("worst")));
  Line(out, "wrong",
       fmt::format("{} of {} elements; {} of {} blocks", count("wrong"), count("total"), count("blocks_wrong"),
                   count("blocks")));
  if (NumberAt(mismatch, "unwritten").value_or(0) > 0) Line(out, "unwritten", count("unwritten") + " elements");
  if (NumberAt(mismatch, "non_finite").value_or(0) > 0) Line(out, "non-finite", count("non_finite") + " elements");
  Line(out, "error", fmt::format("at most {}, RMS {}", text("max_abs_error"), text("rms_error")));
  return out + Histogram(MemberAt(mismatch, "histogram"));
}

std::string DescribeSpeedup(const View& view) {
  if (!view.speedup) return "";
  std::string line = FormatSpeedup(view.speedup) + " " + FormatInterval(view.low, view.high);
  if (view.confidence) line += fmt::format(", {} confidence", FormatPercent(*view.confidence));
  if (view.floor) line += fmt::format(", systematic floor {}", FormatPercent(*view.floor));
  if (!view.headline.empty()) line += ", on " + OneLine(view.headline, 60) + " inputs";
  return line;
}

}  // namespace

std::string TerminalTable(const std::vector<json>& evaluations, const TerminalOptions& options) {
  if (evaluations.empty()) return "no evaluations yet\n";
  const std::vector<View> views = Views(evaluations);
  const size_t first = options.ids ? kIdColumn : kIdColumn + 1;
  size_t widths[std::size(kColumns)] = {};
  std::string out;
  for (size_t i = first; i < std::size(kColumns); ++i) {
    const Column& column = kColumns[i];
    size_t& width = widths[i] = DisplayWidth(column.title);
    for (const View& view : views) width = std::max(width, DisplayWidth(column.cell(view)));
    out += Pad(column.title, width, column.right) + "  ";
  }
  out.erase(out.find_last_not_of(' ') + 1);
  out = (options.colour ? "\x1b[1m" + out + "\x1b[0m" : out) + "\n";
  for (const View& view : views) {
    std::string line;
    for (size_t i = first; i < std::size(kColumns); ++i) {
      const std::string cell = Pad(kColumns[i].cell(view), widths[i], kColumns[i].right);
      line += (i == kVerdictColumn ? Paint(cell, FindVerdict(view.verdict).tone, options) : cell) + "  ";
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    if (!view.reason.empty()) {
      out += "    " + OneLine(view.reason, options.columns > 4 ? options.columns - 4 : 1) + "\n";
    }
  }
  return out;
}

std::string Describe(const json& evaluation, const TerminalOptions& options) {
  const View view = MakeView(evaluation);
  const auto text = [&](const char* key) { return OneLine(TextAt(evaluation, key), 100); };
  std::string out = fmt::format("{} {}  {}\n", OneLine(view.problem, 60), OneLine(view.candidate_path, 100),
                                Paint(OneLine(view.verdict, 40), FindVerdict(view.verdict).tone, options));
  if (!view.reason.empty()) out += "  " + OneLine(view.reason, 1000) + "\n";
  out += "\n";
  Line(out, "speedup", DescribeSpeedup(view));
  const auto times = fmt::format("baseline ({}) {}, candidate {}, {} rounds", OneLine(view.baseline, 40),
                                 FormatTime(view.baseline_us), FormatTime(view.candidate_us), text("rounds"));
  if (view.candidate_us) Line(out, "times", times);
  const json& light = MemberAt(evaluation, "speed_of_light");
  if (light.is_object()) {
    Line(out, "roofline",
         fmt::format("{} ({}), of which {} is reached", FormatTime(NumberAt(light, "us")),
                     OneLine(TextAt(light, "bound"), 20), FormatPercent(NumberAt(light, "fraction").value_or(0))));
  }
  Line(out, "authorship", OneLine(view.authorship, 100));
  if (!view.errors.empty()) Line(out, "errors", OneLine(view.errors, 200) + " (multiples of what is allowed)");
  Line(out, "prepare", FormatTime(NumberAt(evaluation, "prepare_us")));
  Line(out, "undisturbed", FormatTime(NumberAt(evaluation, "undisturbed_baseline_us")));
  Line(out, "offset", FormatTime(NumberAt(evaluation, "offset_us")));
  const json& device = MemberAt(evaluation, "device_info");
  // A candidate that its text alone decides is judged before the device has a name.
  const std::string on = view.device_name.empty() ? view.device : fmt::format("{} ({})", view.device_name, view.device);
  Line(out, "device", OneLine(on, 100));
  for (const char* key : {"torch", "python", "compiler"}) Line(out, key, OneLine(TextAt(device, key), 100));
  Line(out, "protocol",
       text("protocol") +
           (MemberAt(evaluation, "protocol_changed").empty() ? "" : ", changed: " + text("protocol_changed")));
  Line(out, "size", text("size"));
  Line(out, "isolation", text("isolation"));
  const json& evidence = MemberAt(evaluation, "evidence");
  Line(out, "signal", OneLine(TextAt(evidence, "signal"), 100));
  Line(out, "exit code", OneLine(TextAt(evidence, "exit_code"), 100));
  Line(out, "id", text("id"));
  Line(out, "created", FormatDate(text("created")));
  if (!view.notes.empty()) out += "\nnotes:\n";
  for (const std::string& note : view.notes) out += "  " + OneLine(note, 1000) + "\n";
  out += DescribeMismatch(MemberAt(evaluation, "mismatch"));
  Block(out, "compiler output", TextAt(evidence, "compiler_output"));
  Block(out, "traceback", TextAt(evidence, "traceback"));
  Block(out, "output", TextAt(evidence, "output"));
  return out;
}

std::string ScoreSummary(const std::vector<json>& evaluations, const TerminalOptions& options) {
  if (evaluations.empty()) return "no evaluations yet\n";
  const std::vector<View> views = Views(evaluations);
  std::string out;
  for (const Group& group : Groups(views)) {
    const std::vector<Outcome> outcomes = group.outcomes();
    const auto share = [&](double p) {
      const Proportion fast = FastP(outcomes, p);
      const Bounds bounds = WilsonInterval(fast);
      return fmt::format("{} of {} = {} [{}, {}]", fast.count, fast.total, FormatPercent(fast.value),
                         FormatPercent(bounds.low), FormatPercent(bounds.high));
    };
    const auto bounds = GeometricMeanInterval(outcomes);
    out += OneLine(group.label(), options.columns) + "\n";
    Line(out, "correct", share(0));
    Line(out, "fast_1", share(1));
    Line(out, "geo. mean",
         fmt::format("{} {} over {} correct; {} over the faster ones", FormatSpeedup(GeometricMean(outcomes)),
                     bounds ? FormatInterval(bounds->low, bounds->high) : kDash, CorrectSpeedups(outcomes).size(),
                     FormatSpeedup(GeometricMeanFaster(outcomes))));
    Line(out, "median", FormatSpeedup(MedianSpeedup(outcomes)));
  }
  return out + "intervals: 95% confidence (Wilson; Student's t on logarithms)\n";
}

}  // namespace kb
