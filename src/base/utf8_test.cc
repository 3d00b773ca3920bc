#include "base/utf8.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace kb {
namespace {

TEST(Utf8Test, WhatIsNotUtf8BecomesTheReplacementCharacter) {
  const std::string r = "\xEF\xBF\xBD";
  const struct {
    std::string bytes, text;
  } cases[] = {
      {"plain", "plain"},
      {"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
      {"a\xFF"
       "b",
       "a" + r + "b"},
      {"\xC0\xAF", r + r},                  // overlong
      {"\xE0\x80\xAF", r + r + r},          // overlong
      {"\xED\xA0\x80", r + r + r},          // a surrogate
      {"\xF4\x90\x80\x80", r + r + r + r},  // beyond U+10FFFF
      {"\xE2\x82", r + r},                  // cut off
      {std::string("\0x", 2), std::string("\0x", 2)},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(ValidUtf8(each.bytes), each.text);
    EXPECT_NO_THROW(static_cast<void>(nlohmann::json(ValidUtf8(each.bytes)).dump()));
  }
}

TEST(Utf8Test, HalvesOfSurrogatePairsBecomeReplacementCharacters) {
  const struct {
    std::string json_text, replaced;
  } cases[] = {
      {R"("\ud83d\ude00")", R"("\ud83d\ude00")"},
      {R"("\ud83d")", R"("\uFFFD")"},
      {R"("\ude00 \ud83dx")", R"("\uFFFD \uFFFDx")"},
      {R"("\ud83d\ud83d\ude00")", R"("\uFFFD\ud83d\ude00")"},
      {R"("\\ud83d")", R"("\\ud83d")"},
  };
  for (const auto& each : cases) {
    EXPECT_EQ(ReplaceLoneSurrogates(each.json_text), each.replaced);
    EXPECT_FALSE(nlohmann::json::parse(each.replaced, nullptr, false).is_discarded());
  }
}

TEST(CutUtf8, SplitsNoCharacter) {
  EXPECT_EQ(CutUtf8("t\xC3\xB6o", 4), "t\xC3\xB6o");
  EXPECT_EQ(CutUtf8("t\xC3\xB6o", 3), "t\xC3\xB6");
  EXPECT_EQ(CutUtf8("t\xC3\xB6o", 2), "t");
  EXPECT_EQ(CutUtf8("\xF0\x9F\x98\x80", 3), "");
}

}  // namespace
}  // namespace kb
