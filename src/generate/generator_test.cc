// A whole run with a model and a judge that are functions: what is asked, stored, told, and what a kill leaves.
#include "generate/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "base/temp_dir.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

// Answers with what `answer` makes of the request; counts what it is asked.
class FakeProvider : public Provider {
 public:
  std::function<Result<Completion>(const CompletionRequest&)> answer;
  Result<Completion> Complete(const CompletionRequest& request, const std::function<bool()>&) override {
    {
      const std::lock_guard lock(mutex_);
      ++calls[request.problem + "/" + std::to_string(request.sample) + "." + std::to_string(request.turn)];
      requests.push_back(request);
    }
    return answer(request);
  }
  std::map<std::string, int> calls;
  std::vector<CompletionRequest> requests;

 private:
  std::mutex mutex_;
};

Completion Text(const std::string& text) {
  Completion completion;
  completion.text = text;
  completion.finish = FinishReason::kStop;
  completion.usage.input = 60;
  completion.usage.output = 40;
  return completion;
}

class GeneratorTest : public ::testing::Test {
 protected:
  GeneratorTest()
      : directory_(TempDir::Create("kb-generator-test").value()),
        store_(Store::Open(directory_.path() / "store.sqlite").value()) {
    provider_.answer = [](const CompletionRequest& request) -> Result<Completion> {
      return Text(request.problem + " " + std::to_string(request.sample));
    };
  }

  GeneratorOptions Options(const StrategyOptions& strategy, int concurrency = 2) {
    GeneratorOptions options;
    options.run = "r";
    GeneratorModel model;
    model.name = "m";
    model.provider = &provider_;
    model.defaults.max_tokens = 100;
    model.price = Price{1000, {}, {}, 1000, "test"};  // 0.1 dollars a call
    model.cost = [](const Completion& completion) {
      return static_cast<double>(*completion.usage.input + *completion.usage.output) / 1000;
    };
    model.concurrency = concurrency;
    options.models.push_back(model);
    options.problems = {"1/19", "1/20"};
    options.replay_as = {"level1/19", "level1/20"};
    options.strategy = strategy;
    options.prompt = [](size_t, const Proposal& proposal, const std::vector<GeneratorParent>& parents) {
      std::string text = "turn " + std::to_string(proposal.turn);
      for (const GeneratorParent& parent : parents) text += "\nparent: " + parent.source;
      return Result<GeneratorPrompt>(GeneratorPrompt{"system", {{Role::kUser, text, false}}});
    };
    options.extract = [](size_t, const Completion& completion) {
      if (completion.text.find("prose") != std::string::npos) return GeneratorExtract{{}, "", "there is no code in it"};
      return GeneratorExtract{"source of " + completion.text, "py", ""};
    };
    return options;
  }

  // Judges on the spot: the longer the source, the faster.
  Status Run(GeneratorOptions options, GeneratorCounts* counts = nullptr) {
    Generator* running = nullptr;
    options.verdict = [&](const GeneratedCandidate& candidate) -> Result<std::optional<Fitness>> {
      const std::lock_guard lock(mutex_);
      const auto found = verdicts_.find(Key(candidate));
      return found == verdicts_.end() ? std::nullopt : std::optional(found->second);
    };
    options.judge = [&](const GeneratedCandidate& candidate) -> Status {
      const Fitness fitness = FitnessOf(candidate.source_sha256.empty() ? "static_rejected" : "correct", 1.0);
      {
        const std::lock_guard lock(mutex_);
        EXPECT_TRUE(verdicts_.emplace(Key(candidate), fitness).second) << "judged twice: " << Key(candidate);
      }
      running->Judged(candidate, fitness, true);
      return {};
    };
    auto generator = Generator::Create(std::move(options), &store_);
    if (!generator) return tl::make_unexpected(generator.error());
    running = generator->get();
    const Status status = (*generator)->Run();
    if (counts != nullptr) *counts = (*generator)->Counts();
    return status;
  }
  static std::string Key(const GeneratedCandidate& candidate) {
    return std::to_string(candidate.problem) + "/" + std::to_string(candidate.proposal.candidate);
  }

  const TempDir directory_;
  Store store_;
  FakeProvider provider_;
  std::mutex mutex_;
  std::map<std::string, Fitness> verdicts_;
};

