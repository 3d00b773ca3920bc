#include "agents/text_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::vector<ToolCall> CallsIn(const std::string& text) {
  Completion completion;
  completion.text = text;
  completion.calls = {{"old", "old", "{}"}};
  ReadTextCalls(&completion);
  return completion.calls;
}

// The only one.
ToolCall CallIn(const std::string& text) {
  const std::vector<ToolCall> calls = CallsIn(text);
  EXPECT_EQ(calls.size(), 1u) << text;
  return calls.empty() ? ToolCall() : calls[0];
}

TEST(TextFormTest, WhatFollowsTheObjectIsTheLongArgument) {
  const ToolCall written = CallIn(
      "I write it.\n\n```tool\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a {}.py\"}}\n"
      "x = {\"a\": '\\n'}\n\n  y = 2\n```\nDone.");
  EXPECT_EQ(written.name, "write_file");
  EXPECT_EQ(json::parse(written.arguments),
            json({{"path", "a {}.py"}, {"content", "x = {\"a\": '\\n'}\n\n  y = 2\n"}}));
  const ToolCall ran = CallIn("```tool\n{\"name\": \"bash\",\n \"arguments\": {\"timeout\": 5}}\n\nls -l \\\n  .\n```");
  EXPECT_EQ(json::parse(ran.arguments), json({{"timeout", 5}, {"command", "\nls -l \\\n  .\n"}}));
  EXPECT_EQ(json::parse(CallIn("```tool\n{\"name\": \"bash\"}\nls\n```").arguments), json({{"command", "ls\n"}}));
}

TEST(TextFormTest, ArgumentsInTheObjectStay) {
  EXPECT_EQ(json::parse(CallIn("```tool\n{\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}\n```").arguments),
            json({{"command", "ls"}}));
  EXPECT_EQ(CallIn("```tool\n{\"name\":\"submit\"}\n```").arguments, "{}");
  EXPECT_EQ(json::parse(CallIn("```tool\n{\"name\":\"write_file\",\"arguments\":{\"path\":\"x\"}}\n```").arguments),
            json({{"path", "x"}}))
      << "nothing that follows is no empty file";
  EXPECT_EQ(CallIn("```tool\n{\"name\":\"bash\",\"arguments\":[1]}\nls\n```").arguments, "[1]");
}

TEST(TextFormTest, FencesInPythonStringsStay) {
  const std::string code = "DOC = \"\"\"\n```\nan example\n```\n\"\"\"\nx = 1\n";
  const ToolCall call =
      CallIn("```tool\n{\"name\":\"write_file\",\"arguments\":{\"path\":\"m.py\"}}\n" + code + "```\n");
  EXPECT_EQ(json::parse(call.arguments).at("content"), code);
}

TEST(TextFormTest, OneBlockOrNone) {
  EXPECT_TRUE(CallsIn("I think about it.").empty());
  EXPECT_TRUE(CallsIn("```python\nx = 1\n```").empty());
  const std::string block = "```tool\n{\"name\":\"list\"}\n```\n";
  EXPECT_TRUE(CallsIn(block + "and\n" + block).empty());
  EXPECT_EQ(CallIn("```python\nx = 1\n```\n" + block).name, "list") << "other blocks are prose";
  EXPECT_EQ(CallIn("```tool\n{\"name\":\"list\"}").name, "list") << "an end that was forgotten";
}

TEST(TextFormTest, WhatIsNoCallHasNoName) {
  for (const char* block : {"ls -l", "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls", "{\"name\": 7}", "[]",
                            "", "{}", "bash\n{\"name\": \"bash\"}"}) {
    const ToolCall call = CallIn(std::string("```tool\n") + block + "\n```");
    EXPECT_EQ(call.name, "") << block;
    EXPECT_EQ(call.arguments, *block == 0 ? "\n" : std::string(block) + "\n");
  }
}

TEST(TextFormTest, RulesAndResults) {
  const std::string rules = TextFormRules({{"bash", "runs a command", R"({"type":"object"})"}});
  EXPECT_THAT(rules, HasSubstr("bash: runs a command\n{\"type\":\"object\"}"));
  EXPECT_EQ(CallIn(rules).name, "bash") << "the example is a call";
  EXPECT_EQ(
      TextResults({.results = {{{"text", "exit code 0\nx", false}, "bash", 0}, {{"text", "no JSON", true}, "", 0}},
                   .text = "[turn 1 is over]"}),
      "Result of bash:\nexit code 0\nx\n\nResult of your call:\nno JSON\n\n[turn 1 is over]");
}

}  // namespace
}  // namespace kb
