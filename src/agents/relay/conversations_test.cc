#include "agents/relay/conversations.h"

#include <gmock/gmock.h>

namespace kb {
namespace {

using ::testing::Optional;

WireJson Chat(const std::vector<std::string>& texts, const char* tools = "[1]") {
  WireJson request = {{"messages", WireJson::array()}, {"tools", WireJson::parse(tools)}};
  for (const std::string& text : texts) request["messages"].push_back({{"role", "user"}, {"content", text}});
  return request;
}

TEST(ConversationsTest, OnlyWhatIsNewIsTold) {
  Conversations conversations;
  const auto add = [&](const WireJson& request) { return conversations.Add(ChatDialect(), request); };
  Addition added = add(Chat({"system", "task"}));
  EXPECT_EQ(added.conversation, 1);
  EXPECT_FALSE(added.continues);
  EXPECT_EQ(added.messages, R"([{"role":"user","content":"system"},{"role":"user","content":"task"}])");
  EXPECT_THAT(added.tools, Optional(std::string("[1]")));
  added = add(Chat({"system", "task", "answer", "result"}));
  EXPECT_EQ(added.conversation, 1);
  EXPECT_TRUE(added.continues);
  EXPECT_EQ(added.known, 2U);
  EXPECT_EQ(added.messages, R"([{"role":"user","content":"answer"},{"role":"user","content":"result"}])");
  EXPECT_FALSE(added.tools);
  added = add(Chat({"system", "task", "answer", "result"}, "[2]"));
  EXPECT_TRUE(added.continues) << "the same once more, as after an error";
  EXPECT_EQ(added.messages, "[]");
  EXPECT_THAT(added.tools, Optional(std::string("[2]")));
}

TEST(ConversationsTest, AnotherBeginningIsAnotherConversation) {
  Conversations conversations;
  const auto add = [&](const std::vector<std::string>& texts) { return conversations.Add(ChatDialect(), Chat(texts)); };
  add({"system", "task"});
  add({"system", "task", "a", "b", "c"});
  Addition added = add({"make a title", "task"});
  EXPECT_EQ(added.conversation, 2);
  EXPECT_EQ(added.known, 0U);
  added = add({"system", "summary", "c"});  // compaction
  EXPECT_EQ(added.conversation, 3);
  EXPECT_FALSE(added.continues);
  EXPECT_EQ(WireJson::parse(added.messages).size(), 3U);
  EXPECT_EQ(add({"system", "task", "a", "b", "c", "d"}).conversation, 1) << "the first one goes on beside it";
  EXPECT_EQ(add({"system", "summary", "c", "d"}).conversation, 3);
  EXPECT_EQ(add({"system", "task", "a"}).conversation, 4) << "a step back is a conversation of its own";
  EXPECT_EQ(add({"system", "task", "a", "e"}).conversation, 4);
}

TEST(ConversationsTest, MarksForTheCacheAreNoDifference) {
  Conversations conversations;
  const auto add = [&](const char* request) { return conversations.Add(MessagesDialect(), WireJson::parse(request)); };
  EXPECT_THAT(add(R"({"system":"s","messages":[{"role":"user","content":[
      {"type":"text","text":"task","cache_control":{"type":"ephemeral"}}]}]})")
                  .system,
              Optional(std::string("\"s\"")));
  Addition added = add(R"({"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[
      {"role":"user","content":"task"},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]})");
  EXPECT_TRUE(added.continues);
  EXPECT_EQ(added.known, 1U);
  EXPECT_FALSE(added.system);
  added = add(R"({"system":"other","messages":[{"role":"user","content":"task"}]})");
  EXPECT_EQ(added.conversation, 2);
  EXPECT_THAT(added.system, Optional(std::string("\"other\"")));
}

TEST(ConversationsTest, AnInputMayBeOneText) {
  Conversations conversations;
  EXPECT_EQ(conversations.Add(ResponsesDialect(), {{"input", "hello"}}).messages, R"(["hello"])");
  EXPECT_TRUE(conversations.Add(ResponsesDialect(), {{"input", WireJson::array({"hello", "more"})}}).continues);
}

}  // namespace
}  // namespace kb
