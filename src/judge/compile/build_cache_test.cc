// The build cache and room in it, with several processes and with some that are killed.

#include "judge/compile/build_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <random>

#include "base/file.h"
#include "base/hash.h"
#include "base/temp_dir.h"
#include "judge/compile/cache_room.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

std::string Key(const std::string& name) { return Sha256(name); }
std::string Bytes(const std::string& name) { return name + std::string(30'000, '.'); }  // 8 blocks of a disk
constexpr uint64_t kEntryBytes = (1 + 8 + 1) * 4096;                                    // with folder and result

// A process that ends with `run`'s result, or when this one kills it.
class Child {
 public:
  explicit Child(const std::function<bool()>& run) : pid_(fork()) {
    if (pid_ == 0) _exit(run() ? 0 : 1);
  }
  Child(const Child&) = delete;  // one waits for it
  Child& operator=(const Child&) = delete;
  ~Child() { Kill(); }
  void Kill() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    Wait();
  }
  bool Wait() {
    int status = 1;
    if (pid_ > 0) waitpid(pid_, &status, 0);
    pid_ = -1;
    return status == 0;
  }

 private:
  pid_t pid_;
};

class CacheTest : public testing::Test {
 protected:
  void Store(const std::string& name) { ASSERT_TRUE(cache_.Put(Key(name), BuildResult{.ok = true}, Bytes(name))); }
  void SetUsed(const std::string& name, time_t seconds) {
    const timespec times[2] = {{seconds, 0}, {seconds, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, (directory() / Key(name) / kUsedFile).c_str(), times, 0), 0);
  }
  fs::path directory() const { return root_.path() / "builds"; }
  void Write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    ASSERT_TRUE(WriteFileAtomic(path, text));
  }
  bool Has(const std::string& name) const { return fs::exists(directory() / Key(name)); }
  uint64_t AllBytes() const {
    uint64_t bytes = 0;
    for (const CachedEntry& entry : CachedEntries(directory())) bytes += entry.bytes;
    return bytes;
  }
  TempDir root_ = *TempDir::Create("cache-test");
  BuildCache cache_ = *BuildCache::Open(root_.path() / "builds");
};

TEST_F(CacheTest, KeepsSuccessAndFailure) {
  BuildResult good{.ok = true, .log = "warning: \xff", .seconds = 1.5};
  ASSERT_TRUE(cache_.Put(Key("good"), good, "bytes"));
  ASSERT_TRUE(cache_.Put(Key("bad"), BuildResult{.log = "error"}, ""));
  const auto found = cache_.Find(Key("good"));
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->ok && found->cached);
  EXPECT_EQ(*ReadFile(found->artifact), "bytes");
  EXPECT_FALSE(cache_.Find(Key("bad"))->ok);
  EXPECT_EQ(cache_.Find(Key("bad"))->log, "error");
  EXPECT_FALSE(cache_.Find(Key("absent")));
}

TEST_F(CacheTest, WhatEndedTheCompilerIsNotKept) {
  for (const BuildResult& result :
       {BuildResult{.timed_out = true}, BuildResult{.killed = true}, BuildResult{.out_of_memory = true}}) {
    ASSERT_TRUE(cache_.Put(Key("a"), result, ""));
    EXPECT_FALSE(cache_.Find(Key("a")));
  }
}

TEST_F(CacheTest, CorruptEntriesAreBuiltAgain) {
  const std::pair<std::string, std::string> damages[] = {
      {Key("a") + ".so", "wrong"}, {"result.json", "{\"ok\": tr"}, {"result.json", ""}};
  for (const auto& [file, text] : damages) {
    ASSERT_TRUE(cache_.Put(Key("a"), BuildResult{.ok = true}, "right"));
    EXPECT_TRUE(cache_.Find(Key("a")));
    Write(directory() / Key("a") / file, text);
    EXPECT_FALSE(cache_.Find(Key("a")));
  }
  for (const char* file : {"used", "result.json"}) {
    ASSERT_TRUE(cache_.Put(Key("a"), BuildResult{.ok = true}, "right"));
    fs::remove(directory() / Key("a") / file);
    EXPECT_FALSE(cache_.Find(Key("a"))) << file;
  }
}

