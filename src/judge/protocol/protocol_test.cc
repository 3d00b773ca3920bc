#include "judge/protocol/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using testing::HasSubstr;

class ProtocolTest : public testing::Test {
 protected:
  std::filesystem::path shipped_ = KB_PROTOCOLS;
  TempDir directory_ = *TempDir::Create("protocol-test");

  Result<Protocol> LoadText(const std::string& text) {
    EXPECT_TRUE(WriteFileAtomic(directory_.path() / "own.toml", text));
    return Protocol::Load(directory_.path(), "own");
  }
};

TEST_F(ProtocolTest, EveryShippedOneIsValid) {
  const auto names = Protocol::List(shipped_);
  EXPECT_THAT(names, testing::IsSupersetOf({"strict", "quick", "kernelbench", "v3", "level3"}));
  for (const std::string& name : names) {
    for (const char* precision : {"fp32", "fp16", "bf16"}) {
      auto protocol = Protocol::Load(shipped_, name);
      ASSERT_TRUE(protocol) << protocol.error().message;
      ASSERT_TRUE(protocol->Set("precision", precision));
      protocol->ApplyPrecision();
      EXPECT_TRUE(protocol->Validate()) << name << " " << precision;
    }
  }
}

TEST_F(ProtocolTest, UpstreamsTolerances) {
  auto protocol = *Protocol::Load(shipped_, "kernelbench");
  protocol.ApplyPrecision();
  EXPECT_EQ(protocol.atol, 1e-4);
  EXPECT_EQ(protocol.rtol, 1e-4);
  EXPECT_EQ(protocol.round_checks, std::vector<int>{100});
  EXPECT_EQ(protocol.statistic, "mean");
  ASSERT_TRUE(protocol.Set("precision", "bf16"));
  protocol.ApplyPrecision();
  EXPECT_EQ(protocol.atol, 1e-2);
}

TEST_F(ProtocolTest, AFlagOutranksTheTableOfPrecisions) {
  auto protocol = *Protocol::Load(shipped_, "kernelbench");
  ASSERT_TRUE(protocol.Set("atol", "0.5"));
  protocol.ApplyPrecision();
  EXPECT_EQ(protocol.atol, 0.5);
  EXPECT_EQ(protocol.changed, std::vector<std::string>{"atol"});
}

TEST_F(ProtocolTest, EveryKeyCanBeSetFromItsOwnText) {
  auto protocol = *Protocol::Load(shipped_, "v3");
  const nlohmann::json before = protocol.ToJson();
  for (const Protocol::Key& key : Protocol::Keys()) {
    const nlohmann::json& value = before.at(key.name);
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    if (value.is_array()) {
      text = text.substr(1, text.size() - 2);
      std::erase(text, '"');
    }
    EXPECT_TRUE(protocol.Set(key.name, text)) << key.name << "=" << text;
  }
  EXPECT_EQ(protocol.ToJson(), before);
}

TEST_F(ProtocolTest, WrongFilesAreNamed) {
  const struct {
    const char* text;
    const char* said;
  } cases[] = {
      {"rounds = 3", "rounds is no key"},
      {"half_width = \"wide\"", "half_width has the wrong type"},
      {"warmup_rounds = 1.5", "warmup_rounds has the wrong type"},
      {"half_width = ", "own.toml:1"},
  };
  for (const auto& each : cases) {
    const auto protocol = LoadText(each.text);
    ASSERT_FALSE(protocol) << each.text;
    EXPECT_EQ(protocol.error().code, ErrorCode::kUsage);
    EXPECT_THAT(protocol.error().message, HasSubstr(each.said));
  }
  EXPECT_THAT(Protocol::Load(shipped_, "nonsense").error().message, HasSubstr("strict"));
}

TEST_F(ProtocolTest, ImpossibleValuesAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"precision", "fp8"},
      {"round_checks", ""},
      {"round_checks", "20,10"},
      {"half_width", "0"},
      {"rtol", "-1"},
      {"call_timeout_s", "0"},
      {"statistic", "mode"},
      {"timing", "sundial"},
      {"profile_ms", "-1"},
      {"static", "no_such_rule=off"},
      {"accept_authorship", ""},
      {"accept_authorship", "custom,human"},
  };
  for (const auto& [key, value] : cases) {
    auto protocol = *Protocol::Load(shipped_, "strict");
    ASSERT_TRUE(protocol.Set(key, value)) << key;
    EXPECT_FALSE(protocol.Validate()) << key << "=" << value;
  }
  auto protocol = *Protocol::Load(shipped_, "strict");
  EXPECT_FALSE(protocol.Set("anchor_rounds", "two"));
  EXPECT_FALSE(protocol.Set("no_such_key", "1"));
  EXPECT_FALSE(protocol.Set("profile_ms", "maybe"));
}

TEST_F(ProtocolTest, AllRulesOfStaticAnalysisCanBeTurnedOff) {
  auto protocol = *Protocol::Load(shipped_, "strict");
  EXPECT_TRUE(protocol.ChecksText());
  ASSERT_TRUE(protocol.Set("static", "off"));
  EXPECT_FALSE(protocol.ChecksText());
  EXPECT_TRUE(protocol.Validate());
}

TEST_F(ProtocolTest, WhoIsAcceptedMustBeFoundOut) {
  auto protocol = *Protocol::Load(shipped_, "strict");
  ASSERT_TRUE(protocol.Set("accept_authorship", "custom,mixed"));
  EXPECT_EQ(protocol.accept_authorship, (std::vector<std::string>{"custom", "mixed"}));
  EXPECT_FALSE(protocol.AcceptsEveryAuthorship());
  EXPECT_TRUE(protocol.Validate());
  ASSERT_TRUE(protocol.Set("profile_ms", "0"));
  EXPECT_FALSE(protocol.Validate());
  ASSERT_TRUE(protocol.Set("accept_authorship", "library,mixed,custom"));
  EXPECT_TRUE(protocol.AcceptsEveryAuthorship());
  EXPECT_TRUE(protocol.Validate());
}

}  // namespace
}  // namespace kb
