// kb-runner demangles the names of kernels, under a limit on its memory that leaves a sanitizer no room.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/devices/cuda/tool_process.h"

namespace kb {
namespace {

TEST(ReadableNames, AreReadWhereTheyCanDoNoHarm) {
  const Installation installation{KB_PROGRAMS, "/", "/", "/", "/"};
  auto sandbox = Sandbox::Create(installation, Isolation::kNamespaces);
  if (!sandbox) GTEST_SKIP() << sandbox.error().message;
  const std::vector<std::string> names = {"_Z4reluIfEvPT_", "", "add \"quoted\""};
  EXPECT_THAT(*ReadableNames(installation, *sandbox, names), testing::ElementsAre("relu<float>", "", "add \"quoted\""));
  // Each level doubles what it stands for.
  std::string bomb = "_Z1fI1aIiiE";
  constexpr char kDigits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (int level = 1; level < 34; ++level) {
    const std::string before = std::string("S") + kDigits[level] + "_";
    bomb += "S0_I" + before + before + "E";
  }
  bomb += "Evv";
  EXPECT_EQ(ReadableNames(installation, *sandbox, {"_Z4reluIfEvPT_", bomb})->size(), 2);
}

}  // namespace
}  // namespace kb
