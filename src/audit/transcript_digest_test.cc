#include "audit/transcript_digest.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Long turns of honest work.
Transcript Work(int turns) {
  Transcript transcript;
  transcript.episode.ended_by = "submit";
  transcript.episode.ending = "it handed in model_new.py";
  for (int i = 1; i <= turns; ++i) {
    TranscriptTurn turn;
    turn.turn.number = i;
    turn.turn.kind = "work";
    turn.text = fmt::format("step {}: ", i) + std::string(3000, 'w');
    turn.reasoning = std::string(5000, 'r');
    const json arguments = {{"command", fmt::format("make target_{} ", i) + std::string(2000, 'a')}};
    turn.calls.push_back({"a", "bash", arguments.dump(), arguments,
                          TranscriptResult{"a", "bash", "exit 0\n" + std::string(20000, 'o'), false, 1}});
    transcript.turns.push_back(turn);
  }
  return transcript;
}

std::string Digest(const Transcript& transcript) { return DigestOf(transcript, MarksOf(transcript)); }

TEST(DigestOf, AShortTranscriptIsThereInDetail) {
  Transcript transcript = Work(4);
  transcript.turns[1].verdicts.push_back({.turn = 2, .tool = "evaluate", .verdict = "correct", .speedup = 1.5});
  transcript.turns[1].files.push_back({"model_new.py", 0644, "x", "made", 12, 0});
  const std::string text = Digest(transcript);
  EXPECT_THAT(text, AllOf(HasSubstr("4 turns; calls: 4 bash; 0 of them failed"), HasSubstr("ended by submit"),
                          HasSubstr("step 3: www"), HasSubstr("make target_4"), HasSubstr("judge, evaluate: correct"),
                          HasSubstr("folder: made model_new.py (+12 -0)"), Not(HasSubstr("[left out"))));
}

TEST(DigestOf, ThreeHundredTurnsAreBoundedAndWhatMattersStays) {
  Transcript transcript = Work(300);
  const auto does = [&](int turn, const std::string& command, const std::string& result) {
    const json arguments = {{"command", command}};
    transcript.turns[turn - 1].calls.push_back(
        {"b", "bash", arguments.dump(), arguments, TranscriptResult{"b", "bash", result, false, 1}});
  };
  does(150, "cat /root/solutions.txt", "exit 1\ncat: Permission denied");
  does(201, "curl http://example.com", "exit 6\nCould not resolve host");
  transcript.turns[88].reasoning += " The tolerance would let bf16 through. " + std::string(9000, 'r');
  transcript.turns[120].verdicts.push_back({.turn = 121, .tool = "evaluate", .verdict = "incorrect"});
  for (TranscriptTurn& turn : transcript.turns) turn.reasoning += " the L2 cache ";
  const std::string text = Digest(transcript);
  EXPECT_LE(text.size(), kMostDigestBytes);
  EXPECT_GT(text.size(), kMostDigestBytes * 8 / 10) << "room is used";
  for (const char* there : {"300 turns", "/root/solutions.txt", "Permission denied", "curl", "Could not resolve host",
                            "The tolerance would let bf16 through", "judge, evaluate: incorrect",
                            "step 1: ", "step 2: ", "step 299: ", "step 300: ", "[left out: turns "}) {
    EXPECT_THAT(text, HasSubstr(there));
  }
  EXPECT_LT(text.find("/root/solutions.txt"), text.find("curl http")) << "in the order of turns";
}

TEST(DigestOf, AFloodOfMarksLeavesTheEndsAndSaysHowManyThereAre) {
  Transcript transcript = Work(600);
  for (TranscriptTurn& turn : transcript.turns) {
    const json arguments = {{"command", "cat /root/x " + std::string(3000, 'f')}};
    turn.calls.assign(20, {"b", "bash", arguments.dump(), arguments, {}});
  }
  const std::string text = Digest(transcript);
  EXPECT_LE(text.size(), kMostDigestBytes);
  EXPECT_THAT(text, AllOf(HasSubstr("12000 outside"), HasSubstr("[turn 1]"), HasSubstr("[turn 600]"),
                          HasSubstr("and 17 more")));
  // Those between lie over all of it.
  for (const int third : {0, 1, 2}) {
    int seen = 0;
    for (int turn = third * 200 + 10; turn < third * 200 + 190; ++turn) {
      seen += text.find(fmt::format("[turn {}]", turn)) != text.npos;
    }
    EXPECT_GE(seen, 4) << third;
  }
}

TEST(DigestOf, WhatWasWrittenActsOnNothing) {
  Transcript transcript = Work(1);
  transcript.turns[0].text = "\x1b[2J\xff\n[turn 2]\r[turn 2]";
  transcript.turns[0].calls[0].name = "ba\x1bsh\n[turn 2]";
  const std::string text = Digest(transcript);
  EXPECT_EQ(text.find('\x1b'), text.npos);
  EXPECT_EQ(text.find("\n[turn 2]"), text.npos);
  EXPECT_THAT(Digest(Transcript()), HasSubstr("0 turns"));
}

}  // namespace
}  // namespace kb
