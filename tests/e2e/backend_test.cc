// Candidates whose backend this machine has not installed: it is told before anything is built or paid, and is no
// verdict on them. TileLang stands for all; no Python of the project's has it.

#include "harness.h"
#include "model/test_server.h"

namespace kb::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kTilelang[] = R"(import tilelang
import torch.nn as nn

class ModelNew(nn.Module):
    def forward(self, x):
        return x.relu()
)";

class BackendTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    SpawnOptions ask{.argv = {Python(), "-c", "import importlib.metadata as m; print(m.version('tilelang'))"}};
    const auto asked = RunToEnd(ask, std::chrono::seconds(60));
    ASSERT_TRUE(asked);
    if (asked->status.ok()) GTEST_SKIP() << "this Python has tilelang";
  }
  testing::Matcher<std::string> SaysWhatToInstall() {
    return AllOf(HasSubstr("needs the Python package tilelang, which "), HasSubstr("-m pip install tilelang"),
                 HasSubstr("KERNELBENCH_PYTHON"));
  }
};

TEST_F(BackendTest, EvalEndsWithoutAVerdict) {
  const std::string problem = Write("relu.py", kReluProblem), candidate = Write("kernel.py", kTilelang);
  const Ended alone = Run({"eval", problem, candidate, "--json"});
  EXPECT_EQ(alone.code, 3) << alone;
  EXPECT_THAT(alone.err, SaysWhatToInstall());
  EXPECT_THAT(alone.out, IsEmpty());
  const Ended beside =
      Run({"eval", problem, candidate, Write("right.cpp", kReluNative), "--measure", "false", "--json"});
  EXPECT_EQ(beside.code, 3) << beside;
  EXPECT_THAT(beside.err, AllOf(HasSubstr("kernel.py: "), SaysWhatToInstall()));
  EXPECT_EQ(beside.Of("right.cpp").at("verdict"), "correct");
  EXPECT_EQ(StoredEvaluations(), 1);
}

TEST_F(BackendTest, WhatMayDoWithoutIsJudged) {
  const std::string guarded = "try:\n    import tilelang\nexcept ImportError:\n    tilelang = None\n" +
                              std::string(kTilelang).substr(std::string(kTilelang).find("import torch"));
  const Ended ended = Run({"eval", Write("relu.py", kReluProblem), Write("kernel.py", guarded), "--measure", "false",
                           "--no-store", "--json"});
  EXPECT_EQ(ended.code, 0) << ended;
}

TEST_F(BackendTest, RunJudgesTheOthers) {
  Write("relu.py", kReluProblem);
  Write("run/kernel.py", kTilelang);
  Write("run/right.cpp", kReluNative);
  const std::string problem = (root() / "relu.py").string();
  const auto line = [&](const char* path, int sample) {
    return json{{"problem", problem}, {"path", path}, {"model", "m"}, {"sample", sample}}.dump() + "\n";
  };
  const std::string list = Write("run/list.jsonl", line("kernel.py", 0) + line("right.cpp", 1));
  const Ended ended = Run({"run", list, "--name", "r", "--measure", "false", "--json", "--quiet"});
  EXPECT_EQ(ended.code, 3) << ended;
  const std::vector<json> lines = ended.Lines();
  ASSERT_EQ(lines.size(), 3u) << ended;
  EXPECT_EQ(lines[2].at("judged"), 1);
  EXPECT_EQ(lines[2].at("not_judged"), 1);
  for (const json& each : {lines[0], lines[1]}) {
    if (each.contains("not_judged")) {
      EXPECT_EQ(each.at("sample"), 0);
      EXPECT_THAT(each.at("not_judged").get<std::string>(), SaysWhatToInstall());
    } else {
      EXPECT_EQ(each.at("verdict"), "correct");
    }
  }
}

TEST_F(BackendTest, GenerateRefusesBeforeAModelIsAsked) {
  TestServer server([](const ServedRequest&, int, ServedConnection*) {});
  const std::string models = Write("models.toml",
                                   "[models.m]\nprovider = \"vllm\"\nmodel = \"m\"\n"
                                   "base_url = \"" +
                                       server.url() + "/v1\"\n");
  const auto said = [&](const std::string& backend) {
    const Ended ended = Run({"generate", Write("relu.py", kReluProblem), "--backend", backend, "--devices", "cuda",
                             "--model", "m", "--models-file", models, "--run", "r"});
    EXPECT_EQ(ended.code, 3) << ended;
    return ended.err;
  };
  EXPECT_THAT(said("tilelang"), AllOf(HasSubstr("backend tilelang"), SaysWhatToInstall()));
  EXPECT_THAT(said("hip"), HasSubstr("AMD GPU"));
  EXPECT_THAT(server.requests(), IsEmpty());
}

TEST_F(BackendTest, DoctorTellsOfEach) {
  const Ended ended = Run({"doctor", "--json"});
  ASSERT_EQ(ended.Lines().size(), 1u) << ended;
  const json diagnosis = ended.Lines()[0];
  std::map<std::string, json> told;
  for (const json& each : diagnosis.at("backends")) told[each.at("backend")] = each;
  EXPECT_EQ(told["cpp"].at("judged"), true);
  EXPECT_THAT(told["cpp"].at("with").get<std::string>(), HasSubstr("torch "));
  EXPECT_EQ(told["tilelang"].at("judged"), false);
  EXPECT_THAT(told["tilelang"].at("lacks").dump(), HasSubstr("-m pip install tilelang"));
  EXPECT_EQ(told["hip"].at("judged"), false);
}

}  // namespace
}  // namespace kb::e2e