TEST_F(CacheTest, EntriesOfAnotherFormAreBuiltAgain) {
  ASSERT_TRUE(cache_.Put(Key("a"), BuildResult{.ok = true}, "bytes"));
  const fs::path result = directory() / Key("a") / "result.json";
  Write(result, R"({"ok": false, "log": "error", "seconds": 1.5})");
  EXPECT_TRUE(cache_.Find(Key("a")));
  for (const char* text : {"", "null", "[]", "{}", R"({"ok": 1, "log": "", "seconds": 1})", "\xff\xfe",
                           R"({"ok": true, "log": ["x"], "seconds": 1})", R"({"ok": false, "log": "", "seconds": "1"})",
                           R"({"ok": true, "log": "", "seconds": 1, "sha256": 5})"}) {
    Write(result, text);
    EXPECT_FALSE(cache_.Find(Key("a"))) << text;
  }
}

TEST_F(CacheTest, WhatIsInUseIsNeitherReplacedNorRemoved) {
  auto first = *cache_.Put(Key("a"), BuildResult{.ok = true}, "first");
  auto second = *cache_.Put(Key("a"), BuildResult{.ok = true}, "second");
  EXPECT_EQ(*ReadFile(second.artifact), "first");
  Store("b");
  const RemovedEntries removed = RemoveEntries(directory(), 0);
  EXPECT_EQ(removed.entries, 1u);
  EXPECT_EQ(removed.in_use, 1u);
  EXPECT_EQ(removed.left_bytes, removed.in_use_bytes);
  EXPECT_EQ(*ReadFile(first.artifact), "first");
  first.hold.reset();
  EXPECT_EQ(RemoveEntries(directory(), 0).in_use, 1u) << "the second result holds it, too";
  second.hold.reset();
  second = *cache_.Put(Key("a"), BuildResult{.ok = true}, "third");
  EXPECT_EQ(*ReadFile(second.artifact), "third");
  second.hold.reset();
  EXPECT_EQ(RemoveEntries(directory(), 0).entries, 1u);
  EXPECT_FALSE(cache_.Find(Key("a")));
}

TEST_F(CacheTest, AnotherProcessUsesAnEntryUntilItIsKilled) {
  Store("a");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  Child child([&] {
    const auto found = cache_.Find(Key("a"));
    if (write(ready[1], found ? "1" : "0", 1) != 1) return false;
    for (;;) pause();
  });
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, '1');
  EXPECT_EQ(RemoveEntries(directory(), 0).in_use, 1u);
  EXPECT_TRUE(Has("a"));
  child.Kill();
  EXPECT_EQ(RemoveEntries(directory(), 0).entries, 1u);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(CacheTest, LeastRecentlyUsedGoesFirst) {
  for (const auto& [name, time] : {std::pair("old", 100), {"used again", 50}, {"new", 200}}) {
    Store(name);
    SetUsed(name, time);
  }
  EXPECT_TRUE(cache_.Find(Key("used again")));
  std::vector<std::string> names;
  for (const CachedEntry& entry : CachedEntries(directory())) {
    EXPECT_EQ(entry.bytes, kEntryBytes);
    names.push_back(entry.name);
  }
  EXPECT_THAT(names, ElementsAre(Key("old"), Key("new"), Key("used again")));
  const RemovedEntries removed = RemoveEntries(directory(), 2 * kEntryBytes);
  EXPECT_EQ(removed.entries, 1u);
  EXPECT_EQ(removed.bytes, kEntryBytes);
  EXPECT_EQ(removed.left_bytes, 2 * kEntryBytes);
  EXPECT_FALSE(Has("old"));
}

TEST_F(CacheTest, TheQuotaIsKept) {
  constexpr uint64_t kQuota = 10 * kEntryBytes;
  const BuildCache small = *BuildCache::Open(directory(), kQuota);
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::to_string(i);
    const auto stored = small.Put(Key(name), BuildResult{.ok = true}, Bytes(name));
    ASSERT_TRUE(stored);
    EXPECT_LE(AllBytes(), kQuota) << i;
    EXPECT_TRUE(small.Find(Key(name)));
  }
  EXPECT_GE(AllBytes(), kQuota / 2) << "no more goes than has to";
  EXPECT_TRUE(Has("38") && !Has("5"));
  // What is in use may be more.
  const BuildCache tiny = *BuildCache::Open(directory(), 1);
  std::vector<BuildResult> held;
  for (const char* name : {"a", "b", "c"}) held.push_back(*tiny.Put(Key(name), BuildResult{.ok = true}, Bytes(name)));
  EXPECT_EQ(CachedEntries(directory()).size(), 3u);
  held.clear();
  Store("d");
  ASSERT_TRUE(tiny.Put(Key("e"), BuildResult{.log = "error"}, ""));
  EXPECT_TRUE(Has("e") && !Has("a") && !Has("d"));
}

