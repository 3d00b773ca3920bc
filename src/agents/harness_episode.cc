#include "agents/harness_episode.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/interrupt.h"
#include "base/json.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr const char* kNobodyWaits = "nobody waits for its answer";
constexpr int kMostFailures = 100;      // of the model in a row: programs may ask for ever
constexpr size_t kMostDenied = 100;     // that a turn keeps
constexpr size_t kMostVerdicts = 1000;  // likewise

// What a call adds to the history, as texts: messages nest as deeply as a program likes.
std::string ContextOf(const RelayCall& call, std::vector<std::string> denied) {
  json context = {
      {"conversation", call.added.conversation}, {"continues", call.added.continues}, {"known", call.added.known},
      {"messages", call.added.messages},         {"prompt_bytes", call.prompt_bytes}, {"model", call.program_model}};
  if (call.added.system) context["system"] = *call.added.system;
  if (call.added.tools) context["tools"] = *call.added.tools;
  if (!call.dropped.empty()) context["dropped"] = call.dropped;
  if (!denied.empty()) context["denied"] = std::move(denied);
  return Dump(context);
}

// Of a turn that is stored.
int64_t PromptBytesOf(const Turn& turn) {
  const json context = json::parse(turn.context, nullptr, false);
  const auto bytes = context.is_object() ? context.find("prompt_bytes") : context.end();
  const bool known = bytes != context.end() && bytes->is_number_integer();
  return known ? bytes->get<int64_t>() : static_cast<int64_t>(turn.context.size());
}

// What is known of it is part of what is lost.
Completion WithoutAnswer(Completion answer) {
  answer.usage = {};
  answer.usage.input = answer.usage.output = 0;
  answer.attempts = 0;
  return answer;
}

std::string NoAnswerJson(const std::string& why) { return ResultsJson({.text = "There is no whole answer: " + why}); }

ToolOutcome Refusal(const std::string& why) { return {.text = why, .is_error = true}; }

}  // namespace

Status HarnessEpisode::Load() {
  const int64_t request = work_.request.id;
  Episode wanted{.request = request, .harness = options_.harness, .opening = OpeningJson(options_.opening)};
  KB_ASSIGN_OR_RETURN(const Episode episode, store_.BeginEpisode(work_.owner, wanted, AllFiles(options_.folder)));
  if (!episode.ended_by.empty() && work_.answered) {  // nothing is asked any more
    ended_ = HarnessEnd{.ended_by = episode.ended_by, .ending = episode.ending};
  } else if (!episode.ended_by.empty()) {
    KB_RETURN_IF_ERROR(store_.EndEpisode(request, work_.owner, "", ""));
  }
  KB_ASSIGN_OR_RETURN(const std::vector<Turn> turns, store_.Turns(request));
  KB_ASSIGN_OR_RETURN(const std::vector<TurnVerdict> verdicts, store_.TurnVerdicts(request));
  for (TurnVerdict verdict : verdicts) {
    KB_ASSIGN_OR_RETURN(verdict.source, store_.Source(verdict.source_sha256));
    if (verdict.tool != "submit") tools_->Remember(verdict);
    if (verdict.tool == "submit" && !submitted_) submitted_ = CandidateOf(verdict);
  }
  int last_done = 0;
  for (const Turn& turn : turns) {
    number_ = turn.number;
    const CallCost most = work_.most(PromptBytesOf(turn));
    if (turn.state == "asked") {
      KB_RETURN_IF_ERROR(GiveUp(turn, most));
      continue;
    }
    KB_ASSIGN_OR_RETURN(const Completion completion, AnswerOf(turn));
    account_.Count(turn, completion, most);
    account_.seconds += turn.tool_seconds;
    if (turn.state == "answered") answered_[turn.number] = turn;
    if (turn.state == "done") last_done = turn.number;
  }
  return kept_.Restore(store_, request, last_done, &run_->box().folder());
}

