#include "report/html_detail.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/svg_plots.h"
#include "report/text.h"

namespace kb {

using nlohmann::json;

namespace {

constexpr size_t kSourceBytes = 256 << 10;
constexpr size_t kOutputBytes = 64 << 10;

std::string Pair(const std::string& name, const std::string& html) {
  return html.empty() ? "" : fmt::format("<dt>{}</dt><dd>{}</dd>", name, html);
}

// A time, or nothing where there is none: the pair is then left out.
std::string Time(const json& object, const char* key) {
  const auto time = NumberAt(object, key);
  return time ? FormatTime(time) : "";
}

std::string Pairs(const json& object) {
  std::string html;
  for (const auto& [key, value] : object.items()) html += Pair(EscapeHtml(key), EscapeHtml(Inline(value)));
  return html;
}

std::string More(const std::string& title, const std::string& note, bool open, const std::string& html) {
  if (html.empty()) return "";
  return fmt::format("<details class='more'{}><summary>{} <small>{}</small></summary><div>{}</div></details>",
                     open ? " open" : "", title, note, html);
}

std::string ReasonAndNotes(const View& view) {
  std::string html;
  if (!view.reason.empty()) {
    html += fmt::format("<p class='reason {}'><span>{}</span></p>", FindVerdict(view.verdict).tone,
                        EscapeHtml(view.reason));
  }
  if (view.notes.empty()) return html;
  html += "<h3>Notes</h3><ul class='plain'>";
  for (const std::string& note : view.notes) html += "<li>" + EscapeHtml(note) + "</li>";
  return html + "</ul>";
}

std::string ResultFacts(const View& view) {
  const json& raw = *view.raw;
  std::string html = "<div><h3>Result</h3><dl class='kv'>";
  if (view.speedup) {
    html +=
        Pair("speedup", fmt::format("<b>{}</b> {}", FormatSpeedup(view.speedup), FormatInterval(view.low, view.high)));
    if (view.confidence) html += Pair("confidence", FormatPercent(*view.confidence) + " (statistical part)");
    if (view.floor) html += Pair("systematic floor", fmt::format("± {}, in the interval", FormatPercent(*view.floor)));
    html += Pair("measured on", view.headline.empty() ? "" : EscapeHtml(view.headline) + " inputs");
  }
  if (view.candidate_us) html += Pair("candidate", FormatTime(view.candidate_us));
  if (view.baseline_us) html += Pair("baseline", FormatTime(view.baseline_us) + " (" + EscapeHtml(view.baseline) + ")");
  const json& light = MemberAt(raw, "speed_of_light");
  if (light.is_object()) {
    html += Pair("roofline", fmt::format("{} ({}), of which {} is reached", Time(light, "us"),
                                         EscapeHtml(OneLine(TextAt(light, "bound"), 20)),
                                         FormatPercent(NumberAt(light, "fraction").value_or(0))));
  }
  html += Pair("authorship", EscapeHtml(view.authorship));
  html += Pair("errors, as multiples of what is allowed", EscapeHtml(view.errors));
  html += Pair("baseline, undisturbed", Time(raw, "undisturbed_baseline_us"));
  html += Pair("offset of a call", Time(raw, "offset_us"));
  html += Pair("prepare", Time(raw, "prepare_us"));
  if (view.rounds && view.candidate_us) html += Pair("scored rounds", FormatCount(*view.rounds));
  const json& candidate = MemberAt(raw, "candidate");
  html += Pair("candidate file", EscapeHtml(view.candidate_path));
  html += Pair("kind", EscapeHtml(view.kind + (view.backend.empty() ? "" : ", " + view.backend)));
  html += Pair("SHA-256", EscapeHtml(OneLine(TextAt(candidate, "sha256"), 24)));
  html += Pair("evaluation", EscapeHtml(view.id) + "<br>" + EscapeHtml(FormatDate(view.created)));
  return html + "</dl></div>";
}

std::string Samples(const View& view) {
  const std::string plot = SamplesPlot(view);
  if (plot.empty()) return "<div></div>";
  return "<div><h3>Time of each round</h3>" + plot +
         "<ul class='legend'><li><svg width='10' height='10' aria-hidden='true'><path class='dots cand' d='M5 "
         "5h0'/></svg>"
         "candidate</li><li><svg width='10' height='10' aria-hidden='true'><path class='dots base' d='M5 5h0'/></svg>"
         "baseline</li><li><svg width='10' height='10' aria-hidden='true'><path class='dots base warm' d='M5 "
         "5h0'/></svg>"
         "not scored</li><li><svg width='10' height='10' aria-hidden='true'><path class='crosses' d='M2 2l6 6m-6 0l6 "
         "-6'/>"
         "</svg>void</li></ul></div>";
}

std::string Mismatch(const json& mismatch) {
  if (!mismatch.is_object()) return "";
  const auto text = [&](const char* key) { return EscapeHtml(OneLine(TextAt(mismatch, key), 200)); };
  const auto count = [&](const char* key) {
    const auto number = NumberAt(mismatch, key);
    return number ? FormatCount(*number) : std::string(kDash);
  };
  std::string html = "<div class='pair'><div><h3>Mismatch</h3><dl class='kv'>";
  html += Pair("where", text("where"));
  html += Pair("output", fmt::format("{}, shape [{}], {}", text("output"), text("shape"), text("dtype")));
  html += Pair("seen in", fmt::format("round {}, {} inputs", text("round"), text("distribution")));
  html += Pair("worst element", fmt::format("[{}]", text("worst_index")));
  html += Pair("expected", text("expected"));
  html += Pair("got", "<b>" + text("got") + "</b>");
  html += Pair("worst error", text("worst") + " × the allowed error");
  html += Pair("wrong", fmt::format("{} of {} elements", count("wrong"), count("total")));
  html += Pair("wrong blocks", fmt::format("{} of {}", count("blocks_wrong"), count("blocks")));
  if (NumberAt(mismatch, "unwritten").value_or(0) > 0) html += Pair("never written", count("unwritten") + " elements");
  if (NumberAt(mismatch, "non_finite").value_or(0) > 0) html += Pair("non-finite", count("non_finite") + " elements");
  html += Pair("absolute error", fmt::format("at most {}, RMS {}", text("max_abs_error"), text("rms_error")));
  html += "</dl></div><div>";
  if (const std::string plot = HistogramPlot(MemberAt(mismatch, "histogram")); !plot.empty()) {
    html += "<h3>Elements by error over allowed error (log scale)</h3>" + plot;
  }
  return html + "</div></div>";
}

std::string Output(const json& evidence, const char* key, const char* title, bool open) {
  const std::string text = TextAt(evidence, key);
  if (text.empty()) return "";
  const std::string_view tail = Tail(text, kOutputBytes);
  return More(title, tail.size() < text.size() ? "the end of it" : "", open,
              "<pre class='out'>" + EscapeHtml(tail) + "</pre>");
}

std::string Evidence(const View& view) {
  const json& evidence = MemberAt(*view.raw, "evidence");
  const bool open = !view.correct();
  std::string died;
  for (const char* key : {"signal", "exit_code"}) {
    const std::string value = TextAt(evidence, key);
    if (!value.empty()) died += Pair(std::string_view(key) == "signal" ? "signal" : "exit code", EscapeHtml(value));
  }
  std::string html = died.empty() ? "" : "<h3>How it ended</h3><dl class='kv'>" + died + "</dl>";
  html += Output(evidence, "compiler_output", "Compiler output", open);
  html += Output(evidence, "traceback", "Traceback", open);
  return html + Output(evidence, "output", "What the candidate printed", open);
}

std::string Source(const json& candidate) {
  const std::string source = TextAt(candidate, "source");
  if (source.empty()) return "";
  const std::string shown = CleanText(std::string_view(source).substr(0, kSourceBytes));
  size_t count = static_cast<size_t>(std::count(shown.begin(), shown.end(), '\n'));
  if (shown.back() != '\n') ++count;
  std::string numbers;
  for (size_t i = 1; i <= count; ++i) numbers += std::to_string(i) + "\n";
  return More("Source",
              fmt::format("{} lines{}", FormatCount(static_cast<double>(count)),
                          source.size() > kSourceBytes ? ", the rest is cut" : ""),
              false,
              "<div class='code'><pre class='lines' aria-hidden='true'>" + numbers + "</pre><pre class='text'><code>" +
                  EscapeHtml(shown) + "</code></pre></div>");
}

std::string SettingText(const View& view) {
  const json& raw = *view.raw;
  const json& changed = MemberAt(raw, "protocol_changed");
  std::string keys;
  for (const auto& [key, value] : MemberAt(raw, "protocol_keys").items()) {
    const bool flagged = changed.is_array() && std::find(changed.begin(), changed.end(), json(key)) != changed.end();
    keys += fmt::format("<dt>{}</dt><dd{}>{}</dd>", EscapeHtml(key), flagged ? " class='changed'" : "",
                        EscapeHtml(Inline(value)));
  }
  const json& isolation = MemberAt(raw, "isolation_info");
  std::string barriers = Pair("kind", EscapeHtml(view.isolation));
  barriers += isolation.is_object() ? Pairs(isolation) : Pair("barriers", EscapeHtml(TextAt(raw, "isolation_info")));
  std::string html = "<div class='pair'><div><h3>Protocol " + EscapeHtml(view.protocol) + "</h3><dl class='kv'>" +
                     keys + "</dl><h3>Isolation</h3><dl class='kv'>" + barriers +
                     "</dl></div><div><h3>Device</h3><dl class='kv'>";
  for (const auto& [key, value] : MemberAt(raw, "device_info").items()) {
    const auto number = NumberAt(MemberAt(raw, "device_info"), key.c_str());
    std::string text = EscapeHtml(Inline(value));
    if (key == "copy_gb_s" && number) text = fmt::format("{:.4g} GB/s", *number);
    if (key == "last_level_cache" && number) text = fmt::format("{:.4g} MiB", *number / 1048576);
    html += Pair(key == "copy_gb_s" ? "copy rate, measured" : EscapeHtml(key), text);
  }
  return html + "</dl></div></div>";
}

std::string EngineTime(const json& engine) {
  std::vector<std::pair<double, std::string>> steps;
  double total = 0;
  for (const auto& [step, time] : engine.items()) {
    if (!time.is_number() || time.get<double>() < 0) continue;
    steps.emplace_back(time.get<double>(), step);
    total += steps.back().first;
  }
  if (total <= 0) return "";
  std::sort(steps.rbegin(), steps.rend());
  std::string html = "<div class='bars'>";
  for (const auto& [time, step] : steps) {
    html += fmt::format(
        "<span>{}</span><div class='track even'><div class='fill' style='width:{:.2f}%'></div></div>"
        "<span class='count'>{}</span>",
        EscapeHtml(step), 100 * time / total, FormatTime(time));
  }
  return html + "</div>";
}

std::string Body(const View& view) {
  const json& raw = *view.raw;
  std::string html = "<div class='body'>" + ReasonAndNotes(view);
  // What went wrong comes before what the evaluation was; where nothing did, the result comes first.
  const std::string result = "<div class='pair'>" + ResultFacts(view) + Samples(view) + "</div>";
  const std::string evidence = Mismatch(MemberAt(raw, "mismatch")) + Evidence(view);
  html += (view.correct() ? result + evidence : evidence + result) + Source(MemberAt(raw, "candidate"));
  html += More("Protocol, isolation, device", "", false, SettingText(view));
  return html + More("Where the engine's time went", "", false, EngineTime(MemberAt(raw, "engine_us"))) + "</div>";
}

std::string SortKey(std::optional<double> value) { return value ? fmt::format("{:.9g}", *value) : ""; }

std::string Lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return text;
}

std::string Entry(const View& view) {
  const VerdictKind& verdict = FindVerdict(view.verdict);
  const std::string device = view.device_name.empty() ? view.device : view.device_name;
  const std::string searched =
      Lower(OneLine(fmt::format("{} {} {} {} {} {} {} {}", view.problem, view.candidate_path, view.verdict,
                                verdict.label, device, view.protocol, view.size, view.reason),
                    600));
  std::string html = fmt::format(
      "<details class='entry' data-verdict='{}' data-text='{}' data-kproblem='{}' data-kcandidate='{}' "
      "data-kverdict='{}' "
      "data-kspeedup='{}' data-kbaseline='{}' data-ktime='{}' data-ksetting='{}'><summary class='cells'>",
      verdict.name, EscapeHtml(searched), EscapeHtml(OneLine(view.problem, 80)),
      EscapeHtml(OneLine(view.candidate_name, 80)), verdict.label, SortKey(view.speedup), SortKey(view.baseline_us),
      SortKey(view.candidate_us), EscapeHtml(OneLine(device + view.protocol + view.size, 120)));
  html += fmt::format(
      "<span class='chevron'></span><b class='cut'>{}</b><span class='cut' title='{}'>{}</span>"
      "<span><span class='badge {}'>{}</span></span>",
      EscapeHtml(view.problem), EscapeHtml(view.candidate_path), EscapeHtml(view.candidate_name), verdict.tone,
      verdict.label);
  const Pace pace = view.pace();
  const char* tone = pace == Pace::kFaster ? "faster" : pace == Pace::kSlower ? "slower" : "even";
  html += fmt::format(
      "<b class='num {}'>{}</b><span class='num'>{}</span><span class='num'>{}</span>"
      "<span class='num'>{}</span><span class='cut sub' title='{}'>{}</span>",
      tone, FormatSpeedup(view.speedup), FormatInterval(view.low, view.high), FormatTime(view.baseline_us),
      FormatTime(view.candidate_us), EscapeHtml(fmt::format("{}, {}, {}", device, view.protocol, view.size)),
      EscapeHtml(fmt::format("{} · {} · {}", device, view.protocol, view.size)));
  if (!view.reason.empty()) html += "<span class='why cut'>" + EscapeHtml(OneLine(view.reason, 300)) + "</span>";
  return html + "</summary>" + Body(view) + "</details>";
}

std::string Tools(std::span<const View> views) {
  std::string html =
      "<div class='tools' hidden><input id='filter' type='search' placeholder='Filter by problem, candidate, reason' "
      "aria-label='Filter by problem, candidate, reason'><select id='verdict' aria-label='Verdict'><option "
      "value=''>every "
      "verdict</option>";
  for (const VerdictKind& kind : VerdictKinds()) {
    const bool used =
        std::any_of(views.begin(), views.end(), [&](const View& view) { return &FindVerdict(view.verdict) == &kind; });
    if (used) html += fmt::format("<option value='{}'>{}</option>", kind.name, kind.label);
  }
  return html +
         "</select><button id='fold' type='button'>Open or close all</button><span class='sub' id='shown' "
         "role='status'></span></div>";
}

}  // namespace

