// What commands show in a terminal, and where there is none.

#include <signal.h>
#include <sys/ioctl.h>

#include <algorithm>

#include "harness.h"
#include "report/text.h"

namespace kb::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// What a line shows in the end; colours take no place.
std::string WithoutColours(std::string line) {
  for (size_t at; (at = line.find("\x1b[")) != std::string::npos;) {
    line.erase(at, line.find_first_of("mK", at) + 1 - at);
  }
  return line;
}

// All that was ever shown on a line, the states of a line in place included.
std::vector<std::string> Shown(const std::string& out) {
  std::vector<std::string> lines(1);
  for (const char c : out) {
    if (c == '\n' || c == '\r') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  for (std::string& line : lines) line = WithoutColours(std::move(line));
  std::erase(lines, "");
  return lines;
}

void ExpectWithin(size_t columns, const Ended& ended) {
  EXPECT_FALSE(Shown(ended.out).empty()) << ended;
  for (const std::string& line : Shown(ended.out)) {
    EXPECT_LE(DisplayWidth(line), columns) << line;
  }
}

bool HasControls(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\n'; });
}

class TerminalTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    relu_ = Write("relu.py", kReluProblem);
    const std::pair<const char*, std::string> files[] = {
        {"right.cpp", kReluNative},
        {"wrong.cpp", Changed(kReluNative, "? 0.0f", "? 1.0f")},
        {"broken.cpp", "int kb_forward(;\n"},
        {"crashes.cpp", Changed(kReluNative, "return 0;", "__builtin_trap();")}};
    std::string manifest;
    int sample = 0;
    for (const auto& [name, text] : files) {
      candidates_.push_back(Write(std::string("run/") + name, text));
      manifest += json{{"problem", relu_}, {"path", name}, {"sample", sample++}}.dump() + "\n";
    }
    Write("run/manifest.jsonl", manifest);
  }
  static std::string Changed(std::string text, const std::string& part, const std::string& by) {
    return text.replace(text.find(part), part.size(), by);
  }
  Arguments Judge(const Arguments& first, const Arguments& more = {}) const {
    Arguments arguments = first;
    arguments.insert(arguments.end(), more.begin(), more.end());
    for (const char* each : {"--protocol", "quick", "--measure", "false", "--no-service"}) arguments.push_back(each);
    return arguments;
  }
  Arguments RunAll(const std::string& name) const { return Judge({"run", (root() / "run").string(), "--name", name}); }

  std::string relu_;
  std::vector<std::string> candidates_;
};

TEST_F(TerminalTest, NothingIsWiderThanTheWindow) {
  const Ended judged = RunInTerminal(60, Judge({"eval", relu_}, candidates_));
  EXPECT_EQ(judged.code, 1) << judged;
  ExpectWithin(60, judged);
  EXPECT_THAT(judged.out, AllOf(HasSubstr("build_failed\x1b[0m     broken.cpp  candidate.cpp:1:"), HasSubstr("/4")));
  ExpectWithin(60, RunInTerminal(60, RunAll("narrow")));
  for (const std::string& candidate : candidates_)
    ExpectWithin(60, RunInTerminal(60, Judge({"eval", relu_, candidate})));
  for (const size_t columns : {60, 100, 200}) {
    for (const Arguments& arguments : {Arguments{"list"},
                                       {"score"},
                                       {"problems", "list", "level1"},
                                       {"problems", "info", "1/19"},
                                       {"baseline", "list", "--shipped"},
                                       {"models"},
                                       {"doctor"},
                                       {"protocols", "strict"},
                                       {"eval", "--help"}}) {
      ExpectWithin(columns, RunInTerminal(columns, arguments));
    }
  }
  EXPECT_THAT(RunInTerminal(60, {"problems", "list", "1/19", "--json"}).out, StartsWith("{")) << "JSON stays whole";
  EXPECT_EQ(Shown(RunInTerminal(60, {"problems", "list", "1/19", "--json"}).out).size(), 1u);
  EXPECT_EQ(Shown(RunInTerminal(20, {"completion", "bash"}).out), Shown(Run({"completion", "bash"}).out))
      << "as scripts";
}

