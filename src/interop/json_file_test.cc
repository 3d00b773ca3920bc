#include "interop/json_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(JsonFileTest, WordsOfPythonAreNullOutsideOfStrings) {
  const struct {
    const char *text, *plain;
  } cases[] = {
      {R"({"a": NaN, "b": [Infinity,-Infinity]})", R"({"a": null, "b": [null,null]})"},
      {"NaN", "null"},
      {R"({"NaN": "NaN, \"-Infinity", "b": NaN})", R"({"NaN": "NaN, \"-Infinity", "b": null})"},
      {R"(["\\", NaN, "\\\"NaN"])", R"(["\\", null, "\\\"NaN"])"},
      {"[NaNs, aNaN, -NaN, 1NaN, NaN.5, nan, inf]", "[NaNs, aNaN, -NaN, 1NaN, NaN.5, nan, inf]"},
      {"[1e5, -0.5, true]", "[1e5, -0.5, true]"},
      {R"("never closed NaN)", R"("never closed NaN)"},
      {R"("ends in a backslash\)", R"("ends in a backslash\)"},
      {"", ""},
  };
  for (const auto& each : cases) EXPECT_EQ(WithoutBareWords(each.text), each.plain);
}

TEST(JsonFileTest, ReadsWhatOthersWrite) {
  const struct {
    const char *text, *dumped;
  } cases[] = {
      {R"({"a": [NaN]})", R"({"a":[null]})"},
      {R"(["\ud800", "\udc00x"])", "[\"\xEF\xBF\xBD\",\"\xEF\xBF\xBDx\"]"},
      {R"(["\ud83d\ude00 \ud800", Infinity])", "[\"\xF0\x9F\x98\x80 \xEF\xBF\xBD\",null]"},
      {R"(["\\ud800"])", R"(["\\ud800"])"},
      {"\xEF\xBB\xBF[1]", "[1]"},
  };
  for (const auto& each : cases) {
    const auto read = ParseJson(each.text);
    ASSERT_TRUE(read) << each.text << ": " << read.error().message;
    EXPECT_EQ(read->dump(), each.dumped);
  }
}

TEST(JsonFileTest, TheRestIsRefused) {
  for (const char* text : {"", "[NaNs]", "[-NaN]", "[1 NaN]", "{NaN: 1}", "[\"\xff\"]", "[1]]"}) {
    const auto read = ParseJson(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kUsage);
    EXPECT_THAT(read.error().message, HasSubstr("no JSON")) << text;
  }
  EXPECT_THAT(ParseJson(std::string(70, '[') + std::string(70, ']')).error().message, HasSubstr("64 deep"));
  const TempDir directory = TempDir::Create("kb-json-file-test").value();
  const auto path = directory.path() / "a.json";
  ASSERT_TRUE(WriteFileAtomic(path, "{\"a\": NaN,\n \"b\": x}"));
  EXPECT_THAT(ReadJsonFile(path).error().message, AllOf(HasSubstr("a.json is no JSON"), HasSubstr("line 2")));
}

}  // namespace
}  // namespace kb
