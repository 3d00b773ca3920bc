// One request of a generator: from a proposal to an answer that is settled.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/json.h"
#include "generate/generator.h"

namespace kb {
namespace {

using nlohmann::json;

// No tokenizer makes much more than one token of two bytes of code or prose.
constexpr int64_t kFewestBytesPerToken = 2;
constexpr auto kBudgetPoll = std::chrono::milliseconds(50);

int64_t BytesOf(const GeneratorPrompt& prompt) {
  size_t bytes = prompt.system.size();
  for (const Message& message : prompt.messages) bytes += message.text.size();
  return static_cast<int64_t>(bytes);
}

std::string PromptJson(const GeneratorPrompt& prompt) {
  json messages = json::array();
  for (const Message& message : prompt.messages) {
    messages.push_back({{"role", message.role == Role::kUser ? "user" : "assistant"}, {"text", message.text}});
  }
  return Dump(json{{"system", prompt.system}, {"messages", std::move(messages)}});
}

const char* FinishName(FinishReason finish) {
  switch (finish) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
    case FinishReason::kContextFull:
      return "length";
    case FinishReason::kRefused:
      return "refused";
    case FinishReason::kToolCalls:
    case FinishReason::kPaused:
    case FinishReason::kUnknown:
      break;
  }
  return "unknown";
}

FinishReason FinishOf(const std::string& name) {
  for (const FinishReason finish : {FinishReason::kStop, FinishReason::kLength, FinishReason::kRefused}) {
    if (name == FinishName(finish)) return finish;
  }
  return FinishReason::kUnknown;
}

std::string PriceSourceOf(const Completion& completion, const std::optional<double>& cost_usd,
                          const GeneratorModel& model) {
  if (completion.cost_usd) return "the provider, for this call";
  return cost_usd && model.price ? model.price->source : "";
}

GenerationAnswer AnswerOf(const GeneratorPrompt& prompt, const Completion& completion, const GeneratorModel& model) {
  GenerationAnswer answer;
  answer.prompt = PromptJson(prompt);
  answer.prompt_bytes = BytesOf(prompt);
  answer.response = completion.text;
  answer.reasoning = completion.reasoning;
  answer.finish = FinishName(completion.finish);
  answer.answered_by = completion.model;
  answer.input = completion.usage.input;
  answer.cache_read = completion.usage.cache_read;
  answer.cache_write = completion.usage.cache_write;
  answer.output = completion.usage.output;
  answer.reasoning_tokens = completion.usage.reasoning;
  if (model.cost) answer.cost_usd = model.cost(completion);
  answer.price_source = PriceSourceOf(completion, answer.cost_usd, model);
  answer.calls = completion.attempts;
  answer.seconds = completion.seconds;
  return answer;
}

std::optional<int64_t> CountedTokens(const Usage& usage) {
  if (!usage.input || !usage.output) return std::nullopt;
  return *usage.input + usage.cache_read.value_or(0) + usage.cache_write.value_or(0) + *usage.output;
}

// The answer and what is wrong with it, as the next turns of the conversation.
void SendBack(const std::string& response, const std::string& complaint, GeneratorPrompt* prompt) {
  prompt->messages.push_back({Role::kAssistant, response.empty() ? "(an empty answer)" : response, false});
  prompt->messages.push_back(
      {Role::kUser,
       fmt::format("This answer cannot be judged: {}\n\nAnswer again, with the whole candidate.", complaint), false});
}

}  // namespace

CallCost Generator::MostOf(const GeneratorModel& model, int64_t prompt_bytes) {
  CallCost most;
  const int64_t input = prompt_bytes / kFewestBytesPerToken + 1, output = model.defaults.max_tokens;
  most.tokens = input + output;
  if (model.price && model.price->input && model.price->output) {
    const double dearest = std::max(*model.price->input, model.price->cache_write.value_or(0));
    most.usd = (static_cast<double>(input) * dearest + static_cast<double>(output) * *model.price->output) / 1e6;
  }
  return most;
}

