// What agents did travels in archives, and survives garbage collection, checks and migrations.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "store/compress.h"
#include "store/migrations.h"
#include "store/store_episodes_test_util.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class EpisodeArchiveTest : public EpisodesTest {
 protected:
  EpisodeArchiveTest() {
    request_ = Begin();
    Work(request_, 1, {File("a", "one"), File("b", std::string(20'000'000, 'b'))}, {Verdict("tried")});
    Work(request_, 2, {Gone("a")});
    EXPECT_TRUE(store_.AskTurn(request_, kMe, Asked(3, 1)));
    EXPECT_TRUE(store_.ExportRun("r", Path("r.kbrun")));
  }
  // The archive with one change is refused, and nothing of it is taken.
  void ExpectRefused(const std::string& sql, const std::string& said, const std::string& blob = {}) {
    SCOPED_TRACE(sql);
    fs::remove(Path("plain"));
    ASSERT_TRUE(DecompressFile(Path("r.kbrun"), Path("plain"), 1 << 30));
    Damage(Path("plain"), sql, blob);
    ASSERT_TRUE(CompressFile(Path("plain"), Path("changed.kbrun")));
    Store mine = Store::Open(Path("mine")).value();
    const auto imported = mine.ImportRun(Path("changed.kbrun"));
    ASSERT_FALSE(imported);
    EXPECT_THAT(imported.error().message, AllOf(HasSubstr("changed.kbrun"), HasSubstr(said)));
    EXPECT_THAT(mine.Runs().value(), IsEmpty());
  }
  int64_t request_ = 0;
};

TEST_F(EpisodeArchiveTest, WhatComesOutIsWhatWentIn) {
  Store other = Store::Open(Path("other")).value();
  GenerationRequest mine;
  mine.model = "x";
  mine.problem = "1/1";
  ASSERT_TRUE(other.ClaimRequest("own", mine, kMe));  // so that ids differ
  for (int time = 0; time < 2; ++time) {
    const auto imported = other.ImportRun(Path("r.kbrun"), "copy");
    ASSERT_TRUE(imported) << imported.error().message;
  }
  const GenerationRequest request = other.Requests("copy")->at(0);
  EXPECT_EQ(request.state, "queued");
  ASSERT_NE(request.id, request_);
  EXPECT_EQ(other.FindEpisode(request.id).value()->opening, store_.FindEpisode(request_).value()->opening);
  const std::vector<Turn> turns = other.Turns(request.id).value();
  ASSERT_EQ(turns.size(), 3u);
  EXPECT_EQ(turns[0].answer, Answered().answer);
  EXPECT_EQ(turns[1].results, Done().results);
  EXPECT_EQ(turns[1].cost_usd, 0.25);
  EXPECT_EQ(turns[1].reasoning_tokens, std::nullopt);
  EXPECT_EQ(turns[2].state, "asked");
  EXPECT_EQ(turns[2].lost_tokens, 1000);
  for (const int turn : {0, 1, 2}) {
    EXPECT_EQ(Texts(other.FolderAfter(request.id, turn).value()), Texts(store_.FolderAfter(request_, turn).value()));
  }
  ASSERT_EQ(other.TurnVerdicts(request.id)->size(), 1u);
  EXPECT_EQ(other.TurnVerdicts(request.id)->at(0).view, Verdict("").view);
  EXPECT_EQ(other.Source(Sha256("tried")).value(), "tried");
  EXPECT_EQ(other.Spent("copy")->input, store_.Spent("r")->input);
  EXPECT_THAT(other.Check()->wrong, IsEmpty());

  ASSERT_TRUE(other.ClaimRequest("copy", request, kMe).value());
  EXPECT_TRUE(other.AskTurn(request.id, kMe, Asked(3, 1))) << "it goes on here";
  ASSERT_TRUE(other.ExportRun("copy", Path("back.kbrun")));
  Store back = Store::Open(Path("back")).value();
  ASSERT_TRUE(back.ImportRun(Path("back.kbrun"), "r"));
  EXPECT_EQ(back.Turns(back.Requests("r")->at(0).id)->at(2).lost, 2);
}

TEST_F(EpisodeArchiveTest, HostileArchivesChangeNothing) {
  const std::string deep = "{\"a\":" + std::string(1 << 20, '[') + std::string(1 << 20, ']') + "}";
  for (const char* column : {"turns SET context", "turns SET answer", "turns SET results", "episodes SET opening",
                             "turn_verdicts SET view"}) {
    const std::string one = std::string(column).starts_with("turns") ? " = ? WHERE number = 1" : " = ?";
    const std::string update = std::string("UPDATE ") + column + one;
    ExpectRefused(update, "damaged record", "no frame");
    ExpectRefused(update, "no JSON", Compress("no JSON"));
    ExpectRefused(update, "no JSON", Compress(deep));
  }
  const std::string long_frame = Compress(std::string((size_t{64} << 20) + 1, ' '));
  ExpectRefused("UPDATE episodes SET opening = ?", "are the most", long_frame);
  const std::string sources = "UPDATE candidates SET source = ? WHERE sha256 = '" + Sha256("one") + "'";
  ExpectRefused(sources, "another hash", Compress("two"));
  ExpectRefused(sources, "are the most", long_frame);
  ExpectRefused("DELETE FROM candidates WHERE sha256 = '" + Sha256("one") + "'", "what models answered");
  ExpectRefused("DELETE FROM candidates WHERE sha256 = '" + Sha256("tried") + "'", "what models answered");
  ExpectRefused("DELETE FROM turns WHERE number = 1", "what models answered");
  ExpectRefused("UPDATE turns SET number = 4 WHERE number = 3", "a turn of an agent is missing");
  ExpectRefused("UPDATE turn_files SET turn = 4 WHERE path = 'b'", "a turn of an agent is missing");
  ExpectRefused("DELETE FROM episodes", "what models answered");
  ExpectRefused("UPDATE turns SET state = 'done' WHERE number = 3", "cannot be imported");
  ExpectRefused("UPDATE turn_files SET mode = 32768", "cannot be imported");
}

