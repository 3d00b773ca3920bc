#include "report/terminal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/terminal_parts.h"
#include "report/text.h"
#include "report/view.h"
#include "score/score.h"

namespace kb {

using nlohmann::json;

namespace {

constexpr size_t kCellColumns = 32;
constexpr size_t kVerdictWidth = 15;  // static_rejected
constexpr size_t kLongName = 60;
constexpr size_t kIdColumns = 100;  // one that is cut would not be found

const char* Colour(std::string_view tone) {
  if (tone == "good") return "\x1b[32m";
  if (tone == "bad") return "\x1b[31m";
  if (tone == "warn") return "\x1b[33m";
  if (tone == "tampered") return "\x1b[35m";
  return "\x1b[2m";
}

std::string SettingCell(const View& view) {
  const std::string& device = view.device_name.empty() ? view.device : view.device_name;
  return OneLine(device.empty() ? kDash : device, kCellColumns) + " / " +
         OneLine(view.protocol.empty() ? kDash : view.protocol, kCellColumns);
}

// "first #0": which candidate of a run it is.
std::string RunCell(const View& view) {
  const std::string run = TextAt(*view.raw, "run");
  if (run.empty()) return kDash;
  const json& sample = MemberAt(*view.raw, "sample");
  return OneLine(run, kCellColumns) + (sample.is_number() ? " #" + sample.dump() : "");
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
    {"run #sample", false, RunCell},
    {"candidate", false, [](const View& v) { return OneLine(v.candidate_name, kIdColumns); }},
    {"verdict", false, [](const View& v) { return OneLine(v.verdict, kCellColumns); }},
    {"speedup", true, [](const View& v) { return FormatSpeedup(v.speedup); }},
    {"[low, high]", true, [](const View& v) { return FormatInterval(v.low, v.high); }},
    {"baseline", true, [](const View& v) { return FormatTime(v.baseline_us); }},
    {"candidate", true, [](const View& v) { return FormatTime(v.candidate_us); }},
    {"device / protocol", false, SettingCell},
};
constexpr size_t kIdColumn = 0, kRunColumn = 3, kCandidateColumn = 4, kVerdictColumn = 5;
// What is left out first where there is no room, as places in kColumns: figures that others imply, then the rest.
constexpr size_t kLeftOut[] = {2, 9, 8, 10, 7, kRunColumn, kCandidateColumn};
constexpr size_t kGap = 2, kLeastName = 8;

std::vector<size_t> Widths(const std::vector<View>& views) {
  std::vector<size_t> widths;
  for (const Column& column : kColumns) {
    size_t& width = widths.emplace_back(DisplayWidth(column.title));
    for (const View& view : views) width = std::max(width, DisplayWidth(column.cell(view)));
  }
  return widths;
}

// The columns for which there is room; the names of candidates are cut before their column is left out.
std::vector<size_t> Shown(const TerminalOptions& options, std::vector<size_t>* widths) {
  std::vector<size_t> shown;
  for (size_t i = options.ids ? kIdColumn : kIdColumn + 1; i < std::size(kColumns); ++i) {
    if (options.ids || i != kRunColumn) shown.push_back(i);
  }
  const auto width = [&] {
    size_t all = 0;
    for (const size_t i : shown) all += (*widths)[i] + kGap;
    return all - kGap;
  };
  size_t& name = (*widths)[kCandidateColumn];
  if (width() > options.columns && name > kCellColumns) {
    name -= std::min(width() - options.columns, name - kCellColumns);
  }
  for (const size_t out : kLeftOut) {
    if (width() <= options.columns) break;
    const size_t over = width() - options.columns;
    if (out == kCandidateColumn && name >= over + kLeastName) {
      name -= over;
    } else {
      std::erase(shown, out);
    }
  }
  return shown;
}

}  // namespace

std::string Paint(const std::string& text, std::string_view tone, const TerminalOptions& options) {
  return options.colour ? Colour(tone) + text + "\x1b[0m" : text;
}

void LabelledLine(std::string& out, const char* label, const std::string& value) {
  if (!value.empty() && value != kDash) out += fmt::format("  {:<12}{}\n", label, value);
}

std::string Padded(const std::string& text, size_t columns, bool right) {
  const size_t width = DisplayWidth(text);
  const std::string space(columns > width ? columns - width : 0, ' ');
  return right ? space + text : text + space;
}

std::string TerminalTable(const std::vector<json>& evaluations, const TerminalOptions& options) {
  if (evaluations.empty()) return "no evaluations yet\n";
  const std::vector<View> views = Views(evaluations);
  std::vector<size_t> widths = Widths(views);
  const std::vector<size_t> shown = Shown(options, &widths);
  const bool named = std::find(shown.begin(), shown.end(), kCandidateColumn) != shown.end();
  std::string out;
  for (const size_t i : shown) out += Padded(kColumns[i].title, widths[i], kColumns[i].right) + std::string(kGap, ' ');
  out.erase(out.find_last_not_of(' ') + 1);
  out = (options.colour ? "\x1b[1m" + out + "\x1b[0m" : out) + "\n";
  for (const View& view : views) {
    std::string line;
    for (const size_t i : shown) {
      const std::string cell = Padded(OneLine(kColumns[i].cell(view), widths[i]), widths[i], kColumns[i].right);
      line +=
          (i == kVerdictColumn ? Paint(cell, FindVerdict(view.verdict).tone, options) : cell) + std::string(kGap, ' ');
    }
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    std::string below = view.reason.empty() ? "" : FirstReason(view);
    if (!named) below = view.candidate_name + (below.empty() ? "" : ": " + below);
    if (!below.empty()) out += "    " + OneLine(below, options.columns > 4 ? options.columns - 4 : 1) + "\n";
  }
  return out;
}

std::string ResultName(const json& evaluation) {
  const View view = MakeView(evaluation);
  return OneLine(view.problem + " " + view.candidate_name, kLongName);
}

std::string ResultLine(const json& evaluation, const std::string& name, const TerminalOptions& options) {
  const View view = MakeView(evaluation);
  const std::string verdict = OneLine(view.verdict, kCellColumns);
  std::vector<std::string> parts = {Padded(verdict, kVerdictWidth), OneLine(name, kLongName)};
  const std::string why = TextAt(evaluation, "no_speedup");
  if (view.correct() && view.speedup) {
    parts.push_back(FormatSpeedup(view.speedup) + " " + FormatInterval(view.low, view.high));
    if (view.candidate_us) {
      parts.push_back(FormatTime(view.baseline_us) + " to " + FormatTime(view.candidate_us));
    }
  } else if (view.correct() && !why.empty() && why != "not_measured") {
    parts.push_back("no speedup: " + why);
  }
  if (!view.reason.empty()) parts.push_back(FirstReason(view));
  const std::string line = OneLine(fmt::format("{}", fmt::join(parts, "  ")), options.columns);
  const size_t painted = std::min(verdict.size(), line.size());
  return Paint(line.substr(0, painted), FindVerdict(view.verdict).tone, options) + line.substr(painted) + "\n";
}

}  // namespace kb
