// Devices that are lent, and what waits for them.
#include "jobs/lease.h"

#include "jobs/scheduler_test_util.h"

namespace kb {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kGib = uint64_t{1} << 30;

class LeaseTest : public SchedulerTest {
 protected:
  LeaseTest() {
    script_.memory = [this]() -> std::optional<DeviceMemory> {
      if (!readable_) return std::nullopt;
      return DeviceMemory{used_, 100 * kGib};
    };
  }
  // What is judged while the memory is not as it was, or the device is somebody's, is noted.
  std::unique_ptr<Scheduler> StartNoting() {
    SchedulerOptions options = Options();
    options.judging = [this](const Task& task) {
      order_.push_back(task.id);
      if (held_ || used_ != 3 * kGib) disturbed_.push_back(task.id);
    };
    return Start(std::move(options));
  }
  Task MakeLease(int64_t id, double seconds, double share = 0.5) {
    Task task;
    task.id = id;
    task.protocol = std::make_shared<const Protocol>();
    auto lease = std::make_shared<Lease>(Lease{.seconds = seconds, .memory_share = share});
    lease->begun = [this](const LentDevice& device) {
      name_ = device.name;
      held_ = true;
      began_.Open();
    };
    lease->over = [this](const std::string& why) {
      held_ = false;
      why_ = why;
      over_.Open();
    };
    task.lease = std::move(lease);
    return task;
  }
  std::atomic<uint64_t> used_ = 3 * kGib;
  std::atomic<bool> readable_ = true, held_ = false;
  std::string name_, why_;
  Door over_;
  std::vector<int64_t> disturbed_;
};

TEST_F(LeaseTest, NothingIsJudgedUntilItIsTakenBack) {
  const auto scheduler = StartNoting();
  scheduler->Submit(MakeLease(1, 600));
  began_.Pass();
  EXPECT_EQ(name_, "cuda");
  scheduler->Submit(MakeTask(2));
  std::this_thread::sleep_for(milliseconds(200));
  held_ = false;
  EXPECT_FALSE(scheduler->Cancel(1)) << "it has begun";
  scheduler->Drain();
  EXPECT_THAT(order_, ElementsAre(2));
  EXPECT_THAT(disturbed_, IsEmpty());
  EXPECT_EQ(why_, "");
  EXPECT_EQ(CodeOf(1), ErrorCode::kInterrupted);
}

TEST_F(LeaseTest, ItsTimeIsOver) {
  const auto scheduler = StartNoting();
  scheduler->Submit(MakeLease(1, 0.2));
  scheduler->Submit(MakeTask(2));
  scheduler->Drain();
  EXPECT_EQ(why_, "its 0.2 s were over");
  EXPECT_THAT(order_, ElementsAre(2));
  EXPECT_THAT(disturbed_, IsEmpty());
}

TEST_F(LeaseTest, TooMuchMemoryEndsItAndIsWaitedFor) {
  const auto scheduler = StartNoting();
  scheduler->Submit(MakeLease(1, 600, 0.25));
  began_.Pass();
  used_ = 28 * kGib;  // 25 of them the holder's
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_TRUE(held_);
  used_ = 29 * kGib;
  over_.Pass();
  EXPECT_EQ(why_, "it held 26.0 GiB of the device's memory and may hold 25.0");
  scheduler->Submit(MakeTask(2));
  std::this_thread::sleep_for(milliseconds(300));
  used_ = 3 * kGib;
  scheduler->Drain();
  EXPECT_THAT(order_, ElementsAre(2));
  EXPECT_THAT(disturbed_, IsEmpty());
}

TEST_F(LeaseTest, WhereMemoryCannotBeReadNothingIsLent) {
  readable_ = false;
  const auto scheduler = StartNoting();
  scheduler->Submit(MakeLease(1, 600));
  scheduler->Drain();
  EXPECT_THAT(why_, HasSubstr("cannot be read"));
  EXPECT_EQ(name_, "");
}

TEST_F(LeaseTest, MemoryThatCannotBeReadAnyMoreEndsItAndIsNotFree) {
  const auto scheduler = StartNoting();
  scheduler->Submit(MakeLease(1, 600));
  began_.Pass();
  used_ = 4 * kGib;
  readable_ = false;
  over_.Pass();
  EXPECT_THAT(why_, HasSubstr("could not be read any more"));
  scheduler->Submit(MakeTask(2));
  std::this_thread::sleep_for(milliseconds(300));
  readable_ = true;
  std::this_thread::sleep_for(milliseconds(300));
  used_ = 3 * kGib;
  scheduler->Drain();
  EXPECT_THAT(order_, ElementsAre(2));
  EXPECT_THAT(disturbed_, IsEmpty());
}

TEST_F(LeaseTest, ADeviceThatCannotBeLentSaysWhy) {
  script_.not_lent = "NVML does not start";
  const auto scheduler = StartNoting();
  scheduler->Submit(MakeLease(1, 600));
  scheduler->Submit(MakeTask(2));
  scheduler->Drain();
  EXPECT_EQ(ends_.at(1).evaluation.error().message, "NVML does not start");
  EXPECT_THAT(order_, ElementsAre(2));
}

TEST_F(LeaseTest, TheEndOfTheServiceEndsIt) {
  const auto scheduler = StartNoting();
  scheduler->Submit(MakeLease(1, 600));
  began_.Pass();
  used_ = 4 * kGib;  // its memory is waited for by nobody
  scheduler->Stop();
  EXPECT_EQ(CodeOf(1), ErrorCode::kInterrupted);
}

}  // namespace
}  // namespace kb