TEST_F(TerminalTest, AnAnswerComesFirst) {
  const Ended wrong = Run(Judge({"eval", relu_, candidates_[1]}));
  EXPECT_THAT(wrong.out, StartsWith("incorrect  " + relu_ + " " + candidates_[1] + "\n"));
  const size_t worst = wrong.out.find("times the error that is allowed"), device = wrong.out.find("\n  device ");
  EXPECT_LT(worst, device) << wrong;
  EXPECT_LT(device, wrong.out.find("\n  id ")) << wrong;
  EXPECT_THAT(Run(Judge({"eval", relu_, candidates_[2]})).out,
              StartsWith("build_failed  " + relu_ + " " + candidates_[2] + "\n  candidate.cpp:1:"));
}

TEST_F(TerminalTest, WithoutATerminalThereIsALineForEachCandidate) {
  const Ended ended = Run(RunAll("plain"));
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_FALSE(HasControls(ended.out)) << ended;
  EXPECT_EQ(ended.err, "");
  std::vector<std::string> of_candidates;
  for (const std::string& line : Shown(ended.out)) {
    if (line.find(" sample ") != std::string::npos) of_candidates.push_back(line);
  }
  EXPECT_EQ(of_candidates.size(), 4u) << ended;
  EXPECT_THAT(ended.out, HasSubstr("correct          " + relu_ + " sample 0\n"));
  EXPECT_THAT(ended.out, HasSubstr(" sample 2  candidate.cpp:1:"));
}

TEST_F(TerminalTest, ColoursAndMovementCanBeHad) {
  const Ended coloured = RunInTerminal(80, RunAll("coloured"));
  EXPECT_THAT(coloured.out, AllOf(HasSubstr("\x1b[32mcorrect"), HasSubstr("\r\x1b[K")));
  const Ended plain = RunInTerminal(80, RunAll("uncoloured"), {{"NO_COLOR", "1"}});
  EXPECT_THAT(plain.out, AllOf(Not(HasSubstr("\x1b[3")), HasSubstr("\r\x1b[K")));
  EXPECT_THAT(RunInTerminal(80, RunAll("dumb"), {{"TERM", "dumb"}}).out, Not(HasSubstr("\x1b")));
}

TEST_F(TerminalTest, TheWidthIsAskedForEachLine) {
  const auto narrow = [](const Engine&, int terminal) {
    const winsize size{.ws_row = 40, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
    ASSERT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
  };
  const Ended ended = RunInTerminal(100, RunAll("resized"), {}, "/4", narrow);
  const std::vector<std::string> lines = Shown(ended.out);
  ASSERT_FALSE(lines.empty());
  EXPECT_LE(DisplayWidth(lines.back()), 20u) << ended;
}

TEST_F(TerminalTest, AfterAnInterruptItSaysWhatIsStored) {
  const auto interrupt = [](const Engine& engine, int) { engine.Signal(SIGINT); };
  const Ended ran = RunInTerminal(200, RunAll("again"));
  EXPECT_EQ(ran.code, 0) << ran;
  const int stored = StoredEvaluations();
  const Ended ended = RunInTerminal(200, {"rejudge", "again"}, {}, "/4", interrupt);
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_THAT(ended.out, HasSubstr("rejudge stores nothing"));
  EXPECT_EQ(StoredEvaluations(), stored);
  const Ended run = RunInTerminal(200, RunAll("interrupted"), {}, "/4", interrupt);
  EXPECT_EQ(run.code, 130) << run;
  EXPECT_THAT(run.out, HasSubstr("of 4 candidates have a verdict, which is stored; the same command judges the rest"));
  EXPECT_EQ(RunInTerminal(200, RunAll("interrupted")).code, 0);
}

}  // namespace
}  // namespace kb::e2e
