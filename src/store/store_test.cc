#include "store/store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/temp_dir.h"
#include "store/compress.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

json Evaluation(const std::string& id, const std::string& created = "2024-05-01T10:00:00Z") {
  return {
      {"schema", 2},
      {"id", id},
      {"created", created},
      {"problem", "1/19"},
      {"problem_sha256", "aa"},
      {"size", "standard"},
      {"device", "cpu"},
      {"device_info", {{"name", "Some CPU"}, {"cores", 8}, {"copy_gb_s", 20.5}}},
      {"protocol", "strict"},
      {"candidate", {{"path", "relu.py"}, {"kind", "module"}, {"sha256", "bb"}, {"source", "class ModelNew: ...\n"}}},
      {"verdict", "correct"},
      {"reason", ""},
      {"speedup", 1.5},
      {"speedup_interval", {1.4, 1.6}},
      {"baseline", "eager"},
      {"baseline_us", 150.0},
      {"undisturbed_baseline_us", 149.0},
      {"candidate_us", 100.0},
      {"samples", {{{"index", 0}, {"candidate_us", 100.0}}, {{"index", 1}, {"candidate_us", 101.0}}}},
      {"evidence", {{"compiler_output", "ok"}}},
      {"engine_us", {{"build", 1e6}}}};
}

class StoreTest : public ::testing::Test {
 protected:
  StoreTest() : directory_(TempDir::Create("kb-store-test").value()), path_(directory_.path() / "deep/er/store.db") {}

  Store Open() {
    auto store = Store::Open(path_);
    if (!store) ADD_FAILURE() << store.error().message;
    return std::move(store).value();
  }

  TempDir directory_;
  std::filesystem::path path_;
};

TEST_F(StoreTest, NoneIsMadeWhereNoneMayBe) {
  const auto error = [&] { return Store::Open(path_, {.create = false}).error(); };
  EXPECT_EQ(error().code, ErrorCode::kUsage);
  EXPECT_FALSE(std::filesystem::exists(path_.parent_path()));

  std::filesystem::create_directories(path_.parent_path());
  std::ofstream(path_).close();
  EXPECT_EQ(error().code, ErrorCode::kUsage);
  EXPECT_THAT(error().message, HasSubstr("is empty"));
  EXPECT_EQ(std::filesystem::file_size(path_), 0u);

  SQLite::Database(path_.string(), SQLite::OPEN_READWRITE).exec("VACUUM");
  const auto size = std::filesystem::file_size(path_);
  EXPECT_EQ(error().code, ErrorCode::kUsage) << "of another program's, which made no table yet";
  EXPECT_EQ(std::filesystem::file_size(path_), size);

  ASSERT_TRUE(Open().Add(Evaluation("a")));
  EXPECT_EQ(Store::Open(path_, {.create = false})->List()->size(), 1u);
}

TEST_F(StoreTest, SeveralThreadsUseOneObject) {
  Store store = Open();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 10; ++i) {
        const std::string id = std::to_string(thread) + "-" + std::to_string(i);
        EXPECT_TRUE(store.Add(Evaluation(id)));
        EXPECT_EQ(store.Get(id).value()["id"], id);
        EXPECT_FALSE(store.List({.limit = 3}).value().empty());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store.List().value().size(), 40u);
}

TEST_F(StoreTest, RoundTrip) {
  const json evaluation = Evaluation("abc123");
  {
    Store store = Open();
    ASSERT_TRUE(store.Add(evaluation));
    EXPECT_EQ(store.Get("abc123").value(), evaluation);
  }
  EXPECT_EQ(Open().Get("abc123").value(), evaluation) << "and after opening it again";
}

TEST_F(StoreTest, AnEvaluationThatNeverRanRoundTrips) {
  // The least there can be: nulls, and neither samples nor source.
  const json evaluation = {{"id", "x1"},          {"created", "2024-05-01T10:00:00Z"},
                           {"problem", "1/1"},    {"verdict", "not_run"},
                           {"speedup", nullptr},  {"speedup_interval", nullptr},
                           {"mismatch", nullptr}, {"candidate", {{"path", "a.py"}}}};
  Store store = Open();
  ASSERT_TRUE(store.Add(evaluation));
  EXPECT_EQ(store.Get("x1").value(), evaluation);
  EXPECT_TRUE(store.List().value()[0]["speedup"].is_null());
  EXPECT_TRUE(store.List().value()[0]["speedup_interval"].is_null());
}

