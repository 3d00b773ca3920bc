// A machine's own floors, measured and used.
#include "harness.h"

namespace kb::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class CalibrateTest : public EngineTest {
 protected:
  json Judged() const {
    const Ended ended =
        Run({"eval", Write("relu.py", kReluProblem), Write("right.cpp", kReluNative), "--protocol", "quick", "--json"});
    EXPECT_EQ(ended.code, 0) << ended;
    return ended.Of("right.cpp");
  }
};

TEST_F(CalibrateTest, WhatIsMeasuredIsUsedFromThenOn) {
  const json shipped = Judged().at("measurements").at("setting");
  EXPECT_THAT(shipped.at("floor_from"), "bench/results/aa_cpu.md");
  const auto calibrate = [&] { return Run({"doctor", "--calibrate", "--times", "3", "--json"}); };
  Ended ended = calibrate();
  for (int i = 0; i < 3 && ended.err.find("other programs use the machine") != std::string::npos; ++i)
    ended = calibrate();
  ASSERT_EQ(ended.code, 0) << ended;
  EXPECT_THAT(ended.err, HasSubstr("1/19@small, module"));
  const json told = ended.Lines().at(0);
  EXPECT_THAT(told.at("file").get<std::string>(),
              StartsWith((root() / "home/.config/kernelbench/calibrations").string()));
  for (const char* kind : {"native", "module"}) EXPECT_GE(told.at(kind).at("relative"), 0.005);
  const json own = Judged().at("measurements").at("setting");
  EXPECT_EQ(own.at("floor").at("relative"), told.at("native").at("relative"));
  EXPECT_THAT(own.at("floor_from").get<std::string>(), StartsWith("kernelbench doctor --calibrate, "));
}

TEST_F(CalibrateTest, ADamagedFileIsNamedForEveryCandidate) {
  const std::string problem = Write("relu.py", kReluProblem);
  Write("calibrations/any.toml", "");
  const Environment own = {{"KERNELBENCH_CALIBRATIONS", (root() / "calibrations").string()}};
  const json name = Judged().at("device_info").at("name");
  std::string file = "cpu-";
  for (const char c : name.get<std::string>()) file += isalnum(c) != 0 ? static_cast<char>(tolower(c)) : '-';
  Write("calibrations/" + file + ".toml", "device = 3");
  const Ended ended =
      Run({"eval", problem, Write("one.cpp", kReluNative), Write("two.cpp", kReluNative), "--json"}, own);
  EXPECT_EQ(ended.code, 2) << ended;
  EXPECT_EQ(ended.Lines().size(), 0u) << "no verdict with a floor of 0";
  EXPECT_THAT(ended.err, HasSubstr(file));
}

TEST_F(CalibrateTest, WrongArgumentsAreRefused) {
  ASSERT_EQ(Run({"doctor", "--calibrate", "--device", "tpu"}).code, 2);
  EXPECT_EQ(Run({"doctor", "--calibrate", "--without", "cgroup"}).code, 2);
  EXPECT_EQ(Run({"doctor", "--device", "cpu"}).code, 2) << "without --calibrate";
  EXPECT_EQ(Run({"doctor", "--calibrate", "--times", "2"}).code, 2);
}

}  // namespace
}  // namespace kb::e2e
