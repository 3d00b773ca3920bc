#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/terminal.h"
#include "report/terminal_parts.h"
#include "report/text.h"
#include "report/view.h"

namespace kb {

using nlohmann::json;

namespace {

constexpr size_t kOutputTail = 4000;  // bytes of compiler output and the like that Describe shows
constexpr size_t kBarColumns = 30, kBesideBars = 27;

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
std::string Histogram(const json& histogram, size_t columns) {
  const size_t widest = std::clamp<size_t>(columns, kBesideBars + 4, kBesideBars + kBarColumns) - kBesideBars;
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
    const auto length = std::lround(static_cast<double>(widest) * share);
    for (long i = 0; i < length; ++i) blocks += "█";
    out += fmt::format("    ≤ {} {} {}\n", Padded(OneLine(Inline(bar[0]), 10), 10, true), Padded(blocks, widest),
                       FormatCount(count));
  }
  return out.empty() ? "" : "  elements by error over allowed error (log scale):\n" + out;
}

// Above all how far off the worst element is, and where the wrong ones lie.
std::string WrongOutput(const json& mismatch, const TerminalOptions& options) {
  if (!mismatch.is_object()) return "";
  std::string out;
  const auto text = [&](const char* key) { return OneLine(TextAt(mismatch, key), 100); };
  const auto count = [&](const char* key) {
    const auto number = NumberAt(mismatch, key);
    return number ? FormatCount(*number) : std::string(kDash);
  };
  if (const json& worst = MemberAt(mismatch, "worst"); !worst.is_null())
    LabelledLine(out, "worst", OneLine(FormatFactor(worst), 20) + " times the error that is allowed");
  LabelledLine(out, "",
               fmt::format("at [{}]: expected {}, got {}", text("worst_index"), text("expected"), text("got")));
  LabelledLine(out, "wrong",
               fmt::format("{} of {} elements; {} of {} blocks", count("wrong"), count("total"), count("blocks_wrong"),
                           count("blocks")));
  LabelledLine(out, "where", text("where"));
  if (NumberAt(mismatch, "unwritten").value_or(0) > 0) LabelledLine(out, "unwritten", count("unwritten") + " elements");
  if (NumberAt(mismatch, "non_finite").value_or(0) > 0)
    LabelledLine(out, "non-finite", count("non_finite") + " elements");
  LabelledLine(out, "output", fmt::format("{}, shape [{}], {}", text("output"), text("shape"), text("dtype")));
  LabelledLine(out, "seen in", fmt::format("round {}, {} inputs", text("round"), text("distribution")));
  LabelledLine(out, "error", fmt::format("at most {}, RMS {}", text("max_abs_error"), text("rms_error")));
  return out + Histogram(MemberAt(mismatch, "histogram"), options.columns);
}

// The verdict, why, the speedup and the times that it is the ratio of.
std::string Answer(const json& evaluation, const View& view, const TerminalOptions& options) {
  std::string out =
      fmt::format("{}  {} {}\n", Paint(OneLine(view.verdict, 40), FindVerdict(view.verdict).tone, options),
                  OneLine(view.problem, 60), OneLine(view.candidate_path, 200));
  if (!view.reason.empty()) out += "  " + OneLine(FirstReason(view), 1000) + "\n";
  const std::string why = TextAt(evaluation, "no_speedup");
  if (view.speedup) {
    LabelledLine(out, "speedup", FormatSpeedup(view.speedup) + " " + FormatInterval(view.low, view.high));
  } else if (view.correct() && !why.empty()) {
    LabelledLine(out, "speedup", fmt::format("none ({})", OneLine(why, 40)));
  }
  if (view.candidate_us) {
    LabelledLine(out, "baseline", fmt::format("{} ({})", FormatTime(view.baseline_us), OneLine(view.baseline, 40)));
    LabelledLine(out, "candidate", FormatTime(view.candidate_us));
  }
  return out;
}

std::string WhatIsWrong(const json& evaluation, const TerminalOptions& options) {
  std::string out = WrongOutput(MemberAt(evaluation, "mismatch"), options);
  const json& evidence = MemberAt(evaluation, "evidence");
  const std::string signal = TextAt(evidence, "signal");
  if (TextAt(evaluation, "reason").find(signal) == std::string::npos) LabelledLine(out, "signal", OneLine(signal, 100));
  LabelledLine(out, "exit code", OneLine(TextAt(evidence, "exit_code"), 100));
  Block(out, "compiler output", TextAt(evidence, "compiler_output"));
  Block(out, "traceback", TextAt(evidence, "traceback"));
  Block(out, "output", TextAt(evidence, "output"));
  return out;
}

std::string Measured(const json& evaluation, const View& view) {
  std::string out, interval;
  if (view.speedup && view.confidence) interval = FormatPercent(*view.confidence) + " confidence";
  if (view.speedup && view.floor) {
    interval += fmt::format("{}systematic floor {}", interval.empty() ? "" : ", ", FormatPercent(*view.floor));
  }
  LabelledLine(out, "interval", interval);
  if (view.speedup) {
    const std::string rounds = TextAt(evaluation, "rounds");
    LabelledLine(out, "rounds",
                 OneLine(rounds, 20) + (view.headline.empty() ? "" : ", on " + OneLine(view.headline, 60) + " inputs"));
  }
  const json& light = MemberAt(evaluation, "speed_of_light");
  if (light.is_object()) {
    LabelledLine(
        out, "roofline",
        fmt::format("{} ({}), of which {} is reached", FormatTime(NumberAt(light, "us")),
                    OneLine(TextAt(light, "bound"), 20), FormatPercent(NumberAt(light, "fraction").value_or(0))));
  }
  LabelledLine(out, "authorship", OneLine(view.authorship, 100));
  if (!view.errors.empty()) LabelledLine(out, "errors", OneLine(view.errors, 200) + " (multiples of what is allowed)");
  LabelledLine(out, "prepare", FormatTime(NumberAt(evaluation, "prepare_us")));
  LabelledLine(out, "undisturbed", FormatTime(NumberAt(evaluation, "undisturbed_baseline_us")));
  LabelledLine(out, "offset", FormatTime(NumberAt(evaluation, "offset_us")));
  return out.empty() ? "" : "\n" + out;
}

std::string Provenance(const json& evaluation, const View& view) {
  const auto text = [&](const char* key) { return OneLine(TextAt(evaluation, key), 100); };
  std::string out = "\n";
  const json& device = MemberAt(evaluation, "device_info");
  // A candidate that its text alone decides is judged before the device has a name.
  const std::string on = view.device_name.empty() ? view.device : fmt::format("{} ({})", view.device_name, view.device);
  LabelledLine(out, "device", OneLine(on, 100));
  LabelledLine(out, "protocol",
               text("protocol") +
                   (MemberAt(evaluation, "protocol_changed").empty() ? "" : ", changed: " + text("protocol_changed")));
  LabelledLine(out, "size", text("size"));
  LabelledLine(out, "isolation", text("isolation"));
  for (const char* key : {"torch", "python", "compiler"}) LabelledLine(out, key, OneLine(TextAt(device, key), 100));
  LabelledLine(out, "created", FormatDate(text("created")));
  LabelledLine(out, "id", text("id"));
  return out;
}

}  // namespace

std::string Describe(const json& evaluation, const TerminalOptions& options) {
  const View view = MakeView(evaluation);
  std::string out = Answer(evaluation, view, options) + WhatIsWrong(evaluation, options);
  if (!view.notes.empty()) out += "\nnotes:\n";
  for (const std::string& note : view.notes) out += "  " + OneLine(note, 1000) + "\n";
  return out + Measured(evaluation, view) + Provenance(evaluation, view);
}

}  // namespace kb
