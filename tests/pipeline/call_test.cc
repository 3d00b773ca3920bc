// How a call can end, and what a candidate gets for it. Each candidate here is right; what the device process says of
// it is not so.

#include <iterator>

#include "fixture.h"
#include "wire/doorbell.h"
#include "wire/report.h"

namespace kb::pipeline {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Rule For(CallKind kind) { return {.request = OfKind(kind)}; }

ops::Called Reported(ReportStatus status, const std::string& text) {
  return {.report = ops::Said{.status = static_cast<int>(status), .text = text}};
}

// A request that could be built, from a candidate that is no module.
constexpr char kAsked[] =
    R"({"name": "a", "key": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", "cpp": ["int a;"],
        "cuda": [], "functions": {}, "cflags": [], "cuda_cflags": [], "ldflags": [], "include_paths": [],
        "error_handling": true, "implicit_headers": false, "files": {}})";

struct Case {
  std::string name;
  Rule rule;
  std::string verdict, reason;
};

class CallTest : public PipelineTest {
 protected:
  // One evaluation for each case, all of one engine; `flags` beside those of Eval().
  void Judge(const std::vector<Case>& cases, const Arguments& flags = {}) {
    Script script;
    std::vector<std::string> candidates;
    for (const Case& each : cases) {
      script.push_back(each.rule);
      script.back().evaluation = static_cast<int>(script.size());
      candidates.push_back(Right(each.name + ".cpp"));
    }
    Play(script);
    const Ended ended = Run(Eval(candidates, flags));
    EXPECT_EQ(ended.code, 1) << ended;
    for (const Case& each : cases) {
      SCOPED_TRACE(each.name);
      const json evaluation = ended.Of(each.name + ".cpp");
      if (evaluation.is_null()) continue;
      ExpectDocumented(evaluation);
      EXPECT_EQ(evaluation.at("verdict"), each.verdict);
      EXPECT_THAT(evaluation.at("reason").get<std::string>(), HasSubstr(each.reason));
    }
    EXPECT_EQ(Starts(), 1);
    EXPECT_EQ(StoredEvaluations(), static_cast<int>(cases.size()));
  }
};

TEST_F(CallTest, EachEndHasItsVerdict) {
  const Rule load = For(CallKind::kLoad), prepare = For(CallKind::kPrepare), forward = For(CallKind::kForward);
  Rule four = forward, eight = forward;
  four.last = 4;
  eight.last = 8;
  const std::string wrong_number = "the doorbell was rung with a wrong number";
  Judge(
      {{"malformed", Answers<ops::Call>({.end = "malformed", .malformed = wrong_number}, forward), "tampered",
        "forged or out of turn: " + wrong_number},
       {"ran_frozen", Answers<ops::Call>({.end = "ran_frozen", .malformed = "it ran"}, forward), "tampered", "it ran"},
       {"ran_at_load", Answers<ops::Call>({.end = "ran_frozen", .malformed = "it ran"}, load), "tampered", "it ran"},
       {"ran_four_times", Answers<ops::Call>({.end = "ran_frozen", .malformed = "it ran"}, four), "correct", ""},
       {"too_early_eight_times", Answers<ops::Call>({.end = "too_early"}, eight), "correct", ""},
       {"timed_out", Answers<ops::Call>({.end = "timed_out"}, forward), "timed_out",
        "a call did not end within 30 s (call_timeout_s)"},
       {"load_timed_out", Answers<ops::Call>({.end = "timed_out"}, load), "timed_out",
        "loading did not end within 60 s (twice call_timeout_s)"},
       {"prepare_timed_out", Answers<ops::Call>({.end = "timed_out"}, prepare), "timed_out", "loading did not end"},
       {"all_together", Answers<ops::Call>({.us = 119e6}, load), "correct", ""},
       {"too_long_together", Answers<ops::Call>({.end = "timed_out", .us = 130e6}, prepare), "timed_out", "loading"}});
}

TEST_F(CallTest, EachReportHasItsVerdict) {
  const Rule load = For(CallKind::kLoad), forward = For(CallKind::kForward);
  Judge({{"load_failed", Answers<ops::Call>(Reported(ReportStatus::kLoadFailed, "no kb_forward\nmore"), load),
          "load_failed", "no kb_forward"},
         {"raised_at_load", Answers<ops::Call>(Reported(ReportStatus::kRaised, "ValueError"), load), "load_failed",
          "ValueError"},
         {"raised", Answers<ops::Call>(Reported(ReportStatus::kRaised, "ValueError\nTraceback"), forward), "crashed",
          "ValueError"},
         {"out_of_memory", Answers<ops::Call>(Reported(ReportStatus::kOutOfMemory, "bad_alloc"), forward),
          "out_of_memory", "bad_alloc"},
         {"wrong_form", Answers<ops::Call>(Reported(ReportStatus::kWrongForm, "[63, 64]"), forward), "wrong_form",
          "[63, 64]"},
         {"lacks_something", Answers<ops::Call>(Reported(ReportStatus::kLacksExtension, kAsked), load), "tampered",
          "forged or out of turn: it asked for an extension"}});
}

