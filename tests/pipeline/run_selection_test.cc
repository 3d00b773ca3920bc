// What a run is called, at which size it is judged, and how its results are found.

#include "run_fixture.h"

namespace kb::pipeline {
namespace {

using ::testing::HasSubstr;

TEST_F(RunTest, IsFoundByWhatItIsCalled) {
  const std::string directory = MakeRun({{"right.cpp", kReluNative}, {"wrong.cpp", Wrong()}});
  ASSERT_EQ(Run(Command(directory)).code, 0);
  const auto listed = [&](const Arguments& flags) {
    Arguments arguments = {"list", "--json"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return Run(arguments).Lines().size();
  };
  EXPECT_EQ(listed({"--run", "test"}), 2u);
  EXPECT_EQ(listed({"--run", "test", "--verdict", "incorrect"}), 1u);
  EXPECT_EQ(listed({"--model", "m", "--sample", "0"}), 1u);
  EXPECT_EQ(listed({"--verdict", "tampered"}), 0u);
  EXPECT_THAT(Run({"list", "--verdict", "tampered"}).out, HasSubstr("no evaluations that these flags select"));
  EXPECT_THAT(Run({"show", "--run", "test", "--sample", "1"}).out, HasSubstr("wrong.cpp"));
  EXPECT_THAT(Run({"show", "--run", "test"}).err, HasSubstr("the newest of 2 that are selected"));
  const std::pair<Arguments, const char*> wrong[] = {
      {{"list", "--run", "tset"}, "no run \"tset\" in the store (did you mean \"test\"?)"},
      {{"list", "--model", "n"}, "no model \"n\" in the store (did you mean \"m\"?); there is m"},
      {{"list", "--verdict", "corect"}, "did you mean \"correct\"?"},
      {{"list", "--authorship", "librar"}, "did you mean \"library\"?"},
      {{"list", "--problem", "9/999"}, "no problem"},
      {{"show", "--verdict", "tampered"}, "no stored evaluation is selected"},
      {{"show"}, "give an id, or flags that select"},
      {{"report", "--verdict", "corect"}, "did you mean \"correct\"?"},
      {{"score", "tset"}, "did you mean \"test\"?"}};
  for (const auto& [arguments, said] : wrong) {
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 2) << ended;
    EXPECT_THAT(ended.err, HasSubstr(said));
  }
  const json run = Run({"runs", "--json"}).Lines().at(0);
  EXPECT_EQ(run.at("run"), "test");
  EXPECT_EQ(run.at("models"), json({"m"}));
  EXPECT_EQ(run.at("candidates"), 2);
  EXPECT_EQ(run.at("judged"), 2);
  EXPECT_EQ(run.at("correct"), 1);
  EXPECT_THAT(Run({"runs"}).out, HasSubstr("2 of 2"));
}

// On a CPU small problems are judged where nobody names a size, and a run goes on at the size that it began with.
TEST_F(RunTest, ItsSizeFitsTheDeviceAndStays) {
  const std::string sizes = std::string(kReluProblem) + "\nSIZES = {\"small\": {}}\n";
  const std::string directory = MakeRun({{"first.cpp", kReluNative}}, Write("sizes.py", sizes));
  EXPECT_EQ(Run(Command(directory)).code, 0);
  EXPECT_EQ(Run({"run", directory, "--protocol", "quick", "--name", "large", "--size", "standard"}).code, 0);
  const Ended resumed = Run({"run", directory, "--protocol", "quick", "--name", "large"});
  EXPECT_THAT(resumed.out, HasSubstr("run large: 1 of 1 judged")) << "nothing was left to do";
  std::vector<std::string> judged;
  for (const json& evaluation : Stored()) judged.push_back(evaluation.at("size"));
  EXPECT_THAT(judged, testing::UnorderedElementsAre("small", "standard"));
  const std::string whole = MakeRun({{"first.cpp", kReluNative}});
  EXPECT_EQ(Run({"run", whole, "--protocol", "quick", "--name", "whole", "--json"}).Evaluations().at(0).at("size"),
            "standard")
      << "its problem has no other";
}

}  // namespace
}  // namespace kb::pipeline