// Waits for room in the budget.
Admission Generator::Admit(const CallCost& most, bool evaluation, const std::function<bool()>& stop) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (stopping_ || asking_ended_ || (options_.interrupted && options_.interrupted())) return Admission::kEnded;
    if (stop && stop()) return Admission::kEnded;
    const Admission admission = budget_->Reserve(most, evaluation, NowNs());
    if (admission == Admission::kGranted) return admission;
    if (admission == Admission::kEnded) {
      asking_ended_ = true;
      changed_.notify_all();
      return admission;
    }
    changed_.wait_for(lock, kBudgetPoll);
  }
}

Result<std::vector<GeneratorParent>> Generator::Parents(const Line& line, const Proposal& proposal) {
  std::vector<GeneratorParent> parents;
  std::vector<int> numbers = proposal.parents;
  numbers.insert(numbers.end(), proposal.earlier.begin(), proposal.earlier.end());
  for (const int number : numbers) {
    const std::string key =
        fmt::format("{}\n{}\n{}", options_.models[line.model].name, options_.problems[line.problem], number);
    int64_t request = 0;
    {
      const std::lock_guard lock(mutex_);
      request = requests_.at(key);
    }
    KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> answers, store_->AnswersTo(request));
    GeneratorParent parent;
    parent.candidate = number;
    parent.complaint = answers.back().complaint;
    if (!answers.back().source_sha256.empty()) {
      KB_ASSIGN_OR_RETURN(parent.source, store_->Source(answers.back().source_sha256));
    }
    KB_ASSIGN_OR_RETURN(parent.evaluation,
                        store_->CandidateEvaluation(options_.run, options_.models[line.model].name,
                                                    options_.problems[line.problem], number, options_.device));
    parents.push_back(std::move(parent));
  }
  return parents;
}

Status Generator::Ask(const Work& work) {
  const GenerationRequest wanted = RequestOf(*work.line, work.proposal);
  const std::string key = fmt::format("{}\n{}\n{}", wanted.model, wanted.problem, wanted.candidate);
  if (work.known) return HandOn(work.line, work.proposal, known_.at(key), false);
  if (options_.work) return RunEpisode(work);
  KB_ASSIGN_OR_RETURN(const std::vector<GeneratorParent> parents, Parents(*work.line, work.proposal));
  Asked asked;
  KB_ASSIGN_OR_RETURN(asked.prompt, options_.prompt(work.line->problem, work.proposal, parents));
  KB_ASSIGN_OR_RETURN(const auto claimed, store_->ClaimRequest(options_.run, wanted, owner_));
  if (!claimed) return {};  // another process has it
  asked.request = *claimed;
  {
    const std::lock_guard lock(mutex_);
    requests_[key] = claimed->id;
  }
  // What was answered before a kill.
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> earlier, store_->AnswersTo(claimed->id));
  for (const GenerationAnswer& answer : earlier) {
    if (answer.settled) {
      SendBack(answer.response, answer.complaint, &asked.prompt);
      continue;
    }
    Completion completion;
    completion.text = answer.response;
    completion.finish = FinishOf(answer.finish);
    KB_ASSIGN_OR_RETURN(const bool final, Settle(work, &asked, answer.id, answer.attempt, completion));
    if (final) return {};
  }
  return AskUntilSettled(work, &asked, static_cast<int>(earlier.size()));
}

Status Generator::AskUntilSettled(const Work& work, Asked* asked, int attempt) {
  const GeneratorModel& model = options_.models[work.line->model];
  for (;; ++attempt) {
    const CallCost most = MostOf(model, BytesOf(asked->prompt));
    const bool evaluation = options_.judge && !asked->evaluation_held;
    if (Admit(most, evaluation) == Admission::kEnded) {
      Failed(work, *asked, {ErrorCode::kInterrupted, "not asked"});
      return {};
    }
    asked->evaluation_held |= evaluation;
    CompletionRequest request = RequestTo(work);
    request.system = asked->prompt.system;
    request.messages = asked->prompt.messages;
    const auto completion =
        model.provider->Complete(request, [this] { return options_.interrupted && options_.interrupted(); });
    if (!completion) {
      SettleCall(work.line->model, most, nullptr);
      Failed(work, *asked, completion.error());
      return {};
    }
    const GenerationAnswer answer = AnswerOf(asked->prompt, *completion, model);
    const auto stored = store_->AddAnswer(asked->request.id, owner_, answer);
    Count(work.line->model, most, completion->usage, answer.cost_usd);
    if (!stored) return tl::make_unexpected(stored.error());
    KB_ASSIGN_OR_RETURN(const bool final, Settle(work, asked, *stored, attempt, *completion));
    if (final) return {};
  }
}

