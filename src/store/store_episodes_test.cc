// What agents did, in the store: each turn is in one state, whoever dies, and all of it travels in archives.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/temp_dir.h"
#include "store/compress.h"
#include "store/migrations.h"
#include "store/store.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr char kMe[] = "me";

TurnFile File(const std::string& path, const std::string& contents, unsigned mode = 0644) {
  return {.path = path, .mode = mode, .sha256 = Sha256(contents), .contents = contents};
}

TurnFile Gone(const std::string& path) { return {.path = path, .mode = 0, .sha256 = "", .contents = ""}; }

TurnVerdict Verdict(const std::string& source, int call = 0, const std::string& tool = "evaluate") {
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

Turn Asked(int number, int lost = 0) {
  Turn turn;
  turn.number = number;
  turn.kind = "work";
  turn.context = R"({"drop":[1]})";
  turn.lost = lost;
  turn.lost_tokens = 1000 * lost;
  turn.lost_usd = 0.5 * lost;
  return turn;
}

Turn Answered() {
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

Turn Done() {
  Turn turn;
  turn.results = R"({"results":[{"call_id":"a","text":"one"},{"call_id":"b","text":"two"}]})";
  turn.tool_seconds = 3.5;
  return turn;
}

// Names of files with what is in them.
std::vector<std::pair<std::string, std::string>> Texts(const std::vector<TurnFile>& files) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const TurnFile& file : files) texts.emplace_back(file.path, file.contents);
  return texts;
}

