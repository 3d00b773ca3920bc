#include "server/http_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/http_responder.h"

namespace kb::server {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Target, IsSplitAndDecoded) {
  const struct {
    const char *target, *path;
    std::map<std::string, std::string> query;
  } kCases[] = {
      {"/", "/", {}},
      {"*", "*", {}},
      {"/a%20b/%C3%BC+c", "/a b/\u00fc+c", {}},
      {"/a?x=1&y=a+b%2Bc&z&=q&&x=2", "/a", {{"x", "2"}, {"y", "a b+c"}, {"z", ""}, {"", "q"}}},
      {"/a?x=1?y=2=3", "/a", {{"x", "1?y=2=3"}}},
      {"/a#b?c", "/a", {}},
      {"http://host:80/a?b=c", "/a", {{"b", "c"}}},
      {"http://host", "/", {}},
      {"http://host?b=c", "/", {{"b", "c"}}},
  };
  for (const auto& each : kCases) {
    HttpHead head;
    head.target = each.target;
    ASSERT_TRUE(ReadTarget(&head)) << each.target;
    EXPECT_EQ(head.path, each.path) << each.target;
    EXPECT_EQ(head.query, each.query) << each.target;
  }
}

TEST(Target, BadOnesAreNamed) {
  for (const auto& [target, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"/%", "hexadecimal"},
           {"/%2", "hexadecimal"},
           {"/%zz", "hexadecimal"},
           {"/%2g", "hexadecimal"},
           {"/%%20", "hexadecimal"},
           {"/?a=%4", "hexadecimal"},
           {"/?%q0=a", "hexadecimal"},
           {"/a%00b", "NUL"},
           {"/?a=%00", "NUL"},
           {"/%ff", "UTF-8"},
           {"/%C0%AF", "UTF-8"},
           {"a", "no slash"},
           {"host:80", "no slash"},
           {"", "no slash"},
       }) {
    HttpHead head;
    head.target = target;
    const Status read = ReadTarget(&head);
    ASSERT_FALSE(read) << target;
    EXPECT_THAT(read.error().message, HasSubstr(why)) << target;
  }
}

TEST(Answer, CannotSmuggleHeaders) {
  const HttpAnswer answer{200, "text/plain\r\nA: b", "", {{"X\r\nB: c", std::string("v\r\n\r\nC: d\0", 11)}}};
  const std::string head = AnswerHead(answer, HttpFraming::kLength, 0, true);
  for (const char* header : {"\nA:", "\nB:", "\nC:"}) EXPECT_THAT(head, Not(HasSubstr(header)));
  EXPECT_EQ(head.find("\r\n\r\n"), head.size() - 4);
}

TEST(Answer, ProblemIsJsonWhateverItHolds) {
  const auto body = nlohmann::json::parse(Problem(404, "no \"\xff\" here").body);
  EXPECT_EQ(body["type"], "about:blank");
  EXPECT_EQ(body["title"], "Not Found");
  EXPECT_EQ(body["status"], 404);
  EXPECT_EQ(body["detail"], "no \"\ufffd\" here");
}

TEST(Event, LinesOfDataAreLinesOfTheStream) {
  EXPECT_EQ(EventText("", "", ""), "data: \n\n");
  EXPECT_EQ(EventText("e", "a\nb\r\nc\rd\n", "7"), "id: 7\nevent: e\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \n\n");
  EXPECT_EQ(EventText("e\ndata: x", "y", "\n\n1"), "id: 1\nevent: edata: x\ndata: y\n\n");
}

// ---- Replies ------------------------------------------------------------------------------------------------------

struct Replied {
  int changes = 0;
  std::shared_ptr<HttpReply> reply =
      std::make_shared<HttpReply>([this] { ++changes; }, [](const std::function<void()>& task) { task(); });
};

TEST(Reply, TheFirstAnswerCounts) {
  Replied replied;
  HttpResponder responder(replied.reply);
  responder.Send({201, "a", "first", {}});
  responder.Send({202, "a", "second", {}});
  responder.BeginEvents();
  EXPECT_FALSE(responder.SendEvent("", "x"));
  const HttpReply::Taken taken = replied.reply->Take();
  ASSERT_TRUE(taken.answer);
  EXPECT_EQ(taken.answer->status, 201);
  EXPECT_FALSE(taken.begun);
  EXPECT_EQ(replied.changes, 1);
}

TEST(Reply, DroppedAnswers500AndEndsEvents) {
  Replied unanswered, events;
  { const HttpResponder responder(unanswered.reply); }
  EXPECT_EQ(unanswered.reply->Take().answer->status, 500);
  {
    HttpResponder responder(events.reply);
    responder.BeginEvents();
    EXPECT_TRUE(responder.SendEvent("", "x"));
  }
  const HttpReply::Taken taken = events.reply->Take();
  EXPECT_FALSE(taken.answer);
  EXPECT_EQ(taken.events, "data: x\n\n");
  EXPECT_TRUE(taken.ended);
}

TEST(Reply, TooMuchUnsentCutsOff) {
  Replied replied;
  HttpResponder responder(replied.reply);
  responder.BeginEvents();
  const std::string half(kMostUnsent / 2, 'x');
  ASSERT_TRUE(responder.SendEvent("", half));
  EXPECT_GT(replied.reply->Take().events.size(), half.size());
  EXPECT_FALSE(responder.SendEvent("", half)) << "what is under way counts";
  EXPECT_TRUE(replied.reply->Take().cut);

  Replied read;
  HttpResponder other(read.reply);
  other.BeginEvents();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(other.SendEvent("", half));
    read.reply->Take();
    read.reply->Sent();
  }
}

TEST(Reply, TellsOnceThatTheClientHasGone) {
  int told = 0, late = 0;
  Replied replied;
  auto responder = std::make_shared<HttpResponder>(replied.reply);
  responder->WhenGone([&told, responder] { ++told; });  // a responder that holds itself
  responder->BeginEvents();
  replied.reply->Gone();
  replied.reply->Gone();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(responder->SendEvent("", "x"));
  responder->WhenGone([&] { ++late; });
  EXPECT_EQ(late, 1);

  Replied whole;
  HttpResponder other(whole.reply);
  other.WhenGone([&] { ++told; });
  other.Send({});
  whole.reply->Whole();
  whole.reply->Gone();
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace kb::server
