// Each barrier holds what it is for: with all in place everything forbidden fails inside both kinds of runner and where
// a client's problem is executed; with one
// taken away, what it alone holds becomes possible. A probe that could not fail would show here.

#include "harness.h"

namespace kb::e2e {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

class IsolationTest : public EngineTest {
 protected:
  // What was possible inside, by runner; `without` are the barriers taken away.
  std::map<std::string, std::vector<std::string>> Open(const std::vector<std::string>& without,
                                                       const Arguments& more = {}) const {
    Arguments arguments = {"doctor", "--json"};
    for (const std::string& name : without) arguments.insert(arguments.end(), {"--without", name});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ended ended = Run(arguments, {{"KERNELBENCH_STORE", store().string()}});
    const json diagnosis = json::parse(ended.out, nullptr, false);
    std::map<std::string, std::vector<std::string>> open = {{"native", {}}, {"module", {}}, {"problem", {}}};
    EXPECT_TRUE(diagnosis.is_object()) << ended;
    if (!diagnosis.is_object()) return open;
    std::map<std::string, int> tried;
    for (const json& probe : diagnosis.at("probes")) {
      ++tried[probe.at("runner")];
      if (!probe.at("holds")) open[probe.at("runner")].push_back(probe.at("forbidden"));
    }
    EXPECT_GT(tried["native"], 30) << ended;
    EXPECT_EQ(tried["native"], tried["module"]) << ended;
    if (without.empty() && more.empty()) {
      EXPECT_EQ(tried["problem"], tried["module"]) << ended;
    }
    EXPECT_EQ(ended.code, diagnosis.at("healthy") ? 0 : 3);
    return open;
  }
};

TEST_F(IsolationTest, NothingForbiddenIsPossible) {
  const auto open = Open({});
  EXPECT_THAT(open.at("native"), IsEmpty());
  EXPECT_THAT(open.at("module"), IsEmpty());
  EXPECT_THAT(open.at("problem"), IsEmpty());
}

TEST_F(IsolationTest, WhatEachBarrierHolds) {
  struct Held {
    std::vector<std::string> without, possible;
  };
  const Held cases[] = {
      {{"mount-namespace", "user"},
       {"reading a file of the user", "filling the disk through /tmp", "twenty thousand files in /tmp",
        "filling memory through /dev/shm"}},
      {{"mount-namespace", "landlock", "user"},
       {"writing into the system", "writing into /", "opening a setting of the machine"}},
      {{"pid-namespace", "seccomp", "landlock", "user"}, {"a signal to the engine"}},
      {{"network-namespace", "landlock", "seccomp"},
       {"a TCP connection to this machine", "an abstract socket of another process"}},
      {{"seccomp"},
       {"fork", "clone as a process", "clone3", "executing a program", "reading another process's memory",
        "a handle on another process", "new namespaces", "io_uring", "bpf", "a filter of its own", "keyrings",
        "another scheduling policy"}},
      {{"landlock"}, {"opening a device for writing"}},
      // Nothing that one of these holds is held by another.
      {{"uts-namespace", "rlimits", "environment"},
       {"learning the machine's name", "a file larger than the limit", "more private memory than the limit",
        "the engine's environment"}},
      {{"ipc-namespace", "seccomp", "user"}, {"System V shared memory of another process"}},
  };
  for (const Held& each : cases) {
    const auto open = Open(each.without);
    for (const char* runner : {"native", "module"}) {
      EXPECT_THAT(open.at(runner), IsSupersetOf(each.possible)) << runner << " without " << each.without[0];
    }
  }
}

// A module runner holds capabilities in the namespaces that it made itself; bubblewrap takes those of a native one.
TEST_F(IsolationTest, CapabilitiesAreDropped) {
  EXPECT_THAT(Open({"capabilities"}).at("module"), IsSupersetOf({std::string("any capability")}));
}

TEST_F(IsolationTest, WithoutNamespacesTheOthersStillHold) {
  OpenPathsOfEngine();
  const auto open = Open({}, {"--isolation=process"});
  for (const char* runner : {"native", "module"}) {
    const std::vector<std::string>& possible = open.at(runner);
    for (const char* held : {"reading a file of the user", "writing into the system", "filling memory through /dev/shm",
                             "opening a setting of the machine", "a signal to the engine",
                             "opening the engine's memory", "tracing the engine", "a TCP connection to this machine",
                             "an abstract socket of another process", "fork", "more private memory than the limit"}) {
      EXPECT_EQ(std::count(possible.begin(), possible.end(), held), 0) << runner << ": " << held;
    }
  }
}

}  // namespace
}  // namespace kb::e2e