TEST_F(GeneratorTest, EverySampleIsAskedOnceAndJudgedOnce) {
  GeneratorCounts counts;
  ASSERT_TRUE(Run(Options({.samples = 5}), &counts));
  EXPECT_EQ(provider_.calls.size(), 10u);
  EXPECT_EQ(verdicts_.size(), 10u);
  EXPECT_EQ(counts.answered, 10);
  EXPECT_EQ(counts.total, 10);
  EXPECT_EQ(counts.tokens, 1000);
  EXPECT_NEAR(counts.usd, 1.0, 1e-9);
  ASSERT_TRUE(Run(Options({.samples = 6}), &counts)) << "more samples of the same run";
  EXPECT_EQ(provider_.calls.size(), 12u);
  for (const auto& [key, calls] : provider_.calls) EXPECT_EQ(calls, 1) << key;
  EXPECT_EQ(verdicts_.size(), 12u);
  EXPECT_EQ(counts.asked_now, 2);
  const auto requests = store_.Requests("r").value();
  for (const GenerationRequest& request : requests) EXPECT_EQ(request.state, "answered");
}

TEST_F(GeneratorTest, AComplaintIsSentBackUpToALimit) {
  provider_.answer = [&](const CompletionRequest& request) -> Result<Completion> {
    const bool second = request.messages.size() == 3;
    if (second) {
      EXPECT_THAT(request.messages.back().text, HasSubstr("there is no code in it"));
    }
    return Text(second && request.sample == 1 ? "better" : "prose");
  };
  GeneratorOptions options = Options({.samples = 2});
  options.problems = {"1/19"};
  options.replay_as = {"level1/19"};
  options.regenerate = 1;
  GeneratorCounts counts;
  ASSERT_TRUE(Run(std::move(options), &counts));
  EXPECT_EQ(provider_.requests.size(), 4u);
  EXPECT_EQ(counts.without_code, 1);
  EXPECT_EQ(verdicts_.size(), 2u) << "an answer without code counts too";
  EXPECT_EQ(store_.Answers("r")->size(), 4u);
}

TEST_F(GeneratorTest, RefinementShowsParents) {
  ASSERT_TRUE(Run(Options({.name = "refine", .samples = 2, .turns = 3})));
  EXPECT_EQ(provider_.calls.size(), 12u);
  for (const CompletionRequest& request : provider_.requests) {
    const std::string parent = "parent: source of " + request.problem + " " + std::to_string(request.sample);
    EXPECT_EQ(request.messages.at(0).text.find(parent) != std::string::npos, request.turn > 0);
  }
}

TEST_F(GeneratorTest, AnswersThatAKillLeftUnreadAreReadAndNotAskedAgain) {
  GenerationRequest request;
  request.model = "m";
  request.problem = "1/19";
  const std::string dead = OwnerName() + "9";
  const int64_t id = (*store_.ClaimRequest("r", request, dead).value()).id;
  GenerationAnswer answer;
  answer.prompt = "{}";
  answer.response = "what was stored";
  ASSERT_TRUE(store_.AddAnswer(id, dead, answer));
  ASSERT_TRUE(Run(Options({.samples = 1})));
  EXPECT_EQ(provider_.calls.count("level1/19/0.0"), 0u);
  EXPECT_EQ(provider_.calls.count("level1/20/0.0"), 1u);
  EXPECT_EQ(store_.Source(store_.AnswersTo(id)->at(0).source_sha256).value(), "source of what was stored");
  EXPECT_EQ(verdicts_.size(), 2u);
}

TEST_F(GeneratorTest, ACapEndsAskingAndWhatIsThereIsJudged) {
  for (const int concurrency : {1, 8}) {
    SCOPED_TRACE(concurrency);
    provider_.calls.clear();
    verdicts_.clear();
    GeneratorOptions options = Options({.samples = 50}, concurrency);
    options.run = "r" + std::to_string(concurrency);
    options.caps.usd = 0.95;
    GeneratorCounts counts;
    ASSERT_TRUE(Run(std::move(options), &counts));
    EXPECT_EQ(counts.ended_by, "--max-usd 0.95");
    EXPECT_GE(counts.usd, 0.95);
    EXPECT_LT(counts.usd, 0.95 + 0.1 + 1e-9) << "one call of 0.1 more";
    EXPECT_EQ(verdicts_.size(), provider_.calls.size());
  }
}

