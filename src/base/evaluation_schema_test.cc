#include "base/evaluation_schema.h"

#include <gtest/gtest.h>

#include "base/note.h"

namespace kb {
namespace {

using nlohmann::json;

TEST(EvaluationSchema, TheFirstBecomesTheSecond) {
  const json first = {
      {"schema", 1},
      {"id", "a"},
      {"notes", {"slower_inputs: 1.60 times as long", "static: file_access, line 6: reads a file", "odd"}},
      {"protocol_keys",
       {{"profile", false}, {"static_check", false}, {"static", {{"lazy_eval", "error"}}}, {"profile_ms", 30}}}};
  const json second = CurrentEvaluation(first);
  EXPECT_EQ(second.at("schema"), 2);
  EXPECT_EQ(second.at("id"), "a");
  EXPECT_EQ(second.at("notes").at(0),
            json({{"code", "uncertain"}, {"values", json::object()}, {"text", "slower_inputs: 1.60 times as long"}}));
  EXPECT_EQ(second.at("notes").at(1).at("code"), "static");
  EXPECT_EQ(second.at("notes").at(2).at("code"), "problem");
  EXPECT_EQ(second.at("protocol_keys"), json({{"static", {{"lazy_eval", "off"}}}, {"profile_ms", 0.0}}));
  EXPECT_EQ(CurrentEvaluation(second), second);
}

TEST(EvaluationSchema, WhatWasOnStaysAsItWas) {
  const json keys = {
      {"profile", true}, {"static_check", true}, {"static", {{"lazy_eval", "error"}}}, {"profile_ms", 30}};
  EXPECT_EQ(CurrentEvaluation({{"schema", 1}, {"protocol_keys", keys}}).at("protocol_keys"),
            json({{"static", {{"lazy_eval", "error"}}}, {"profile_ms", 30}}));
}

TEST(EvaluationSchema, WhatIsNoEvaluationStays) {
  for (const json& odd : {json(3), json::array(), json::object(), json{{"schema", "x"}}}) {
    EXPECT_EQ(CurrentEvaluation(odd), odd);
  }
  EXPECT_EQ(CurrentEvaluation({{"schema", 1}, {"notes", 3}, {"protocol_keys", nullptr}}).at("schema"), 2);
}

}  // namespace
}  // namespace kb
