// An episode in a store, and what its turns are made of.
#ifndef STORE_STORE_EPISODES_TEST_UTIL_H_
#define STORE_STORE_EPISODES_TEST_UTIL_H_

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/temp_dir.h"
#include "store/store.h"

namespace kb {

class EpisodesTest : public ::testing::Test {
 protected:
  static constexpr char kMe[] = "me";

  static TurnFile File(const std::string& path, const std::string& contents, unsigned mode = 0644) {
    return {.path = path, .mode = mode, .sha256 = Sha256(contents), .contents = contents};
  }

  static TurnFile Gone(const std::string& path) { return {.path = path, .mode = 0, .sha256 = "", .contents = ""}; }

  static TurnVerdict Verdict(const std::string& source, int call = 0, const std::string& tool = "evaluate") {
    TurnVerdict verdict;
    verdict.call = call;
    verdict.tool = tool;
    verdict.source = source;
    verdict.source_sha256 = Sha256(source);
    verdict.language = "cu";
    verdict.view = R"({"told":true})";
    verdict.device_seconds = 2.5;
    return verdict;
  }

  static Turn Asked(int number, int lost = 0) {
    Turn turn;
    turn.number = number;
    turn.kind = "work";
    turn.context = R"({"drop":[1]})";
    turn.lost = lost;
    turn.lost_tokens = 1000 * lost;
    turn.lost_usd = 0.5 * lost;
    return turn;
  }

  static Turn Answered() {
    Turn turn;
    turn.answer = R"({"text":"t","calls":[{"id":"a"},{"id":"b"}]})";
    turn.input = 10;
    turn.cache_read = 20;
    turn.output = 5;
    turn.cost_usd = 0.25;
    turn.price_source = "table";
    turn.calls = 2;
    turn.seconds = 1.5;
    return turn;
  }

  static Turn Done() {
    Turn turn;
    turn.results = R"({"results":[{"call_id":"a","text":"one"},{"call_id":"b","text":"two"}]})";
    turn.tool_seconds = 3.5;
    return turn;
  }

  // Names of files with what is in them.
  static std::vector<std::pair<std::string, std::string>> Texts(const std::vector<TurnFile>& files) {
    std::vector<std::pair<std::string, std::string>> texts;
    for (const TurnFile& file : files) texts.emplace_back(file.path, file.contents);
    return texts;
  }

  EpisodesTest() : directory_(TempDir::Create("kb-episodes-test").value()) {}
  std::filesystem::path Path(const std::string& name) const { return directory_.path() / name; }
  static int64_t Claim(Store& store, int sample = 0) {
    GenerationRequest request;
    request.model = "m";
    request.problem = "1/19";
    request.sample = request.candidate = sample;
    return store.ClaimRequest("r", request, kMe).value().value().id;
  }
  int64_t Begin(int sample = 0, const std::string& harness = "h") {
    const int64_t request = Claim(store_, sample);
    const std::vector<TurnFile> files = {File("TASK.md", "task")};
    EXPECT_TRUE(
        store_.BeginEpisode(kMe, {.request = request, .harness = harness, .opening = R"({"system":"s"})"}, files));
    return request;
  }
  // A whole turn.
  int64_t Work(int64_t request, int number, const std::vector<TurnFile>& files = {},
               const std::vector<TurnVerdict>& verdicts = {}) {
    const int64_t id = store_.AskTurn(request, kMe, Asked(number)).value();
    EXPECT_TRUE(store_.AnswerTurn(id, kMe, Answered()));
    const Status done = store_.FinishTurn(id, kMe, Done(), files, verdicts);
    EXPECT_TRUE(done) << done.error().message;
    return id;
  }
  // As somebody with another tool would, whom no constraint stops.
  static void Damage(const std::filesystem::path& path, const std::string& sql, const std::string& blob = {}) {
    SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
    SQLite::Statement change(database, sql);
    if (change.getBindParameterCount() == 1) change.bind(1, blob.data(), static_cast<int>(blob.size()));
    ASSERT_GT(change.exec(), 0) << sql;
  }

  template <typename T>
  static void ExpectStoreError(const T& result, const std::string& said) {
    ASSERT_FALSE(result) << said;
    EXPECT_EQ(result.error().code, ErrorCode::kStore);
    EXPECT_THAT(result.error().message, ::testing::HasSubstr(said));
  }

  const TempDir directory_;
  Store store_ = Store::Open(Path("store")).value();
};

}  // namespace kb

#endif  // STORE_STORE_EPISODES_TEST_UTIL_H_