TEST_F(GeneratorTest, EvaluationsAreCappedExactlyAndGoOnWithAHigherCap) {
  GeneratorOptions options = Options({.samples = 10}, 4);
  options.caps.evaluations = 7;
  GeneratorCounts counts;
  ASSERT_TRUE(Run(std::move(options), &counts));
  EXPECT_EQ(verdicts_.size(), 7u);
  EXPECT_EQ(counts.ended_by, "--max-evaluations 7");
  ASSERT_TRUE(Run(Options({.samples = 10}), &counts));
  EXPECT_EQ(verdicts_.size(), 20u);
  for (const auto& [key, calls] : provider_.calls) EXPECT_EQ(calls, 1) << key;
}

TEST_F(GeneratorTest, ACapInTheMiddleOfSendingBackEndsTheRun) {
  provider_.answer = [](const CompletionRequest&) -> Result<Completion> { return Text("prose"); };
  GeneratorOptions options = Options({.samples = 1}, 1);
  options.regenerate = 3;
  options.caps.tokens = 150;
  GeneratorCounts counts;
  ASSERT_TRUE(Run(std::move(options), &counts));
  EXPECT_EQ(counts.ended_by, "--max-tokens 150");
  EXPECT_EQ(provider_.requests.size(), 2u);
}

TEST_F(GeneratorTest, EarlierCallsOfUnknownCostCountAsTheMost) {
  provider_.answer = [](const CompletionRequest&) -> Result<Completion> {
    Completion completion = Text("code");
    completion.usage = {};
    return completion;
  };
  const auto options = [&](int samples) {
    GeneratorOptions made = Options({.samples = samples});
    made.models[0].cost = [](const Completion&) { return std::optional<double>(); };
    return made;
  };
  GeneratorCounts first, second;
  ASSERT_TRUE(Run(options(2), &first));
  EXPECT_GT(first.usd, 0.4);
  GeneratorOptions capped = options(4);
  capped.caps.usd = first.usd;
  ASSERT_TRUE(Run(std::move(capped), &second));
  EXPECT_EQ(second.asked_now, 0);
  EXPECT_EQ(second.tokens, first.tokens);
  EXPECT_NEAR(second.usd, first.usd, 1e-9);
}

TEST_F(GeneratorTest, AJudgeThatCannotBeginEndsTheRun) {
  GeneratorOptions options = Options({.samples = 1});
  options.verdict = [](const GeneratedCandidate&) { return Result<std::optional<Fitness>>(std::nullopt); };
  options.judge = [](const GeneratedCandidate&) -> Status { return Fail(ErrorCode::kStore, "the disk is full"); };
  const auto generator = Generator::Create(std::move(options), &store_);
  ASSERT_TRUE(generator);
  const Status status = (*generator)->Run();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the disk is full");
}

TEST_F(GeneratorTest, WithoutAPriceAMoneyCapIsRefused) {
  GeneratorOptions options = Options({.samples = 1});
  options.models[0].price.reset();
  options.caps.usd = 1;
  const Status status = Run(std::move(options));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kUsage);
  EXPECT_THAT(status.error().message, HasSubstr("--max-tokens"));
}

TEST_F(GeneratorTest, AModelThatRefusesItsFirstRequestEndsTheRun) {
  provider_.answer = [](const CompletionRequest&) -> Result<Completion> {
    return Fail(ErrorCode::kUsage, "no such model");
  };
  const Status status = Run(Options({.samples = 100}, 1));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "no such model");
  EXPECT_EQ(provider_.requests.size(), 1u);
}

TEST_F(GeneratorTest, ARefusalEndsNoRunInWhichTheModelHasAnswered) {
  ASSERT_TRUE(Run(Options({.samples = 1}, 1)));
  provider_.answer = [](const CompletionRequest& request) -> Result<Completion> {
    if (request.sample == 1) return Fail(ErrorCode::kUsage, "the prompt is too long");
    return Text("code");
  };
  GeneratorCounts counts;
  ASSERT_TRUE(Run(Options({.samples = 3}, 1), &counts));
  EXPECT_EQ(counts.failed, 2);
  EXPECT_EQ(counts.answered, 4) << "what was refused does not keep the others from being asked";
}

