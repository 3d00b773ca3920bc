// What the readers of the wires make of an answer's bytes, without a server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/test_streams.h"
#include "model/wire_format.h"

namespace kb {
namespace {

using ::testing::HasSubstr;

// What is read of an answer that is no stream.
Completion ReadWhole(const WireFormat& format, const std::string& body) {
  const auto reader = format.reader({});
  EXPECT_FALSE(reader->ReadWhole(body));
  EXPECT_TRUE(reader->finished()) << body;
  return reader->Take();
}

TEST(WireReaderTest, CallsThatOnlyProgramsAskFor) {
  const Completion answer = ReadWhole(
      Responses(),
      R"({"status":"completed","output":[)"
      R"({"type":"custom_tool_call","call_id":"a","name":"apply_patch","input":"*** Begin Patch"},)"
      R"({"type":"function_call","call_id":"b","namespace":"mcp__judge","name":"submit","arguments":"{}"}]})");
  ASSERT_EQ(answer.calls.size(), 2U);
  EXPECT_EQ(answer.calls[0].name, "apply_patch");
  EXPECT_EQ(answer.calls[0].arguments, "*** Begin Patch");
  EXPECT_EQ(answer.calls[1].name, "mcp__judge.submit");
  EXPECT_EQ(answer.finish, FinishReason::kToolCalls);
}

TEST(WireReaderTest, WhatHasComeOfAResponseThatBroke) {
  const auto reader = Responses().reader({});
  EXPECT_FALSE(reader->Read({"", R"({"type":"response.output_text.delta","output_index":0,"delta":"so"})"}));
  EXPECT_FALSE(reader->finished());
  EXPECT_EQ(reader->Take().text, "so");
}

TEST(WireReaderTest, GeminiEndsAndRefuses) {
  const std::pair<const char*, FinishReason> cases[] = {
      {R"({"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]})", FinishReason::kStop},
      {R"({"candidates":[{"finishReason":"MAX_TOKENS"}]})", FinishReason::kLength},
      {R"({"candidates":[{"finishReason":"SAFETY"}]})", FinishReason::kRefused},
      {R"({"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]})", FinishReason::kUnknown},
      {R"({"promptFeedback":{"blockReason":"OTHER"}})", FinishReason::kRefused},
  };
  for (const auto& [body, finish] : cases) EXPECT_EQ(ReadWhole(Gemini(), body).finish, finish) << body;
  const auto fault = Gemini().reader({})->ReadWhole(R"({"error":{"code":429,"message":"slow down"}})");
  ASSERT_TRUE(fault);
  EXPECT_TRUE(fault->retry);
  const auto asked = Ask(QuickSettings(Wire::kGemini, "http://127.0.0.1:1"),
                         {.model = "some-model", .messages = {{Role::kUser, "make it fast"}}});
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().code, ErrorCode::kUsage);
  EXPECT_THAT(asked.error().message, HasSubstr("/v1beta/openai"));
}

}  // namespace
}  // namespace kb
