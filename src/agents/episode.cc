#include "agents/episode.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "agents/text_form.h"
#include "base/json.h"
#include "base/utf8.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr int kIdleTurns = 3;                // answers in a row without a call after which an episode ends
constexpr size_t kMostCalls = 32;            // of one answer
constexpr const char* kSettled = "settled";  // of an asked turn's context: no call of it is under way
constexpr const char* kNotes = "NOTES.md";
constexpr size_t kNotesBytes = 8000, kBestBytes = 24'000;

constexpr const char* kCutOff =
    "This call was cut off: the engine ended while it may have been running, and it is not run again by itself. The "
    "folder is as it was before your last answer. Call it again if you still want it.";

// Head and tail of what is longer than that.
std::string CutTo(const std::string& text, size_t bytes) {
  if (text.size() <= bytes) return text;
  const std::string_view head = CutUtf8(text, bytes / 2);
  const std::string tail = ValidUtf8(std::string_view(text).substr(text.size() - bytes / 2));
  return fmt::format("{}\n({} bytes left out here)\n{}", head, text.size() - head.size() - tail.size(), tail);
}

int64_t BytesOf(const CompletionRequest& request) {
  size_t bytes = request.system.size();
  for (const Tool& tool : request.tools) bytes += tool.description.size() + tool.parameters.size();
  for (const Message& message : request.messages) {
    bytes += message.raw.empty() ? message.text.size() : message.raw.size();
    for (const ToolResult& result : message.results) bytes += result.text.size();
  }
  return static_cast<int64_t>(bytes);
}

ToolOutcome CutCall() {
  return {
      .text =
          "Your answer reached its limit of tokens, so this call may lack its end, and was not run. Write less at a "
          "time: a file in parts, with write_file and edit_file.",
      .is_error = true};
}

ToolOutcome TooManyCalls() {
  return {.text = fmt::format("An answer may call {} tools, and this call was not run. Call it again.", kMostCalls),
          .is_error = true};
}

int ContextNumber(const Turn& turn, const char* key) {
  const json context = json::parse(turn.context, nullptr, false);
  const auto found = context.is_object() ? context.find(key) : context.end();
  return found != context.end() && found->is_number_integer() ? found->get<int>() : 0;
}

}  // namespace

Result<std::optional<EpisodeWorkDone>> EpisodeRun::Run() {
  KB_RETURN_IF_ERROR(Load());
  for (;;) {
    LookAtLimits();
    if (!ended_by_.empty()) break;
    KB_ASSIGN_OR_RETURN(const bool taken, TakeTurn());
    if (!taken) return std::optional<EpisodeWorkDone>();
  }
  KB_ASSIGN_OR_RETURN(const AgentCandidate candidate,
                      CountingCandidate(options_.counts, submitted_, tools_, box_.folder(), &judge_, &ending_));
  KB_RETURN_IF_ERROR(store_.EndEpisode(work_.request.id, work_.owner, ended_by_, ending_));
  return std::optional(DoneWith(account_, opening_json_, candidate));
}

// As far as it is in the store.
Status EpisodeRun::Load() {
  const int64_t request = work_.request.id;
  const kb::Episode wanted{.request = request, .opening = OpeningJson(options_.opening)};
  KB_ASSIGN_OR_RETURN(const kb::Episode episode, store_.BeginEpisode(work_.owner, wanted, AllFiles(options_.folder)));
  opening_json_ = episode.opening;
  KB_ASSIGN_OR_RETURN(Conversation::Opening opening, OpeningOf(episode.opening));
  conversation_ = std::make_unique<Conversation>(std::move(opening), options_.window, work_.defaults.max_tokens);
  if (work_.answered) {  // and the end of it was not stored: nothing is asked any more
    ended_by_ = episode.ended_by;
    ending_ = episode.ending;
  }
  // Its turns say anew whether it has ended: a limit may be higher now.
  if (!episode.ended_by.empty() && !work_.answered) KB_RETURN_IF_ERROR(store_.EndEpisode(request, work_.owner, "", ""));
  KB_ASSIGN_OR_RETURN(std::vector<Turn> turns, store_.Turns(request));
  KB_ASSIGN_OR_RETURN(const std::vector<TurnVerdict> verdicts, store_.TurnVerdicts(request));
  for (TurnVerdict verdict : verdicts) {
    KB_ASSIGN_OR_RETURN(verdict.source, store_.Source(verdict.source_sha256));
    if (verdict.tool == "submit") {
      Submit(CandidateOf(verdict));
    } else {
      tools_.Remember(verdict);
    }
  }
  int last_done = 0;
  for (const Turn& turn : turns) last_done = turn.state == "done" ? turn.number : last_done;
  KB_RETURN_IF_ERROR(kept_.Restore(store_, request, last_done, &box_.folder()));
  for (Turn& turn : turns) KB_RETURN_IF_ERROR(Replay(turn));
  return {};
}

