// Commands with a GPU: a real box, a machine whose GPU is a plain file, and a scripted service.
#include "agents/agent_lease.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include "agents/agent_test_util.h"
#include "agents/agent_tools.h"
#include "base/temp_dir.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class AgentLeaseTest : public SharedBoxTest {
 protected:
  AgentLeaseTest() {
    fs::permissions(machine_.path(), fs::perms(0755));
    fs::create_directories(machine_.path() / "driver" / "0000:18:00.0");
    fs::create_directories(machine_.path() / "devices");
    std::ofstream(machine_.path() / "driver" / "0000:18:00.0" / "information")
        << "Model: \t NVIDIA H200\nGPU UUID: \t GPU-aaaa1111\nDevice Minor: \t 0\n";
    std::ofstream(node()) << "a GPU\n";
    setenv("KERNELBENCH_NVIDIA", machine_.path().c_str(), 1);
    Make({});
  }
  ~AgentLeaseTest() override { unsetenv("KERNELBENCH_NVIDIA"); }
  std::string node() const { return machine_.path() / "devices" / "nvidia0"; }
  void Make(AgentToolLimits limits, bool gpu = true) {
    tools_.emplace(box_, &judge_, limits, AgentToolOptions{"", gpu});
  }
  void Lends() { api_.Says(201, Lease("held")); }
  static json Lease(const std::string& state, const json& error = nullptr) {
    return {{"id", SomeId()}, {"state", state}, {"device", "cuda:0"}, {"cores", json::array()}, {"error", error}};
  }
  ToolOutcome Bash(const json& arguments) {
    const auto outcome = tools_->Call({.id = "1", .name = "bash", .arguments = arguments.dump()});
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome.value_or(ToolOutcome());
  }
  ToolOutcome BashWithGpu(const std::string& command) { return Bash({{"command", command}, {"gpu", true}}); }

  const TempDir machine_ = TempDir::Create("kb-gpu", "/var/tmp").value();  // no folder that is the box's own
  ScriptedApi api_;
  AgentJudge judge_{{.ask = api_.Ask(), .patience = milliseconds(0)}};
  std::optional<AgentTools> tools_;
};

TEST_F(AgentLeaseTest, ACommandHasTheGpuToItselfAndGivesItBack) {
  Lends();
  const ToolOutcome with = BashWithGpu("cat " + node() + "; echo $CUDA_VISIBLE_DEVICES; exit 3");
  EXPECT_THAT(with.text, AllOf(StartsWith("exit code 3; it had the GPU for "), EndsWith(" s\na GPU\nGPU-aaaa1111\n")));
  EXPECT_FALSE(with.is_error);
  EXPECT_THAT(api_.requests, ElementsAre("POST /v1/leases?wait=30", "GET /v1/leases/" + SomeId() + "?wait=600",
                                         "DELETE /v1/leases/" + SomeId()));
  EXPECT_EQ(api_.forgotten, 1) << "nobody waits for its end any more";
  EXPECT_EQ(api_.bodies.at(0).at("seconds"), 80) << "the command's and what it takes to start and end it";
  EXPECT_EQ(api_.bodies.at(0).at("memory_share"), 0.5);
  ASSERT_TRUE(with.verdict);
  EXPECT_GT(with.verdict->device_seconds, 0);
  EXPECT_EQ(tools_->device_seconds(), with.verdict->device_seconds);
  EXPECT_EQ(tools_->evaluations(), 0);
  EXPECT_THAT(Bash({{"command", "cat " + node()}}).text, HasSubstr("No such file"));
  EXPECT_EQ(api_.requests.size(), 3u);
}

TEST_F(AgentLeaseTest, ItWaitsForItsTurn) {
  api_.Says(202, Lease("queued"));
  api_.Says(202, Lease("queued"));
  Lends();
  EXPECT_THAT(BashWithGpu("echo ran").text, EndsWith("ran\n"));
  EXPECT_EQ(api_.requests.at(1), "GET /v1/leases/" + SomeId() + "?wait=30&until=held");
  EXPECT_EQ(api_.requests.at(2), api_.requests.at(1));
}

TEST_F(AgentLeaseTest, WhatTheServiceEndsIsKilledAndSaysWhy) {
  Lends();
  std::thread service([&] {
    while (!box_->folder().Read("begun")) std::this_thread::sleep_for(milliseconds(1));
    api_.told({200, "application/json", Lease("over", "it held 71.0 GiB of the device's memory").dump(), {}});
  });
  const ToolOutcome outcome = BashWithGpu("sleep 600 & echo >begun; sleep 600");
  service.join();
  EXPECT_THAT(outcome.text, StartsWith("stopped: it held 71.0 GiB of the device's memory; it had the GPU for "));
  EXPECT_TRUE(outcome.is_error);
  EXPECT_THAT(Bash({{"command", "cat /proc/[0-9]*/comm | grep -c sleep"}}).text, HasSubstr("\n0\n"));
}

