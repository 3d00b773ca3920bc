// Where problems come from, which ones a command takes, and whether they are fit to be scored.

#include <algorithm>

#include "harness.h"

namespace kb::e2e {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using DeckTest = EngineTest;

std::string Row(int level, int id, const std::string& name, const std::string& code) {
  return json{{"level", level}, {"problem_id", id}, {"name", name}, {"code", code}}.dump() + "\n";
}

std::vector<std::string> Names(const Ended& ended) {
  std::vector<std::string> names;
  for (const json& line : ended.Lines()) names.push_back(line.at("name"));
  return names;
}

TEST_F(DeckTest, SelectionsAndMetadata) {
  EXPECT_THAT(Names(Run({"problems", "list", "1/19", "2/40", "--json"})), ElementsAre("1/19", "2/40"));
  EXPECT_EQ(Names(Run({"problems", "list", "--sample", "7", "--seed", "3", "--json"})).size(), 7u);
  const json line = Run({"problems", "list", "2/83", "--json"}).Lines().at(0);
  EXPECT_EQ(line.at("scored"), false);
  EXPECT_EQ(line.at("needs_torch_rng"), true);
  EXPECT_EQ(line.at("family"), "convolution");
  EXPECT_GT(line.at("figures").at("small").at("matrix_flops").get<double>(), 1e6);
  EXPECT_THAT(line.at("sizes"), ElementsAre("standard", "small", "odd"));
  EXPECT_THAT(Run({"problems", "info", "2/83"}).out, AllOf(HasSubstr("scored         no"), HasSubstr("odd")));
  const Ended none = Run({"problems", "list", "--family", "telepathy"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("empty"));
}

TEST_F(DeckTest, AnExportOfTheDatasetIsJudgedAsItIs) {
  const std::string data =
      Write("data.jsonl", Row(1, 7, "7_Rectify", kReluProblem) + Row(2, 1, "1_Again", kReluProblem));
  EXPECT_THAT(Names(Run({"problems", "list", "--problems", data, "--json"})), ElementsAre("1/7", "2/1"));
  const Ended judged =
      Run({"eval", "1/7", Write("right.cpp", kReluNative), "--problems", data, "--protocol", "quick", "--json"});
  EXPECT_EQ(judged.code, 0) << judged;
  EXPECT_EQ(judged.Of("right.cpp").at("problem"), "1/7");
  EXPECT_EQ(Run({"eval", "1/19", Write("right.cpp", kReluNative), "--problems", data}).code, 2);
  const Ended broken = Run({"problems", "list", "--problems", Write("broken.jsonl", "{}\n")});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, AllOf(HasSubstr("broken.jsonl"), HasSubstr("row 1")));
}

TEST_F(DeckTest, ParquetIsReadThroughPython) {
  const std::string rows = Write("rows.jsonl", Row(1, 7, "7_Rectify", kReluProblem));
  const std::string parquet = (root() / "level_1.parquet").string();
  const char* set = std::getenv("KERNELBENCH_PYTHON");
  const std::string local = std::string(KB_SOURCE_DIR) + "/.venv/bin/python";
  const std::string python = set != nullptr ? set : local;
  SpawnOptions convert{
      .argv = {python, "-c",
               "import json, sys, pyarrow, pyarrow.parquet as p; "
               "p.write_table(pyarrow.Table.from_pylist([json.loads(l) for l in open(sys.argv[1])]), sys.argv[2])",
               rows, parquet},
      .environment = {"PATH=/usr/bin:/bin"}};
  const auto converted = RunToEnd(convert, std::chrono::seconds(60));
  ASSERT_TRUE(converted && converted->status.ok()) << (converted ? converted->output : converted.error().message);
  EXPECT_THAT(Names(Run({"problems", "list", "--problems", parquet, "--json"})), ElementsAre("1/7"));
  const Ended broken = Run({"problems", "list", "--problems", Write("broken.parquet", "not parquet")});
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, AllOf(HasSubstr("broken.parquet"), HasSubstr("Parquet")));
}

// The reference of a problem, and inputs of [-0.5, 0.5).
std::string Problem(const std::string& forward, const std::string& extra = "") {
  return "import torch\n" + extra + "class Model(torch.nn.Module):\n    def forward(self, x, y):\n        return " +
         forward +
         "\ndef get_inputs():\n    return [torch.rand(64, 64) - 0.5, torch.rand(64, 64) - 0.5]\n"
         "def get_init_inputs():\n    return []\n";
}

TEST_F(DeckTest, TheAuditFindsWhatIsNotFitToBeScored) {
  const std::string sound = Write("sound.py", Problem("x * y"));
  const std::pair<std::string, const char*> unsound[] = {
      {Write("zero.py", Problem("(x + y) * 0")), "zeros passes"},
      {Write("constant.py", Problem("torch.zeros_like(x) + 3 + 1e-9 * y")), "a constant passes"},
      {Write("identity.py", Problem("x + 1e-9 * y")), "copy of an input passes"},
      {Write("ignores.py", Problem("x * 2")), "input 1 does not matter"},
      {Write("infinite.py", Problem("x / (y * 0)")), "not finite"}};
  const std::string declared = Write("declared.py", Problem("(x + y) * 0", "UNSCORED = 'always 0'\n"));
  const auto audit = [&](Arguments problems) {
    problems.insert(problems.begin(), {"problems", "audit", "--size", "standard", "--json", "--store", store()});
    return Run(problems);
  };
  const Ended good = audit({sound, declared});
  EXPECT_EQ(good.code, 0) << good;
  EXPECT_EQ(good.Lines().at(0).at("passes"), true);
  EXPECT_THAT(good.Lines().at(0).at("failures"), IsEmpty());
  Arguments paths;
  for (const auto& [path, reason] : unsound) paths.push_back(path);
  const Ended bad = audit(paths);
  EXPECT_EQ(bad.code, 1) << bad;
  const std::vector<json> lines = bad.Lines();
  ASSERT_EQ(lines.size(), std::size(unsound));
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].at("passes"), false) << paths[i];
    EXPECT_THAT(lines[i].at("failures").dump(), HasSubstr(unsound[i].second)) << paths[i];
  }
}

}  // namespace
}  // namespace kb::e2e