class EpisodesTest : public ::testing::Test {
 protected:
  EpisodesTest() : directory_(TempDir::Create("kb-episodes-test").value()) {}
  fs::path Path(const std::string& name) const { return directory_.path() / name; }
  static int64_t Claim(Store& store, int sample = 0) {
    GenerationRequest request;
    request.model = "m";
    request.problem = "1/19";
    request.sample = request.candidate = sample;
    return store.ClaimRequest("r", request, kMe).value().value().id;
  }
  int64_t Begin(int sample = 0) {
    const int64_t request = Claim(store_, sample);
    const std::vector<TurnFile> files = {File("TASK.md", "task")};
    EXPECT_TRUE(store_.BeginEpisode(kMe, {.request = request, .harness = "h", .opening = R"({"system":"s"})"}, files));
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
  static void Damage(const fs::path& path, const std::string& sql, const std::string& blob = {}) {
    SQLite::Database database(path.string(), SQLite::OPEN_READWRITE);
    database.exec("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
    SQLite::Statement change(database, sql);
    if (change.getBindParameterCount() == 1) change.bind(1, blob.data(), static_cast<int>(blob.size()));
    ASSERT_GT(change.exec(), 0) << sql;
  }

  const TempDir directory_;
  Store store_ = Store::Open(Path("store")).value();
};

template <typename T>
void ExpectStoreError(const T& result, const std::string& said) {
  ASSERT_FALSE(result) << said;
  EXPECT_EQ(result.error().code, ErrorCode::kStore);
  EXPECT_THAT(result.error().message, HasSubstr(said));
}

TEST_F(EpisodesTest, AnEpisodeIsBegunOnceAndEnds) {
  const int64_t request = Claim(store_);
  EXPECT_FALSE(store_.FindEpisode(request).value());
  ExpectStoreError(store_.AskTurn(request, kMe, Asked(1)), "no episode");
  ExpectStoreError(store_.EndEpisode(request, kMe, "submit", ""), "no episode");
  const Episode begun =
      store_.BeginEpisode(kMe, {.request = request, .harness = "h", .opening = R"({"system":"s"})"}).value();
  EXPECT_EQ(begun.opening, R"({"system":"s"})");
  EXPECT_NE(begun.created, "");
  const std::vector<TurnFile> later = {File("later", "x")};
  EXPECT_EQ(store_.BeginEpisode(kMe, {.request = request, .opening = R"({"system":"other"})"}, later)->opening,
            begun.opening);
  EXPECT_THAT(store_.TurnFiles(request).value(), IsEmpty()) << "it had begun";
  ASSERT_TRUE(store_.EndEpisode(request, kMe, "usd", "it was too dear"));
  const Episode ended = store_.FindEpisode(request).value().value();
  EXPECT_EQ(ended.harness, "h");
  EXPECT_EQ(ended.ended_by, "usd");
  EXPECT_EQ(ended.ending, "it was too dear");
  ExpectStoreError(store_.AskTurn(request, kMe, Asked(1)), "has ended");
  ASSERT_TRUE(store_.EndEpisode(request, kMe, "", ""));
  EXPECT_TRUE(store_.AskTurn(request, kMe, Asked(1)));
}

TEST_F(EpisodesTest, ATurnGoesThroughItsStatesInOrder) {
  const int64_t request = Begin();
  ExpectStoreError(store_.AskTurn(request, kMe, Asked(2)), "the next is 1");
  const int64_t id = store_.AskTurn(request, kMe, Asked(1)).value();
  ExpectStoreError(store_.FinishTurn(id, kMe, Done(), {}, {}), "turn 1 of request 1 is asked and not answered");
  ASSERT_TRUE(store_.AnswerTurn(id, kMe, Answered()));
  ExpectStoreError(store_.AnswerTurn(id, kMe, Answered()), "is answered and not asked");
  ExpectStoreError(store_.AskTurn(request, kMe, Asked(1)), "has been answered");
  EXPECT_EQ(store_.Turns(request)->at(0).state, "answered");
  ASSERT_TRUE(store_.FinishTurn(id, kMe, Done(), {}, {}));
  ExpectStoreError(store_.FinishTurn(id, kMe, Done(), {}, {}), "is done and not answered");
  ExpectStoreError(store_.AnswerTurn(id + 1, kMe, Answered()), "no turn");
  Work(request, 2);

  const std::vector<Turn> turns = store_.Turns(request).value();
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[1].number, 2);
  const Turn& turn = turns[0];
  EXPECT_EQ(turn.id, id);
  EXPECT_EQ(turn.request, request);
  EXPECT_EQ(turn.kind, "work");
  EXPECT_EQ(turn.state, "done");
  EXPECT_EQ(turn.context, Asked(1).context);
  EXPECT_EQ(turn.answer, Answered().answer);
  EXPECT_EQ(turn.results, Done().results);
  EXPECT_EQ(turn.input, 10);
  EXPECT_EQ(turn.cache_read, 20);
  EXPECT_EQ(turn.cache_write, std::nullopt);
  EXPECT_EQ(turn.output, 5);
  EXPECT_EQ(turn.reasoning_tokens, std::nullopt);
  EXPECT_EQ(turn.cost_usd, 0.25);
  EXPECT_EQ(turn.price_source, "table");
  EXPECT_EQ(turn.calls, 2);
  EXPECT_EQ(turn.seconds, 1.5);
  EXPECT_EQ(turn.tool_seconds, 3.5);
}

TEST_F(EpisodesTest, AskedAgainItAddsWhatWasLost) {
  const int64_t request = Begin();
  const int64_t id = store_.AskTurn(request, kMe, Asked(1)).value();
  EXPECT_EQ(store_.AskTurn(request, kMe, Asked(1, 1)).value(), id);
  Turn last = Asked(1, 2);
  last.kind = "condense";
  last.context = R"({"drop":[2]})";
  EXPECT_EQ(store_.AskTurn(request, kMe, last).value(), id);
  const std::vector<Turn> turns = store_.Turns(request).value();
  ASSERT_EQ(turns.size(), 1u);
  EXPECT_EQ(turns[0].lost, 3);
  EXPECT_EQ(turns[0].lost_tokens, 3000);
  EXPECT_DOUBLE_EQ(turns[0].lost_usd, 1.5);
  EXPECT_EQ(turns[0].kind, "condense");
  EXPECT_EQ(turns[0].context, last.context) << "what the model is asked now";
}

TEST_F(EpisodesTest, AnAnswerAddsWhatWasLostBeforeIt) {
  const int64_t request = Begin();
  const int64_t id = store_.AskTurn(request, kMe, Asked(1, 1)).value();
  Turn answer = Answered();
  answer.lost = 2;
  answer.lost_tokens = 500;
  answer.lost_usd = 0.25;
  ASSERT_TRUE(store_.AnswerTurn(id, kMe, answer));
  const std::vector<Turn> turns = store_.Turns(request).value();
  EXPECT_EQ(turns.at(0).lost, 3);
  EXPECT_EQ(turns[0].lost_tokens, 1500);
  EXPECT_DOUBLE_EQ(turns[0].lost_usd, 0.75);
}

TEST_F(EpisodesTest, VerdictsMayFollowATurnThatIsDone) {
  const int64_t request = Begin();
  const std::vector<TurnVerdict> late = {Verdict("b", -1)};
  ExpectStoreError(store_.AddTurnVerdicts(request, kMe, 1, late), "turn 1 of request 1 is not done");
  Work(request, 1, {}, {Verdict("a")});
  ExpectStoreError(store_.AddTurnVerdicts(request, "another", 1, late), "was taken over");
  ASSERT_TRUE(store_.AddTurnVerdicts(request, kMe, 1, late));
  const std::vector<TurnVerdict> verdicts = store_.TurnVerdicts(request).value();
  ASSERT_EQ(verdicts.size(), 2u);
  EXPECT_EQ(verdicts[1].turn, 1);
  EXPECT_EQ(verdicts[1].call, -1);
  EXPECT_EQ(verdicts[1].source_sha256, Sha256("b"));
}

TEST_F(EpisodesTest, NobodyElseChangesIt) {
  const int64_t request = Begin();
  const int64_t id = store_.AskTurn(request, kMe, Asked(1)).value();
  const std::string said = "request 1 was taken over by another process";
  const auto all_fail = [&](const std::string& owner, const std::string& why) {
    ExpectStoreError(store_.BeginEpisode(owner, {.request = request}), why);
    ExpectStoreError(store_.AskTurn(request, owner, Asked(1, 1)), why);
    ExpectStoreError(store_.AnswerTurn(id, owner, Answered()), why);
    ExpectStoreError(store_.FinishTurn(id, owner, Done(), {}, {}), why);
    ExpectStoreError(store_.EndEpisode(request, owner, "usd", ""), why);
  };
  all_fail("another", said);
  ASSERT_TRUE(store_.GiveUpRequest(request, kMe, "busy", true));
  all_fail(kMe, "request 1 is queued");
  all_fail("", "request 1 is queued");
  ExpectStoreError(store_.BeginEpisode(kMe, {.request = 77}), "no request 77");
  EXPECT_EQ(store_.Turns(request)->at(0).lost, 0);
  EXPECT_EQ(store_.Turns(request)->at(0).state, "asked");
  EXPECT_EQ(store_.FindEpisode(request).value()->ended_by, "");

  EXPECT_EQ(Claim(store_), request);
  EXPECT_EQ(store_.AskTurn(request, kMe, Asked(1, 1)).value(), id) << "it goes on in the same turn";
}

TEST_F(EpisodesTest, ParallelCallsHaveTheirVerdicts) {
  const int64_t request = Begin();
  TurnVerdict fast = Verdict("fast", 1);
  fast.verdict = "correct";
  fast.speedup = 2.0;
  fast.low = 1.5;
  fast.high = 2.5;
  Work(request, 1, {}, {Verdict("first", 0, "compile"), fast, Verdict("fast", 1, "profile")});
  Work(request, 2, {}, {Verdict("fast")});
  const auto verdicts = store_.TurnVerdicts(request).value();
  ASSERT_EQ(verdicts.size(), 4u);
  EXPECT_EQ(verdicts[0].tool, "compile");
  EXPECT_EQ(verdicts[0].verdict, "");
  EXPECT_EQ(verdicts[0].speedup, std::nullopt);
  EXPECT_EQ(verdicts[1].turn, 1);
  EXPECT_EQ(verdicts[1].call, 1);
  EXPECT_EQ(verdicts[1].tool, "evaluate");
  EXPECT_EQ(verdicts[1].source_sha256, Sha256("fast"));
  EXPECT_EQ(verdicts[1].language, "cu");
  EXPECT_EQ(verdicts[1].verdict, "correct");
  EXPECT_EQ(verdicts[1].speedup, 2.0);
  EXPECT_EQ(verdicts[1].low, 1.5);
  EXPECT_EQ(verdicts[1].high, 2.5);
  EXPECT_EQ(verdicts[1].view, fast.view);
  EXPECT_EQ(verdicts[1].device_seconds, 2.5);
  EXPECT_EQ(verdicts[2].tool, "profile");
  EXPECT_EQ(verdicts[3].turn, 2);
  EXPECT_EQ(store_.Source(Sha256("first")).value(), "first");
}

TEST_F(EpisodesTest, AFolderIsWhatItsTurnsMadeOfIt) {
  const int64_t request = Begin();
  const std::string binary("\0\xff\xfe not text\n\0", 13);
  Work(request, 1, {File("a", "one"), File("dir/b", binary, 0755)});
  Work(request, 2);
  Work(request, 3, {Gone("a"), File("dir/b", "two", 0600)});
  Work(request, 4, {File("a", "again")});
  const auto after = [&](int turn) { return Texts(store_.FolderAfter(request, turn).value()); };
  EXPECT_THAT(after(0), ElementsAre(Pair("TASK.md", "task")));
  EXPECT_THAT(after(1), ElementsAre(Pair("TASK.md", "task"), Pair("a", "one"), Pair("dir/b", binary)));
  EXPECT_EQ(after(2), after(1));
  EXPECT_THAT(after(3), ElementsAre(Pair("TASK.md", "task"), Pair("dir/b", "two")));
  EXPECT_THAT(after(4), ElementsAre(Pair("TASK.md", "task"), Pair("a", "again"), Pair("dir/b", "two")));
  EXPECT_EQ(store_.FolderAfter(request, 1)->at(2).mode, 0755u);
  EXPECT_EQ(store_.FolderAfter(request, 4)->at(2).mode, 0600u);

  const auto files = store_.TurnFiles(request).value();
  ASSERT_EQ(files.size(), 6u);
  EXPECT_EQ(files[0].first, 0);
  EXPECT_EQ(files[3].first, 3);
  EXPECT_EQ(files[3].second.path, "a");
  EXPECT_EQ(files[3].second.sha256, "");
  EXPECT_EQ(files[4].second.sha256, Sha256("two"));
  EXPECT_EQ(files[4].second.contents, "");
}

TEST_F(EpisodesTest, WhatHasAnotherHashIsNotStored) {
  const int64_t request = Begin();
  const int64_t id = store_.AskTurn(request, kMe, Asked(1)).value();
  ASSERT_TRUE(store_.AnswerTurn(id, kMe, Answered()));
  TurnFile file = File("a", "one");
  file.contents = "two";
  TurnVerdict verdict = Verdict("one");
  verdict.source = "two";
  for (const Status& status : {store_.FinishTurn(id, kMe, Done(), std::vector{file}, {}),
                               store_.FinishTurn(id, kMe, Done(), {}, std::vector{verdict})}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::kEngine);
    EXPECT_THAT(status.error().message, HasSubstr(Sha256("one")));
  }
  EXPECT_EQ(store_.Turns(request)->at(0).state, "answered") << "all or nothing";
  EXPECT_FALSE(store_.Source(Sha256("two")));
}

