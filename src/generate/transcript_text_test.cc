#include "generate/transcript_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "generate/line_diff.h"
#include "generate/transcript_test_util.h"
#include "prompt/code_blocks.h"
#include "report/text.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Whole(const Transcript& transcript, const TranscriptTextOptions& options = {}) {
  std::string text = TranscriptHead(transcript, options);
  for (const TranscriptTurn& turn : transcript.turns) text += TurnText(turn, transcript.episode.created, options);
  return text + TranscriptEnd(transcript, options);
}

// A turn that calls one tool.
std::string CallShown(const std::string& name, const json& arguments, const TranscriptTextOptions& options = {}) {
  SampleEpisode sample;
  sample.Add({{"calls", {{{"id", "a"}, {"name", name}, {"arguments", arguments.dump()}}}}}, {});
  return Whole(sample.Read(), options);
}

TEST(TranscriptTextTest, ReadsFromEndToEnd) {
  const std::string text = Whole(WholeEpisode().Read());
  EXPECT_EQ(text,
            "1/36  openai:m  sample 2  candidate 2  run r\n"
            "begun 2026-11-30 10:00 UTC\n"
            "  tools: write_file\n"
            "  system:\n"
            "    You write kernels.\n"
            "  task:\n"
            "    Read TASK.md and make it fast.\n"
            "\n"
            "turn 1  +0:05  1,120 in (1,000 cached), 50 out  $0.2500  model 4.0 s  tools 1.5 s\n"
            "  reasoning:\n"
            "    What is there?\n"
            "  says:\n"
            "    I look first.\n"
            "  → list\n"
            "  gave after 0.5 s:\n"
            "    TASK.md\n"
            "    reference.py\n"
            "  → bash\n"
            "    $ nproc\n"
            "  error after 0.5 s:\n"
            "    exit 1\n"
            "  told:\n"
            "    9 turns left\n"
            "\n"
            "turn 2  +1:05  1,120 in (1,000 cached), 50 out  $0.2500  model 4.0 s  tools 1.5 s\n"
            "  → write_file model_new.py, 3 lines\n"
            "  gave after 0.5 s:\n"
            "    written\n"
            "  → evaluate path=model_new.py\n"
            "    judge: correct, 1.31× [1.20×, 1.40×] (2.5 s of the device)\n"
            "  gave after 0.5 s:\n"
            "    correct, 1.31x\n"
            "  folder:\n"
            "    made model_new.py +3 -0\n"
            "\n"
            "turn 3  +2:05  1,120 in (1,000 cached), 50 out  $0.2500  model 4.0 s  tools 1.5 s\n"
            "  the model shortens its history\n"
            "  1 call of the model cut off, which can have taken 900 tokens and $0.1250\n"
            "  summary:\n"
            "    I have written a kernel.\n"
            "  told:\n"
            "    You wrote: a kernel. Go on.\n"
            "\n"
            "turn 4  +3:05  1,120 in (1,000 cached), 50 out  $0.2500  model 4.0 s  tools 1.5 s\n"
            "  context: what tools gave before turn 2 is shortened\n"
            "  says:\n"
            "    Faster.\n"
            "  → edit_file model_new.py\n"
            "    - two\n"
            "    + 2\n"
            "    + 2b\n"
            "  gave after 0.5 s:\n"
            "    done\n"
            "  → submit, arguments that are no JSON object:\n"
            "    {\"solution_path\": \n"
            "  error after 0.5 s:\n"
            "    no JSON\n"
            "  folder:\n"
            "    changed model_new.py +2 -1\n"
            "    made a.o\n"
            "\n"
            "end\n"
            "  ended by turns: it had 4 turns\n"
            "  submitted: nothing\n"
            "  best on the way: 1.31× [1.20×, 1.40×] in turn 2, b6285c57e879\n"
            "  turns: 4, 1 of them to shorten its history\n"
            "  tool calls: bash 1, edit_file 1, evaluate 1, list 1, submit 1, write_file 1; 2 failed\n"
            "  tokens: 4,480 in (4,000 cached), 200 out (120 reasoning)\n"
            "  cost: $1.0000\n"
            "  and 1 call of the model cut off, which can have taken 900 tokens and $0.1250\n"
            "  time: model 0:16, tools 0:06, of that 0:03 of the device\n");
}