// A killed process asked it: the answer is lost, and the program will ask anew.
Status HarnessEpisode::GiveUp(Turn turn, const CallCost& most) {
  account_.AddLost(turn);
  PutAnswer(WithoutAnswer({}), &turn);
  turn.cost_usd = 0;
  turn.results = NoAnswerJson("the engine ended before it came");
  turn.lost = 1;
  turn.lost_tokens = most.tokens;
  turn.lost_usd = most.usd;
  KB_RETURN_IF_ERROR(store_.AnswerTurn(turn.id, work_.owner, turn));
  account_.AddLost(turn);
  answered_[turn.number] = std::move(turn);
  return {};
}

Result<std::optional<EpisodeWorkDone>> HarnessEpisode::Run(HarnessRun* run, AgentTools* tools,
                                                           const std::function<void()>& stop_relay) {
  run_ = run;
  tools_ = tools;
  const Status loaded = Load();
  const Result<HarnessEnd> end = loaded ? RunProgram() : tl::make_unexpected(loaded.error());
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(running_, false) && open_calls_ == 0) CountToolTime();
    changed_.notify_all();
  }
  stop_relay();
  KB_RETURN_IF_ERROR(loaded);
  const std::lock_guard lock(mutex_);
  if (status_) status_ = FinishAnswered(true);
  if (!end) return tl::make_unexpected(end.error());
  KB_RETURN_IF_ERROR(status_);
  return Settle(*end);
}

Result<HarnessEnd> HarnessEpisode::RunProgram() {
  if (ended_) return *ended_;
  if (submitted_) return HarnessEnd{.ended_by = "submit", .ending = "it has submitted"};  // before it was killed
  if (const auto over = account_.Over(options_.limits)) {
    return HarnessEnd{.ended_by = over->limit, .ending = over->ending};
  }
  JudgeTools judge{.offered = tools_->OfJudge()};
  judge.call = [this](const ToolCall& call) { return Call(call); };
  std::optional<std::chrono::milliseconds> left;
  if (options_.limits.seconds > 0) {
    left = std::chrono::milliseconds(static_cast<int64_t>((options_.limits.seconds - account_.seconds) * 1000) + 1);
  }
  {
    const std::lock_guard lock(mutex_);
    running_ = true;
    idle_since_ = Clock::now();
  }
  return run_->Run(std::move(judge), left);
}

// What the end means. What is not the agent's doing leaves its work open.
Result<std::optional<EpisodeWorkDone>> HarnessEpisode::Settle(const HarnessEnd& end) {
  if (!submitted_) {
    if (budget_spent_) return std::optional<EpisodeWorkDone>();
    if (end.ended_by == "model" && !model_refuses_) return kb::Fail(ErrorCode::kUnavailable, end.ending);
    if (end.ended_by == "model") {
      KB_ASSIGN_OR_RETURN(const EpisodeAccount::Reached refused, EndOfRefused(work_, account_, &store_, model_error_));
      KB_ASSIGN_OR_RETURN(EpisodeWorkDone done, Done({.ended_by = refused.limit, .ending = refused.ending}));
      return std::optional(std::move(done));
    }
    if (number_ == 0) {
      return kb::Fail(ErrorCode::kUnavailable, fmt::format("{} called no model: {}", options_.harness, end.ending));
    }
    if (account_.turns == 0 && !account_.Over(options_.limits)) {
      return kb::Fail(ErrorCode::kUnavailable,
                      fmt::format("{} had no whole answer of the model: {}", options_.harness, end.ending));
    }
  }
  KB_ASSIGN_OR_RETURN(EpisodeWorkDone done, Done(end));
  return std::optional(std::move(done));
}