std::string EvaluationList(std::span<const View> views) {
  std::vector<const View*> order;
  for (const View& view : views) order.push_back(&view);
  std::stable_sort(order.begin(), order.end(),
                   [](const View* a, const View* b) { return NaturalLess(a->problem, b->problem); });
  std::string html = "<section class='card'><h2>Evaluations</h2>" + Tools(views) +
                     "<div class='list'><div class='cells head'>"
                     "<span></span>";
  const struct {
    const char *key, *title, *style;
  } kColumns[] = {{"problem", "problem", ""},   {"candidate", "candidate", ""},
                  {"verdict", "verdict", ""},   {"speedup", "speedup", "num"},
                  {nullptr, "interval", "num"}, {"baseline", "baseline", "num"},
                  {"time", "candidate", "num"}, {"setting", "device · protocol · size", "cut"}};
  for (const auto& column : kColumns) {
    html +=
        column.key == nullptr
            ? fmt::format("<span class='{}'>{}</span>", column.style, column.title)
            : fmt::format("<button type='button' class='{}' data-key='{}' aria-pressed='{}'>{}</button>", column.style,
                          column.key, std::string_view(column.key) == "problem" ? "true" : "false", column.title);
  }
  html += "</div>";
  for (const View* view : order) html += Entry(*view);
  return html + "</div></section>";
}

}  // namespace kb
