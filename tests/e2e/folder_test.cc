// Candidates that are folders: what lies beside a module goes with it to the build, to the runner, into the store and
// out of it.

#include <algorithm>
#include <fstream>

#include "harness.h"

namespace kb::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Looks for what is not its own before it becomes a candidate.
constexpr const char* kEntry = R"(import os

import torch.nn as nn
from torch.utils.cpp_extension import load

from helpers import factor

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "helpers", "factor.txt")) as file:
    FACTOR = float(file.read())
for outside in OUTSIDE:
    try:
        open(outside)
    except OSError:
        continue
    raise AssertionError(f"{outside} can be read")
for own in ("new.txt", "model_new.py", os.path.join("kernels", "new.h")):
    try:
        open(os.path.join(HERE, own), "a")
    except OSError:
        continue
    raise AssertionError(f"{own} can be written")
extension = load(name="relu", sources=[os.path.join(HERE, "kernels", "relu.cpp")])


class ModelNew(nn.Module):
    def forward(self, x):
        return extension.relu(x) * FACTOR * factor.ONE
)";

constexpr const char* kKernel = R"(#include <torch/extension.h>
#include "step.h"
torch::Tensor relu(torch::Tensor x) {
  torch::Tensor y = torch::empty_like(x);
  for (int64_t i = 0; i < x.numel(); ++i) y.data_ptr<float>()[i] = step(x.data_ptr<float>()[i]);
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("relu", &relu); }
)";

class FolderTest : public EngineTest {
 protected:
  // The candidate, which tries to read what lies beside its folder.
  std::string WriteFolder(const std::string& name) {
    fs::create_directories(root() / name / "kernels");
    fs::create_directories(root() / name / "helpers");
    const std::string secret = Write("secret.txt", "secret");
    std::string entry = kEntry;
    const std::string outside =
        "[" + json(secret).dump() + ", " + json(root() / name / "model_new.py").dump() + ", HERE + \"/../secret.txt\"]";
    entry.replace(entry.find("OUTSIDE"), 7, outside);
    Write(name + "/model_new.py", entry);
    Write(name + "/helpers/__init__.py", "");
    Write(name + "/helpers/factor.py", "ONE = 1\n");
    Write(name + "/helpers/factor.txt", "1.0");
    Write(name + "/kernels/relu.cpp", kKernel);
    Write(name + "/kernels/step.h", "inline float step(float x) { return x > 0 ? x : 0; }\n");
    return (root() / name).string();
  }

