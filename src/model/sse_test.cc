#include "model/sse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

using Events = std::vector<std::pair<std::string, std::string>>;

Events ParsedInPieces(const std::string& stream, size_t piece, size_t limit = 1 << 20) {
  SseParser parser(limit);
  Events events;
  for (size_t at = 0; at < stream.size(); at += piece) {
    EXPECT_TRUE(parser.Feed(std::string_view(stream).substr(at, piece),
                            [&](const SseEvent& event) { events.emplace_back(event.type, event.data); }));
  }
  return events;
}

TEST(SseTest, EveryLineEndAndEverySplitGivesTheSameEvents) {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    std::string stream = "\xEF\xBB\xBF";
    for (const char* line : {": ping", "event: delta", "data: {\"a\":", "data: \"\xE2\x82\xAC\"}", "", "id: 7",
                             "data:  x", "", "data", "", "event: named only", "", "data: cut off"}) {
      stream += line + end;
    }
    for (size_t piece = 1; piece <= stream.size(); ++piece) {
      EXPECT_THAT(ParsedInPieces(stream, piece),
                  ElementsAre(Pair("delta", "{\"a\":\n\"\xE2\x82\xAC\"}"), Pair("", " x"), Pair("", "")))
          << "pieces of " << piece;
    }
  }
}

TEST(SseTest, AnEventIsReportedOnlyWhenItIsComplete) {
  EXPECT_THAT(ParsedInPieces("data: [DONE]", 100), IsEmpty());
  EXPECT_THAT(ParsedInPieces("data: [DONE]\n", 100), IsEmpty());
  EXPECT_THAT(ParsedInPieces("data: [DONE]\n\n", 100), ElementsAre(Pair("", "[DONE]")));
}

TEST(SseTest, AnEventOverTheLimitEndsIt) {
  SseParser parser(10);
  const auto ignore = [](const SseEvent&) {};
  EXPECT_TRUE(parser.Feed("data: 1234\n", ignore));
  EXPECT_TRUE(parser.Feed("\ndata: 1234", ignore));
  EXPECT_FALSE(parser.Feed("5", ignore));
}

}  // namespace
}  // namespace kb