Status EpisodeRun::Replay(const Turn& stored) {
  Turn turn = stored;
  number_ = turn.number;
  conversation_->Shrink(ContextNumber(turn, "shrunk_before"));
  if (turn.state == "asked") {
    account_.AddLost(turn);
    open_ = std::move(turn);
    return {};
  }
  KB_ASSIGN_OR_RETURN(const Completion completion, AnswerOf(turn));
  Count(turn, completion);
  const bool condense = turn.kind == "condense";
  if (!condense) {
    conversation_->Answered(turn.number, completion);
    CountIdle(completion);
  }
  if (turn.state == "answered") return condense ? Condense(&turn, completion) : CutOff(&turn, completion);
  KB_ASSIGN_OR_RETURN(const StoredResults results, ResultsOf(turn.results));
  account_.seconds += turn.tool_seconds;
  condense ? conversation_->Restart(results.text) : Give(turn.number, results);
  return {};
}

void EpisodeRun::Give(int turn, const StoredResults& results) {
  if (options_.text_form) return conversation_->Given(turn, {}, TextResults(results));
  conversation_->Given(turn, results.Plain(), results.text);
}

void EpisodeRun::Count(const Turn& turn, const Completion& completion) {
  account_.Count(turn, completion, {.tokens = conversation_->Tokens() + work_.defaults.max_tokens});
}

// The engine was killed after the answer: any of its calls may have begun.
Status EpisodeRun::CutOff(Turn* turn, const Completion& completion) {
  StoredResults results;
  for (const ToolCall& call : completion.calls) {
    results.results.push_back({{.call_id = call.id, .text = kCutOff, .is_error = true}, call.name, 0});
  }
  results.text = completion.calls.empty() ? Nudge(completion) : LeftText();
  return Finish(turn, results, {}, false);
}

// The next turn, or the one that a killed process asked, with what is done to the history before it.
Turn EpisodeRun::NextTurn(const std::optional<Turn>& open) {
  const Conversation::Step step = conversation_->Next();
  Turn turn;
  turn.number = open ? open->number : number_ + 1;
  turn.kind = step == Conversation::Step::kCondense ? "condense" : "work";
  json context = open ? json::parse(open->context, nullptr, false) : json();
  if (!context.is_object()) context = json::object();
  context.erase(kSettled);
  if (step == Conversation::Step::kShrink) {
    context["shrunk_before"] = conversation_->ShrinkBefore();
    conversation_->Shrink(context["shrunk_before"]);
  }
  if (!context.empty()) turn.context = Dump(context);
  return turn;
}

// False: the run's budget is spent.
Result<bool> EpisodeRun::TakeTurn() {
  const std::optional<Turn> open = std::exchange(open_, std::nullopt);
  Turn turn = NextTurn(open);
  const bool condense = turn.kind == "condense";
  CompletionRequest request =
      condense ? conversation_->ToCondense(work_.defaults) : conversation_->ToAsk(work_.defaults);
  request.turn = turn.number - 1;
  const CallCost most = work_.most(BytesOf(request));
  auto answered = work_.ask(std::move(request), most, [&]() -> Status {
    if (open && ContextNumber(*open, kSettled) == 0) Lost(&turn, most);
    KB_ASSIGN_OR_RETURN(turn.id, store_.AskTurn(work_.request.id, work_.owner, turn));
    number_ = turn.number;
    return {};
  });
  if (!answered) return Refused(turn, answered.error());
  if (!*answered) return false;
  EpisodeWork::Answered& got = **answered;
  if (options_.text_form) ReadTextCalls(&got.completion);
  PutAnswer(got.completion, &turn);
  turn.cost_usd = got.cost.usd;
  turn.price_source = got.cost.source;
  turn.lost = 0;  // stored already
  turn.lost_tokens = 0;
  turn.lost_usd = 0;
  KB_RETURN_IF_ERROR(store_.AnswerTurn(turn.id, work_.owner, turn));
  Count(turn, got.completion);
  KB_RETURN_IF_ERROR(condense ? Condense(&turn, got.completion) : Work(&turn, got.completion));
  return true;
}

