// What is slower elsewhere by a real clock, and isolation by name.

#include "harness.h"
#include "schema.h"

namespace kb::e2e {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class ProtocolTest : public EngineTest {
 protected:
  Ended Judge(const std::string& protocol, const std::vector<std::string>& candidates, const Arguments& flags = {},
              const std::string& problem = kReluProblem) {
    Arguments arguments = {"eval", Write("relu.py", problem), "--protocol", protocol, "--json"};
    arguments.insert(arguments.end(), candidates.begin(), candidates.end());
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    Ended ended = Run(arguments);
    for (const json& evaluation : ended.Lines()) {
      SCOPED_TRACE(evaluation["candidate"]["path"]);
      ExpectDocumented(evaluation);
      EXPECT_EQ(evaluation["protocol"], protocol);
    }
    return ended;
  }
  std::string Right() const { return Write("right.cpp", kReluNative); }
};

// Right everywhere, and slower where an input is negative, which none of get_inputs() is. The second one crowds the
// cores as well, so that those rounds look disturbed.
TEST_F(ProtocolTest, WhatIsSlowerOnOtherInputsGetsTheirTime) {
  const auto native = [&](const std::string& name, const std::string& elsewhere) {
    std::string text = kReluNative;
    text.insert(text.find("  const float* x"), R"(  const float* seen = static_cast<const float*>(call->inputs[0].data);
  bool natural = true;
  for (int64_t i = 0; i < 4096; ++i) natural &= seen[i] >= 0;
  if (!natural) )" + elsewhere + ";\n");
    return Write(name, "#include <unistd.h>\n#include <chrono>\n#include <thread>\n#include <vector>\n" + text);
  };
  const std::string sleeps = native("sleeps.cpp", "usleep(40000)");
  const std::string crowds = native("crowds.cpp", R"({
    std::vector<std::thread> crowd;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(40);
    for (int i = 0; i < 16; ++i) crowd.emplace_back([=] { while (std::chrono::steady_clock::now() < end) {} });
    for (std::thread& one : crowd) one.join();
  })");
  std::string wide = kReluProblem;  // of milliseconds
  wide.replace(wide.find("N = 64"), 6, "N = 2048");
  for (const char* protocol : {"quick", "strict"}) {
    const Ended ended = Judge(protocol, {sleeps, crowds}, {}, wide);
    EXPECT_EQ(ended.code, 0) << ended;
    for (const char* name : {"sleeps.cpp", "crowds.cpp"}) {
      SCOPED_TRACE(std::string(protocol) + " " + name);
      const json evaluation = ended.Of(name);
      // Threads of a crowd wait for each other. Beside a little other load that is no longer plain, and there is no
      // number.
      if (name == std::string("crowds.cpp") && evaluation["no_speedup"] == "machine_busy") continue;
      EXPECT_NE(evaluation["headline"], "natural") << evaluation["samples"];
      EXPECT_THAT(NotesOf(evaluation), Contains(StartsWith("slower_elsewhere: ")));
    }
  }
}

TEST_F(ProtocolTest, WeakerIsolationIsByNameOnlyAndSaid) {
  OpenPathsOfEngine();
  const Ended process =
      Judge("quick", {Right(), Write("right.py", kReluModule)}, {"--isolation=process", "--measure", "false"});
  EXPECT_EQ(process.code, 0) << process;
  for (const json& evaluation : process.Lines()) {
    EXPECT_EQ(evaluation["isolation"], "process");
    EXPECT_THAT(evaluation["isolation_info"].get<std::vector<std::string>>(), Not(Contains(HasSubstr("namespace"))));
  }
  ExpectNoProcessLeft();
  ExpectNoFilesLeft();

  // Everything is there but bubblewrap.
  const fs::path programs = root() / "programs";
  fs::create_directory(programs);
  for (const char* directory : {"/bin", "/usr/bin"}) {
    for (const auto& entry : fs::directory_iterator(directory)) {
      std::error_code ignored;
      if (entry.path().filename() != "bwrap") fs::create_symlink(entry, programs / entry.path().filename(), ignored);
    }
  }
  const Ended refused = Run({"eval", Write("relu.py", kReluProblem), Right(), "--json"}, {{"PATH", programs.string()}});
  EXPECT_EQ(refused.code, 3) << refused;
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("refuses the namespaces"), HasSubstr("bubblewrap"), HasSubstr("--isolation=process")));
  EXPECT_THAT(refused.out, IsEmpty());
}

}  // namespace
}  // namespace kb::e2e
