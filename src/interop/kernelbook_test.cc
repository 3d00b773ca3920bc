#include "interop/kernelbook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Judged(const std::string& sha256) {
  return {{"problem", "1/19"},
          {"problem_sha256", sha256},
          {"size", "small"},
          {"verdict", "correct"},
          {"speedup", 1.5},
          {"speedup_interval", {1.4, 1.6}},
          {"no_speedup", nullptr},
          {"baseline", "eager"},
          {"protocol", "quick"},
          {"created", "2026-01-02T03:04:05Z"},
          {"authorship", {{"class", "custom"}, {"custom", 1.0}}},
          {"protocol_keys", {{"precision", "fp32"}}},
          {"device_info", {{"name", "A GPU"}}}};
}

const KernelBookPair kPair = {
    "Model", "class Model: pass\n", "class ModelNew: pass\n", "def call(args): pass\n", {{"torch", "2.13.0"}}};

KernelBookFile::Key Key(const std::string& sha256, const std::string& torch = "2.13.0") {
  return {sha256, "small", "fp32", "quick", "A GPU", torch};
}

class KernelBookTest : public ::testing::Test {
 protected:
  std::filesystem::path path() const { return directory_.path() / "pairs.jsonl"; }
  void Write(const std::string& text) const { std::ofstream(path()) << text; }
  std::string Text() const { return ReadFile(path()).value(); }

  TempDir directory_ = TempDir::Create("kernelbook").value();
};

TEST_F(KernelBookTest, ARowHasTheDataSetsFieldsAndTheVerdict) {
  const auto row = KernelBookRow(kPair, Judged("a"));
  const std::pair<const char*, json> expected[] = {{"repo_name", nullptr},
                                                   {"module_name", "Model"},
                                                   {"entry_point", "Model"},
                                                   {"python_code", kPair.python_code},
                                                   {"triton_code", kPair.triton_code},
                                                   {"original_triton_code", kPair.original_triton_code},
                                                   {"synthetic", false},
                                                   {"licenses", json::array()},
                                                   {"stars", nullptr},
                                                   {"sha", nullptr},
                                                   {"repo_link", nullptr},
                                                   {"verdict", "correct"},
                                                   {"speedup", 1.5},
                                                   {"precision", "fp32"},
                                                   {"authorship", "custom"},
                                                   {"device", "A GPU"}};
  for (const auto& [key, value] : expected) EXPECT_EQ(json(row.at(key)), value) << key;
  const int64_t uuid = row.at("uuid");
  EXPECT_GT(uuid, 0);
  EXPECT_LT(uuid, int64_t{1} << 53);
  EXPECT_EQ(KernelBookRow(kPair, Judged("b")).at("uuid"), uuid) << "of the texts alone";
  KernelBookPair other = kPair;
  other.triton_code += "#";
  EXPECT_NE(KernelBookRow(other, Judged("a")).at("uuid"), uuid);
}

TEST_F(KernelBookTest, WhatWasWrittenIsKnownAgain) {
  auto file = KernelBookFile::Open(path());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_FALSE(file->Holds(Key("a")));
  for (const char* sha256 : {"a", "b"}) ASSERT_TRUE(file->Add(KernelBookRow(kPair, Judged(sha256))));
  EXPECT_TRUE(file->Holds(Key("a")));
  const auto again = KernelBookFile::Open(path());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->size(), 2u);
  EXPECT_TRUE(again->Holds(Key("b")));
  EXPECT_FALSE(again->Holds(Key("b", "2.11.0")));
  EXPECT_FALSE(again->Holds(Key("c")));
}

TEST_F(KernelBookTest, ALineThatWasCutOffIsRemovedAndTheOthersStay) {
  const std::string line = KernelBookRow(kPair, Judged("a")).dump();
  Write(line + "\n" + line.substr(0, 40));
  auto file = KernelBookFile::Open(path());
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(Text(), line + "\n");
  ASSERT_TRUE(file->Add(KernelBookRow(kPair, Judged("b"))));
  EXPECT_EQ(KernelBookFile::Open(path())->size(), 2u);
}

TEST_F(KernelBookTest, ALastLineWithoutItsEndIsNotWrittenInto) {
  Write(KernelBookRow(kPair, Judged("a")).dump());
  ASSERT_TRUE(KernelBookFile::Open(path())->Add(KernelBookRow(kPair, Judged("b"))));
  EXPECT_EQ(KernelBookFile::Open(path())->size(), 2u);
}

TEST_F(KernelBookTest, AnotherFileIsRefusedAndStaysAsItIs) {
  const std::string line = KernelBookRow(kPair, Judged("a")).dump() + "\n";
  for (const std::string& text :
       {line + R"({"python_code": "", "triton_code": ""})" + "\n", "# Notes\n" + line, std::string("[1, 2]\n"),
        std::string("what somebody wrote"), line.substr(0, 40) + "\n"}) {
    Write(text);
    const auto file = KernelBookFile::Open(path());
    ASSERT_FALSE(file) << text;
    EXPECT_EQ(file.error().code, ErrorCode::kUsage);
    EXPECT_THAT(file.error().message, HasSubstr("name another file"));
    EXPECT_EQ(Text(), text);
  }
  EXPECT_EQ(KernelBookFile::Open(directory_.path() / "none" / "pairs.jsonl").error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace kb
