#include "agents/episode_account.h"

#include <fmt/format.h>

#include "base/hash.h"

namespace kb {
namespace {

constexpr int kMostRefusals = 3;  // commands in a row

void AddCount(const std::optional<int64_t>& more, std::optional<int64_t>* sum) {
  if (more) *sum = sum->value_or(0) + *more;
}

}  // namespace

void EpisodeAccount::Add(const Turn& turn, const Completion& completion) {
  for (const auto& count : {turn.input, turn.cache_read, turn.cache_write, turn.output}) {
    spent.tokens += count.value_or(0);
  }
  spent.usd += turn.cost_usd.value_or(0);
  AddCount(turn.input, &sum.input);
  AddCount(turn.cache_read, &sum.cache_read);
  AddCount(turn.cache_write, &sum.cache_write);
  AddCount(turn.output, &sum.output);
  AddCount(turn.reasoning_tokens, &sum.reasoning_tokens);
  if (turn.cost_usd) sum.cost_usd = sum.cost_usd.value_or(0) + *turn.cost_usd;
  sum.price_source = turn.price_source;
  sum.calls += turn.calls;
  sum.seconds += turn.seconds;
  sum.response = completion.text;
  sum.reasoning = completion.reasoning;
  sum.answered_by = completion.model;
}

void EpisodeAccount::Count(const Turn& turn, const Completion& completion, const CallCost& most) {
  AddLost(turn);
  seconds += turn.seconds;
  if (turn.calls == 0) return;  // no answer came
  Add(turn, completion);
  if (turn.kind == "work") ++turns;
  if (!turn.input || !turn.output) spent.tokens += most.tokens;
}

void EpisodeAccount::AddLost(const Turn& turn) {
  spent.tokens += turn.lost_tokens;
  spent.usd += turn.lost_usd;
  if (turn.lost_tokens > 0) sum.input = sum.input.value_or(0) + turn.lost_tokens;
  if (turn.lost_usd > 0) sum.cost_usd = sum.cost_usd.value_or(0) + turn.lost_usd;
}

std::optional<EpisodeAccount::Reached> EpisodeAccount::Over(const EpisodeLimits& limits) const {
  const auto reached = [](const char* limit, const std::string& amount) {
    return Reached{limit, fmt::format("the limit of {} was reached", amount)};
  };
  if (limits.turns > 0 && turns >= limits.turns) return reached("turns", fmt::format("{} turns", limits.turns));
  if (limits.tokens > 0 && spent.tokens >= limits.tokens) {
    return reached("tokens", fmt::format("{} tokens", limits.tokens));
  }
  if (limits.usd > 0 && spent.usd >= limits.usd) return reached("usd", fmt::format("${}", limits.usd));
  if (limits.seconds > 0 && seconds >= limits.seconds) {
    return reached("seconds", fmt::format("{} seconds", limits.seconds));
  }
  return std::nullopt;
}

TurnVerdict SubmissionOf(const AgentCandidate& candidate) {
  return {.tool = "submit",
          .source_sha256 = Sha256(candidate.text),
          .language = LanguageOf(candidate),
          .source = candidate.text,
          .view = "{}"};
}

AgentCandidate CandidateOf(const TurnVerdict& verdict) {
  return {fmt::format("model_new.{}", verdict.language), verdict.source, ""};
}

Result<AgentCandidate> CountingCandidate(const EpisodeCounts& counts, const std::optional<AgentCandidate>& submitted,
                                         const AgentTools& tools, const Folder& folder, AgentJudge* judge,
                                         std::string* ending) {
  const AgentTry* best = tools.best();
  if (counts.best && best != nullptr && best->verdict.verdict == "correct") return CandidateOf(best->verdict);
  if (submitted) return *submitted;
  const auto lying = CandidateAt(folder, counts.solution);
  if (lying && lying->rejection.empty()) {
    KB_ASSIGN_OR_RETURN(const AgentVerdict compiled, judge->Compile(*lying));
    if (compiled.later) {
      return Fail(ErrorCode::kUnavailable,
                  fmt::format("whether {} counts is not known: {}", counts.solution, compiled.text));
    }
    if (!compiled.is_error && compiled.stored.verdict.empty()) {
      *ending += fmt::format("; {} was submitted by itself", counts.solution);
      return *lying;
    }
  }
  if (best != nullptr) {
    *ending += "; the best candidate that was evaluated was submitted by itself";
    return CandidateOf(best->verdict);
  }
  return AgentCandidate{.rejection = fmt::format("the agent submitted nothing: {}", *ending)};
}

Result<ToolOutcome> CallWithin(const EpisodeWork& work, AgentTools* tools, const ToolCall& call) {
  const bool evaluates = call.name == "evaluate" || call.name == "profile";
  if (evaluates && !work.may_evaluate()) {
    return ToolOutcome{.text = "The run had no evaluations left, so nothing was measured. Submit your best candidate.",
                       .is_error = true};
  }
  auto outcome = tools->Call(call);
  if (evaluates) work.evaluated(outcome && outcome->verdict);
  return outcome;
}

Result<EpisodeAccount::Reached> EndOfRefused(const EpisodeWork& work, const EpisodeAccount& account, Store* store,
                                             const std::string& why) {
  if (account.turns == 0 && !work.model_answers()) return Fail(ErrorCode::kUsage, why);
  KB_ASSIGN_OR_RETURN(const int refusals, store->CountRefusal(work.request.id, work.owner));
  if (refusals < kMostRefusals) return Fail(ErrorCode::kUsage, why);
  return EpisodeAccount::Reached{
      kModelError,
      fmt::format("in {} commands in a row the model refused to answer (--retry-refused asks it again): {}", refusals,
                  why)};
}

EpisodeWorkDone DoneWith(const EpisodeAccount& account, const std::string& prompt, const AgentCandidate& candidate) {
  EpisodeWorkDone done{.answer = account.sum};
  done.answer.prompt = prompt;
  done.answer.prompt_bytes = static_cast<int64_t>(prompt.size());
  done.answer.finish = "stop";
  if (!candidate.rejection.empty()) {
    done.complaint = candidate.rejection;
    return done;
  }
  done.source = candidate.text;
  done.language = LanguageOf(candidate);
  return done;
}

}  // namespace kb