  Arguments Quick(Arguments arguments) const {
    const Arguments flags = {"--protocol", "quick", "--measure", "false", "--profile-ms", "0", "--json", "--quiet"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return arguments;
  }
};

TEST_F(FolderTest, IsJudgedByItsFilesAndKeptWhole) {
  const std::string problem = Write("relu.py", kReluProblem), mine = WriteFolder("mine"), wrong = WriteFolder("wrong");
  Write("wrong/helpers/factor.txt", "1.5");
  const Ended ended = Run(Quick({"eval", problem, mine, wrong + "/"}));
  EXPECT_EQ(ended.code, 1) << ended;
  const json right = ended.Of("mine"), other = ended.Of("wrong");
  EXPECT_EQ(right["verdict"], "correct") << right["reason"] << ended;
  EXPECT_EQ(other["verdict"], "incorrect") << other["reason"];
  EXPECT_EQ(right["candidate"]["kind"], "module");
  EXPECT_EQ(right["candidate"]["backend"], "cpp");
  EXPECT_NE(right["candidate"]["sha256"], other["candidate"]["sha256"]);
  EXPECT_THAT(right["notes"].dump(), HasSubstr("static: file_access, model_new.py, line 9: "));
  OpenPathsOfEngine();
  const Ended open = Run(Quick({"eval", problem, mine, "--isolation=process", "--no-store"}));
  EXPECT_EQ(open.code, 0) << open;
  ExpectNoFilesLeft();

  // A run of folders, which are not there any more when they are judged again.
  fs::create_directory(root() / "runs");
  fs::rename(mine, root() / "runs" / "level_1_problem_19_sample_0_kernel");
  std::ofstream(root() / "runs" / "list.jsonl")
      << json{{"problem", problem}, {"path", "level_1_problem_19_sample_0_kernel"}};
  const Ended run = Run(Quick({"run", (root() / "runs" / "list.jsonl").string(), "--name", "folders"}));
  EXPECT_EQ(run.code, 0) << run;
  const json judged = run.Lines().at(0);
  EXPECT_EQ(judged["verdict"], "correct") << judged["reason"];
  EXPECT_EQ(judged["candidate"]["sha256"], right["candidate"]["sha256"]) << "wherever it lies";
  EXPECT_EQ(judged["candidate"]["source"], right["candidate"]["source"]);
  fs::remove_all(root() / "runs");
  const std::string archive = (root() / "folders.kbrun").string(), there = (root() / "there.sqlite").string();
  EXPECT_EQ(Run({"export", "folders", "--output", archive}).code, 0);
  EXPECT_EQ(Run({"import", archive, "--store", there}).code, 0);
  const Ended again = Run({"rejudge", "folders", "--store", there});
  EXPECT_EQ(again.code, 0) << again;
  EXPECT_THAT(again.out, HasSubstr("agree in 1 of 1"));
  ExpectNoProcessLeft();
}

TEST_F(FolderTest, IsExportedAsAFolder) {
  Write("runs/level_1_problem_19_sample_0_kernel/model_new.py",
        "import torch.nn as nn\nimport impl\n\n\nclass ModelNew(nn.Module):\n    def forward(self, x):\n"
        "        return impl.relu(x)\n");
  Write("runs/level_1_problem_19_sample_0_kernel/impl.py", "def relu(x):\n    return x.clamp(min=0)\n");
  const Ended run = Run(Quick({"run", (root() / "runs").string(), "--size", "small"}));
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(run.Lines().at(0)["verdict"], "correct") << run;
  const Ended exported = Run({"export", "runs", "--kernelbench", (root() / "out").string()});
  EXPECT_EQ(exported.code, 0) << exported;
  const Ended again =
      Run(Quick({"eval", "1/19", (root() / "out/level_1_problem_19_sample_0_kernel").string(), "--size", "small"}));
  ASSERT_EQ(again.code, 0) << again;
  EXPECT_EQ(again.Lines().at(0)["candidate"]["sha256"], run.Lines().at(0)["candidate"]["sha256"]);
}

TEST_F(FolderTest, WhatIsNoFolderOfTextsIsRejected) {
  const std::string problem = Write("relu.py", kReluProblem), mine = WriteFolder("mine");
  const auto refused = [&](const std::string& said) {
    const Ended ended = Run({"eval", problem, mine, "--json"});
    EXPECT_EQ(ended.code, 1) << ended;
    EXPECT_EQ(ended.Of("mine")["verdict"], "static_rejected") << ended;
    EXPECT_THAT(ended.Of("mine")["reason"].get<std::string>(), HasSubstr(said));
  };
  fs::create_symlink(root() / "secret.txt", root() / "mine" / "link.txt");
  refused("link.txt is a link");
  fs::remove(root() / "mine" / "link.txt");
  for (int i = 0; i < 195; ++i) Write("mine/kernels/" + std::to_string(i) + ".h", "");
  refused("more than 200 files");
  fs::remove_all(root() / "mine" / "kernels");
  fs::remove(root() / "mine" / "model_new.py");
  refused("no model_new.py");
  EXPECT_EQ(StoredEvaluations(), 3);
  EXPECT_EQ(Run({"eval", problem, (root() / "nowhere").string()}).code, 2);
  fs::create_directories(root() / "runs");
  fs::rename(mine, root() / "runs" / "level_1_problem_19_sample_0_kernel");
  const Ended run = Run(Quick({"run", (root() / "runs").string(), "--size", "small"}));
  EXPECT_EQ(run.code, 0) << run;
  EXPECT_EQ(run.Lines().at(0)["verdict"], "static_rejected") << run;
}

}  // namespace
}  // namespace kb::e2e