TEST_F(CacheTest, WhatKilledProcessesLeftGoesAndNothingElse) {
  Store("a");
  const std::string entry = Key("b");
  const std::string left[] = {"trash." + entry + "/used", "trash." + entry + "/result.json", "trash.new.abc123/used",
                              "new.abc123/used", "new.abc123/result.json"};
  const std::string other[] = {"new.live01/used", "mine.txt",    "trash.mine/used", "new.mine/used",
                               "something/used",  entry + ".so", "0123/used"};
  for (const std::string& file : left) Write(directory() / file, "");
  for (const std::string& file : other) Write(directory() / file, "");
  fs::create_directory(directory() / "new.empty1");
  const std::string aged = Key("c") + ".so";  // as entries once were
  Write(directory() / aged, "");
  const timespec long_ago[2] = {{1, 0}, {1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (directory() / aged).c_str(), long_ago, 0), 0);
  const Fd filling(open((directory() / "new.live01/used").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(filling.get(), LOCK_SH), 0);

  EXPECT_EQ(RemoveEntries(directory(), UINT64_MAX).entries, 0u);
  for (const std::string& file : left) EXPECT_FALSE(fs::exists((directory() / file).parent_path())) << file;
  for (const std::string& file : other) EXPECT_TRUE(fs::exists(directory() / file)) << file;
  EXPECT_FALSE(fs::exists(directory() / "new.empty1") || fs::exists(directory() / aged));
  EXPECT_TRUE(Has("a"));
  EXPECT_THAT(ForeignNames(directory()), ElementsAre("0123", "mine.txt", "new.mine", "something", "trash.mine"));
}

TEST_F(CacheTest, KilledWhileItStoresAndRemoves) {
  std::minstd_rand chance(1);
  for (int trial = 0; trial < 30; ++trial) {
    Child child([&] {
      for (int i = 0;; ++i) {
        for (int j = 0; j < 8; ++j) {
          if (!cache_.Put(Key(std::to_string(j)), BuildResult{.ok = true}, Bytes(std::to_string(j)))) return false;
        }
        RemoveEntries(directory(), i % 2 * 4 * kEntryBytes);
      }
    });
    usleep(chance() % 20'000);
    child.Kill();
    for (const CachedEntry& entry : CachedEntries(directory())) EXPECT_TRUE(cache_.Find(entry.name)) << entry.name;
    const RemovedEntries removed = RemoveEntries(directory(), 0);
    EXPECT_EQ(removed.in_use, 0u);
    EXPECT_EQ(removed.failure, "");
    EXPECT_TRUE(fs::is_empty(directory())) << "trial " << trial;
  }
}

// Each stores, finds and reads entries that the others remove.
TEST_F(CacheTest, SeveralProcessesAtOnce) {
  std::vector<std::unique_ptr<Child>> children;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    children.push_back(std::make_unique<Child>([&, seed] {
      const BuildCache cache = *BuildCache::Open(directory(), 4 * kEntryBytes);
      std::minstd_rand chance(seed);
      for (int i = 0; i < 300; ++i) {
        const std::string name = std::to_string(chance() % 8);
        auto held = cache.Find(Key(name));
        if (!held) {
          auto stored = cache.Put(Key(name), BuildResult{.ok = true}, Bytes(name));
          if (!stored) return fprintf(stderr, "%s\n", stored.error().message.c_str()) < 0;
          held = *stored;
        }
        sched_yield();
        const auto read = ReadFile(held->artifact);
        if (!read || *read != Bytes(name)) return false;
      }
      return true;
    }));
  }
  for (auto& child : children) EXPECT_TRUE(child->Wait());
  EXPECT_EQ(RemoveEntries(directory(), 0).in_use, 0u);
  EXPECT_TRUE(fs::is_empty(directory()));
}

TEST_F(CacheTest, OtherEntriesAreKeptToo) {
  const std::string name = "lean-" + Key("x").substr(0, 16);
  EXPECT_FALSE(cache_.Hold(name, "host/a.h"));
  auto kept = cache_.Keep(name, {{"host/a.h", "one"}, {"device/a.h", "two"}});
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(*ReadFile(kept->folder / "device" / "a.h"), "two");
  EXPECT_EQ(fs::status(kept->folder).permissions(), fs::perms(0755));
  EXPECT_TRUE(cache_.Hold(name, "host/a.h"));
  EXPECT_FALSE(cache_.Hold(name, "missing.h"));
  const auto again = cache_.Keep(name, {{"host/a.h", "three"}});
  ASSERT_TRUE(again);
  EXPECT_EQ(*ReadFile(again->folder / "host" / "a.h"), "one") << "what is in use stays";
  EXPECT_EQ(RemoveEntries(directory(), 0).in_use, 1u);
}

}  // namespace
}  // namespace kb
