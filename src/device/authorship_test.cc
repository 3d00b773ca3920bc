#include "device/authorship.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kMaps =
    "55d0c0000000-55d0c0004000 r--p 00000000 fe:01 131 /usr/bin/python3.11\n"
    "55d0c0004000-55d0c0200000 r-xp 00004000 fe:01 131                        /usr/bin/python3.11\n"
    "55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0                          [heap]\n"
    "7f0000000000-7f0000010000 rwxp 00000000 00:00 0 \n"
    "7f0000010000-7f0000020000 r-xp 00001000 00:2f 77                         /tmp/with blank/my kernel.so\n"
    "this line is none\n"
    "7f0000030000-7f0000040000 r-xp 00000000 00:2f 78                         /tmp/gone.so (deleted)\n"
    "7ffc00000000-7ffc00002000 r-xp 00000000 00:00 0                          [vdso]";

TEST(ParseMapsTest, KeepsExecutableRangesAndWholePaths) {
  std::vector<std::string> paths;
  for (const Mapping& mapping : ParseMaps(kMaps)) paths.push_back(mapping.path);
  EXPECT_THAT(paths, ElementsAre("/usr/bin/python3.11", "", "/tmp/with blank/my kernel.so", "/tmp/gone.so (deleted)",
                                 "[vdso]"));
  EXPECT_THAT(ParseMaps(""), IsEmpty());
}

TEST(ParseMapsTest, AnAddressLiesInOneRangeOrNone) {
  const std::vector<Mapping> mappings = ParseMaps(kMaps);
  const auto path = [&](uint64_t address) {
    const Mapping* mapping = FindMapping(mappings, address);
    return mapping == nullptr ? std::string("none") : mapping->path;
  };
  EXPECT_EQ(path(0x55d0c0003fff), "none") << "readable, not executable";
  EXPECT_EQ(path(0x55d0c0004000), "/usr/bin/python3.11");
  EXPECT_EQ(path(0x7f000000ffff), "");
  EXPECT_EQ(path(0x7f0000010000), "/tmp/with blank/my kernel.so");
  EXPECT_EQ(path(0x7f0000020000), "none") << "the end is outside";
  EXPECT_EQ(path(0), "none");
  EXPECT_EQ(path(UINT64_MAX), "none");
}

TEST(IdentifyTest, TellsObjectsApart) {
  const OriginRules module{{{"0123456789abcdef.so", "fused.so"}}, Origin::kLibrary};
  const struct {
    const char* path;
    Origin origin;
    const char* name;
  } kCases[] = {
      {"/tmp/0123456789abcdef.so", Origin::kCustom, "fused.so"},
      {"/tmp/0123456789abcdef.so (deleted)", Origin::kCustom, "fused.so"},
      {"/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", Origin::kLibrary, "libtorch_cpu.so"},
      {"/tmp/venv/lib/python3.11/site-packages/torch/lib/libc10.so", Origin::kLibrary, "libc10.so"},
      {"/usr/lib/x86_64-linux-gnu/libopenblas.so.0", Origin::kLibrary, "libopenblas.so.0"},
      {"/venv/lib/python3.11/site-packages/numpy/core/_multiarray_umath.so", Origin::kLibrary, "_multiarray_umath.so"},
      {"", Origin::kLibrary, "memory without a file"},
      {"/memfd:code (deleted)", Origin::kLibrary, "memory without a file"},
      {"/usr/bin/python3.11", Origin::kPython, "python3.11"},
      {"/usr/lib/python3.11/lib-dynload/_json.cpython-311-x86_64-linux-gnu.so", Origin::kPython,
       "_json.cpython-311-x86_64-linux-gnu.so"},
      {"/usr/lib/x86_64-linux-gnu/libc.so.6", Origin::kOther, "libc.so.6"},
      {"/usr/lib/x86_64-linux-gnu/libm.so.6", Origin::kOther, "libm.so.6"},
      {"[vdso]", Origin::kOther, "[vdso]"},
      {"/tmp/mine.so", Origin::kOther, "mine.so"},
      {"/venv/lib/python3.11/site-packages/torch/lib/libgomp-24e2ab19.so.1", Origin::kNeutral, "libgomp-24e2ab19.so.1"},
      {"/usr/libexec/kernelbench/libkernelbench_runner.so", Origin::kNeutral, "libkernelbench_runner.so"},
      {"/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", Origin::kNeutral, "ld-linux-x86-64.so.2"},
  };
  for (const auto& one : kCases) {
    const CodeObject object = Identify(one.path, module);
    EXPECT_EQ(object.origin, one.origin) << one.path;
    EXPECT_EQ(object.name, one.name) << one.path;
  }
  EXPECT_EQ(Identify("", {{}, Origin::kCustom}).origin, Origin::kCustom) << "what a native candidate compiled itself";
}