TEST_F(StoreTest, DuplicateIdIsRefused) {
  Store store = Open();
  ASSERT_TRUE(store.Add(Evaluation("abc")));
  json other = Evaluation("abc");
  other["verdict"] = "crashed";
  const Status again = store.Add(other);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kStore);
  EXPECT_THAT(again.error().message, HasSubstr("already"));
  EXPECT_EQ(store.Get("abc").value()["verdict"], "correct");
  EXPECT_EQ(store.List().value().size(), 1u);
}

TEST_F(StoreTest, WhatIsNoEvaluationIsRefused) {
  Store store = Open();
  EXPECT_FALSE(store.Add(json::array()));
  EXPECT_FALSE(store.Add(json::object()));
  json bad = Evaluation("abc");
  bad["verdict"] = "splendid";
  EXPECT_FALSE(store.Add(bad));
  bad["verdict"] = nullptr;
  EXPECT_FALSE(store.Add(bad));
  EXPECT_TRUE(store.List().value().empty()) << "a refused evaluation leaves nothing behind";
  EXPECT_TRUE(store.Add(Evaluation("abc"))) << "and the store goes on working";
}

TEST_F(StoreTest, UniquePrefixSuffices) {
  Store store = Open();
  for (const char* id : {"abc1", "abd2", "abd22", "x_y"}) ASSERT_TRUE(store.Add(Evaluation(id)));
  EXPECT_EQ(store.Get("abc").value()["id"], "abc1");
  EXPECT_EQ(store.Get("abd2").value()["id"], "abd2") << "a full id wins over a longer one";
  EXPECT_EQ(store.Get("x").value()["id"], "x_y");
  const auto ambiguous = store.Get("ab");
  ASSERT_FALSE(ambiguous);
  EXPECT_EQ(ambiguous.error().code, ErrorCode::kUsage);
  EXPECT_THAT(ambiguous.error().message, HasSubstr("ambiguous"));
  for (const char* unknown : {"q", "%", "_", "x%", "", "abc1x"}) {
    const auto nothing = store.Get(unknown);
    ASSERT_FALSE(nothing) << unknown;
    EXPECT_EQ(nothing.error().code, ErrorCode::kUsage);
  }
}

TEST_F(StoreTest, ListFiltersNewestFirst) {
  Store store = Open();
  json a = Evaluation("a", "2024-05-01T10:00:00Z");
  json b = Evaluation("b", "2024-05-03T10:00:00Z");
  b["problem"] = "1/20";
  b["verdict"] = "incorrect";
  json c = Evaluation("c", "2024-05-02T10:00:00Z");
  c["run"] = "nightly";
  for (const json& evaluation : {a, b, c}) ASSERT_TRUE(store.Add(evaluation));
  const auto ids = [&](const StoreFilter& filter) {
    std::string joined;
    const auto summaries = store.List(filter).value();
    for (const json& summary : summaries) joined += summary["id"].get<std::string>();
    return joined;
  };
  EXPECT_EQ(ids({}), "bca");
  EXPECT_EQ(ids({.problem = "1/19"}), "ca");
  EXPECT_EQ(ids({.verdict = "incorrect"}), "b");
  EXPECT_EQ(ids({.run = "nightly"}), "c");
  EXPECT_EQ(ids({.run = "absent"}), "");
  EXPECT_EQ(ids({.limit = 2}), "bc");
  const json summary = store.List({.run = "nightly"}).value()[0];
  EXPECT_EQ(summary["speedup_interval"], json({1.4, 1.6}));
  EXPECT_EQ(summary["device_info"]["name"], "Some CPU");
  EXPECT_EQ(summary["candidate"]["path"], "relu.py");
  EXPECT_EQ(summary["run"], "nightly");
}

