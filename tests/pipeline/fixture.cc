#include "fixture.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

namespace kb::pipeline {

namespace fs = std::filesystem;

std::string PipelineTest::Python() {
  fs::create_directory(fake());
  fs::create_symlink(KB_FAKE_PYTHON, fake() / "python");
  return fake() / "python";
}

void PipelineTest::TearDown() {
  if (!IsSkipped()) ExpectAllRulesMet();
  EngineTest::TearDown();
}

void PipelineTest::Play(Script script) {
  ExpectAllRulesMet();
  script_ = std::move(script);
  for (const char* file : {kStartsFile, kAskedFile, kMetFile}) fs::remove(fake() / file);
  Write(fs::path("fake") / kScriptFile, json(script_).dump());
}

int PipelineTest::Starts() const {
  std::error_code none;
  const auto size = fs::file_size(fake() / kStartsFile, none);
  return none ? 0 : static_cast<int>(size);
}

std::vector<std::string> PipelineTest::Asked() const { return Lines(kAskedFile); }

std::vector<std::string> PipelineTest::Lines(const char* file) const {
  std::ifstream stream(fake() / file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void PipelineTest::ExpectAllRulesMet() const {
  const auto lines = Lines(kMetFile);
  const std::set<std::string> met(lines.begin(), lines.end());
  for (size_t i = 0; i < script_.size(); ++i) {
    EXPECT_TRUE(met.contains(std::to_string(i))) << "nothing met the rule " << json(script_[i]);
  }
}

Arguments PipelineTest::Eval(const std::vector<std::string>& candidates, const Arguments& more) const {
  Arguments flags = {"--measure", "false"};
  flags.insert(flags.end(), more.begin(), more.end());
  return Measure(candidates, flags);
}

Arguments PipelineTest::Measure(const std::vector<std::string>& candidates, const Arguments& more) const {
  Arguments arguments = {"eval", Write("relu.py", kReluProblem)};
  arguments.insert(arguments.end(), candidates.begin(), candidates.end());
  arguments.emplace_back("--json");
  if (std::find(more.begin(), more.end(), "--protocol") == more.end()) {
    arguments.insert(arguments.end(), {"--protocol", "quick"});
  }
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

json PipelineTest::Judged(const Arguments& more) const {
  const Ended ended = Run(Measure({Right()}, more));
  return ended.Of("right.cpp");
}

}  // namespace kb::pipeline