TEST_F(GeneratorTest, OneFailureIsTriedAgainByTheNextCommand) {
  std::atomic<bool> broken = true;
  provider_.answer = [&](const CompletionRequest& request) -> Result<Completion> {
    if (broken && request.sample == 1) return Fail(ErrorCode::kUnavailable, "503");
    return Text("code");
  };
  GeneratorCounts counts;
  ASSERT_TRUE(Run(Options({.samples = 3}), &counts));
  EXPECT_EQ(counts.failed, 2);
  EXPECT_EQ(counts.answered, 4);
  EXPECT_EQ(store_.Requests("r")->at(1).state, "failed");
  EXPECT_EQ(store_.Requests("r")->at(1).error, "503");
  broken = false;
  ASSERT_TRUE(Run(Options({.samples = 3}), &counts));
  EXPECT_EQ(counts.failed, 0);
  EXPECT_EQ(verdicts_.size(), 6u);
}

TEST_F(GeneratorTest, AnInterruptLeavesTheRestForTheNextCommand) {
  std::atomic<int> answered = 0;
  provider_.answer = [&](const CompletionRequest&) -> Result<Completion> {
    if (++answered > 3) return Fail(ErrorCode::kInterrupted, "interrupted");
    return Text("code");
  };
  GeneratorOptions options = Options({.samples = 10});
  options.interrupted = [&] { return answered >= 3; };
  const Status status = Run(std::move(options));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInterrupted);
  const auto requests = store_.Requests("r").value();
  for (const GenerationRequest& request : requests) {
    EXPECT_TRUE(request.state == "answered" || request.state == "queued") << request.state;
  }
  const size_t before = store_.Answers("r")->size();
  answered = -1000;
  ASSERT_TRUE(Run(Options({.samples = 10})));
  EXPECT_EQ(store_.Answers("r")->size(), 20u) << before << " were there";
}

// An agent, here with one call of the model.
Result<std::optional<EpisodeWorkDone>> OneCall(const EpisodeWork& work, int* begun) {
  CompletionRequest request = work.defaults;
  KB_ASSIGN_OR_RETURN(const auto answered, work.ask(request, work.most(100), [&]() -> Status {
    ++*begun;
    return {};
  }));
  if (!answered) return std::optional<EpisodeWorkDone>();
  EpisodeWorkDone done{.source = answered->completion.text, .language = "py"};
  done.answer.input = answered->completion.usage.input;
  done.answer.output = answered->completion.usage.output;
  done.answer.cost_usd = answered->cost.usd;
  return std::optional(std::move(done));
}

TEST_F(GeneratorTest, AnAgentThatFailsStopsNoOther) {
  GeneratorOptions options = Options({.name = "agent", .samples = 1}, 1);
  int begun = 0, judging = 0, judged = 0;
  bool down = true;
  options.work = [&](const EpisodeWork& work) -> Result<std::optional<EpisodeWorkDone>> {
    if (work.problem == 0 && down) return Fail(ErrorCode::kUnavailable, "503");
    return OneCall(work, &begun);
  };
  options.judging = [&](bool begins) {
    judging += begins ? 1 : -1;
    judged += begins ? 1 : 0;
    EXPECT_GE(judging, 0);
  };
  std::string said;
  options.say = [&](const std::string& line) { said += line; };
  GeneratorCounts counts;
  ASSERT_TRUE(Run(options, &counts));
  EXPECT_EQ(counts.failed, 1);
  EXPECT_EQ(counts.answered, 1);
  EXPECT_THAT(said, HasSubstr("503"));
  down = false;
  ASSERT_TRUE(Run(options, &counts));
  EXPECT_EQ(counts.failed, 0);
  EXPECT_EQ(counts.answered, 2);
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(verdicts_.size(), 2u);
  EXPECT_EQ(judging, 0);
  EXPECT_EQ(judged, 2);
}

TEST_F(GeneratorTest, AnAgentWithoutBudgetIsNotAsked) {
  GeneratorOptions options = Options({.name = "agent", .samples = 1}, 1);
  options.caps.tokens = 100;
  int begun = 0;
  options.work = [&](const EpisodeWork& work) { return OneCall(work, &begun); };
  GeneratorCounts counts;
  ASSERT_TRUE(Run(options, &counts));
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(counts.answered, 1);
  EXPECT_EQ(counts.ended_by, "--max-tokens 100");
  options.caps.tokens = 10'000;
  ASSERT_TRUE(Run(options, &counts));
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(counts.answered, 2);
  EXPECT_EQ(counts.failed, 0);
}

}  // namespace
}  // namespace kb
