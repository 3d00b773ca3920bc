#include "agents/harness_episode.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr size_t kMostDenied = 100;  // that a turn keeps

// What a call adds to the history, as texts: messages nest as deeply as a program likes.
std::string ContextOf(const RelayCall& call, std::vector<std::string> denied) {
  json context = {{"conversation", call.added.conversation},
                  {"continues", call.added.continues},
                  {"known", call.added.known},
                  {"messages", call.added.messages},
                  {"model", call.program_model}};
  if (call.added.system) context["system"] = *call.added.system;
  if (call.added.tools) context["tools"] = *call.added.tools;
  if (!call.dropped.empty()) context["dropped"] = call.dropped;
  if (!denied.empty()) context["denied"] = std::move(denied);
  return Dump(context);
}

}  // namespace

Status HarnessEpisode::Load() {
  const int64_t request = work_.request.id;
  Episode wanted{.request = request, .harness = options_.harness, .opening = OpeningJson(options_.opening)};
  KB_ASSIGN_OR_RETURN(const Episode episode, store_.BeginEpisode(work_.owner, wanted, AllFiles(options_.folder)));
  if (!episode.ended_by.empty()) KB_RETURN_IF_ERROR(store_.EndEpisode(request, work_.owner, "", ""));
  KB_ASSIGN_OR_RETURN(const std::vector<Turn> turns, store_.Turns(request));
  KB_ASSIGN_OR_RETURN(const std::vector<TurnVerdict> verdicts, store_.TurnVerdicts(request));
  for (TurnVerdict verdict : verdicts) {
    KB_ASSIGN_OR_RETURN(verdict.source, store_.Source(verdict.source_sha256));
    verdict.tool == "submit" ? void(submitted_ = CandidateOf(verdict)) : tools_->Remember(verdict);
  }
  int last_done = 0;
  for (const Turn& turn : turns) {
    number_ = turn.number;
    account_.AddLost(turn);
    if (turn.state == "asked") {
      open_.push_back(turn);
      continue;
    }
    KB_ASSIGN_OR_RETURN(const Completion completion, AnswerOf(turn));
    account_.Add(turn, completion);
    ++account_.turns;
    account_.seconds += turn.tool_seconds;
    if (turn.state == "answered") answered_.push_back(turn);
    if (turn.state == "done") last_done = turn.number;
  }
  KB_ASSIGN_OR_RETURN(const std::vector<TurnFile> stored, store_.FolderAfter(request, last_done));
  Snapshot folder = FolderOf(stored);
  KB_RETURN_IF_ERROR(run_->box().folder().Restore(folder));
  files_ = std::move(folder.files);
  return {};
}

Result<std::optional<EpisodeWorkDone>> HarnessEpisode::Run(HarnessRun* run, AgentTools* tools) {
  run_ = run;
  tools_ = tools;
  KB_RETURN_IF_ERROR(Load());
  KB_ASSIGN_OR_RETURN(const HarnessEnd end, RunProgram());
  const std::lock_guard lock(mutex_);
  if (status_) status_ = FinishAnswered();
  KB_RETURN_IF_ERROR(status_);
  if (budget_spent_ && !submitted_) return std::optional<EpisodeWorkDone>();
  if (!submitted_ && account_.turns == 0) {
    return kb::Fail(ErrorCode::kUnavailable, fmt::format("{} called no model: {}", options_.harness, end.ending));
  }
  KB_ASSIGN_OR_RETURN(EpisodeWorkDone done, Done(end));
  return std::optional(std::move(done));
}

Result<HarnessEnd> HarnessEpisode::RunProgram() {
  if (submitted_) return HarnessEnd{.ended_by = "submit", .ending = "it has submitted"};  // before it was killed
  if (const auto over = account_.Over(options_.limits)) {
    return HarnessEnd{.ended_by = over->limit, .ending = over->ending};
  }
  JudgeTools judge{.offered = tools_->OfJudge()};
  judge.call = [this](const ToolCall& call) { return Call(call); };
  return run_->Run(std::move(judge));
}

Result<EpisodeWorkDone> HarnessEpisode::Done(const HarnessEnd& end) {
  std::string ending = end.ending;
  KB_ASSIGN_OR_RETURN(const AgentCandidate candidate,
                      CountingCandidate(options_.counts, submitted_, *tools_, run_->box().folder(), &judge_, &ending));
  KB_RETURN_IF_ERROR(store_.EndEpisode(work_.request.id, work_.owner, end.ended_by, ending));
  EpisodeWorkDone done{.answer = account_.sum};
  done.answer.prompt = OpeningJson(options_.opening);
  done.answer.prompt_bytes = static_cast<int64_t>(done.answer.prompt.size());
  done.answer.finish = "stop";
  if (!candidate.rejection.empty()) {
    done.complaint = candidate.rejection;
  } else {
    done.source = candidate.text;
    done.language = LanguageOf(candidate);
  }
  return done;
}