TEST_F(EpisodesTest, GarbageIsWhatNoTurnNames) {
  const int64_t request = Begin();
  Work(request, 1, {File("a", "first")}, {Verdict("tried")});
  Work(request, 2, {File("a", "second")});
  ASSERT_EQ(store_.CollectGarbage({}).value().rows.at("candidates"), 0);
  for (const char* text : {"task", "first", "second", "tried"}) EXPECT_TRUE(store_.Source(Sha256(text))) << text;
  Damage(Path("store"), "DELETE FROM turn_files WHERE turn = 1");
  Damage(Path("store"), "DELETE FROM turn_verdicts");
  EXPECT_EQ(store_.CollectGarbage({}).value().rows.at("candidates"), 2);
  EXPECT_FALSE(store_.Source(Sha256("first")));
  EXPECT_FALSE(store_.Source(Sha256("tried")));
  EXPECT_THAT(Texts(store_.FolderAfter(request, 2).value()), ElementsAre(Pair("TASK.md", "task"), Pair("a", "second")));
}

TEST_F(EpisodesTest, CheckNamesWhatIsDamaged) {
  const int64_t request = Begin();
  for (int turn = 1; turn <= 4; ++turn) Work(request, turn, {File("a", std::to_string(turn))}, {Verdict("v")});
  const StoreHealth sound = store_.Check().value();
  EXPECT_THAT(sound.wrong, IsEmpty());
  EXPECT_THAT(sound.rows, AllOf(Contains(Pair("episodes", 1)), Contains(Pair("turns", 4)),
                                Contains(Pair("turn_files", 5)), Contains(Pair("turn_verdicts", 4))));

  std::string frame = Compress(Answered().answer);
  frame[frame.size() / 2] = static_cast<char>(~frame[frame.size() / 2]);
  Damage(Path("store"), "UPDATE turns SET answer = ? WHERE number = 1", frame);
  Damage(Path("store"), "UPDATE turns SET results = ? WHERE number = 2", Compress("no JSON"));
  Damage(Path("store"), "UPDATE episodes SET opening = ?", Compress("no JSON"));
  Damage(Path("store"), "UPDATE turn_verdicts SET view = ? WHERE turn = 3", frame);
  Damage(Path("store"), "UPDATE turns SET number = 9 WHERE number = 4");
  Damage(Path("store"), "UPDATE candidates SET source = ? WHERE sha256 = '" + Sha256("1") + "'", Compress("x"));
  const auto wrong = store_.Check().value().wrong;
  for (const char* said :
       {"the episode of the request 1 is no JSON", "turn 1 of the request 1 cannot be decompressed",
        "turn 2 of the request 1 is no JSON", "a verdict in turn 3 of the request 1 cannot be decompressed",
        "the request 1 has 4 turns, but the last is turn 9", "the request 1 has files of turn 4, which is not there",
        "1 rows of turn_verdicts refer to turns that are not there", "has another hash"}) {
    EXPECT_THAT(wrong, Contains(HasSubstr(said)));
  }
  EXPECT_EQ(wrong.size(), 8u);
  EXPECT_EQ(store_.Turns(request).error().code, ErrorCode::kStore);
}

TEST_F(EpisodesTest, AStoreOfVersion8GetsItsTables) {
  {
    SQLite::Database old(Path("old").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    ASSERT_TRUE(Migrate(old, Migrations().first(8)));
    old.exec(
        "INSERT INTO runs (id, name, created) VALUES (1, 'r', '2025'); INSERT INTO requests (id, run_id, model, "
        "problem, sample, turn, candidate, state) VALUES (5, 1, 'm', '1/19', 0, 0, 0, 'queued')");
  }
  Store store = Store::Open(Path("old")).value();
  EXPECT_EQ(Claim(store), 5);
  EXPECT_FALSE(store.FindEpisode(5).value());
  ASSERT_TRUE(store.BeginEpisode(kMe, {.request = 5, .opening = "{}"}));
  EXPECT_TRUE(store.AskTurn(5, kMe, Asked(1)));
  EXPECT_THAT(store.Check()->wrong, IsEmpty());
}

}  // namespace
}  // namespace kb