TEST_F(CallTest, WhatIsFoundAfterACall) {
  Judge({{"changed", Answers<ops::CheckInputs>({.inputs_changed = {0}}, {.first = 3}), "wrong_form",
          "the candidate changed its input 0"},
         {"late", Answers<ops::CheckInputs>({.late = true}, {.first = 3}), "tampered", "outputs were still written"},
         {"later", Answers<ops::Compare>({.late = true}, {.first = 3}), "tampered", "outputs were still written"},
         {"fine", {.op = ops::Compare::kOp}, "correct", ""}});
}

TEST_F(CallTest, WhatIsNotTheSameTwice) {
  Judge({{"restless", AnswersOnly<ops::OutputsEqualKept>({.equal = false}), "incorrect", "do not agree bit for bit"},
         {"steady", {.op = ops::OutputsEqualKept::kOp}, "correct", ""}},
        {"--repeat-bitwise", "true"});
}

TEST_F(CallTest, WhatTheProblemTellsIsNoted) {
  ops::Problem needs_rng;
  needs_rng.needs_rng = true;
  const ops::Json nobody = {{"class", nullptr}, {"custom", 0}, {"library", 0}, {"samples", 0}};
  Play({Answers<ops::LoadProblem>(needs_rng, {.evaluation = 1}),
        Answers<ops::Anchor>({.notes = {"wide_budget: of the reference"}}, {.evaluation = 2}),
        Answers<ops::Compare>({.own_anchor = true}, {.evaluation = 2}),
        Answers<ops::Observe>({.refused = "ptrace is refused", .authorship = nobody}, {.evaluation = 3}),
        Answers<ops::Observe>({.end = "died"}, {.evaluation = 4})});
  const Ended ended =
      Run(Eval({Right("draws.cpp"), Right("noted.cpp"), Right("refused.cpp"), Right("unprofiled.cpp")}));
  EXPECT_EQ(ended.Of("draws.cpp").at("verdict"), "not_run");
  const auto notes = [&](const char* name) {
    EXPECT_EQ(ended.Of(name).at("verdict"), "correct");
    return e2e::NotesOf(ended.Of(name));
  };
  EXPECT_THAT(notes("noted.cpp"), testing::IsSupersetOf({testing::Matcher<std::string>("wide_budget: of the reference"),
                                                         testing::Matcher<std::string>(StartsWith("own_anchor: "))}));
  EXPECT_THAT(notes("refused.cpp"), Contains("authorship: unknown: ptrace is refused"));
  EXPECT_THAT(notes("unprofiled.cpp"), Contains("authorship: unknown: a profiled call did not end well"));
}

TEST_F(CallTest, WhereOnlyCustomWorkCountsNoLibraryIsLinked) {
  const std::string calls = Write("calls.cpp", "#include <cublas_v2.h>\n" + std::string(kReluNative));
  const auto said = [&](const Arguments& flags) {
    const json evaluation = Run(Eval({calls}, flags)).Of("calls.cpp");
    EXPECT_EQ(evaluation["verdict"], "build_failed");
    return evaluation["evidence"]["compiler_output"].get<std::string>();
  };
  EXPECT_THAT(said({"--accept-authorship=custom"}), HasSubstr("cublas is not linked"));
  EXPECT_THAT(said({}), HasSubstr("cublas_v2.h: No such file"));
}

TEST_F(CallTest, NobodyAsksForAuthorshipWhereItIsSwitchedOff) {
  Play({});
  const json evaluation = Run(Eval({Right()}, {"--profile-ms=0"})).Of("right.cpp");
  EXPECT_EQ(evaluation["verdict"], "correct");
  EXPECT_TRUE(evaluation["authorship"].is_null());
  EXPECT_THAT(Asked(), testing::Not(Contains(ops::Observe::kOp)));
  const Ended blind = Run(Eval({Right()}, {"--profile-ms=0", "--accept-authorship=custom"}));
  EXPECT_EQ(blind.code, 2) << blind;
  EXPECT_THAT(blind.err, HasSubstr("needs a profile_ms"));
}

TEST_F(CallTest, AFixedToleranceSaysWhatElseItTakes) {
  Play({Answers<ops::Impostors>({.passing = {"a copy of an input", "zeros"}})});
  const Ended ended = Run(Eval({Right()}, {"--comparison", "allclose"}));
  EXPECT_THAT(ended.Of("right.cpp").at("notes").dump(),
              HasSubstr("weak_comparison: on this protocol's inputs and with its tolerance a copy of an input, zeros "
                        "would be correct, too"));
}

}  // namespace
}  // namespace kb::pipeline