// The model gave no answer. True: that ends the episode.
Result<bool> EpisodeRun::Refused(Turn turn, const Error& error) {
  if (error.code != ErrorCode::kUsage || turn.id == 0) return tl::make_unexpected(error);
  json context = json::parse(turn.context, nullptr, false);
  if (!context.is_object()) context = json::object();
  context[kSettled] = 1;
  turn.context = Dump(context);
  turn.lost = 0;
  turn.lost_tokens = 0;
  turn.lost_usd = 0;
  KB_RETURN_IF_ERROR(store_.AskTurn(work_.request.id, work_.owner, turn));
  KB_ASSIGN_OR_RETURN(const EpisodeAccount::Reached end, EndOfRefused(work_, account_, &store_, error.message));
  ended_by_ = end.limit;
  ending_ = end.ending;
  return true;
}

// A call whose answer never came is counted with the most that it can have taken.
void EpisodeRun::Lost(Turn* turn, const CallCost& most) {
  turn->lost = 1;
  turn->lost_tokens = most.tokens;
  turn->lost_usd = most.usd;
  account_.AddLost(*turn);
}

Status EpisodeRun::Condense(Turn* turn, const Completion& completion) {
  StoredResults results{.text = AfterCondensing(completion.text)};
  turn->results = ResultsJson(results);
  KB_RETURN_IF_ERROR(store_.FinishTurn(turn->id, work_.owner, *turn, {}, {}));
  conversation_->Restart(results.text);
  return {};
}

std::string EpisodeRun::AfterCondensing(const std::string& summary) {
  const size_t most = conversation_->ResultBytes();
  std::string text = "Your history was as long as you can read. This is what you wrote down of it:\n\n";
  text += summary.empty() ? "(nothing)" : CutTo(summary, most);
  if (const auto notes = box_.folder().Read(kNotes))
    text += "\n\nNOTES.md:\n" + CutTo(*notes, std::min(kNotesBytes, most / 4));
  if (const AgentTry* best = tools_.best()) {
    text += fmt::format("\n\nThe best candidate so far is {}{}:\n\n```\n{}\n```", best->verdict.verdict,
                        best->verdict.speedup ? fmt::format(", speedup {:.3f}", *best->verdict.speedup) : "",
                        CutTo(best->verdict.source, std::min(kBestBytes, most / 2)));
  }
  return text + "\n\nGo on. " + LeftText();
}

// What the model calls, in its order.
Status EpisodeRun::Work(Turn* turn, const Completion& completion) {
  conversation_->Answered(turn->number, completion);
  CountIdle(completion);
  StoredResults results;
  std::vector<TurnVerdict> verdicts;
  bool touched = false;
  const size_t room = conversation_->ResultBytes() / std::max<size_t>(completion.calls.size(), 1);
  for (size_t i = 0; i < completion.calls.size(); ++i) {
    const ToolCall& call = completion.calls[i];
    const bool lacks_end = WasCut(completion.finish) && i + 1 == completion.calls.size();
    KB_ASSIGN_OR_RETURN(ToolOutcome outcome, lacks_end ? CutCall() : i >= kMostCalls ? TooManyCalls() : Call(call));
    touched |= outcome.touched;
    turn->tool_seconds += outcome.seconds;
    if (outcome.submitted) {
      Submit(*outcome.submitted);
      outcome.verdict = SubmissionOf(*outcome.submitted);
    }
    if (outcome.verdict) {
      outcome.verdict->turn = turn->number;
      outcome.verdict->call = static_cast<int>(i);
      verdicts.push_back(std::move(*outcome.verdict));
    }
    results.results.push_back({{.call_id = call.id, .text = CutTo(outcome.text, room), .is_error = outcome.is_error},
                               call.name,
                               outcome.seconds});
  }
  account_.seconds += turn->tool_seconds;
  results.text = completion.calls.empty() ? Nudge(completion) : LeftText();
  return Finish(turn, results, std::move(verdicts), touched);
}

