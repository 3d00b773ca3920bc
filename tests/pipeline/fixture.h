// Fixture of the tests with a fake device process: engines find it where they look for Python.
#ifndef TESTS_PIPELINE_FIXTURE_H_
#define TESTS_PIPELINE_FIXTURE_H_

#include <string>
#include <vector>

#include "harness.h"
#include "schema.h"
#include "script.h"

namespace kb::pipeline {

using e2e::Arguments;
using e2e::Descendants;
using e2e::Ended;
using e2e::Engine;
using e2e::Environment;
using e2e::Example;
using e2e::ExpectDocumented;
using e2e::IsDeviceProcess;
using e2e::IsNamed;
using e2e::KeysOf;
using e2e::kReluModule;
using e2e::kReluNative;
using e2e::kReluProblem;
using e2e::NativeShows;
using e2e::Process;
using e2e::WaitForProcess;
using nlohmann::json;

class PipelineTest : public e2e::EngineTest {
 protected:
  // Fails the test for each rule of the last script that nothing has met.
  void TearDown() override;
  std::string Python() override;

  // What device processes do that are started from now on. What others were asked is forgotten.
  void Play(Script script);
  int Starts() const;                      // of device processes since then
  std::vector<std::string> Asked() const;  // of which operations, in their order

  // The arguments of an evaluation that measures nothing; by the protocol `quick` unless `more` says otherwise.
  Arguments Eval(const std::vector<std::string>& candidates, const Arguments& more = {}) const;
  // The same, measured.
  Arguments Measure(const std::vector<std::string>& candidates, const Arguments& more = {}) const;
  std::string Right(const std::string& name = "right.cpp") const { return Write(name, kReluNative); }
  // One measured evaluation of a right candidate; null if it did not end with one.
  json Judged(const Arguments& more = {}) const;

 private:
  std::filesystem::path fake() const { return root() / "fake"; }
  std::vector<std::string> Lines(const char* file) const;
  void ExpectAllRulesMet() const;

  Script script_;
};

}  // namespace kb::pipeline

#endif  // TESTS_PIPELINE_FIXTURE_H_