TEST_F(EpisodesTest, SpentCountsTurnsUntilTheirAnswerIsThere) {
  const int64_t open = Begin(0), other = Begin(1), idle = Begin(2);
  ASSERT_TRUE(store_.AskTurn(idle, kMe, Asked(1)));
  Work(open, 1, {}, {Verdict("a"), Verdict("b"), Verdict("b", 0, "profile")});
  const int64_t id = store_.AskTurn(open, kMe, Asked(2)).value();
  store_.AskTurn(open, kMe, Asked(2, 1)).value();
  Turn unknown = Answered();
  unknown.input = std::nullopt;
  unknown.cost_usd = std::nullopt;
  ASSERT_TRUE(store_.AnswerTurn(id, kMe, unknown));
  ASSERT_TRUE(store_.AskTurn(other, kMe, Asked(1, 1)));

  const GenerationSpent before = store_.Spent("r").value();
  EXPECT_EQ(before.answers, 2) << "what has taken nothing is none";
  EXPECT_EQ(before.input, (30 + 20 + 1000) + 1000);
  EXPECT_EQ(before.output, 10);
  EXPECT_EQ(before.without_usage, 1);
  EXPECT_EQ(before.without_cost, 1);
  EXPECT_DOUBLE_EQ(before.usd, (0.25 + 0.5) + 0.5);
  EXPECT_EQ(before.evaluations, 3);
  EXPECT_EQ(store_.Spent("r", "m")->input, before.input);
  EXPECT_EQ(store_.Spent("r", "another")->answers, 0);
  EXPECT_EQ(store_.Spent("r", "another")->evaluations, 0);
  EXPECT_EQ(store_.Spent("elsewhere")->input, 0);

  GenerationAnswer answer;
  answer.input = 7;
  answer.output = 1;
  answer.cost_usd = 4;
  const int64_t stored = store_.AddAnswer(open, kMe, answer).value();
  ASSERT_TRUE(store_.SettleAnswer(stored, kMe, "b", "cu", "", true));
  ASSERT_TRUE(store_.Add(RunEvaluation("e")));
  ASSERT_TRUE(store_.AddJobs("r", std::vector<Job>{RunJob(0)}));
  ASSERT_TRUE(store_.ClaimJob(1, kMe).value());
  ASSERT_TRUE(store_.FinishJob(1, kMe, RunEvaluation("f")).value());
  const GenerationSpent after = store_.Spent("r").value();
  EXPECT_EQ(after.answers, 2);
  EXPECT_EQ(after.input, 7 + 1000);
  EXPECT_EQ(after.output, 1);
  EXPECT_EQ(after.without_usage, 0);
  EXPECT_EQ(after.without_cost, 0);
  EXPECT_DOUBLE_EQ(after.usd, 4 + 0.5);
  EXPECT_EQ(after.evaluations, 4) << "the job and those of the turns, profiles too";
}

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