TEST_F(AgentLeaseTest, ItsTimeIsLimited) {
  Make({.gpu_seconds = 1});
  Lends();
  EXPECT_THAT(BashWithGpu("sleep 600").text, StartsWith("ended after its time limit of 1 s; it had the GPU for "));
  Lends();
  EXPECT_THAT(Bash({{"command", "sleep 600"}, {"gpu", true}, {"timeout", 200}}).text, HasSubstr("limit of 1 s"));
}

TEST_F(AgentLeaseTest, ItCountsAsDeviceTime) {
  Make({.device_seconds = 0.1});
  Lends();
  const ToolOutcome first = BashWithGpu("sleep 0.2");
  const size_t asked = api_.requests.size();
  const ToolOutcome second = BashWithGpu("echo ran");
  EXPECT_THAT(second.text, HasSubstr("your 0.1 seconds of a device are used up"));
  EXPECT_TRUE(second.is_error);
  EXPECT_EQ(api_.requests.size(), asked) << "nothing is lent";
  EXPECT_THAT(tools_->LeftText(), HasSubstr("0 of 0 s of the device left"));
  // Another process goes on with it.
  Make({.device_seconds = 0.1});
  tools_->Remember(*first.verdict);
  EXPECT_THAT(BashWithGpu("echo ran").text, HasSubstr("are used up"));
}

TEST_F(AgentLeaseTest, ACommandHasNoMoreThanWhatIsLeftOfTheDeviceTime) {
  Make({.device_seconds = 10});
  tools_->Remember({.tool = "evaluate", .device_seconds = 9});
  Lends();
  EXPECT_THAT(BashWithGpu("sleep 600").text, StartsWith("ended after its time limit of 1 s; it had the GPU for "));
  EXPECT_EQ(api_.bodies.at(0).at("seconds"), 21);
}

TEST_F(AgentLeaseTest, WhatCannotBeRunCountsForAsLongAsItHeldTheGpu) {
  Lends();
  const ToolOutcome outcome = BashWithGpu(std::string(200'000, ' ') + ":");
  EXPECT_TRUE(outcome.is_error);
  EXPECT_THAT(outcome.text, HasSubstr("a command has at most"));
  ASSERT_TRUE(outcome.verdict);
  EXPECT_EQ(tools_->device_seconds(), outcome.verdict->device_seconds);
}

TEST_F(AgentLeaseTest, WhereThereIsNoGpuItIsNotOfferedAndSaysWhatToDo) {
  const auto of_bash = [&] {
    for (const Tool& tool : tools_->Offered()) {
      if (tool.name == "bash") return tool.description + tool.parameters;
    }
    return std::string();
  };
  EXPECT_THAT(of_bash(), AllOf(HasSubstr("gpu: true"), HasSubstr("\"gpu\""), HasSubstr("60 s and 50%")));
  Make({}, false);
  EXPECT_THAT(of_bash(), AllOf(HasSubstr("command"), Not(HasSubstr("gpu")), Not(HasSubstr("GPU"))));
  const ToolOutcome refused = BashWithGpu("echo ran");
  EXPECT_TRUE(refused.is_error);
  EXPECT_THAT(refused.text, AllOf(HasSubstr("Call bash without gpu"), Not(HasSubstr("ran\n"))));
  EXPECT_THAT(Bash({{"command", "echo ran"}, {"gpu", false}}).text, EndsWith("ran\n"));
  EXPECT_THAT(api_.requests, IsEmpty());
}

TEST_F(AgentLeaseTest, AServiceThatDoesNotLendIsTold) {
  api_.Says(503, {{"detail", "too many requests wait"}, {"fault", "engine"}, {"retryable", true}});
  const ToolOutcome busy = BashWithGpu("echo ran");
  EXPECT_TRUE(busy.is_error);
  EXPECT_THAT(busy.text, AllOf(HasSubstr("does not lend its GPU now"), HasSubstr("too many requests wait")));
  api_.Says(200, Lease("over", "NVML does not start"));
  EXPECT_THAT(BashWithGpu("echo ran").text, HasSubstr("NVML does not start"));
}

}  // namespace
}  // namespace kb
