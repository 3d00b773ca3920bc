#include "judge/candidate/packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> NeededBy(const std::string& source) {
  std::vector<std::string> names;
  for (const Package& each : PackagesNeededBy(*MakeCandidate("a.py", source, "cuda"))) names.emplace_back(each.name);
  return names;
}

std::vector<std::string> NeededByFolder(FolderFiles files) { return NeededBy(*Pack(files)); }

TEST(PackagesNeededBy, FollowsImportsThatAlwaysRun) {
  const std::string end = "\nclass ModelNew: pass\n";
  EXPECT_THAT(NeededBy("import tilelang" + end), ElementsAre("tilelang"));
  EXPECT_THAT(NeededBy("import torch, tilelang.language as T" + end), ElementsAre("tilelang"));
  EXPECT_THAT(NeededBy("from tilelang import language as T" + end), ElementsAre("tilelang"));
  EXPECT_THAT(NeededBy("import triton.language as tl\nfrom cutlass.cute.runtime import (\n  from_dlpack)" + end),
              ElementsAre("triton", "nvidia-cutlass-dsl"));
}

TEST(PackagesNeededBy, LeavesOutWhatACandidateMayDoWithout) {
  const std::string end = "\nclass ModelNew: pass\n";
  for (const char* source : {"import torch", "# import tilelang", "\"\"\"\nimport tilelang\n\"\"\"",
                             "import tilelang_extras", "from .tilelang import kernel", "from my import tilelang",
                             "try:\n  import triton\nexcept ImportError:\n  triton = None",
                             "if torch.cuda.is_available():\n  import triton", "def f():\n  import cutlass"}) {
    EXPECT_THAT(NeededBy(source + end), IsEmpty()) << source;
  }
  EXPECT_THAT(PackagesNeededBy(*MakeCandidate("a.cu", "import triton\nkb_forward", "cuda")), IsEmpty());
}

TEST(PackagesNeededBy, ReadsTheFilesOfAFolderThatAreImported) {
  const std::string kernels = "import tilelang\n";
  const std::string loads = "\nclass ModelNew: pass\n";
  EXPECT_THAT(NeededByFolder({{"model_new.py", "from kernels.relu import relu" + loads},
                              {"kernels/__init__.py", ""},
                              {"kernels/relu.py", "from .base import kernel\n"},
                              {"kernels/base.py", kernels}}),
              ElementsAre("tilelang"));
  EXPECT_THAT(NeededByFolder({{"model_new.py", "import torch" + loads}, {"other.py", kernels}}), IsEmpty());
  EXPECT_THAT(NeededByFolder({{"model_new.py", "import cutlass" + loads}, {"cutlass.py", "import model_new\n"}}),
              IsEmpty());
}

}  // namespace
}  // namespace kb
