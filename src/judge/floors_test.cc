#include "judge/floors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/temp_dir.h"

namespace kb {
namespace {

using testing::HasSubstr;

class FloorsTest : public testing::Test {
 protected:
  FloorsTest() {
    setenv("KERNELBENCH_CALIBRATIONS", (directory_.path() / "own").c_str(), 1);
    installation_.calibrations = KB_CALIBRATIONS;
  }
  ~FloorsTest() override { unsetenv("KERNELBENCH_CALIBRATIONS"); }
  TempDir directory_ = *TempDir::Create("floors-test");
  Installation installation_;
};

TEST_F(FloorsTest, AreShippedForEachKind) {
  for (const char* kind : {"cpu", "cuda"}) {
    const auto floors = FindFloors(installation_, kind, "any");
    ASSERT_TRUE(floors) << floors.error().message;
    EXPECT_GT(floors->native.relative, 0);
    EXPECT_GT(floors->module.relative, 0);
    EXPECT_THAT(floors->origin, HasSubstr("bench/results/aa_"));
  }
}

TEST_F(FloorsTest, ThisMachinesOwnComeFirst) {
  const Floors measured{{1.5, 0.031}, {2.25, 0.0405}, "measured here, \"quoted\""};
  ASSERT_TRUE(KeepFloors(measured, "cpu", "Some CPU @ 2.0/GHz"));
  const auto own = FindFloors(installation_, "cpu", "Some CPU @ 2.0/GHz");
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_NEAR(own->native.us, 1.5, 0.05);
  EXPECT_NEAR(own->native.relative, 0.031, 1e-9);
  EXPECT_NEAR(own->module.relative, 0.0405, 1e-9);
  EXPECT_EQ(own->origin, measured.origin);
  EXPECT_EQ(FindFloors(installation_, "cpu", "Another CPU")->native.relative, 0.08);
}

TEST_F(FloorsTest, AFileThatIsNoneIsNamed) {
  for (const char* text :
       {"", "device = 3", "device = \"cpu\"\n[native]\nus = -1\nrelative = 0.1\n",
        "device = \"cpu\"\n[native]\nus = 1\nrelative = 0.1\n[module]\nus = 1\nrelative = 2\n", "[["}) {
    std::filesystem::create_directories(directory_.path() / "own");
    ASSERT_TRUE(WriteFileAtomic(OwnFloors("cpu", "odd"), text));
    const auto floors = FindFloors(installation_, "cpu", "odd");
    ASSERT_FALSE(floors) << text;
    EXPECT_EQ(floors.error().code, ErrorCode::kUsage);
    EXPECT_THAT(floors.error().message, HasSubstr("cpu-odd.toml"));
  }
}

}  // namespace
}  // namespace kb
