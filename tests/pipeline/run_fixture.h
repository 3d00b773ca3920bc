// What tests of `run` share: a run directory of candidates, and candidates that fail in one way each.
#ifndef TESTS_PIPELINE_RUN_FIXTURE_H_
#define TESTS_PIPELINE_RUN_FIXTURE_H_

#include <string>
#include <utility>
#include <vector>

#include "fixture.h"

namespace kb::pipeline {

class RunTest : public PipelineTest {
 protected:
  // A run directory with a manifest; `files` are names and texts, in order.
  std::string MakeRun(const std::vector<std::pair<std::string, std::string>>& files, const std::string& problem = "") {
    const std::string relu = problem.empty() ? Write("relu.py", kReluProblem) : problem;
    std::string manifest;
    int sample = 0;
    for (const auto& [name, text] : files) {
      Write("run/" + name, text);
      manifest += json{{"problem", relu}, {"path", name}, {"model", "m"}, {"sample", sample++}}.dump() + "\n";
    }
    Write("run/manifest.jsonl", manifest);
    return (root() / "run").string();
  }
  Arguments Command(const std::string& directory, const Arguments& more = {}) const {
    Arguments arguments = {"run",   directory,      "--protocol", "quick",  "--measure",
                           "false", "--profile-ms", "0",          "--name", "test"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::vector<json> Stored() const { return Run({"list", "--json"}).Lines(); }
};

// The right candidate, with what it does first in each call.
inline std::string First(const std::string& statement) {
  std::string text = kReluNative;
  text.insert(text.find("  const float* x"), statement);
  return "#include <cstdlib>\n" + text;
}
inline std::string Wrong() { return First("  if (call != nullptr) return 0;\n"); }
inline std::string Crashes() { return First("  abort();\n"); }

}  // namespace kb::pipeline

#endif  // TESTS_PIPELINE_RUN_FIXTURE_H_
