#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "generate/transcript.h"
#include "generate/transcript_test_util.h"
#include "store/store.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

using nlohmann::json;

class ReadTranscriptTest : public ::testing::Test {
 protected:
  const TempDir directory_ = TempDir::Create("kb-transcript-test").value();
  Store store_ = Store::Open(directory_.path() / "store").value();
};

// Without what the store says itself: when it was.
std::string Timeless(json line) {
  line.erase("created");
  line.erase("sample");
  line.erase("candidate");
  return line.dump(1);
}

TEST_F(ReadTranscriptTest, IsWhatWasStored) {
  const SampleEpisode sample = WholeEpisode();
  const GenerationRequest request = PutEpisode(&store_, "r", 0, sample);
  const auto read = ReadTranscript(store_, "r", request);
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(*read);
  const Transcript& transcript = **read;
  const Transcript given = sample.Read();
  EXPECT_EQ(Timeless(EpisodeJson(transcript)), Timeless(EpisodeJson(given)));
  ASSERT_EQ(transcript.turns.size(), given.turns.size());
  for (size_t i = 0; i < given.turns.size(); ++i) {
    // Files of a turn come back by path.
    json stored = TurnJson(transcript.turns[i], true), expected = TurnJson(given.turns[i], true);
    for (json* line : {&stored, &expected}) {
      std::sort((*line)["files"].begin(), (*line)["files"].end(),
                [](const json& a, const json& b) { return a.at("path") < b.at("path"); });
    }
    EXPECT_EQ(Timeless(stored), Timeless(expected));
  }
  EXPECT_EQ(Timeless(EndJson(transcript)), Timeless(EndJson(given)));
}

TEST_F(ReadTranscriptTest, HasWhatWasSubmittedAndJudgedInTheRun) {
  const GenerationRequest request = PutEpisode(&store_, "r", 0, WholeEpisode());
  const int64_t answer = store_.AddAnswer(request.id, "me", {.prompt = "{}"}).value();
  ASSERT_TRUE(store_.SettleAnswer(answer, "me", "one\n", "py", "", true));
  json evaluation = RunEvaluation("e1");
  evaluation["model"] = request.model;
  evaluation["problem"] = request.problem;
  ASSERT_TRUE(store_.Add(evaluation));
  const Transcript transcript = ReadTranscript(store_, "r", request).value().value();
  const json submitted = EndJson(transcript).at("submitted");
  EXPECT_EQ(submitted.at("source_sha256"), Sha256("one\n"));
  EXPECT_EQ(submitted.at("id"), "e1");
  EXPECT_EQ(submitted.at("speedup"), 1.5);
}

TEST_F(ReadTranscriptTest, ARequestOfAModelWithoutToolsHasNone) {
  GenerationRequest request;
  request.model = "m";
  request.problem = "1/1";
  request = store_.ClaimRequest("r", request, "me").value().value();
  EXPECT_FALSE(ReadTranscript(store_, "r", request).value());
}

}  // namespace
}  // namespace kb
