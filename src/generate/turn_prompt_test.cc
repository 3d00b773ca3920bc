#include "generate/turn_prompt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class TurnPromptTest : public ::testing::Test {
 protected:
  // The last `earlier` of the parents are further ones of the conversation.
  GeneratorPrompt Make(ProposalKind kind, const std::vector<GeneratorParent>& parents, bool feedback = true,
                       size_t earlier = 0) const {
    Proposal proposal;
    proposal.kind = kind;
    proposal.earlier.resize(earlier);
    Prompt base;
    base.system = "system";
    base.user = "the problem";
    return MakeTurnPrompt(texts_, base, Target{}, proposal, parents, feedback).value();
  }
  static GeneratorParent Judged(const std::string& source, const std::string& verdict, json speedup = nullptr) {
    return {0, source, "", {{"verdict", verdict}, {"reason", "REASON " + source}, {"speedup", std::move(speedup)}}};
  }
  const TurnTexts texts_ = TurnTexts::Load(std::string(KB_SOURCE_DIR) + "/prompts/turns.toml").value();
};

TEST_F(TurnPromptTest, AFreshOneIsTheProblemAlone) {
  const GeneratorPrompt prompt = Make(ProposalKind::kFresh, {});
  ASSERT_EQ(prompt.messages.size(), 1u);
  EXPECT_EQ(prompt.system, "system");
  EXPECT_EQ(prompt.messages[0].text, "the problem");
  EXPECT_TRUE(prompt.messages[0].cache_until_here);
}

TEST_F(TurnPromptTest, RefinementShowsTheLastHowItDidAndTheBest) {
  const GeneratorPrompt prompt =
      Make(ProposalKind::kRefine, {Judged("int last;", "incorrect"), Judged("int best;", "correct", 1.75)});
  ASSERT_EQ(prompt.messages.size(), 3u);
  EXPECT_EQ(prompt.messages[1].role, Role::kAssistant);
  EXPECT_EQ(prompt.messages[1].text, "```cpp\nint last;\n```");
  EXPECT_EQ(prompt.messages[2].role, Role::kUser);
  EXPECT_THAT(prompt.messages[2].text, HasSubstr("REASON int last;"));
  EXPECT_THAT(prompt.messages[2].text, HasSubstr("int best;"));
  EXPECT_THAT(prompt.messages[2].text, HasSubstr("1.75"));
  EXPECT_THAT(prompt.messages[2].text, Not(HasSubstr("{feedback}")));
}

TEST_F(TurnPromptTest, WithoutFeedbackNothingIsSaidOfHowItDid) {
  const std::vector<GeneratorParent> parents = {Judged("int last;", "incorrect"),
                                                Judged("int other;", "correct", 1.75)};
  for (const ProposalKind kind : {ProposalKind::kRefine, ProposalKind::kMutate, ProposalKind::kCombine}) {
    const GeneratorPrompt prompt = Make(kind, parents, false);
    EXPECT_THAT(prompt.messages[1].text, HasSubstr("int last;"));
    EXPECT_THAT(prompt.messages[2].text, Not(HasSubstr("REASON")));
    EXPECT_THAT(prompt.messages[2].text, Not(HasSubstr("1.75")));
  }
}

TEST_F(TurnPromptTest, AProfileIsPartOfTheFeedback) {
  GeneratorParent parent = Judged("int last;", "correct", 1.5);
  EXPECT_THAT(Make(ProposalKind::kMutate, {parent}).messages[2].text, Not(HasSubstr("kernel by kernel")));
  parent.profile = {{"span_us", 12.5},
                    {"busy_us", 12.0},
                    {"launches", 1},
                    {"kernels", {{{"name", "Normalise"}, {"us", 12.0}, {"calls", 1}, {"registers", 32}}}}};
  EXPECT_THAT(Make(ProposalKind::kMutate, {parent}).messages[2].text, HasSubstr("- Normalise 12"));
  EXPECT_THAT(Make(ProposalKind::kMutate, {parent}, false).messages[2].text, Not(HasSubstr("Normalise")));
}

TEST_F(TurnPromptTest, EarlierCandidatesComeBeforeTheLastEachWithItsVerdict) {
  const std::vector<GeneratorParent> parents = {Judged("int last;", "incorrect"),
                                                Judged("int best;", "correct", 1.75),
                                                Judged("int first;", "correct", 1.5),
                                                {0, "", "no code", nullptr}};
  const GeneratorPrompt prompt = Make(ProposalKind::kRefine, parents, true, 2);
  ASSERT_EQ(prompt.messages.size(), 7u);
  EXPECT_THAT(prompt.messages[1].text, HasSubstr("int first;"));
  EXPECT_THAT(prompt.messages[2].text, HasSubstr("It was judged: correct: REASON int first;, 1.5 times as fast"));
  EXPECT_THAT(prompt.messages[4].text, HasSubstr("no code"));
  EXPECT_THAT(prompt.messages[5].text, HasSubstr("int last;"));
  EXPECT_THAT(prompt.messages[6].text, HasSubstr("int best;"));
  EXPECT_EQ(Make(ProposalKind::kRefine, parents, false, 2).messages[2].text, "Write the next version.");
}

TEST_F(TurnPromptTest, CombinationShowsBothParents) {
  const GeneratorPrompt prompt =
      Make(ProposalKind::kCombine, {Judged("int one;", "correct", 1.5), Judged("int two;", "build_failed")});
  EXPECT_THAT(prompt.messages[1].text, HasSubstr("int one;"));
  EXPECT_THAT(prompt.messages[2].text, HasSubstr("int two;"));
  EXPECT_THAT(prompt.messages[2].text, HasSubstr("int two;\n```\n\nIt does not compile."));
}

TEST_F(TurnPromptTest, AFenceIsLongerThanThoseInTheSource) {
  const GeneratorPrompt prompt = Make(ProposalKind::kMutate, {Judged("// ```\n// {problem}", "crashed")});
  EXPECT_EQ(prompt.messages[1].text, "````cpp\n// ```\n// {problem}\n````") << "and braces of a source stay";
}

TEST_F(TurnPromptTest, AnAnswerWithoutACandidateSaysWhy) {
  const GeneratorPrompt prompt = Make(ProposalKind::kRefine, {{0, "", "the answer holds no code", nullptr}});
  EXPECT_THAT(prompt.messages[2].text, HasSubstr("the answer holds no code"));
}

}  // namespace
}  // namespace kb
