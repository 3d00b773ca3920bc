// What happens to the store when the world misbehaves: kills, locks, permissions, full disks, foreign files.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/temp_dir.h"
#include "store/migrations.h"
#include "store/sqlite_error.h"
#include "store/store.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr int kSkipped = 77;

json Evaluation(const std::string& id, size_t padding = 3000) {
  // Contents that do not compress, so that each evaluation takes several pages.
  std::string noise;
  uint64_t state = std::hash<std::string>{}(id) | 1;
  for (size_t i = 0; i < padding; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    noise += static_cast<char>(' ' + (state >> 33) % 90);
  }
  return {{"id", id},
          {"created", "2024-05-01T10:00:00Z"},
          {"problem", "1/19"},
          {"verdict", "correct"},
          {"candidate", {{"path", id + ".py"}, {"source", noise}}},
          {"samples", json::array({{{"index", 0}, {"note", noise}}})},
          {"evidence", {{"output", noise}}}};
}

class StoreFaultsTest : public ::testing::Test {
 protected:
  StoreFaultsTest() : directory_(TempDir::Create("kb-store-faults").value()), path_(directory_.path() / "store.db") {}

  Error OpenError() {
    const auto store = Store::Open(path_, {.busy_timeout_ms = 50});
    EXPECT_FALSE(store);
    return store ? Error{} : store.error();
  }

  // Runs `body` in a child and returns its exit status.
  template <typename Body>
  int InChild(Body body) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(body());
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TempDir directory_;
  fs::path path_;
};

TEST_F(StoreFaultsTest, KillLeavesOnlyWholeEvaluations) {
  for (int attempt = 0; attempt < 8; ++attempt) {
    int progress[2];
    ASSERT_EQ(::pipe(progress), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = Store::Open(path_);
      for (int i = 0; store; ++i) {
        if (!store->Add(Evaluation("id-" + std::to_string(attempt) + "-" + std::to_string(i)))) break;
        if (::write(progress[1], "x", 1) != 1) break;
      }
      ::_exit(1);
    }
    ::close(progress[1]);
    char byte = 0;
    for (int i = 0; i <= attempt * 5; ++i) ASSERT_EQ(::read(progress[0], &byte, 1), 1);
    ::usleep(static_cast<useconds_t>(311 * attempt));  // somewhere inside the next one
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    ::close(progress[0]);

    auto store = Store::Open(path_);
    ASSERT_TRUE(store) << store.error().message;
    const auto all = store->List().value();
    EXPECT_GT(all.size(), static_cast<size_t>(attempt * 5)) << "what was acknowledged is there";
    for (const json& summary : all) {
      const std::string id = summary["id"];
      EXPECT_EQ(store->Get(id).value(), Evaluation(id));
    }
    SQLite::Database raw(path_.string(), SQLite::OPEN_READWRITE);
    EXPECT_EQ(raw.execAndGet("PRAGMA integrity_check").getString(), "ok");
    const int evaluations = raw.execAndGet("SELECT count(*) FROM evaluations").getInt();
    EXPECT_EQ(raw.execAndGet("SELECT count(*) FROM samples").getInt(), evaluations);
    EXPECT_EQ(raw.execAndGet("SELECT count(*) FROM candidates").getInt(), evaluations);
  }
}

TEST_F(StoreFaultsTest, ManyProcessesAtOnce) {
  constexpr int kProcesses = 6;
  constexpr int kEach = 10;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      auto store = Store::Open(path_);  // the first of them creates it
      if (!store) ::_exit(1);
      for (int i = 0; i < kEach; ++i) {
        if (!store->Add(Evaluation("p" + std::to_string(process) + "-" + std::to_string(i), 100))) ::_exit(2);
      }
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(Store::Open(path_)->List().value().size(), static_cast<size_t>(kProcesses * kEach));
}

TEST_F(StoreFaultsTest, ReadOnlyFile) {
  ASSERT_TRUE(Store::Open(path_));
  ASSERT_EQ(::chmod(path_.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(directory_.path().c_str(), 0755), 0);
  // Permissions do not bind root, so the child becomes somebody else.
  const int status = InChild([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return kSkipped;
    const auto store = Store::Open(path_, {.busy_timeout_ms = 50});
    if (store) return 1;
    return store.error().code == ErrorCode::kStore && store.error().message.find("read-only") != std::string::npos ? 0
                                                                                                                   : 2;
  });
  if (status == kSkipped) GTEST_SKIP() << "cannot become an unprivileged user";
  EXPECT_EQ(status, 0);
}

TEST_F(StoreFaultsTest, DirectoryThatCannotBeMade) {
  ASSERT_TRUE(WriteFileAtomic(directory_.path() / "file", "x"));
  const auto store = Store::Open(directory_.path() / "file" / "store.db");
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::kStore);
  EXPECT_THAT(store.error().message, HasSubstr("cannot make the directory"));
  path_ = directory_.path();
  EXPECT_THAT(OpenError().message, HasSubstr("is a directory"));
}

TEST_F(StoreFaultsTest, LockedByAnotherConnection) {
  auto store = Store::Open(path_, {.busy_timeout_ms = 50});
  ASSERT_TRUE(store);
  SQLite::Database other(path_.string(), SQLite::OPEN_READWRITE);
  other.exec("BEGIN EXCLUSIVE");
  const Status added = store->Add(Evaluation("a"));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::kStore);
  EXPECT_THAT(added.error().message, HasSubstr("locked by another process"));
  other.exec("COMMIT");
  EXPECT_TRUE(store->Add(Evaluation("a"))) << "and works again afterwards";
}