TEST_F(StoreTest, LoadGivesTheNewestOfEach) {
  Store store = Open();
  ASSERT_TRUE(store.Add(Evaluation("old", "2024-05-01T10:00:00Z")));
  json other = Evaluation("other", "2024-05-02T10:00:00Z");
  other["candidate"]["path"] = "relu2.py";
  ASSERT_TRUE(store.Add(other));
  json newest = Evaluation("new", "2024-05-03T10:00:00Z");
  newest["device_info"]["copy_gb_s"] = 21.25;
  newest["device_info"]["rates"] = {{"fp32", 0.3}};
  newest["verdict"] = "crashed";
  ASSERT_TRUE(store.Add(newest));
  EXPECT_EQ(store.Check()->rows.at("devices"), 1) << "what a session measures makes no other device of it";
  const auto all = store.Load().value();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], newest);
  EXPECT_EQ(all[1], other);
  const auto correct = store.Load({.verdict = "correct"}).value();
  ASSERT_EQ(correct.size(), 2u) << "the newest that the filter lets through";
  EXPECT_EQ(correct[1]["id"], "old");
  EXPECT_EQ(store.Load({.limit = 1}).value().size(), 1u);
}

TEST_F(StoreTest, BytesThatAreNotUtf8) {
  Store store = Open();
  json evaluation = Evaluation("u1");
  evaluation["candidate"]["source"] = std::string("caf\xe9 \0 x", 8);
  evaluation["candidate"]["path"] = "\xff.py";
  evaluation["reason"] = "caf\xe9";
  evaluation["evidence"]["compiler_output"] =
      "error: \xfe\xff \xe2\x80\x98"
      "quoted\xe2\x80\x99";
  evaluation["speedup"] = std::numeric_limits<double>::quiet_NaN();
  ASSERT_TRUE(store.Add(evaluation));
  const json got = store.Get("u1").value();
  EXPECT_EQ(got["candidate"]["source"], evaluation["candidate"]["source"]) << "a source is kept to the byte";
  EXPECT_EQ(got["evidence"]["compiler_output"],
            "error: \xef\xbf\xbd\xef\xbf\xbd \xe2\x80\x98"
            "quoted\xe2\x80\x99");
  EXPECT_TRUE(got["speedup"].is_null());
  EXPECT_EQ(store.List().value()[0]["reason"], "caf\xef\xbf\xbd");
}

TEST_F(StoreTest, TwoConnectionsSeeEachOther) {
  Store first = Open();
  Store second = Open();
  ASSERT_TRUE(first.Add(Evaluation("a")));
  ASSERT_TRUE(second.Add(Evaluation("b")));
  EXPECT_EQ(first.List().value().size(), 2u);
}

TEST_F(StoreTest, AnAuditTakesThePlaceOfAnOlderOneOfTheSame) {
  Store store = Open();
  json audit = {{"created", "2024-05-01T10:00:00Z"},
                {"problem", "1/19"},
                {"sha256", "aa"},
                {"size", "small"},
                {"device", "Some CPU"},
                {"torch", "2.13.0"},
                {"passes", true}};
  ASSERT_TRUE(store.AddAudit(audit));
  audit["passes"] = false;
  ASSERT_TRUE(store.AddAudit(audit));
  audit["size"] = "odd";
  ASSERT_TRUE(store.AddAudit(audit));
  const auto audits = Open().Audits();
  ASSERT_TRUE(audits) << audits.error().message;
  ASSERT_EQ(audits->size(), 2u);
  EXPECT_EQ(audits->at(0).at("passes"), false);
  EXPECT_EQ(audits->at(1).at("size"), "odd");
  audit.erase("torch");
  EXPECT_FALSE(store.AddAudit(audit));
}

TEST(CompressTest, RoundTripAndDamage) {
  for (const std::string& bytes :
       {std::string(), std::string("x"), std::string(1 << 20, 'y'), std::string("\0\xff", 2)}) {
    EXPECT_EQ(Decompress(Compress(bytes)).value(), bytes);
  }
  std::string frame = Compress("some text that is long enough to be damaged");
  EXPECT_FALSE(Decompress(""));
  EXPECT_FALSE(Decompress("no frame at all"));
  EXPECT_FALSE(Decompress(frame.substr(0, frame.size() - 3)));
  frame[frame.size() / 2] ^= 1;
  EXPECT_FALSE(Decompress(frame));
}

}  // namespace
}  // namespace kb
