// kernelbench cache, and engines whose builds do not fit their quota.

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "fixture.h"

namespace kb::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

class CacheCommandTest : public PipelineTest {
 protected:
  // Of this test alone: those of others are links to the same files, and so are locks.
  fs::path own() const { return root() / "cache"; }
  Environment Own(Environment more = {}) const {
    more["KERNELBENCH_CACHE"] = own();
    return more;
  }
  Ended Cache(Arguments arguments, const Environment& more = {}) const {
    arguments.insert(arguments.begin(), "cache");
    return Run(arguments, Own(more));
  }
  json CacheJson(Arguments arguments = {}) const {
    arguments.emplace_back("--json");
    const Ended ended = Cache(arguments);
    EXPECT_EQ(ended.code, 0) << ended;
    return ended.Lines().empty() ? json() : ended.Lines().front();
  }
  // A right candidate with a text of its own.
  std::string Native(int number, const std::string& statement = "") const {
    std::string source = kReluNative;
    source.insert(source.find("  return 0;"), statement);
    return Write("native" + std::to_string(number) + ".cpp",
                 "#include <sys/prctl.h>\n#include <unistd.h>\n// " + std::to_string(number) + "\n" + source);
  }
  Arguments Eval(const std::vector<std::string>& candidates) const {
    Arguments arguments = {"eval",         Write("relu.py", kReluProblem),
                           "--protocol",   "quick",
                           "--measure",    "false",
                           "--profile-ms", "0",
                           "--json",       "--no-store"};
    arguments.insert(arguments.end(), candidates.begin(), candidates.end());
    return arguments;
  }
};

TEST_F(CacheCommandTest, ShowsAndEmptiesTheCache) {
  EXPECT_EQ(Run(Eval({Native(1), Native(2)}), Own()).code, 0);
  const json shown = CacheJson();
  EXPECT_EQ(shown["folder"], (own() / "builds").string());
  EXPECT_EQ(shown["entries"], 2);
  EXPECT_GT(shown["bytes"], 8192);
  EXPECT_EQ(shown["quota_bytes"], int64_t{10} << 30);
  EXPECT_THAT(shown["oldest_use"].get<std::string>(), MatchesRegex("....-..-..T..:..:..Z"));
  EXPECT_LE(shown["oldest_use"], shown["newest_use"]);
  const Ended text = Cache({}, {{"COLUMNS", "20"}, {"TERM", "dumb"}});
  EXPECT_EQ(text.code, 0) << text;
  EXPECT_THAT(text.out, AllOf(HasSubstr("entries     2\n"), HasSubstr("quota       10 GB\n")));
  EXPECT_THAT(Cache({"--cache-gb", "0"}).out, HasSubstr("quota       none\n"));
  EXPECT_THAT(Cache({}, {{"KERNELBENCH_CACHE_GB", "0.5"}}).out, HasSubstr("quota       512 MB\n"));

  EXPECT_EQ(CacheJson({"trim"})["removed"], 0);
  const json trimmed = CacheJson({"trim", "--cache-gb", "0.00003"});
  EXPECT_EQ(trimmed["removed"], 1);
  const Ended cleared = Cache({"clear"});
  EXPECT_EQ(cleared.code, 0) << cleared;
  EXPECT_THAT(cleared.out, AllOf(HasSubstr("removed 1 entry, "), HasSubstr("0 kB in the cache now\n")));
  EXPECT_TRUE(fs::is_empty(own() / "builds"));
  const json empty = CacheJson();
  EXPECT_EQ(empty["entries"], 0);
  EXPECT_TRUE(empty["oldest_use"].is_null());
}

TEST_F(CacheCommandTest, WhatARunningEngineUsesStays) {
  const std::string sleeps =
      "  static int calls = 0;\n  if (++calls == 4) { " + NativeShows("kb-cached") + " sleep(5); }\n";
  Engine engine = Start(Eval({Native(1, sleeps)}), Own());
  ASSERT_TRUE(WaitForProcess(engine.pid(), [](const Process& each) { return IsNamed(each, "kb-cached"); }));
  const Ended cleared = Cache({"clear"});
  EXPECT_EQ(cleared.code, 0) << cleared;
  EXPECT_THAT(cleared.out, AllOf(HasSubstr("removed 0 entries, 0 kB\n"), HasSubstr("left 1 entry in use, ")));
  const Ended ended = engine.Wait();
  EXPECT_EQ(ended.code, 0) << ended;
  EXPECT_EQ(CacheJson({"clear"})["removed"], 1);
}

TEST_F(CacheCommandTest, TwoEnginesKeepTheirQuota) {
  std::vector<std::string> first, second;
  for (int i = 0; i < 5; ++i) {
    first.push_back(Native(i));
    second.push_back(Native(i + 3));
  }
  const std::string gigabytes = "0.0001";  // 107 kB: four entries
  Arguments one = Eval(first), two = Eval(second);
  for (Arguments* each : {&one, &two}) each->insert(each->end(), {"--cache-gb", gigabytes, "--jobs", "2"});
  Engine beside = Start(one, Own());
  const Ended judged = Run(two, Own());
  const Ended also = beside.Wait();
  for (const Ended* each : {&judged, &also}) {
    EXPECT_EQ(each->code, 0) << *each;
    EXPECT_EQ(each->Lines().size(), 5u);
  }
  const json left = CacheJson();
  EXPECT_LE(left["bytes"], static_cast<int64_t>(0.0001 * (1 << 30)));
  EXPECT_GT(left["entries"], 1);
}

TEST_F(CacheCommandTest, WrongFoldersAreNamed) {
  const auto expect = [&](int code, const std::string& said) {
    for (const Arguments& arguments : {Arguments{}, {"clear"}, {"trim"}}) {
      const Ended ended = Cache(arguments);
      EXPECT_EQ(ended.code, code) << ended;
      EXPECT_THAT(ended.err, AllOf(HasSubstr(own().string()), HasSubstr(said)));
      EXPECT_THAT(ended.out, IsEmpty());
    }
  };
  expect(2, "there is no build cache");
  Write("cache/builds", "a file");
  expect(2, "is no directory");
  fs::remove(own() / "builds");
  Write("cache/builds/thesis/chapter1.txt", "dear");
  Write("cache/builds/new.design", "dear");
  expect(2, "is no build cache: it holds no build, but \"thesis\"");
  EXPECT_TRUE(fs::exists(own() / "builds/thesis/chapter1.txt") && fs::exists(own() / "builds/new.design"));
  for (const Arguments& arguments : {Arguments{"--cache-gb", "-1"}, {"empty"}, {"clear", "trim"}}) {
    EXPECT_EQ(Cache(arguments).code, 2) << arguments[0];
  }
}

TEST_F(CacheCommandTest, AReadOnlyCacheIsReadAndStays) {
  ASSERT_EQ(Run(Eval({Native(1)}), Own()).code, 0);
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount(own().c_str(), own().c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      mount(nullptr, own().c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
    GTEST_SKIP() << "cannot mount";
  }
  EXPECT_EQ(Run(Eval({Native(1)}), Own()).code, 0);
  const Ended built = Run(Eval({Native(2)}), Own());
  EXPECT_EQ(built.code, 3) << built;
  EXPECT_THAT(built.err, AllOf(HasSubstr("cannot write the build cache"), HasSubstr("Read-only file system")));
  EXPECT_EQ(CacheJson()["entries"], 1);
  const Ended cleared = Cache({"clear"});
  EXPECT_EQ(cleared.code, 3) << cleared;
  EXPECT_THAT(cleared.err, HasSubstr("Read-only file system"));
  umount2(own().c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace kb::pipeline