TEST_F(StoreFaultsTest, LockedWhileOpening) {
  SQLite::Database other(path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  other.exec("BEGIN EXCLUSIVE");
  EXPECT_THAT(OpenError().message, HasSubstr("locked by another process"));
}

TEST_F(StoreFaultsTest, GarbageFile) {
  ASSERT_TRUE(WriteFileAtomic(path_, std::string(8192, 'g')));
  EXPECT_THAT(OpenError().message, HasSubstr("is not a database"));
  EXPECT_EQ(ReadFile(path_).value(), std::string(8192, 'g')) << "it is left alone";
}

TEST_F(StoreFaultsTest, AnotherProgramsDatabase) {
  {
    SQLite::Database other(path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    other.exec("CREATE TABLE bookmarks (url TEXT)");
  }
  EXPECT_THAT(OpenError().message, HasSubstr("another program"));
}

TEST_F(StoreFaultsTest, NewerVersion) {
  ASSERT_TRUE(Store::Open(path_));
  {
    SQLite::Database raw(path_.string(), SQLite::OPEN_READWRITE);
    raw.exec("PRAGMA user_version = 9999");
  }
  EXPECT_THAT(OpenError().message, HasSubstr("9999"));
}

TEST_F(StoreFaultsTest, EmptyFileIsMigrated) {
  ASSERT_TRUE(WriteFileAtomic(path_, ""));
  auto store = Store::Open(path_);
  ASSERT_TRUE(store) << store.error().message;
  EXPECT_TRUE(store->Add(Evaluation("a")));
  SQLite::Database raw(path_.string(), SQLite::OPEN_READWRITE);
  EXPECT_EQ(raw.execAndGet("PRAGMA user_version").getInt(), static_cast<int>(Migrations().size()));
  EXPECT_EQ(raw.execAndGet("PRAGMA journal_mode").getString(), "wal");
  EXPECT_EQ(raw.execAndGet("SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
                           "AND name NOT LIKE 'sqlite_%' AND NOT strict")
                .getInt(),
            0);
}

TEST_F(StoreFaultsTest, StepsAreTakenOneByOneAndKeepTheData) {
  SQLite::Database database(path_.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  const char* const kSteps[] = {"CREATE TABLE t (x INTEGER) STRICT; INSERT INTO t VALUES (7)",
                                "ALTER TABLE t ADD COLUMN y INTEGER NOT NULL DEFAULT 8"};
  ASSERT_TRUE(Migrate(database, std::span(kSteps).first(1)));
  EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), 1);
  ASSERT_TRUE(Migrate(database, kSteps));
  ASSERT_TRUE(Migrate(database, kSteps)) << "a second time changes nothing";
  EXPECT_EQ(database.execAndGet("SELECT x + y FROM t").getInt(), 15);
  EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), 2);
  EXPECT_FALSE(Migrate(database, std::span(kSteps).first(1))) << "newer than this program";
  const char* const kBroken[] = {kSteps[0], kSteps[1], "CREATE TABLE u (x INTEGER) STRICT; SELECT nonsense"};
  EXPECT_THROW(static_cast<void>(Migrate(database, kBroken)), SQLite::Exception);
  EXPECT_EQ(database.execAndGet("PRAGMA user_version").getInt(), 2);
  EXPECT_FALSE(database.tableExists("u")) << "a step that fails leaves nothing";
}

TEST_F(StoreFaultsTest, FullDisk) {
  const int status = InChild([&] {
    if (::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return kSkipped;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return kSkipped;
    if (::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, "size=600k") != 0) return kSkipped;
    auto store = Store::Open(path_);
    if (!store) return 1;
    int stored = 0;
    Status added;
    while ((added = store->Add(Evaluation("id" + std::to_string(stored), 20000)))) {
      if (++stored > 1000) return 2;
    }
    if (added.error().message.find("disk is full") == std::string::npos) return 3;
    const auto all = store->List();
    if (!all || static_cast<int>(all->size()) != stored) return 4;
    for (const json& summary : *all) {
      if (!store->Get(summary["id"].get<std::string>())) return 5;
    }
    return stored > 0 ? 0 : 6;
  });
  if (status == kSkipped) GTEST_SKIP() << "no mount namespace here";
  EXPECT_EQ(status, 0);
}

TEST(StoreErrorTest, EveryKindSaysWhatToDo) {
  const struct {
    int code;
    const char* words;
  } kCases[] = {{SQLITE_BUSY, "locked by another process"},
                {SQLITE_BUSY_SNAPSHOT, "locked by another process"},
                {SQLITE_READONLY_DBMOVED, "read-only"},
                {SQLITE_CANTOPEN, "permissions"},
                {SQLITE_NOTADB, "not a database"},
                {SQLITE_CORRUPT, "damaged"},
                {SQLITE_FULL, "disk is full"},
                {SQLITE_IOERR_WRITE, "look at the disk"},
                {SQLITE_MISUSE, "failed"}};
  for (const auto& test : kCases) {
    const Error error = StoreError(test.code, "/x/store.db", "words of SQLite");
    EXPECT_EQ(error.code, ErrorCode::kStore);
    EXPECT_THAT(error.message, HasSubstr(test.words));
    EXPECT_THAT(error.message, HasSubstr("/x/store.db"));
    EXPECT_THAT(error.message, HasSubstr("words of SQLite"));
  }
}

}  // namespace
}  // namespace kb
