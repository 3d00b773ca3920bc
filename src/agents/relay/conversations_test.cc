#include "agents/relay/conversations.h"

#include <gmock/gmock.h>

namespace kb {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Optional;
using ::testing::StartsWith;

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

TEST(ConversationsTest, TheOneAskedLongestAgoIsForgotten) {
  Conversations conversations(2);
  const auto add = [&](const std::vector<std::string>& texts) { return conversations.Add(ChatDialect(), Chat(texts)); };
  add({"task"});
  add({"title"});
  EXPECT_EQ(add({"task", "a"}).conversation, 1);
  EXPECT_EQ(add({"summary"}).conversation, 3);
  EXPECT_EQ(add({"task", "a", "b"}).messages, R"([{"role":"user","content":"b"}])");
  const Addition forgotten = add({"title", "c"});
  EXPECT_EQ(forgotten.conversation, 4) << "a number never means another one";
  EXPECT_FALSE(forgotten.continues);
  EXPECT_EQ(WireJson::parse(forgotten.messages).size(), 2U);
  EXPECT_EQ(add({"task", "a", "b", "c"}).conversation, 1);
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

TEST(ConversationsTest, AnAdditionIsBounded) {
  Conversations conversations;
  const std::string text = "head" + std::string(4 << 20, 'x') + "tail";
  WireJson request = Chat({"short", text, text});
  request["tools"] = WireJson::array({{{"name", "f"}, {"description", text}}});
  Addition added = conversations.Add(ChatDialect(), request);
  EXPECT_LE(added.messages.size() + added.tools->size(), size_t{1} << 20);
  const WireJson messages = WireJson::parse(added.messages);
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0]["content"], "short");
  EXPECT_EQ(messages[1]["role"], "user");
  EXPECT_THAT(messages[1]["content"].get<std::string>(),
              AllOf(StartsWith("headxx"), HasSubstr("bytes left out"), EndsWith("xxtail")));
  EXPECT_GE(added.messages.size(), 100'000U) << "no more is cut than needed";
  EXPECT_EQ(WireJson::parse(*added.tools)[0]["name"], "f");

  request["messages"].push_back({{"role", "user"}, {"content", "more"}});
  added = conversations.Add(ChatDialect(), request);
  EXPECT_TRUE(added.continues) << "what is compared is not shortened";
  EXPECT_EQ(added.messages, R"([{"role":"user","content":"more"}])");

  added = conversations.Add(ChatDialect(), Chat(std::vector<std::string>(50'000, "many")));
  EXPECT_THAT(added.messages, AllOf(StartsWith("[\""), HasSubstr("bytes left out")));
  EXPECT_EQ(WireJson::parse(added.messages).size(), 1U);
}

TEST(ConversationsTest, AnInputMayBeOneText) {
  Conversations conversations;
  EXPECT_EQ(conversations.Add(ResponsesDialect(), {{"input", "hello"}}).messages, R"(["hello"])");
  EXPECT_TRUE(conversations.Add(ResponsesDialect(), {{"input", WireJson::array({"hello", "more"})}}).continues);
}

}  // namespace
}  // namespace kb