constexpr const char* kTorch = "/venv/torch/lib/libtorch_cpu.so";
constexpr const char* kOwn = "/cache/own.so";
const OriginRules kRules{{{"own.so", "kernel.so"}}, Origin::kCustom};

// `count` samples in `path`, after a microsecond each.
void Spend(std::vector<CodeSample>* samples, const char* path, int count) {
  for (int i = 0; i < count; ++i) {
    samples->push_back({samples->empty() ? 1 : samples->back().stop + 1, 1000, path});
  }
}

json ClassOf(int custom, int library, int python = 0) {
  std::vector<CodeSample> samples;
  Spend(&samples, "/usr/bin/python3.11", python);
  Spend(&samples, kTorch, library);
  Spend(&samples, kOwn, custom);
  Authorship authorship;
  authorship.AddCall(samples, kRules);
  return authorship.ToJson().at("class");
}

TEST(AuthorshipTest, ClassIsTheShareOfCustomInCustomAndLibrary) {
  EXPECT_EQ(ClassOf(100, 0), "custom");
  EXPECT_EQ(ClassOf(90, 10), "custom");
  EXPECT_EQ(ClassOf(89, 11), "mixed");
  EXPECT_EQ(ClassOf(11, 89), "mixed");
  EXPECT_EQ(ClassOf(10, 90), "library");
  EXPECT_EQ(ClassOf(0, 100), "library");
  EXPECT_EQ(ClassOf(30, 0, 300), "custom") << "the interpreter counts for neither side";
}

TEST(AuthorshipTest, TooLittleIsNoClass) {
  EXPECT_EQ(ClassOf(29, 0), nullptr);
  EXPECT_EQ(ClassOf(30, 0), "custom");
  EXPECT_EQ(ClassOf(0, 0, 100), nullptr) << "only the interpreter was seen";
  EXPECT_EQ(Authorship().ToJson().at("samples"), 0);
}

TEST(AuthorshipTest, SharesAreOfAllThatCountsAndObjectsAreListedByShare) {
  std::vector<CodeSample> samples;
  Spend(&samples, kTorch, 60);
  Spend(&samples, "/usr/lib/libgomp.so.1", 500);  // waits
  Spend(&samples, kOwn, 20);
  Spend(&samples, "/usr/lib/libc.so.6", 20);
  Authorship authorship;
  authorship.AddCall(samples, kRules);
  const json told = authorship.ToJson();
  EXPECT_EQ(told.at("samples"), 100);
  EXPECT_EQ(told.at("library"), 0.6);
  EXPECT_EQ(told.at("custom"), 0.2);
  EXPECT_EQ(told.at("other"), 0.2);
  EXPECT_EQ(told.at("python"), 0.0);
  EXPECT_EQ(told.at("class"), "mixed");
  EXPECT_EQ(told.at("by_object").at(0), json({{"object", "libtorch_cpu.so"}, {"share", 0.6}}));
  EXPECT_EQ(told.at("by_object").size(), 3u);
}

TEST(AuthorshipTest, SharesAreOfTimeThatThreadsRan) {
  // Two threads on one core: one is met in the library again and again, but hardly runs.
  std::vector<CodeSample> samples;
  for (int64_t stop = 1; stop <= 50; ++stop) {
    samples.push_back({stop, 99'000, kOwn});
    samples.push_back({stop, 1000, kTorch});
  }
  Authorship authorship;
  authorship.AddCall(samples, kRules);
  EXPECT_EQ(authorship.ToJson().at("custom"), 0.99);
  EXPECT_EQ(authorship.ToJson().at("class"), "custom");
  EXPECT_EQ(authorship.samples(), 100);
}

}  // namespace
}  // namespace kb
