#include "server/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json_shape.h"

namespace kb::server {
namespace {

using nlohmann::json;
using Type = Field::Type;
using ::testing::HasSubstr;

const Table kInner = {"Inner", "inner", {{.name = "count", .type = Type::kInteger, .help = "odd", .most = 9}}};
const Table kOuter = {"Outer",
                      "outer",
                      {{.name = "text", .type = Type::kText, .help = "t", .required = true, .least = 2, .most = 4},
                       {.name = "line", .type = Type::kText, .help = "l", .line = true},
                       {.name = "choice", .type = Type::kText, .help = "c", .choices = {"one", "two"}},
                       {.name = "whole", .type = Type::kInteger, .help = "w", .least = -1, .most = 3},
                       {.name = "number", .type = Type::kNumber, .help = "n", .nullable = true, .least = 0},
                       {.name = "flag", .type = Type::kFlag, .help = "f"},
                       {.name = "any", .type = Type::kAny, .help = "a"},
                       {.name = "map", .type = Type::kMap, .help = "m", .least = 1, .most = 2},
                       {.name = "list", .type = Type::kList, .help = "l", .most = 2, .items = Type::kNumber},
                       {.name = "inners", .type = Type::kList, .help = "i", .table = &kInner},
                       {.name = "inner", .type = Type::kObject, .help = "i", .table = &kInner}}};

// What is said of a body; empty: it is right.
std::string Said(const json& more, const json& text = "abc") {
  json body = {{"text", text}};
  if (text.is_null()) body.erase("text");
  if (more.is_object()) body.update(more);
  const Status checked = Check(kOuter, body);
  return checked ? "" : checked.error().message;
}

TEST(FieldsTest, WhatIsWrongIsNamedByItsPointer) {
  const std::vector<std::pair<json, std::string>> cases = {
      {{{"choice", "one"}}, ""},
      {{{"choice", "three"}}, "/choice: must be one of one, two"},
      {{{"whole", 3}}, ""},
      {{{"whole", 3.0}}, ""},
      {{{"whole", 1.5}}, "/whole: must be an integer"},
      {{{"whole", "1"}}, "/whole: must be an integer"},
      {{{"whole", 4}}, "/whole: must be at most 3"},
      {{{"whole", -2}}, "/whole: must be at least -1"},
      {{{"whole", 18446744073709551615u}}, "/whole: must be at most 3"},
      {{{"whole", 1e300}}, "/whole: must be at most 3"},
      {{{"whole", nullptr}}, "/whole: must be an integer"},
      {{{"number", nullptr}}, ""},
      {{{"number", -0.1}}, "/number: must be at least 0"},
      {{{"number", true}}, "/number: must be a number"},
      {{{"flag", 1}}, "/flag: must be a boolean"},
      {{{"any", {{{"deep", {1, 2}}}}}}, ""},
      {{{"map", json::object()}}, "/map: must be at least 1 entries"},
      {{{"map", {{"a", "1"}, {"b", "2"}, {"c", "3"}}}}, "/map: must be at most 2 entries"},
      {{{"map", {{"x/y", 1}}}}, "/map/x~1y: must be a string"},
      {{{"list", {1, 2.5}}}, ""},
      {{{"list", {1, "2"}}}, "/list/1: must be a number"},
      {{{"list", {1, 2, 3}}}, "/list: must be at most 2 entries"},
      {{{"list", {{"a", 1}}}}, "/list: must be an array"},
      {{{"inners", {{{"count", 1}}, {{"count", 10}}}}}, "/inners/1/count: must be at most 9"},
      {{{"inner", {{"count", "1"}}}}, "/inner/count: must be an integer"},
      {{{"inner", {{"other", 1}}}}, "/inner/other: there is no such field"},
      {{{"inner", json::array()}}, "/inner: must be an object"},
      {{{"o/t~r", 1}}, "/o~1t~0r: there is no such field"},
  };
  for (const auto& [more, expected] : cases) EXPECT_EQ(Said(more), expected) << more;
  EXPECT_EQ(Said({}, nullptr), "/text: is missing");
  EXPECT_EQ(Said({}, "a"), "/text: must be at least 2 characters");
  EXPECT_EQ(Said({}, "äää日"), "") << "characters, not bytes";
  EXPECT_EQ(Said({}, "äääää"), "/text: must be at most 4 characters");
  EXPECT_EQ(Check(kOuter, json::array()).error().message, "/: must be an object");
  EXPECT_EQ(Check(kOuter, nullptr).error().message, "/: must be an object");
}

TEST(FieldsTest, ALineHasNoCharacterThatActs) {
  for (const char* good : {"", "a b", "ä", "日本", "\xC2\xA0", "\\n"}) EXPECT_EQ(Said({{"line", good}}), "") << good;
  for (const std::string& bad : {std::string("a\nb"), std::string("a\0b", 3), std::string("\x1b[31m"),
                                 std::string("\x7f"), std::string("\xC2\x9B"), std::string("\t")}) {
    EXPECT_EQ(Said({{"line", bad}}), "/line: must be one line without control characters");
  }
}

TEST(FieldsTest, QueriesAreTexts) {
  const Field whole = {.name = "from", .type = Type::kInteger, .help = "", .least = 0, .most = 10};
  const Field number = {.name = "wait", .type = Type::kNumber, .help = "", .least = 0, .most = 10};
  const Field flag = {.name = "whole", .type = Type::kFlag, .help = ""};
  const Field text = {.name = "name", .type = Type::kText, .help = "", .most = 3};
  EXPECT_EQ(ReadQuery(whole, "7").value(), 7);
  EXPECT_EQ(ReadQuery(number, "2.5").value(), 2.5);
  EXPECT_EQ(ReadQuery(number, "1e1").value(), 10.0);
  EXPECT_EQ(ReadQuery(flag, "true").value(), true);
  EXPECT_EQ(ReadQuery(text, "abc").value(), "abc");
  for (const char* bad : {"", "x", "7x", " 7", "1.5", "-1", "11", "99999999999999999999"}) {
    const auto read = ReadQuery(whole, bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_THAT(read.error().message, HasSubstr("from: must be")) << bad;
  }
  for (const char* bad : {"", "x", "nan", "inf", "-inf", "1e999", "-0.5", "10.5", "0x1"})
    EXPECT_FALSE(ReadQuery(number, bad)) << bad;
  for (const char* bad : {"", "1", "True", "yes"}) EXPECT_FALSE(ReadQuery(flag, bad)) << bad;
  EXPECT_FALSE(ReadQuery(text, "abcd"));
}

TEST(FieldsTest, TheSchemaSaysWhatIsChecked) {
  const json schema = SchemaOf(kOuter);
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], json({"text"}));
  const json& of = schema["properties"];
  EXPECT_EQ(of["text"], json({{"type", "string"}, {"minLength", 2}, {"maxLength", 4}, {"description", "t"}}));
  EXPECT_EQ(of["choice"]["enum"], json({"one", "two"}));
  EXPECT_EQ(of["whole"]["minimum"], -1);
  EXPECT_EQ(of["number"]["anyOf"][1]["type"], "null");
  EXPECT_EQ(of["number"]["anyOf"][0]["minimum"], 0.0);
  EXPECT_FALSE(of["any"].contains("type"));
  EXPECT_EQ(of["map"]["additionalProperties"]["type"], "string");
  EXPECT_EQ(of["map"]["maxProperties"], 2);
  EXPECT_EQ(of["list"]["items"]["type"], "number");
  EXPECT_EQ(of["inners"]["items"]["$ref"], "#/components/schemas/Inner");
  EXPECT_EQ(of["inner"]["$ref"], "#/components/schemas/Inner");
  EXPECT_EQ(of["line"]["pattern"], "^[^\\u0000-\\u001f\\u007f-\\u009f]*$");
}

TEST(JsonShapeTest, DepthAndCountAreBounded) {
  const auto nested = [](size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(CheckShape(nested(kMostDepth)));
  EXPECT_FALSE(CheckShape(nested(kMostDepth + 1)));
  EXPECT_FALSE(CheckShape(std::string(1'000'000, '[')));
  EXPECT_TRUE(CheckShape("\"" + std::string(1'000'000, '[') + "\"")) << "brackets in a text are no nesting";
  EXPECT_TRUE(CheckShape(R"(["a\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "\\"])"));
  EXPECT_FALSE(CheckShape(R"({"a\\":)" + nested(kMostDepth) + "}"));
  std::string wide = "[";
  for (size_t i = 0; i < kMostValues + 1; ++i) wide += "1,";
  EXPECT_FALSE(CheckShape(wide + "1]"));
  for (const char* odd : {"", "\"", "\"\\", "]]]]", "}{"}) EXPECT_TRUE(CheckShape(odd)) << odd;
}

TEST(FieldsTest, AnOpenTablePassesOverWhatItDoesNotName) {
  Table open = kInner;
  open.open = true;
  EXPECT_TRUE(Check(open, {{"count", 1}, {"other", 2}}));
  EXPECT_FALSE(Check(open, {{"count", 10}, {"other", 2}}));
  EXPECT_EQ(SchemaOf(open)["additionalProperties"], true);
}

}  // namespace
}  // namespace kb::server
