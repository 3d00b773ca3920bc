// A whole episode with a real box and store; the model and the judge say what the test wrote down.
#ifndef AGENTS_EPISODE_TEST_UTIL_H_
#define AGENTS_EPISODE_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "agents/agent_test_util.h"
#include "agents/episode.h"
#include "base/hash.h"
#include "base/temp_dir.h"

namespace kb {

class EpisodeTest : public SharedBoxTest {
 protected:
  using json = nlohmann::json;
  static constexpr char kMe[] = "me";
  using Answered = Result<std::optional<EpisodeWork::Answered>>;
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(SharedBoxTest::SetUp());
    GenerationRequest request;
    request.model = "m";
    request.problem = "1/19";
    work_.request = store_.ClaimRequest("r", request, kMe).value().value();
    work_.owner = kMe;
    work_.defaults.max_tokens = 1000;
    work_.most = [](int64_t) { return CallCost{.tokens = 5000, .usd = 0.5}; };
    work_.ask = [this](CompletionRequest asked, const CallCost&, const std::function<Status()>& begin) -> Answered {
      return Ask(std::move(asked), begin);
    };
    work_.model_answers = [this] { return model_answers_; };
    work_.may_evaluate = [this] { return evaluations_left_ != 0; };
    work_.evaluated = [this](bool made) {
      evaluations_left_ -= made ? 1 : 0;
      ++told_of_evaluations_;
    };
    options_.opening.system = "system";
    options_.opening.task = "the task";
    options_.limits.turns = 20;
    AddFile("TASK.md", "the task");
  }
  void AddFile(const std::string& path, const std::string& contents) {
    options_.folder.files.push_back({path, 0644, contents.size(), Sha256(contents)});
    options_.folder.contents[Sha256(contents)] = contents;
  }

  static ToolCall CallOf(const std::string& id, const std::string& name, const json& arguments = json::object()) {
    return {id, name, arguments.dump()};
  }

  static ToolCall WriteCall(const std::string& path, const std::string& content, const std::string& id = "w") {
    return CallOf(id, "write_file", {{"path", path}, {"content", content}});
  }

  // As a provider would give it: 100 tokens read and 10 written, for a cent.
  static Completion Answer(std::vector<ToolCall> calls, const std::string& text = "") {
    Completion completion;
    completion.text = text;
    completion.finish = calls.empty() ? FinishReason::kStop : FinishReason::kToolCalls;
    json raw = {{"text", text}, {"calls", json::array()}};
    for (const ToolCall& call : calls) raw["calls"].push_back({call.id, call.name, call.arguments});
    completion.raw = raw.dump();
    completion.calls = std::move(calls);
    completion.usage.input = 40;
    completion.usage.cache_read = 60;
    completion.usage.output = 10;
    completion.model = "m-1";
    completion.seconds = 2;
    return completion;
  }

  // Without an answer to give the budget is spent.
  Answered Ask(CompletionRequest request, const std::function<Status()>& begin) {
    if (script_.empty()) return std::optional<EpisodeWork::Answered>();
    KB_RETURN_IF_ERROR(begin());
    requests_.push_back(std::move(request));
    auto next = std::move(script_.front());
    script_.pop_front();
    if (!next) return tl::make_unexpected(next.error());
    return std::optional(EpisodeWork::Answered{*std::move(next), {0.01, "a table"}});
  }
  void Says(Completion completion) { script_.emplace_back(std::move(completion)); }
  void Says(std::vector<ToolCall> calls) { script_.emplace_back(Answer(std::move(calls))); }
  void Dies(ErrorCode code = ErrorCode::kInterrupted, const std::string& why = "interrupted") {
    script_.emplace_back(Fail(code, why));
  }
  void JudgeSays(const json& evaluation) { api_.Says(200, ViewOf(evaluation)); }
  void JudgeCompiles(bool compiles = true) {
    json view = ViewOf(json::object());
    view.update({{"compiled", compiles}, {"findings", json::array()}, {"compiler_output", nullptr}});
    if (!compiles) view["verdict"] = "compile_error";
    api_.Says(200, view);
  }

  // A process with nothing but the store.
  Result<std::optional<EpisodeWorkDone>> Run() {
    AgentTools tools(box_, &judge_, tool_limits_, {.solution = options_.counts.solution});
    return EpisodeRun(options_, work_, &store_, box_, &judge_, &tools).Run();
  }
  EpisodeWorkDone RunToItsEnd() {
    auto done = Run();
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_TRUE(done.value_or(std::nullopt)) << "it is open still";
    return done.value_or(std::nullopt).value_or(EpisodeWorkDone());
  }
  void RunUntilItIsOpen() {
    const auto done = Run();
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_FALSE(*done);
  }
  Error Failure() {
    const auto done = Run();
    EXPECT_FALSE(done);
    return done ? Error() : done.error();
  }
  Episode Stored() { return store_.FindEpisode(work_.request.id).value().value(); }
  std::vector<Turn> Turns() { return store_.Turns(work_.request.id).value(); }
  std::string TextOf(size_t request, size_t result) {
    return requests_.at(request).messages.back().results.at(result).text;
  }
  std::string NewestText() { return requests_.back().messages.back().text; }

  const TempDir directory_{TempDir::Create("kb-episode-test").value()};
  Store store_{Store::Open(directory_.path() / "store.sqlite").value()};
  ScriptedApi api_;
  bool stop_ = false;
  AgentJudge judge_{{.ask = api_.Ask(),
                     .request = {{"problem", "1/19"}},
                     .stop = [this] { return stop_; },
                     .patience = std::chrono::milliseconds(0)}};
  EpisodeWork work_;
  EpisodeOptions options_;
  AgentToolLimits tool_limits_;
  std::deque<Result<Completion>> script_;
  std::vector<CompletionRequest> requests_;
  bool model_answers_ = false;  // on other problems
  int evaluations_left_ = -1, told_of_evaluations_ = 0;
};

}  // namespace kb

#endif  // AGENTS_EPISODE_TEST_UTIL_H_