TEST(TranscriptTextTest, FitsIntoSixtyColumns) {
  SampleEpisode sample = WholeEpisode();
  sample.turns[0].answer =
      json{{"text", std::string(500, 'w') + " and words that go on and on until the line is full"}}.dump();
  sample.File(1, std::string(200, 'p'), "x");
  Transcript transcript = sample.Read();
  transcript.request.model = "openai:a-model-with-a-name-that-no-terminal-shows-in-one-line@http://127.0.0.1:8000/v1";
  const std::string text = Whole(transcript, {.columns = 60});
  for (const std::string_view line : SplitLines(text)) {
    EXPECT_LE(DisplayWidth(line), 60u) << line;
  }
}

TEST(TranscriptTextTest, NothingForeignActsOnTheTerminal) {
  const std::string evil =
      "\x1b]0;owned\a\x1b[2J\r\x9b"
      "31m";
  SampleEpisode sample;
  sample.episode = {.created = evil, .harness = evil, .opening = "", .ended_by = evil, .ending = evil};
  sample.episode.opening = json{
      {"system", "\x1b[1m"},
      {"messages", {{{"role", "\x1b[1m"}, {"text", "\x1b[1m"}}}},
      {"tools",
       {{{"name", "\x1b"}}}}}.dump();
  sample.Add({{"text", "\x1b[1m"},
              {"reasoning", "\x1b[1m"},
              {"finish", "\x1b[1m"},
              {"finish_word", "\x1b[1m"},
              {"calls", {{{"id", "a"}, {"name", "\x1b[1m"}, {"arguments", "{\"\\u001b[1m\": \"\\u001b[1m\"}"}}}}},
             {{"results", {{{"call_id", "b"}, {"name", "\x1b"}, {"text", "\x1b[1m"}}}}, {"text", "\x1b[1m"}});
  sample.turns[0].created = evil;
  sample.turns[0].context = R"({"\u001b[1m": "\u001b[1m"})";
  sample.verdicts.push_back(
      {.turn = 1, .tool = evil, .source_sha256 = evil, .verdict = evil, .view = R"({"reason": "\u001b[1m"})"});
  sample.verdicts.push_back({.turn = 1, .tool = evil, .source_sha256 = evil, .verdict = "correct", .speedup = 2.0});
  sample.File(1, evil, "x");
  Transcript transcript = sample.Read();
  transcript.run = transcript.request.model = transcript.request.problem = evil;
  transcript.submitted = GenerationAnswer{.source_sha256 = evil, .language = evil, .complaint = evil};
  transcript.evaluation = {{"id", "\x1b"}, {"verdict", "\x1b"}, {"reason", "\x1b"}};
  const std::string text = Whole(transcript, {.full = true});
  for (const char c : text) {
    ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << static_cast<int>(c) << " in " << text;
  }
  EXPECT_EQ(CleanText(text), text);
}

TEST(TranscriptTextTest, LeavesOutTheMiddleUnlessAllIsWanted) {
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "line " + std::to_string(i) + "\n";
  SampleEpisode sample;
  sample.Add({{"text", lines}, {"reasoning", lines}, {"calls", {{{"id", "a"}, {"name", "bash"}, {"arguments", "{}"}}}}},
             {{"results", {{{"call_id", "a"}, {"text", lines}}}}});
  for (int i = 0; i < 30; ++i) sample.File(1, "file" + std::to_string(i), "x");
  const std::string part = Whole(sample.Read()), all = Whole(sample.Read(), {.full = true});
  EXPECT_LT(CountLines(part), 130);
  EXPECT_THAT(part, AllOf(HasSubstr("… 176 lines"), HasSubstr("… 10 more"), HasSubstr("line 199")));
  EXPECT_GT(CountLines(all), 630);
  EXPECT_THAT(all, Not(HasSubstr("…")));
}

TEST(TranscriptTextTest, ShowsWhatOtherAgentsCallTheirTools) {
  EXPECT_THAT(CallShown("shell", {{"command", {"bash", "-lc", "make\nls"}}, {"timeout", 5}}),
              HasSubstr("  → shell timeout=5\n    $ bash -lc make\n    ls\n"));
  EXPECT_THAT(CallShown("replace", {{"file_path", "a.py"}, {"old_string", "x"}, {"new_string", "y"}}),
              HasSubstr("  → replace a.py\n    - x\n    + y\n"));
  EXPECT_THAT(CallShown("write", {{"filePath", "a.py"}, {"content", "one"}}), HasSubstr("  → write a.py, 1 line\n"));
  EXPECT_THAT(CallShown("write", {{"filePath", "a.py"}, {"content", "one"}}, {.full = true}),
              HasSubstr("  → write a.py, 1 line\n    one\n"));
  EXPECT_THAT(CallShown("apply_patch", {{"input", "*** Begin\n+x\n"}, {"dry", true}}),
              HasSubstr("  → apply_patch dry=true\n    input:\n    *** Begin\n    +x\n"));
}

TEST(TranscriptTextTest, WhatTheJudgeSaidInOneLine) {
  const auto shown = [](TurnVerdict verdict) {
    SampleEpisode sample;
    sample.Add({{"calls", {{{"id", "a"}, {"name", "compile"}, {"arguments", "{}"}}}}}, {});
    verdict.turn = 1;
    sample.verdicts.push_back(verdict);
    return Whole(sample.Read());
  };
  EXPECT_THAT(shown({.tool = "compile", .view = R"({"compiled": true, "verdict": null, "reason": null})"}),
              HasSubstr("    judge: compiled\n"));
  EXPECT_THAT(
      shown({.tool = "compile", .view = R"({"compiled": false, "verdict": "build_failed", "reason": "no ;\nline 7"})"}),
      HasSubstr("    judge: build_failed, no ; line 7\n"));
  EXPECT_THAT(shown({.tool = "compile"}),
              AllOf(HasSubstr("    judge: no verdict\n"), HasSubstr("best on the way: nothing correct\n")));
  EXPECT_THAT(shown({.tool = "evaluate", .source_sha256 = "abcdef", .verdict = "correct"}),
              HasSubstr("best on the way: correct, without a speedup, in turn 1, abcdef\n"));
  EXPECT_THAT(shown({.tool = "submit", .source_sha256 = "abcdef", .view = "null"}),
              HasSubstr("    handed in: abcdef\n"));
  EXPECT_THAT(shown({.call = 5, .tool = "evaluate", .verdict = "incorrect"}),
              HasSubstr("  judge, asked to evaluate: incorrect\n"));
}

TEST(TranscriptTextTest, WhatWasDoneToTheHistory) {
  SampleEpisode sample;
  sample.Add({}, {});
  sample.turns[0].context = R"({"kept": [1, 2], "dropped": [1, 2, 3, 4, 5, 6, 7, 8, 9], "how": "summary"})";
  EXPECT_THAT(Whole(sample.Read()), HasSubstr("  context: dropped 9 items, how summary, kept [1,2]\n"));
}

TEST(TranscriptTextTest, AnEpisodeThatGoesOn) {
  SampleEpisode sample = WholeEpisode();
  sample.episode.ended_by = sample.episode.ending = "";
  sample.turns[3].state = "answered";
  sample.turns[3].results = "";
  EXPECT_THAT(Whole(sample.Read()),
              AllOf(HasSubstr("no result yet"), HasSubstr("it goes on"), HasSubstr("submitted: nothing yet")));
  sample.turns[3].state = "asked";
  sample.turns[3].tool_seconds = 0;
  sample.turns[3].answer = "";
  EXPECT_THAT(Whole(sample.Read()),
              AllOf(HasSubstr("turn 4  +3:05\n"), HasSubstr("\n  no answer yet\n"), HasSubstr("cost: $0.7500")));
}

TEST(TranscriptTextTest, WhatWasSubmittedAndHowItWasJudged) {
  Transcript transcript = WholeEpisode().Read();
  transcript.submitted = GenerationAnswer{.source_sha256 = std::string(64, 'a'), .language = "py"};
  EXPECT_THAT(TranscriptEnd(transcript, {}), HasSubstr("submitted: py, aaaaaaaaaaaa, not judged yet"));
  transcript.evaluation = {
      {"id", "e1"}, {"verdict", "incorrect"}, {"reason", "2 of 4 elements differ"}, {"speedup", nullptr}};
  EXPECT_THAT(TranscriptEnd(transcript, {}), HasSubstr("judged: incorrect, 2 of 4 elements differ, evaluation e1"));
  transcript.evaluation = {{"id", "e1"}, {"verdict", "correct"}, {"speedup", 1.2}, {"speedup_interval", {1.1, 1.3}}};
  EXPECT_THAT(TranscriptEnd(transcript, {}), HasSubstr("judged: correct, 1.20× [1.10×, 1.30×], evaluation e1"));
}

}  // namespace
}  // namespace kb
