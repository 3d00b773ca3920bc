#include "generate/transcript_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/json.h"
#include "generate/call_text.h"
#include "generate/text_block.h"
#include "report/text.h"

namespace kb {
namespace {

using nlohmann::json;

std::string Block(std::string_view text, const TranscriptTextOptions& options, size_t head, size_t tail) {
  if (options.full) head = tail = 0;
  return TextBlock(text, {options.columns, kInnerIndent, head, tail});
}

// A line of ours, in which parts may be foreign.
std::string Line(const std::string& text, const TranscriptTextOptions& options) {
  return TextBlock(OneLine(text, 1000), {.columns = options.columns, .indent = 2});
}

std::string Seconds(double seconds) { return fmt::format("{:.1f} s", seconds); }

// "4:05", "1:02:03".
std::string Clock(double seconds) {
  const int64_t whole = std::llround(std::max(seconds, 0.0));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string Dollars(double usd) { return fmt::format("${:.4f}", usd); }

std::optional<int64_t> UtcOf(const std::string& text) {
  tm time{};
  if (strptime(text.c_str(), kIso8601, &time) == nullptr) return std::nullopt;
  return timegm(&time);
}

std::string Since(const std::string& begun, const std::string& now) {
  const auto from = UtcOf(begun), to = UtcOf(now);
  return from && to ? "+" + Clock(static_cast<double>(*to - *from)) : "";
}

std::string TokensText(int64_t prompt, int64_t cached, int64_t output) {
  return fmt::format("{} in{}, {} out", CountText(prompt), cached > 0 ? " (" + CountText(cached) + " cached)" : "",
                     CountText(output));
}

std::string Tokens(const Turn& turn) {
  if (!turn.input && !turn.output) return "tokens unknown";
  return TokensText(turn.input.value_or(0) + turn.cache_read.value_or(0) + turn.cache_write.value_or(0),
                    turn.cache_read.value_or(0), turn.output.value_or(0));
}

std::string ToolName(const json& tool) {
  const std::string own = StoredText(tool, "name");
  return own.empty() && tool.is_object() && tool.contains("function") ? StoredText(tool.at("function"), "name") : own;
}

// What the loop of `generate` does in its own words, anything else as it is written: "kept 12, dropped 40".
std::string ContextText(const json& context) {
  if (context.is_object() && context.size() == 1 && context.contains("shrunk_before")) {
    return "what tools gave before turn " + Dump(context.at("shrunk_before")) + " is shortened";
  }
  if (!context.is_object()) return context.is_string() ? context.get<std::string>() : Dump(context);
  std::vector<std::string> parts;
  for (const auto& [key, value] : context.items()) {
    const bool numbers = value.is_array() && value.size() > 8;
    parts.push_back(fmt::format("{} {}", key,
                                numbers             ? fmt::format("{} items", value.size())
                                : value.is_string() ? value.get<std::string>()
                                                    : Dump(value)));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// A compilation and a profile have no verdict of a candidate that passes.
std::string OutcomeText(const TurnVerdict& verdict, const json& view) {
  if (!verdict.verdict.empty()) return verdict.verdict;
  if (view.is_object() && view.value("compiled", json()) == true) return "compiled";
  const std::string told = StoredText(view, "verdict");
  return told.empty() ? "no verdict" : told;
}

// What was handed in, which is judged in the run alone.
bool IsHandedIn(const TurnVerdict& verdict) { return verdict.tool == "submit" && verdict.verdict.empty(); }

std::string JudgedText(const TurnVerdict& verdict) {
  const json view = ParseStored(verdict.view);
  std::string text = OutcomeText(verdict, view);
  if (verdict.speedup) text += ", " + FormatSpeedup(verdict.speedup);
  if (verdict.low && verdict.high) text += " " + FormatInterval(verdict.low, verdict.high);
  if (const std::string reason = StoredText(view, "reason"); !reason.empty()) text += ", " + reason;
  if (verdict.device_seconds > 0) text += fmt::format(" ({} of the device)", Seconds(verdict.device_seconds));
  return OneLine(text, 300);
}

std::string VerdictText(const TurnVerdict& verdict, bool of_call) {
  if (verdict.tool == "bash") return fmt::format("had the device for {}", Seconds(verdict.device_seconds));
  if (IsHandedIn(verdict)) return "handed in: " + verdict.source_sha256.substr(0, 12);
  return (of_call ? "judge: " : fmt::format("judge, asked to {}: ", verdict.tool)) + JudgedText(verdict);
}

std::string ResultText(const TranscriptResult& result, const TranscriptTextOptions& options) {
  const std::string heading = fmt::format("{}{}", result.is_error ? "error" : "gave",
                                          result.seconds >= 0.05 ? " after " + Seconds(*result.seconds) : "");
  return Line(heading + (result.text.empty() ? " nothing" : ":"), options) + Block(result.text, options, 12, 12);
}

// What begins with the request, and how long what is not shown is.
std::string BeginsText(const RelayedRequest& request) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& begins, const char* text) {
    if (request.begins == begins) parts.push_back(fmt::format("{}conversation {} begins", text, request.conversation));
  };
  add("first", "");
  add("restart", "the program was started again: ");
  add("aside", "an aside without tools: ");
  add("changed", "the program changed its history: ");
  add("other", "another system prompt: ");
  if (request.begins.empty() && request.another) {
    parts.push_back(fmt::format("back in conversation {}", request.conversation));
  }
  if (!request.system.empty())
    parts.push_back(fmt::format("system prompt of {} bytes", CountText(request.system.size())));
  if (!request.tools.empty()) {
    parts.push_back(fmt::format("{} {} ({} bytes)", request.tools.size(), request.tools.size() == 1 ? "tool" : "tools",
                                CountText(request.tools_bytes)));
  }
  if (request.repeated > 0)
    parts.push_back(fmt::format("with {} of what was said before", CountText(request.repeated)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string RelayedText(const RelayedRequest& request, const TranscriptTextOptions& options) {
  constexpr size_t kMost = 5;
  std::string text;
  const size_t shown = options.full ? request.denied.size() : std::min(request.denied.size(), kMost);
  for (size_t i = 0; i < shown; ++i) {
    text += Line("a call before this one was refused: " + OneLine(request.denied[i], 300), options);
  }
  if (shown < request.denied.size()) text += Line(fmt::format("… {} more", request.denied.size() - shown), options);
  if (const std::string begins = BeginsText(request); !begins.empty()) text += Line(begins, options);
  for (const auto& [role, told] : request.told) {
    text += Line(role == "user" ? "told:" : fmt::format("told as {}:", role), options) + Block(told, options, 12, 4);
  }
  return text;
}

std::string FilesText(const TranscriptTurn& turn, const TranscriptTextOptions& options) {
  if (turn.files.empty()) return "";
  constexpr size_t kMost = 20;
  std::string text = Line("folder:", options);
  const size_t shown = options.full ? turn.files.size() : std::min(turn.files.size(), kMost);
  for (size_t i = 0; i < shown; ++i) {
    const FileChange& file = turn.files[i];
    const std::string lines = file.added ? fmt::format(" +{} -{}", *file.added, *file.removed) : "";
    text += Block(OneLine(fmt::format("{} {}{}", file.change, file.path, lines), 300), options, 0, 0);
  }
  if (shown < turn.files.size()) text += Block(fmt::format("… {} more", turn.files.size() - shown), options, 0, 0);
  return text;
}

// Otherwise than by its own end or by asking for tools.
bool EndedOddly(const TranscriptTurn& turn) {
  if (turn.finish.empty() || turn.finish == "stop") return false;
  return turn.calls.empty() || turn.finish == "length" || turn.finish == "context_full" || turn.finish == "refused";
}

std::string LostText(int lost, int64_t tokens, double usd) {
  return fmt::format("{} {} of the model cut off, which can have taken {} tokens and {}", lost,
                     lost == 1 ? "call" : "calls", CountText(tokens), Dollars(usd));
}

std::string SubmittedText(const Transcript& transcript) {
  if (!transcript.submitted)
    return transcript.episode.ended_by.empty() ? "submitted: nothing yet" : "submitted: nothing";
  const GenerationAnswer& answer = *transcript.submitted;
  if (answer.source_sha256.empty()) {
    return "submitted: nothing" + (answer.complaint.empty() ? "" : ": " + answer.complaint);
  }
  std::string text = fmt::format("submitted: {}, {}", answer.language, answer.source_sha256.substr(0, 12));
  const json& evaluation = transcript.evaluation;
  if (!evaluation.is_object()) return text + ", not judged yet";
  TurnVerdict judged{.verdict = StoredText(evaluation, "verdict")};
  if (evaluation.contains("speedup") && evaluation.at("speedup").is_number()) judged.speedup = evaluation.at("speedup");
  const json interval = evaluation.value("speedup_interval", json());
  if (interval.is_array() && interval.size() == 2 && interval[0].is_number() && interval[1].is_number()) {
    judged.low = interval[0];
    judged.high = interval[1];
  }
  judged.view = Dump(json{{"reason", StoredText(evaluation, "reason")}});
  return fmt::format("{}, judged: {}, evaluation {}", text, JudgedText(judged), StoredText(evaluation, "id"));
}

std::string TotalsText(const Transcript& transcript, const TranscriptTextOptions& options) {
  const TranscriptTotals totals = TotalsOf(transcript);
  std::vector<std::string> tools;
  for (const auto& [name, count] : totals.calls) tools.push_back(fmt::format("{} {}", name, count));
  std::string text = Line(
      fmt::format(
          "turns: {}{}", CountText(totals.turns),
          totals.condensed > 0 ? fmt::format(", {} of them to shorten its history", CountText(totals.condensed)) : ""),
      options);
  text += Line(fmt::format("tool calls: {}{}", tools.empty() ? "none" : fmt::format("{}", fmt::join(tools, ", ")),
                           totals.failed_calls > 0 ? fmt::format("; {} failed", totals.failed_calls) : ""),
               options);
  text += Line(
      fmt::format("tokens: {}{}{}", TokensText(totals.Prompt(), totals.cache_read, totals.output),
                  totals.reasoning > 0 ? fmt::format(" ({} reasoning)", CountText(totals.reasoning)) : "",
                  totals.without_usage > 0 ? fmt::format("; {} answers without a count", totals.without_usage) : ""),
      options);
  text += Line("cost: " + (totals.usd ? Dollars(*totals.usd) : "unknown"), options);
  if (totals.lost > 0) text += Line("and " + LostText(totals.lost, totals.lost_tokens, totals.lost_usd), options);
  const bool timed = transcript.episode.harness.empty();  // a program's tools are not
  text += Line(fmt::format("time: model {}, {} {} of the device", Clock(totals.model_seconds),
                           timed ? fmt::format("tools {}, of that", Clock(totals.tool_seconds)) : "and",
                           Clock(totals.device_seconds)),
               options);
  return text;
}

}  // namespace

std::string TranscriptHead(const Transcript& transcript, const TranscriptTextOptions& options) {
  const GenerationRequest& request = transcript.request;
  const Episode& episode = transcript.episode;
  std::vector<std::string> tools;
  for (const json& tool : transcript.tools) tools.push_back(ToolName(tool));
  std::string text = Joined({request.problem, request.model, fmt::format("sample {}", request.sample),
                             fmt::format("candidate {}", request.candidate), "run " + transcript.run},
                            options.columns, 0);
  text += Joined({"begun " + FormatDate(episode.created), episode.harness.empty() ? "" : "harness " + episode.harness},
                 options.columns, 0);
  if (!tools.empty()) text += Line(fmt::format("tools: {}", fmt::join(tools, ", ")), options);
  if (!transcript.system.empty()) {
    text += Line("system:", options) + Block(transcript.system, options, 8, 0);
  }
  for (const auto& [role, message] : transcript.messages) {
    text += Line((role == "user" ? "task" : role) + ":", options) + Block(message, options, 20, 0);
  }
  return text;
}

std::string TurnText(const TranscriptTurn& each, const std::string& begun, const TranscriptTextOptions& options) {
  const Turn& turn = each.turn;
  const bool condense = turn.kind == "condense", answered = turn.state != "asked";
  std::string text = "\n";
  text += Joined({fmt::format("turn {}", turn.number), Since(begun, turn.created), answered ? Tokens(turn) : "",
                  answered ? (turn.cost_usd ? Dollars(*turn.cost_usd) : "cost unknown") : "",
                  answered ? "model " + Seconds(turn.seconds) : "",
                  turn.tool_seconds >= 0.05 ? "tools " + Seconds(turn.tool_seconds) : ""},
                 options.columns, 0);
  if (!each.context.is_null()) text += Line("context: " + ContextText(each.context), options);
  if (each.relayed) text += RelayedText(*each.relayed, options);
  if (condense) text += Line("the model shortens its history", options);
  if (turn.lost > 0) text += Line(LostText(turn.lost, turn.lost_tokens, turn.lost_usd), options);
  if (!answered) return text + Line("no answer yet", options);
  if (turn.calls > 1) text += Line(fmt::format("{} calls until one succeeded", turn.calls), options);
  if (!each.reasoning.empty()) text += Line("reasoning:", options) + Block(each.reasoning, options, 12, 4);
  if (!each.text.empty()) {
    text += Line(condense ? "summary:" : "says:", options) + Block(each.text, options, 30, 10);
  }
  for (size_t i = 0; i < each.calls.size(); ++i) {
    text += CallText(each.calls[i], options);
    for (const TurnVerdict& verdict : each.verdicts) {
      if (!each.relayed && verdict.call == static_cast<int>(i))
        text += Block(VerdictText(verdict, true), options, 0, 0);
    }
    if (each.calls[i].result) {
      text += ResultText(*each.calls[i].result, options);
    } else {
      text += Line(turn.state == "done" ? "no result" : "no result yet", options);
    }
  }
  for (const TurnVerdict& verdict : each.verdicts) {
    const bool of_call = !each.relayed && verdict.call >= 0 && verdict.call < static_cast<int>(each.calls.size());
    if (!of_call) text += Line(VerdictText(verdict, false), options);
  }
  for (const TranscriptResult& result : each.other_results) {
    text += Line("result of no call here: " + result.name, options) + ResultText(result, options);
  }
  if (EndedOddly(each)) {
    text += Line(fmt::format("the answer ended by: {}{}", each.finish,
                             each.finish_word.empty() ? "" : " (" + each.finish_word + ")"),
                 options);
  }
  text += FilesText(each, options);
  if (!each.follows.empty()) text += Line("told:", options) + Block(each.follows, options, 12, 4);
  return text;
}

std::string TranscriptEnd(const Transcript& transcript, const TranscriptTextOptions& options) {
  const Episode& episode = transcript.episode;
  std::string text = "\nend\n";
  text += episode.ended_by.empty()
              ? Line("it goes on", options)
              : Line("ended by " + episode.ended_by + (episode.ending.empty() ? "" : ": " + episode.ending), options);
  text += Line(SubmittedText(transcript), options);
  if (const TurnVerdict* best = BestVerdict(transcript)) {
    text += Line(fmt::format("best on the way: {} in turn {}, {}",
                             best->speedup ? FormatSpeedup(best->speedup) + " " + FormatInterval(best->low, best->high)
                                           : "correct, without a speedup,",
                             best->turn, best->source_sha256.substr(0, 12)),
                 options);
  } else {
    text += Line("best on the way: nothing correct", options);
  }
  return text + TotalsText(transcript, options);
}

}  // namespace kb