// As every request of that sample is.
CompletionRequest Generator::RequestTo(const Work& work) const {
  CompletionRequest request = options_.models[work.line->model].defaults;
  request.problem = options_.replay_as[work.line->problem];
  request.sample = work.proposal.sample;
  request.turn = work.proposal.turn;
  if (request.seed) *request.seed += work.proposal.candidate;  // or all samples would be one
  return request;
}

// A call that was answered.
void Generator::Count(size_t model, const CallCost& most, const Usage& usage, std::optional<double> cost_usd,
                      const CallCost& lost) {
  const std::lock_guard lock(mutex_);
  budget_->Settle(most, CountedTokens(usage).value_or(most.tokens) + lost.tokens,
                  cost_usd.value_or(most.usd) + lost.usd);
  ++counts_.asked_now;
  ++answers_of_[model];
  counts_.without_cost += cost_usd ? 0 : 1;
  counts_.without_usage += CountedTokens(usage) ? 0 : 1;
  changed_.notify_all();
}

// Reads a stored answer. True: the request is answered by it; else the complaint is in the prompt now.
Result<bool> Generator::Settle(const Work& work, Asked* asked, int64_t answer, int attempt,
                               const Completion& completion) {
  const GeneratorExtract extract = options_.extract(work.line->problem, completion);
  const bool final = extract.complaint.empty() || attempt >= options_.regenerate;
  KB_RETURN_IF_ERROR(store_->SettleAnswer(answer, owner_, extract.source, extract.language, extract.complaint, final));
  if (!final) {
    SendBack(completion.text, extract.complaint, &asked->prompt);
    return false;
  }
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationAnswer> all, store_->AnswersTo(asked->request.id));
  KB_RETURN_IF_ERROR(HandOn(work.line, work.proposal, all.back(), asked->evaluation_held));
  return true;
}

// A request without an answer. One that nobody refused is asked again by the next command.
void Generator::Failed(const Work& work, const Asked& asked, const Error& error) {
  const bool again = error.code == ErrorCode::kInterrupted;
  if (const Status given_up = store_->GiveUpRequest(asked.request.id, owner_, error.message, again); !given_up) {
    Break(given_up.error());
  }
  bool useless = false;
  {
    const std::lock_guard lock(mutex_);
    if (asked.evaluation_held) budget_->Evaluated(false);
    if (!again) ++counts_.failed;
    useless = error.code == ErrorCode::kUsage && answers_of_[work.line->model] == 0;
    changed_.notify_all();
  }
  if (again) return;
  if (useless) {
    Break(error);  // what refuses its first request will refuse the others
  } else if (options_.say) {
    options_.say(fmt::format("{} gave no answer to {} sample {} turn {}: {}", asked.request.model,
                             asked.request.problem, asked.request.sample, asked.request.turn, error.message));
  }
}

EpisodeWork::Cost Generator::SettleCall(size_t number, const CallCost& most, const Completion* completion,
                                        const CallCost& lost) {
  if (completion == nullptr) {
    const std::lock_guard lock(mutex_);
    budget_->Settle(most, lost.tokens, lost.usd);
    changed_.notify_all();
    return {};
  }
  const GeneratorModel& model = options_.models[number];
  EpisodeWork::Cost cost;
  if (model.cost) cost.usd = model.cost(*completion);
  cost.source = PriceSourceOf(*completion, cost.usd, model);
  Count(number, most, completion->usage, cost.usd, lost);
  return cost;
}