void EpisodeRun::Submit(const AgentCandidate& candidate) {
  submitted_ = candidate;
  ended_by_ = "submit";
  ending_ = "the agent submitted a candidate";
}

void EpisodeRun::CountIdle(const Completion& completion) {
  const bool called = std::any_of(completion.calls.begin(), completion.calls.end(),
                                  [](const ToolCall& call) { return !call.name.empty(); });
  if (called) idle_ = 0;
  if (completion.calls.empty() && completion.finish != FinishReason::kPaused) ++idle_;
  if (idle_ < kIdleTurns || !ended_by_.empty()) return;
  ended_by_ = "no_calls";
  ending_ = fmt::format("{} answers in a row called no tool", kIdleTurns);
}

// An answer without a call.
std::string EpisodeRun::Nudge(const Completion& completion) {
  if (completion.finish == FinishReason::kPaused) return "Go on. " + LeftText();
  if (options_.text_form && !WasCut(completion.finish)) {
    return fmt::format(
        "Your answer called no tool: that is exactly one block fenced by ```tool in it, and yours had none or several. "
        "Go on with one, or call submit with the candidate that counts. {}",
        LeftText());
  }
  const char* why = WasCut(completion.finish) ? "Your answer reached its limit of tokens before it called a tool."
                    : completion.finish == FinishReason::kRefused ? "You refused to answer."
                                                                  : "You called no tool.";
  return fmt::format("{} Go on with a tool, or call submit with the candidate that counts. {}", why, LeftText());
}

Result<ToolOutcome> EpisodeRun::Call(const ToolCall& call) {
  if (options_.text_form && call.name.empty()) {
    return ToolOutcome{.text =
                           "The block must begin with a JSON object with name and arguments, on one line or more: "
                           "{\"name\": \"read_file\", \"arguments\": {\"path\": \"TASK.md\"}}. Nothing was run.",
                       .is_error = true};
  }
  return CallWithin(work_, &tools_, call);
}

Status EpisodeRun::Finish(Turn* turn, StoredResults results, std::vector<TurnVerdict> verdicts, bool touched) {
  std::vector<TurnFile> changed;
  if (touched) {
    KB_ASSIGN_OR_RETURN(changed, kept_.Changes(box_.folder()));
    if (const std::string notice = kept_.TakeNotice(); !notice.empty()) results.text += "\n" + notice;
  }
  turn->results = ResultsJson(results);
  KB_RETURN_IF_ERROR(store_.FinishTurn(turn->id, work_.owner, *turn, changed, verdicts));
  Give(turn->number, results);
  return {};
}

void EpisodeRun::LookAtLimits() {
  if (!ended_by_.empty()) return;
  const auto reached = account_.Over(options_.limits);
  if (!reached) return;
  ended_by_ = reached->limit;
  ending_ = reached->ending;
}

// The newest result says what is left; what was sent before never changes.
std::string EpisodeRun::LeftText() const {
  const EpisodeLimits& limits = options_.limits;
  std::string text = fmt::format("[turn {}", account_.turns);
  if (limits.turns > 0) text += fmt::format(" of {}", limits.turns);
  text += " is over";
  if (limits.tokens > 0)
    text += fmt::format("; {} of {} tokens left", std::max<int64_t>(limits.tokens - account_.spent.tokens, 0),
                        limits.tokens);
  if (limits.usd > 0)
    text += fmt::format("; ${:.2f} of ${:.2f} left", std::max(limits.usd - account_.spent.usd, 0.0), limits.usd);
  if (limits.seconds > 0)
    text += fmt::format("; {:.0f} of {:.0f} s left", std::max(limits.seconds - account_.seconds, 0.0), limits.seconds);
  text += tools_.LeftText();
  if (account_.turns + 1 == limits.turns) text += "; one turn is left: submit in it";
  return text + "]";
}

}  // namespace kb