std::optional<HarnessLimit> HarnessEpisode::Over() {
  const std::lock_guard lock(mutex_);
  if (!status_) return HarnessLimit{"failed", status_.error().message};
  if (budget_spent_) return HarnessLimit{"budget", "the run's budget is spent"};
  return limit_;
}

std::string HarnessEpisode::ModelError() {
  const std::lock_guard lock(mutex_);
  return model_error_;
}

void HarnessEpisode::Fail(const Error& error) {
  if (status_) status_ = tl::make_unexpected(error);
}

// What programs do between two calls of the model belongs to the first of them.
Status HarnessEpisode::FinishAnswered() {
  if (answered_.empty()) return {};
  KB_ASSIGN_OR_RETURN(Snapshot now, run_->box().folder().Take());
  std::vector<TurnFile> changed = ChangedFiles(files_, now);
  for (Turn& turn : answered_) {
    const bool last = &turn == &answered_.back();
    turn.results = ResultsJson({});
    std::vector<TurnVerdict> verdicts;
    if (last) verdicts = std::exchange(verdicts_, {});
    for (TurnVerdict& verdict : verdicts) verdict.turn = turn.number;
    KB_RETURN_IF_ERROR(
        store_.FinishTurn(turn.id, work_.owner, turn, last ? changed : std::vector<TurnFile>(), verdicts));
  }
  files_ = std::move(now.files);
  answered_.clear();
  return {};
}

// The store's turn of a call. One that a killed process left is taken first, and counted as lost.
Result<Turn> HarnessEpisode::Begin(const RelayCall& call, const CallCost& most) {
  KB_RETURN_IF_ERROR(FinishAnswered());
  Turn turn{.number = number_ + 1, .kind = "work", .context = ContextOf(call, std::exchange(denied_, {}))};
  if (!open_.empty()) {
    turn.number = open_.front().number;
    open_.erase(open_.begin());
    turn.lost = 1;
    turn.lost_tokens = most.tokens;
    turn.lost_usd = most.usd;
    account_.AddLost(turn);
  }
  KB_ASSIGN_OR_RETURN(turn.id, store_.AskTurn(work_.request.id, work_.owner, turn));
  number_ = std::max(number_, turn.number);
  return turn;
}

std::optional<std::string> HarnessEpisode::Admit(const RelayCall& call) {
  const CallCost most = work_.most(static_cast<int64_t>(call.prompt_bytes));
  {
    const std::lock_guard lock(mutex_);
    if (!status_) return "the run has failed";
    if (const auto reached = account_.Over(options_.limits)) {
      limit_ = HarnessLimit{reached->limit, reached->ending};
      return reached->ending;
    }
  }
  if (!work_.admit(most)) {
    const std::lock_guard lock(mutex_);
    budget_spent_ = true;
    return "the run's budget is spent";
  }
  const std::lock_guard lock(mutex_);
  auto turn = Begin(call, most);
  if (!turn) {
    Fail(turn.error());
    work_.settle(most, nullptr);
    return "the run has failed";
  }
  asked_[call.number] = {*std::move(turn), most};
  return std::nullopt;
}

void HarnessEpisode::Told(RelayCall call) {
  const std::lock_guard lock(mutex_);
  const auto asked = asked_.extract(call.number);
  if (asked.empty()) {
    if (denied_.size() < kMostDenied) denied_.push_back(call.why);
    return;
  }
  auto [turn, most] = asked.mapped();
  model_error_ = call.whole ? "" : call.why;
  const EpisodeWork::Cost cost = work_.settle(most, &call.answer);
  PutAnswer(call.answer, &turn);
  turn.cost_usd = cost.usd;
  turn.price_source = cost.source;
  if (const Status answered = store_.AnswerTurn(turn.id, work_.owner, turn); !answered) return Fail(answered.error());
  account_.Add(turn, call.answer);
  ++account_.turns;
  answered_.push_back(std::move(turn));
}

Result<ToolOutcome> HarnessEpisode::Call(const ToolCall& call) {
  const bool evaluates = call.name == "evaluate" || call.name == "profile";
  if (evaluates && !work_.may_evaluate()) {
    return ToolOutcome{.text = "The run may make no more evaluations. Submit the best candidate that you have.",
                       .is_error = true};
  }
  auto outcome = tools_->Call(call);
  if (evaluates) work_.evaluated(outcome && outcome->verdict);
  if (!outcome) return outcome;
  const std::lock_guard lock(mutex_);
  if (outcome->submitted && outcome->submitted->rejection.empty()) {
    submitted_ = outcome->submitted;
    verdicts_.push_back(SubmissionOf(*submitted_));
  }
  if (outcome->verdict) verdicts_.push_back(*outcome->verdict);
  for (size_t i = 0; i < verdicts_.size(); ++i) verdicts_[i].call = static_cast<int>(i);
  return outcome;
}

}  // namespace kb
