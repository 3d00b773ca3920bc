// BadCandidate native candidates, and what of them is judged again. Each gets a verdict of its own, and none keeps the
// engine from judging the next.

#include <algorithm>

#include "bad_candidates.h"
#include "fixture.h"

namespace kb::pipeline {
namespace {

using e2e::BadCandidate;
using e2e::Native;
using ::testing::HasSubstr;

using Verdicts = std::vector<std::string>;
const Verdicts kTooMuch = {"out_of_memory", "crashed"};

class CandidateTest : public PipelineTest {
 protected:
  std::vector<BadCandidate> WrongNatives() const;

  Ended Judge(const std::vector<BadCandidate>& cases, const Arguments& flags) {
    std::vector<std::string> candidates;
    for (const BadCandidate& each : cases) candidates.push_back(each.candidate);
    Ended ended = Run(Eval(candidates, flags));
    EXPECT_EQ(ended.code, 1) << ended;
    ExpectVerdicts(ended, cases);
    EXPECT_EQ(StoredEvaluations(), static_cast<int>(cases.size()));
    ExpectNoProcessLeft();
    ExpectNoFilesLeft();
    return ended;
  }
};

std::vector<BadCandidate> CandidateTest::WrongNatives() const {
  const Verdicts load = {"load_failed"}, crash = {"crashed"}, time = {"timed_out"};
  const std::string aborts = "struct Early { Early() { std::abort(); } } early;";
  const std::string exits = "struct Early { Early() { _exit(0); } } early;";
  const std::string loops =
      "struct Early { Early() { for (volatile int i = 0;; i = i + 1) {} } } "
      "early;";
  const std::string hoards = "for (;;) std::memset(new char[1 << 20], 1, 1 << 20);";
  return {
      {Write("mentions.cpp", "// kb_forward is not here\nint other() { return 0; }\n"), load, "kb_forward"},
      {Write("undefined.cpp", Native("int elsewhere();", "  if (elsewhere()) return 1;")), load, "elsewhere"},
      {Write("throws.cpp", Native("", "  throw std::runtime_error(\"not today\");")), crash, "not today"},
      {Write("throws_int.cpp", Native("", "  throw 42;")), crash, "no std::exception"},
      {Write("returns.cpp", Native("", "  return 7;")), crash, "returned 7"},
      {Write("segfault.cpp", Native("", "  *static_cast<volatile int*>(nullptr) = 1;")), crash, "SIGSEGV"},
      {Write("stack.cpp", Native("int Deep(int n) { volatile char room[4096] "
                                 "= {}; return Deep(n + 1) + room[0]; }",
                                 "  if (Deep(0)) return 1;")),
       crash, "SIGSEGV"},
      {Write("exits.cpp", Native("", "  _exit(0);")), crash, "code 0"},
      {Write("early_abort.cpp", Native(aborts, "")), crash, "SIGABRT"},
      {Write("early_exit.cpp", Native(exits, "")), crash, "code 0"},
      {Write("early_loop.cpp", Native(loops, "")), time, "6 s (twice call_timeout_s)"},
      {Write("loops.cpp", Native("", "  for (volatile int i = 0;; i = i + 1) {}")), time, "3 s"},
      {Write("prepare.cpp", Native("KB_EXPORT int kb_prepare(const kb_call*) { return 9; }", "")), load, "returned 9"},
      {Write("workspace.cpp", Native("KB_EXPORT uint64_t kb_workspace_size(const kb_call*) { "
                                     "return 1ull << 62; }",
                                     "")),
       {"out_of_memory", "load_failed"},
       ""},
      {Write("hoards.cpp", Native("", "  " + hoards)), kTooMuch, ""},
      {Write("writes_nothing.cpp", Native("", "  return 0;")), {"incorrect"}, "never written"},
      {Write("nan.cpp", Native("",
                               "  float zero = 0; "
                               "std::fill_n(static_cast<float*>(call->outputs["
                               "0].data), 4096, zero / zero);\n  return 0;")
                            .insert(0, "#include <algorithm>\n")),
       {"non_finite"},
       "NaN"},
      {Write("in_place.cpp", Native("", "  static_cast<float*>(call->inputs[0].data)[5] = -1;")),
       {"wrong_form"},
       "input 0"},
      {Write("right.cpp", kReluNative), {"correct"}, ""}};
}

TEST_F(CandidateTest, WhatIsWrongGetsItsVerdict) {
  const Ended ended = Judge(WrongNatives(), {"--call-timeout-s", "3", "--memory-gb", "1"});
  EXPECT_EQ(ended.Of("writes_nothing.cpp")["mismatch"].value("unwritten", -1), 4096);
  EXPECT_EQ(ended.Of("exits.cpp")["evidence"].value("exit_code", -1), 0);
}

// What is judged once more may hold the device no longer than others: the first attempt has loaded for three
// seconds.
TEST_F(CandidateTest, ASecondAttemptHasTheTimeThatTheFirstLeft) {
  const std::string killed = Write("killed.cpp", Native("#include <signal.h>", "  kill(getpid(), SIGKILL);"));
  for (const auto& [limit, said] :
       {std::pair("5", "the 5 s that loading and all calls may take together (evaluation_timeout_s)"),
        std::pair("60", "30 s (twice call_timeout_s)")}) {
    Play({Answers<ops::Call>({.us = 3e6}, {.request = OfKind(CallKind::kLoad), .evaluation = 1}),
          Answers<ops::Call>({.end = "timed_out"}, {.request = OfKind(CallKind::kLoad), .evaluation = 2})});
    const Ended ended = Run(Eval({killed}, {"--call-timeout-s", "15", "--evaluation-timeout-s", limit}));
    EXPECT_EQ(ended.Of("killed.cpp")["verdict"], "timed_out");
    EXPECT_EQ(ended.Of("killed.cpp")["reason"], std::string("loading did not end within ") + said);
  }
  Play({});
  const json twice = Run(Eval({killed})).Of("killed.cpp");
  EXPECT_EQ(twice["verdict"], "crashed") << "who is killed twice is not judged a third time";
  const auto asked = Asked();
  EXPECT_EQ(std::count(asked.begin(), asked.end(), ops::LoadProblem::kOp), 2);
}

// A module that may draw its weights in another order than the reference does; a native has none, but is called
// alike.
TEST_F(CandidateTest, OtherWeightsAreReplacedIfTheFirstAnswerIsWrong) {
  const ops::Said other = {.state_differs = true, .text = "fc.weight differs"};
  const Rule differs = Answers<ops::Call>({.report = other}, {.request = OfKind(CallKind::kPrepare), .evaluation = 1});
  Play({differs});
  const json wrong = Run(Eval({Write("wrong.cpp", Native("", "  return 0;"))})).Of("wrong.cpp");
  EXPECT_EQ(wrong["verdict"], "incorrect");
  EXPECT_THAT(wrong["notes"].dump(), HasSubstr("state_copied: with the weights that it was constructed with"));
  Play({differs});
  const json right = Run(Eval({Right()})).Of("right.cpp");
  EXPECT_EQ(right["verdict"], "correct");
  EXPECT_THAT(right["notes"].dump(), testing::Not(HasSubstr("state_copied")));
}

TEST_F(CandidateTest, CompilersAreBoundedToo) {
  const Verdicts failed = {"build_failed"};
  const std::string includes_itself_for_ever = R"(
#if __INCLUDE_LEVEL__ < 100
#include __FILE__
#include __FILE__
#endif
#if __INCLUDE_LEVEL__ == 0
)" + std::string(kReluNative) + "#endif\n";
  const Ended ended = Judge(
      {{Write("itself.cpp", includes_itself_for_ever), failed, "5 s"},
       {Write("zero.cpp", "#include \"/dev/zero\"\n" + std::string(kReluNative)), failed, ""},
       {Write("stdin.cpp", "#include \"/dev/stdin\"\n" + std::string(kReluNative)), {"correct", "build_failed"}, ""},
       {Write("store.cpp", "#include \"" + store().string() + "\"\n" + kReluNative), failed, "No such file"},
       {Write("huge.cpp", "__attribute__((used)) static char large[1u << 30] = {1};\n" + std::string(kReluNative)),
        failed, ""},
       {Write("assembler.cpp", "asm(\".incbin \\\"/proc/1/environ\\\"\");\n" + std::string(kReluNative)),
        {"correct", "build_failed"},
        ""},
       {Write("nul.cpp", "#error \xff\xfe not UTF-8\n" + std::string(kReluNative)), failed, "#error"}},
      {"--build-timeout-s", "5", "--build-memory-gb", "1"});
  EXPECT_THAT(ended.err, ::testing::IsEmpty());
}

TEST_F(CandidateTest, ABuildOutOfMemoryNamesTheLimitAndIsNotKept) {
  const std::string source = R"(
#define TEN(...) __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ \
                 __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__ __VA_ARGS__
__attribute__((used)) static const int large[] = {TEN(TEN(TEN(TEN(TEN(TEN(1, ))))))};
)" + std::string(kReluNative);
  const Arguments arguments = {
      "eval",  Write("relu.py", kReluProblem), Write("large.cpp", source), "--protocol", "quick", "--measure", "false",
      "--json"};
  const Ended little = Run(arguments, {{"KERNELBENCH_BUILD_MEMORY_GB", "0.15"}});
  EXPECT_EQ(little.code, 1) << little;
  const json evaluation = little.Of("large.cpp");
  EXPECT_EQ(evaluation["verdict"], "build_failed");
  EXPECT_EQ(evaluation["reason"],
            "the build ran out of the 0.15 GB of memory that it may have; --build-memory-gb allows more");
  const Ended enough = Run(arguments);
  EXPECT_EQ(enough.code, 0) << enough;
  const Ended wrong = Run(arguments, {{"KERNELBENCH_BUILD_MEMORY_GB", "0"}});
  EXPECT_EQ(wrong.code, 2) << wrong;
  EXPECT_THAT(wrong.err, HasSubstr("--build-memory-gb"));
}

}  // namespace
}  // namespace kb::pipeline
