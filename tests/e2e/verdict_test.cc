// Verdicts of candidates that anybody may hand in: the examples, and inline
// C++.

#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "schema.h"

namespace kb::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

using VerdictTest = EngineTest;

// A number that no cache has seen.
std::string Unique() {
  return std::to_string(getpid()) + "_" + std::to_string(std::chrono::system_clock::now().time_since_epoch().count());
}

// Files of a cache with what would change if one were written again, but for those that say when it was read.
std::map<std::string, std::pair<ino_t, int64_t>> Snapshot(const fs::path& directory) {
  std::map<std::string, std::pair<ino_t, int64_t>> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    struct stat info {};
    if (entry.path().filename() != "used" && stat(entry.path().c_str(), &info) == 0 && S_ISREG(info.st_mode)) {
      files[entry.path()] = {info.st_ino, info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
    }
  }
  return files;
}

TEST_F(VerdictTest, RightWrongCrashingAndCheatingCandidates) {
  const std::string wrong = R"(
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.where(x < 0.5, x, x * 1.01)
)";
  const struct {
    std::string candidate;
    std::vector<std::string> verdicts;
  } cases[] = {
      {Example("1_19_relu/plain.cpp"), {"correct"}},
      {Example("1_19_relu/no_tail.cpp"), {"incorrect", "non_finite"}},
      {Example("1_19_relu/null_pointer.cpp"), {"crashed"}},
      {Example("1_19_relu/late_thread.cpp"), {"incorrect", "non_finite", "tampered"}},
      {Write("right.py", kReluModule), {"correct"}},
      {Write("wrong.py", wrong), {"incorrect"}},
      {Example("1_19_relu/raises.py"), {"crashed"}},
      {Example("1_19_relu/replay.py"), {"incorrect"}},
      {Example("1_19_relu/forged_result.py"), {"crashed"}},
  };
  Arguments arguments = {"eval", "1/19", "--size", "odd", "--protocol", "quick", "--json"};
  for (const auto& each : cases) arguments.push_back(each.candidate);
  const Ended ended = Run(arguments);
  EXPECT_EQ(ended.code, 1) << ended;
  for (const auto& each : cases) {
    SCOPED_TRACE(each.candidate);
    const json evaluation = ended.Of(fs::path(each.candidate).filename());
    if (evaluation.is_null()) continue;
    ExpectDocumented(evaluation);
    EXPECT_THAT(each.verdicts, Contains(evaluation["verdict"])) << evaluation["reason"];
    const bool wrong_numbers = evaluation["verdict"] == "incorrect" || evaluation["verdict"] == "non_finite";
    EXPECT_EQ(evaluation["mismatch"].is_object(), wrong_numbers);
  }
  EXPECT_EQ(ended.Of("null_pointer.cpp")["evidence"].value("signal", ""), "SIGSEGV (Segmentation fault)");
  EXPECT_EQ(ended.Of("forged_result.py")["evidence"].value("exit_code", -1), 0);
  EXPECT_THAT(ended.Of("raises.py")["evidence"].value("traceback", ""), HasSubstr("Traceback"));
  EXPECT_EQ(StoredEvaluations(), static_cast<int>(std::size(cases)));
  ExpectNoProcessLeft();
  ExpectNoFilesLeft();
}

TEST_F(VerdictTest, InlineExtensionsAreBuiltOnceAndErrorsShown) {
  const auto module = [](const std::string& name, const std::string& text, const std::string& more) {
    return "import torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n\nextension = "
           "load_inline(name=\"" +
           name + "\", cpp_sources=r\"\"\"\n" + text + "\n\"\"\", functions=[\"relu\"]" + more + R"()


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x)
)";
  };
  const std::string unique = Unique();
  const std::string problem = Write("relu.py", kReluProblem);
  const std::string right =
      Write("right.py",
            module("kb_e2e_right", "torch::Tensor relu(torch::Tensor x) { return x.clamp_min(0); }  // " + unique, ""));
  // Without PyTorch's headers, which take a compiler seconds before it comes to the mistake.
  const std::string broken = Write(
      "broken.py",
      module("kb_e2e_broken", "int relu() { return no_such_thing_" + unique + "; }", ", no_implicit_headers=True"));
  for (const char* when : {"first run", "from the cache"}) {
    SCOPED_TRACE(when);
    const bool cached = std::string(when) == "from the cache";
    const auto before = cached ? Snapshot(cache()) : decltype(Snapshot("")){};
    const Ended ended = Run({"eval", problem, right, broken, "--protocol", "quick", "--measure", "false", "--json"});
    EXPECT_EQ(ended.code, 1) << ended;
    const json good = ended.Of("right.py"), bad = ended.Of("broken.py");
    ExpectDocumented(good);
    ExpectDocumented(bad);
    EXPECT_EQ(good["verdict"], "correct") << good["reason"];
    EXPECT_EQ(good["candidate"]["backend"], "cpp");
    EXPECT_EQ(bad["verdict"], "build_failed") << bad["reason"];
    EXPECT_THAT(bad["evidence"].value("compiler_output", ""), HasSubstr("no_such_thing_" + unique));
    if (cached) {
      EXPECT_EQ(Snapshot(cache()), before) << "something was built again";
    }
  }
}

TEST_F(VerdictTest, OtherBaselinesAreTimedAndEagerIsExpected) {
  const std::string problem = Write("relu.py", kReluProblem);
  const std::string right = Write("right.cpp", kReluNative);
  for (const char* baseline : {"eager-fp32", "compile-default"}) {
    const Ended ended = Run({"eval", problem, right, "--protocol", "quick", "--baseline", baseline, "--json"});
    EXPECT_EQ(ended.code, 0) << ended;
    const json evaluation = ended.Of("right.cpp");
    EXPECT_EQ(evaluation.at("baseline"), baseline);
    const json& rounds = evaluation.at("measurements").at("rounds");
    ASSERT_FALSE(rounds.empty());
    for (const json& round : rounds) EXPECT_GT(round.at("baseline").at("us").get<double>(), 0);
    // Other programs may use this machine.
    if (evaluation.at("no_speedup") != "machine_busy") {
      EXPECT_GT(evaluation.at("baseline_us").get<double>(), 0);
      EXPECT_GT(evaluation.at("speedup").get<double>(), 0);
    }
  }
  // Where torch.compile has no compiler, that is no fault of the candidate.
  const std::string breaks = Write("breaks.py", std::string(kReluProblem) + R"(
from torch._inductor import config
config.cpp.cxx = ("no_such_compiler",)
config.fx_graph_cache = False
)");
  const Ended refused = Run({"eval", breaks, right, "--protocol", "quick", "--baseline", "compile-default"});
  EXPECT_EQ(refused.code, 2) << refused;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("compile-default"), HasSubstr("--baseline eager")));
}

}  // namespace
}  // namespace kb::e2e