Result<EpisodeWorkDone> HarnessEpisode::Done(const HarnessEnd& end) {
  std::string ending = end.ending;
  KB_ASSIGN_OR_RETURN(const AgentCandidate candidate,
                      CountingCandidate(options_.counts, submitted_, *tools_, run_->box().folder(), &judge_, &ending));
  KB_RETURN_IF_ERROR(store_.EndEpisode(work_.request.id, work_.owner, end.ended_by, ending));
  return DoneWith(account_, OpeningJson(options_.opening), candidate);
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

// What programs do between two calls of the model belongs to the newest that is answered. Turns end in their order: not
// before those that are asked still, unless `all` do.
Status HarnessEpisode::FinishAnswered(bool all) {
  auto end = answered_.end();
  for (const auto& [call, asked] : asked_) {
    if (!all && (end == answered_.end() || asked.turn.number < end->first)) {
      end = answered_.lower_bound(asked.turn.number);
    }
  }
  if (end != answered_.begin()) {
    KB_ASSIGN_OR_RETURN(const std::vector<TurnFile> changed, kept_.Changes(run_->box().folder()));
    const int newest = std::prev(end)->first;
    for (auto each = answered_.begin(); each != end; ++each) {
      Turn& turn = each->second;
      const bool last = turn.number == newest;
      if (turn.results.empty()) turn.results = ResultsJson({});
      if (last) turn.tool_seconds = std::exchange(tool_seconds_, 0);
      KB_RETURN_IF_ERROR(store_.FinishTurn(turn.id, work_.owner, turn, last ? changed : std::vector<TurnFile>(),
                                           last ? verdicts_ : std::vector<TurnVerdict>()));
    }
    verdicts_.clear();
    answered_.erase(answered_.begin(), end);
  }
  if (!all || verdicts_.empty() || number_ == 0) return {};
  return store_.AddTurnVerdicts(work_.request.id, work_.owner, number_, std::exchange(verdicts_, {}));
}

std::optional<std::string> HarnessEpisode::Closed() const {
  if (!status_) return "the run has failed";
  if (!running_) return "the run is over";
  return std::nullopt;
}

// Calls that are open may reach a limit: it is seen when they have ended.
std::optional<std::string> HarnessEpisode::AwaitRoom(const RelayCall& call, std::unique_lock<std::mutex>* lock) {
  for (;; changed_.wait_for(*lock, kInterruptSlice)) {
    if (auto closed = Closed()) return closed;
    if (call.stop()) return kNobodyWaits;
    if (const auto reached = account_.Over(options_.limits)) {
      limit_ = HarnessLimit{reached->limit, reached->ending};
    } else if (model_failures_ >= kMostFailures) {
      limit_ =
          HarnessLimit{"model", fmt::format("the model failed {} times in a row: {}", kMostFailures, model_error_)};
    }
    if (limit_) return limit_->ending;
    EpisodeAccount at_most;
    at_most.turns = account_.turns + open_calls_;
    at_most.spent = {account_.spent.tokens + open_most_.tokens, account_.spent.usd + open_most_.usd};
    if (open_calls_ == 0 || !at_most.Over(options_.limits)) return std::nullopt;
  }
}

Status HarnessEpisode::Begin(const RelayCall& call, const CallCost& most) {
  KB_RETURN_IF_ERROR(FinishAnswered(false));
  Turn turn{.number = number_ + 1, .kind = "work", .context = ContextOf(call, std::exchange(denied_, {}))};
  KB_ASSIGN_OR_RETURN(turn.id, store_.AskTurn(work_.request.id, work_.owner, turn));
  number_ = turn.number;
  asked_[call.number] = {std::move(turn), most};
  return {};
}

std::optional<std::string> HarnessEpisode::Admit(const RelayCall& call) {
  const CallCost most = work_.most(static_cast<int64_t>(call.prompt_bytes));
  std::unique_lock lock(mutex_);
  if (auto refused = AwaitRoom(call, &lock)) return refused;
  if (open_calls_++ == 0) CountToolTime();
  open_most_.tokens += most.tokens;
  open_most_.usd += most.usd;
  lock.unlock();
  const bool room = work_.admit(most, call.stop);
  lock.lock();
  std::optional<std::string> refused = Closed();
  if (!refused && call.stop()) refused = kNobodyWaits;
  if (!refused && !room) {
    budget_spent_ = true;
    refused = "the run's budget is spent";
  }
  if (!refused) {
    const Status begun = Begin(call, most);
    if (begun) return std::nullopt;
    Fail(begun.error());
    refused = Closed();
  }
  if (room) work_.settle(most, nullptr, {});
  CloseCall(most);
  return refused;
}

void HarnessEpisode::CloseCall(const CallCost& most) {
  open_most_.tokens -= most.tokens;
  open_most_.usd -= most.usd;
  if (--open_calls_ == 0) {
    open_most_ = {};  // no remainder of rounding
    idle_since_ = Clock::now();
  }
  changed_.notify_all();
}

void HarnessEpisode::CountToolTime() {
  const double seconds = std::chrono::duration<double>(Clock::now() - idle_since_).count();
  account_.seconds += seconds;
  tool_seconds_ += seconds;
}

void HarnessEpisode::Told(RelayCall call) {
  const std::lock_guard lock(mutex_);
  const auto found = asked_.extract(call.number);
  if (found.empty()) {
    if (denied_.size() < kMostDenied) denied_.push_back(call.why);
    return;
  }
  auto& [turn, most] = found.mapped();
  CloseCall(most);
  turn.lost = call.lost;
  turn.lost_tokens = call.lost * most.tokens;
  turn.lost_usd = call.lost * most.usd;
  const CallCost lost{turn.lost_tokens, turn.lost_usd};
  EpisodeWork::Cost cost{0, ""};
  if (call.whole) {
    model_error_.clear();
    model_refuses_ = false;
    model_failures_ = 0;
    cost = work_.settle(most, &call.answer, lost);
  } else {
    if (!call.left) {
      model_error_ = call.why;
      model_refuses_ = call.refused;
      ++model_failures_;
    }
    work_.settle(most, nullptr, lost);
    call.answer = WithoutAnswer(std::move(call.answer));
    turn.results = NoAnswerJson(call.why);
  }
  PutAnswer(call.answer, &turn);
  turn.cost_usd = cost.usd;
  turn.price_source = cost.source;
  if (const Status answered = store_.AnswerTurn(turn.id, work_.owner, turn); !answered) return Fail(answered.error());
  account_.Count(turn, call.answer, most);
  answered_[turn.number] = std::move(turn);
}

Result<ToolOutcome> HarnessEpisode::Call(const ToolCall& call) {
  {
    const std::lock_guard lock(mutex_);
    if (submitted_) return Refusal("A candidate is submitted, and your work has ended with it. Stop here.");
  }
  auto outcome = CallWithin(work_, tools_, call);
  if (!outcome) return outcome;
  const std::lock_guard lock(mutex_);
  if (outcome->submitted && outcome->submitted->rejection.empty()) {
    submitted_ = outcome->submitted;
    Keep(SubmissionOf(*submitted_));
    if (const Status kept = FinishAnswered(false); !kept) Fail(kept.error());  // before anything can end
  }
  if (outcome->verdict) Keep(*outcome->verdict);
  if (const std::string notice = kept_.TakeNotice(); !notice.empty()) outcome->text += "\n" + notice;
  return outcome;
}

// Until a turn takes it. Where there are too many the oldest go, those of no evaluation first.
void HarnessEpisode::Keep(TurnVerdict verdict) {
  verdict.call = -1;
  verdicts_.push_back(std::move(verdict));
  if (verdicts_.size() <= kMostVerdicts) return;
  const auto least = std::find_if(verdicts_.begin(), verdicts_.end() - 1,
                                  [](const TurnVerdict& each) { return each.tool != "evaluate"; });
  verdicts_.erase(least == verdicts_.end() - 1 ? verdicts_.begin() : least);
}

}  // namespace kb
