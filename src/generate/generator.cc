#include "generate/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"

namespace kb {
namespace {

constexpr auto kLookAgain = std::chrono::milliseconds(100);  // how soon an interrupt or the time's end is noticed

std::string KeyOf(const std::string& model, const std::string& problem, int candidate) {
  return fmt::format("{}\n{}\n{}", model, problem, candidate);
}

int64_t TokensOf(const GenerationAnswer& answer) {
  return answer.input.value_or(0) + answer.cache_read.value_or(0) + answer.cache_write.value_or(0) +
         answer.output.value_or(0);
}

}  // namespace

Result<std::unique_ptr<Generator>> Generator::Create(GeneratorOptions options, Store* store) {
  KB_CHECK((options.work || (options.prompt && options.extract)) &&
           options.problems.size() == options.replay_as.size());
  std::unique_ptr<Generator> generator(new Generator(std::move(options), store));
  const GeneratorOptions& own = generator->options_;
  if (own.caps.evaluations && !own.judge) {
    return Fail(ErrorCode::kUsage, "--max-evaluations caps what is judged: leave out --no-judge, or this cap");
  }
  for (size_t model = 0; model < own.models.size(); ++model) {
    if (own.caps.usd && !own.models[model].price) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("--max-usd needs the price of {}, which is not known: give it in models.toml, or cap "
                              "tokens with --max-tokens",
                              own.models[model].name));
    }
    for (size_t problem = 0; problem < own.problems.size(); ++problem) {
      auto line = std::make_unique<Line>();
      line->model = model;
      line->problem = problem;
      StrategyOptions strategy = own.strategy;
      if (!own.turns.empty()) strategy.turns = own.turns[problem];
      for (const char c : own.models[model].name + "\n" + own.problems[problem]) {
        strategy.seed = strategy.seed * 1099511628211u + static_cast<unsigned char>(c);  // as in FNV-1a
      }
      KB_ASSIGN_OR_RETURN(line->strategy, MakeStrategy(strategy));
      if (line->strategy->NeedsVerdicts() && !own.judge) {
        return Fail(ErrorCode::kUsage,
                    fmt::format("{} needs verdicts: leave out --no-judge, or use --strategy sample", strategy.name));
      }
      generator->counts_.total += line->strategy->Total();
      generator->lines_.push_back(std::move(line));
    }
  }
  KB_RETURN_IF_ERROR(generator->Load());
  return generator;
}

Status Generator::Load() {
  ready_.resize(options_.models.size());
  answers_of_.resize(options_.models.size());
  KB_RETURN_IF_ERROR(store_->ReleaseRequests(options_.run));
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationRequest> requests, store_->Requests(options_.run));
  KB_ASSIGN_OR_RETURN(std::vector<GenerationAnswer> answers, store_->Answers(options_.run));
  std::map<int64_t, const GenerationRequest*> by_id;
  for (const GenerationRequest& request : requests) {
    by_id[request.id] = &request;
    requests_[KeyOf(request.model, request.problem, request.candidate)] = request.id;
  }
  CallCost spent;
  for (GenerationAnswer& answer : answers) {
    const auto request = by_id.find(answer.request);
    if (request == by_id.end()) continue;  // another process began it just now
    const GenerationRequest& of = *request->second;
    const CallCost took = SpentOn(answer, of.model);
    spent.tokens += took.tokens;
    spent.usd += took.usd;
    if (of.state != "answered" || !answer.settled) continue;
    known_[KeyOf(of.model, of.problem, of.candidate)] = std::move(answer);  // the last one counts
  }
  KB_ASSIGN_OR_RETURN(const TurnsSpent at_work, store_->SpentOnTurns(options_.run));
  spent.tokens += at_work.tokens;
  spent.usd += at_work.usd;
  KB_ASSIGN_OR_RETURN(const GenerationSpent in_store, store_->Spent(options_.run));
  budget_ = std::make_unique<Budget>(options_.caps, spent, in_store.evaluations, NowNs());
  return {};
}

// What an answer in the store took. As in Budget::Settle(), what nobody knows counts as the most it could be.
CallCost Generator::SpentOn(const GenerationAnswer& answer, const std::string& name) {
  CallCost most;
  for (size_t model = 0; model < options_.models.size(); ++model) {
    if (options_.models[model].name != name) continue;
    most = MostOf(options_.models[model], answer.prompt_bytes);
    ++answers_of_[model];
  }
  const bool counted = answer.input && answer.output;
  return {counted ? TokensOf(answer) : std::max(TokensOf(answer), most.tokens), answer.cost_usd.value_or(most.usd)};
}

GenerationRequest Generator::RequestOf(const Line& line, const Proposal& proposal) const {
  GenerationRequest request;
  request.model = options_.models[line.model].name;
  request.problem = options_.problems[line.problem];
  request.sample = proposal.sample;
  request.turn = proposal.turn;
  request.candidate = proposal.candidate;
  return request;
}

