// Stores that cannot be read or written: an error of the engine, never a lost
// or a half evaluation.

#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "fixture.h"

namespace kb::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A small file system of one's own, seen by this process and its children only.
class SmallDisk {
 public:
  explicit SmallDisk(fs::path path) : path_(std::move(path)) {
    fs::create_directory(path_);
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=1m") != 0) {
      problem_ = std::string("cannot mount a file system for the test: ") + strerror(errno);
    }
  }
  ~SmallDisk() { umount2(path_.c_str(), MNT_DETACH); }
  const std::string& problem() const { return problem_; }
  bool MakeReadOnly() const { return mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0; }
  // Writes until no byte fits; returns the file to remove.
  fs::path Fill() const {
    const fs::path file = path_ / "fill";
    const Fd fd(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    for (const size_t size : {size_t{4096}, size_t{1}}) {
      const std::string block(size, 'x');
      while (write(fd.get(), block.data(), block.size()) > 0) {
      }
    }
    return file;
  }

 private:
  fs::path path_;
  std::string problem_;
};

class StoreFailureTest : public PipelineTest {
 protected:
  Arguments Eval(const fs::path& where) {
    return {"eval",
            Write("relu.py", kReluProblem),
            Write("right.cpp", kReluNative),
            "--protocol",
            "quick",
            "--measure",
            "false",
            "--json",
            "--store",
            where.string()};
  }
  // Where the store cannot even be opened nothing is judged.
  void ExpectRefused(const fs::path& where, const std::string& said) {
    const Ended ended = Run(Eval(where));
    EXPECT_EQ(ended.code, 3) << ended;
    EXPECT_THAT(ended.err, AllOf(HasSubstr("store"), HasSubstr(said)));
    EXPECT_THAT(ended.out, IsEmpty());
    for (const Arguments& reading : {Arguments{"list"}, Arguments{"show", "20"}}) {
      Arguments arguments = reading;
      arguments.insert(arguments.end(), {"--store", where.string()});
      const int code = Run(arguments).code;
      EXPECT_TRUE(code == 3 || !fs::exists(where)) << reading[0] << " ended with " << code;
    }
  }
};

TEST_F(StoreFailureTest, StoresThatCannotBeOpened) {
  ExpectRefused("/dev/null/store.sqlite", "cannot make the directory /dev/null");
  ExpectRefused(root(), root().string() + " is a directory");
  const std::string garbage(1 << 16, 'g');
  const fs::path file = Write("garbage.sqlite", garbage);
  ExpectRefused(file, file.string() + " is not a database");
  std::ifstream again(file, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(again), {}), garbage) << "it was written to";
}

TEST_F(StoreFailureTest, WhatOnlyReadsLeavesAnEmptyFileEmpty) {
  const std::string where = Write("empty.sqlite", "");
  const Arguments kReading[] = {{"store", "check"},
                                {"store", "gc", "--dry-run"},
                                {"store", "gc"},
                                {"list"},
                                {"list", "--json"},
                                {"show", "20"},
                                {"report", "-o", (root() / "report.html").string()},
                                {"score"},
                                {"compare", "a", "b"},
                                {"export", "r"},
                                {"rejudge", "r"},
                                {"trajectory", "r"},
                                {"baseline", "list"},
                                {"baseline", "export", "-o", (root() / "b.json").string()}};
  for (Arguments arguments : kReading) {
    arguments.insert(arguments.end(), {"--store", where});
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 2) << arguments[0] << ": " << ended;
    EXPECT_THAT(ended.err, AllOf(HasSubstr(where), HasSubstr("is empty"))) << arguments[0];
    EXPECT_EQ(fs::file_size(where), 0u) << arguments[0] << " wrote to it";
  }
  EXPECT_EQ(Run(Eval(where)).code, 0) << "what stores may make one of it";
  EXPECT_EQ(Run({"store", "check", "--store", where}).code, 0);
}

TEST_F(StoreFailureTest, AReadOnlyStore) {
  const SmallDisk disk(root() / "disk");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const fs::path where = root() / "disk" / "store.sqlite";
  // A first use makes the file; then the disk becomes read-only.
  const Ended first = Run({"show", "20", "--store", where.string()});
  EXPECT_EQ(first.code, 2) << first;
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(where.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "PRAGMA user_version = 0; VACUUM", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  ASSERT_TRUE(disk.MakeReadOnly()) << strerror(errno);
  const Ended ended = Run(Eval(where));
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.err, AllOf(HasSubstr(where.string()), HasSubstr("read-only")));
}

TEST_F(StoreFailureTest, AFullDiskKeepsTheVerdictOnStdout) {
  const SmallDisk disk(root() / "disk");
  if (!disk.problem().empty()) GTEST_SKIP() << disk.problem();
  const fs::path where = root() / "disk" / "store.sqlite";
  Engine engine = Start(Eval(where));
  ASSERT_TRUE(WaitForProcess(engine.pid(), IsDeviceProcess)) << engine.Wait();
  const fs::path fill = disk.Fill();
  const Ended ended = engine.Wait();
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.err, AllOf(HasSubstr(where.string()), HasSubstr("disk")));
  EXPECT_EQ(ended.Of("right.cpp").value("verdict", ""), "correct");
  fs::remove(fill);
  const Ended list = Run({"list", "--json", "--store", where.string()});
  EXPECT_EQ(list.code, 0) << list;
  EXPECT_THAT(list.out, IsEmpty()) << "half an evaluation was stored";
}

TEST_F(StoreFailureTest, ALockedStoreKeepsTheVerdictOnStdout) {
  Engine engine = Start(Eval(store()));
  ASSERT_TRUE(WaitForProcess(engine.pid(), IsDeviceProcess)) << engine.Wait();
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(store().c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  const Ended ended = engine.Wait();
  sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
  sqlite3_close(database);
  EXPECT_EQ(ended.code, 3) << ended;
  EXPECT_THAT(ended.err, AllOf(HasSubstr(store().string()), HasSubstr("locked")));
  const json evaluation = ended.Of("right.cpp");
  EXPECT_EQ(evaluation.value("verdict", ""), "correct");
  ExpectDocumented(evaluation);
  EXPECT_EQ(StoredEvaluations(), 0);
}

}  // namespace
}  // namespace kb::pipeline