// One call of an episode.
Result<std::optional<EpisodeWork::Answered>> Generator::AskModel(size_t number, const CompletionRequest& request,
                                                                 const CallCost& most,
                                                                 const std::function<Status()>& begin) {
  if (Admit(most, false) == Admission::kEnded) return std::optional<EpisodeWork::Answered>();
  const Status begun = begin();
  Result<Completion> completion = begun
                                      ? options_.models[number].provider->Complete(
                                            request, [this] { return options_.interrupted && options_.interrupted(); })
                                      : tl::make_unexpected(begun.error());
  EpisodeWork::Cost cost = SettleCall(number, most, completion ? &*completion : nullptr);
  if (!completion) return tl::make_unexpected(completion.error());
  return std::optional(EpisodeWork::Answered{*std::move(completion), std::move(cost)});
}

EpisodeWork Generator::EpisodeWorkOf(const Work& work, const GenerationRequest& request) {
  EpisodeWork episode{.model = work.line->model, .problem = work.line->problem, .proposal = work.proposal};
  episode.request = request;
  episode.owner = owner_;
  episode.defaults = RequestTo(work);
  const size_t model = work.line->model;
  episode.most = [this, model](int64_t bytes) { return MostOf(options_.models[model], bytes); };
  episode.ask = [this, model](const CompletionRequest& wanted, const CallCost& most,
                              const std::function<Status()>& begin) { return AskModel(model, wanted, most, begin); };
  episode.admit = [this](const CallCost& most, const std::function<bool()>& stop) {
    return Admit(most, false, stop) == Admission::kGranted;
  };
  episode.settle = [this, model](const CallCost& most, const Completion* completion, const CallCost& lost) {
    return SettleCall(model, most, completion, lost);
  };
  episode.model_answers = [this, model] {
    const std::lock_guard lock(mutex_);
    return answers_of_[model] > 0;
  };
  episode.may_evaluate = [this] {
    const std::lock_guard lock(mutex_);
    return budget_->ReserveEvaluation(false);  // what the agent has may still be submitted
  };
  episode.evaluated = [this](bool made) {
    const std::lock_guard lock(mutex_);
    budget_->Evaluated(made);
  };
  return episode;
}

// An agent's work, until it ends or the budget does.
Status Generator::RunEpisode(const Work& work) {
  KB_ASSIGN_OR_RETURN(const auto claimed,
                      store_->ClaimRequest(options_.run, RequestOf(*work.line, work.proposal), owner_));
  if (!claimed) return {};  // another process has it
  Asked asked{.request = *claimed};
  // There is one where a process was killed before it had settled it.
  KB_ASSIGN_OR_RETURN(std::vector<GenerationAnswer> answers, store_->AnswersTo(claimed->id));
  EpisodeWork episode = EpisodeWorkOf(work, *claimed);
  episode.answered = !answers.empty();
  auto done = options_.work(episode);
  if (!done && done.error().code == ErrorCode::kStore) return tl::make_unexpected(done.error());
  if (!done || !*done) {
    Failed(work, asked, done ? Error{ErrorCode::kInterrupted, "not asked"} : done.error());
    return {};
  }
  if (answers.empty()) {
    KB_RETURN_IF_ERROR(store_->AddAnswer(claimed->id, owner_, (*done)->answer));
    KB_ASSIGN_OR_RETURN(answers, store_->AnswersTo(claimed->id));
  }
  KB_RETURN_IF_ERROR(
      store_->SettleAnswer(answers.back().id, owner_, (*done)->source, (*done)->language, (*done)->complaint, true));
  if (!(*done)->source && options_.say) {
    options_.say(
        fmt::format("{}, {} sample {}: {}", claimed->model, claimed->problem, claimed->sample, (*done)->complaint));
  }
  KB_ASSIGN_OR_RETURN(answers, store_->AnswersTo(claimed->id));
  return HandOn(work.line, work.proposal, answers.back(), false);
}

}  // namespace kb