// What the strategy proposes. What the store has comes first: it costs nothing, and is to be judged whatever happens.
void Generator::Offer(Line* line) {
  for (Proposal& proposal : line->strategy->Next()) {
    const GenerationRequest request = RequestOf(*line, proposal);
    const bool known = known_.contains(KeyOf(request.model, request.problem, request.candidate));
    if (known) {
      ready_[line->model].push_front({line, std::move(proposal), true});
    } else if (!asking_ended_) {
      ready_[line->model].push_back({line, std::move(proposal), false});
    }
  }
  changed_.notify_all();
}

Status Generator::Run() {
  {
    const std::lock_guard lock(mutex_);
    for (const auto& line : lines_) Offer(line.get());
  }
  std::vector<std::thread> threads;
  for (size_t model = 0; model < options_.models.size(); ++model) {
    for (int i = 0; i < std::max(1, options_.models[model].concurrency); ++i) {
      threads.emplace_back([this, model] { Serve(model); });
    }
  }
  for (std::thread& thread : threads) thread.join();
  const std::lock_guard lock(mutex_);
  if (status_ && options_.interrupted && options_.interrupted()) return Fail(ErrorCode::kInterrupted, "interrupted");
  return status_;
}

bool Generator::OverLocked() const {
  return in_flight_ == 0 && judging_ == 0 &&
         std::all_of(ready_.begin(), ready_.end(), [](const auto& work) { return work.empty(); });
}

std::optional<Generator::Work> Generator::Take(size_t model) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (options_.interrupted && options_.interrupted()) stopping_ = true;
    for (auto& ready : ready_) {
      if (stopping_) ready.clear();
      if (asking_ended_) std::erase_if(ready, [](const Work& work) { return !work.known; });
    }
    if (!ready_[model].empty()) {
      Work work = std::move(ready_[model].front());
      ready_[model].pop_front();
      ++in_flight_;
      return work;
    }
    const bool interrupted = options_.interrupted && options_.interrupted();
    if (OverLocked() || (interrupted && in_flight_ == 0)) {  // after an interrupt the judge ends by itself
      changed_.notify_all();
      return std::nullopt;
    }
    changed_.wait_for(lock, kLookAgain);
  }
}

void Generator::Serve(size_t model) {
  while (const std::optional<Work> work = Take(model)) {
    if (const Status asked = Ask(*work); !asked) Break(asked.error());
    const std::lock_guard lock(mutex_);
    --in_flight_;
    changed_.notify_all();
  }
}

void Generator::Break(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (status_ && error.code != ErrorCode::kInterrupted) status_ = tl::make_unexpected(error);
  stopping_ = true;
  changed_.notify_all();
}

void Generator::Judged(const GeneratedCandidate& candidate, const std::optional<Fitness>& fitness, bool counts) {
  if (options_.judging) options_.judging(false);
  const std::lock_guard lock(mutex_);
  budget_->Evaluated(counts);
  --judging_;
  if (fitness) {
    for (const auto& line : lines_) {
      if (line->model != candidate.model || line->problem != candidate.problem) continue;
      line->strategy->Tell(candidate.proposal.candidate, *fitness);
      Offer(line.get());
    }
  }
  changed_.notify_all();
}

GeneratorCounts Generator::Counts() const {
  const std::lock_guard lock(mutex_);
  GeneratorCounts counts = counts_;
  counts.tokens = budget_->spent().tokens;
  counts.usd = budget_->spent().usd;
  counts.ended_by = budget_->ended_by();
  return counts;
}

Status Generator::HandOn(Line* line, const Proposal& proposal, const GenerationAnswer& answer, bool evaluation_held) {
  const GeneratedCandidate candidate{line->model,          line->problem,   proposal,
                                     answer.source_sha256, answer.language, answer.complaint};
  std::optional<Fitness> fitness;
  if (options_.judge) {
    KB_ASSIGN_OR_RETURN(fitness, options_.verdict(candidate));
  }
  {
    const std::lock_guard lock(mutex_);
    ++counts_.answered;
    counts_.without_code += answer.source_sha256.empty() ? 1 : 0;
    if (!options_.judge || fitness) {
      if (evaluation_held) budget_->Evaluated(false);
      line->strategy->Tell(proposal.candidate, fitness.value_or(Fitness{}));
      Offer(line);
      return {};
    }
    if (!evaluation_held && !budget_->ReserveEvaluation()) {
      asking_ended_ = true;
      return {};
    }
    ++judging_;
  }
  if (options_.judging) options_.judging(true);
  const Status begun = options_.judge(candidate);
  if (!begun) {  // no Judged() will come: nobody is to wait for it
    if (options_.judging) options_.judging(false);
    const std::lock_guard lock(mutex_);
    --judging_;
  }
  return begun;
}

}  // namespace kb
