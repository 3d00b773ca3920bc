#include "judge/devices/cuda/gpus.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/temp_dir.h"
#include "judge/devices/device_kind.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// A machine whose driver knows three GPUs, in an order of its own; the device file of the second is not here.
class Gpus : public testing::Test {
 protected:
  Gpus() {
    sources_ = {directory_.path() / "driver", directory_.path() / "dev", directory_.path() / "bus", std::nullopt};
    fs::create_directories(sources_.devices);
    Add("0000:3b:00.0", "GPU-aaaa1111", 5, true);
    Add("0000:18:00.0", "GPU-bbbb2222", 2, true);
    Add("0000:2a:00.0", "GPU-cccc3333", 0, false);
  }

  void Add(const std::string& place, const std::string& uuid, int minor, bool file) {
    fs::create_directories(sources_.driver / place);
    std::ofstream(sources_.driver / place / "information") << fmt::format(
        "Model: \t\t NVIDIA H200\nGPU UUID: \t {}\nBus Location: \t {}\nDevice Minor: \t {}\n", uuid, place, minor);
    if (file) std::ofstream(sources_.devices / fmt::format("nvidia{}", minor));
  }

  std::string FileOf(int number) const {
    const auto gpu = FindGpu(number, sources_);
    return gpu ? gpu->name + " " + fs::path(gpu->file).filename().string() : gpu.error().message;
  }

  TempDir directory_ = *TempDir::Create("gpus");
  GpuSources sources_;
};

TEST_F(Gpus, AreCountedInOrderOfTheBusWithoutThoseThatAreNotHere) {
  EXPECT_EQ(FileOf(0), "GPU-bbbb2222 nvidia2");
  EXPECT_EQ(FileOf(1), "GPU-aaaa1111 nvidia5");
  EXPECT_EQ(FileOf(2), "there is no cuda:2: this machine has 2 GPUs, counted from 0");
}

TEST_F(Gpus, AreNearTheCoresThatTheirBusNames) {
  fs::create_directories(sources_.bus / "0000:3b:00.0");
  std::ofstream(sources_.bus / "0000:3b:00.0" / "local_cpulist") << "8-9,24\n";
  EXPECT_THAT(FindGpu(1, sources_)->near, testing::ElementsAre(8, 9, 24));
  EXPECT_THAT(FindGpu(0, sources_)->near, testing::IsEmpty());
}

TEST_F(Gpus, AreThoseThatCudaVisibleDevicesNames) {
  sources_.visible = "1,0";
  EXPECT_EQ(FileOf(0), "GPU-aaaa1111 nvidia5");
  EXPECT_EQ(FileOf(1), "GPU-bbbb2222 nvidia2");
  sources_.visible = "GPU-aaaa";
  EXPECT_EQ(FileOf(0), "GPU-aaaa1111 nvidia5");
  EXPECT_EQ(
      FileOf(1),
      "there is no cuda:1: this machine has 2 GPUs, of which CUDA_VISIBLE_DEVICES=GPU-aaaa shows 1, counted from 0");
  sources_.visible = "";
  EXPECT_EQ(FileOf(0),
            "there is no cuda:0: this machine has 2 GPUs, of which CUDA_VISIBLE_DEVICES= shows 0, counted from 0");
}

TEST_F(Gpus, OfAListEndAtTheFirstThatIsNotThereOrComesAgain) {
  sources_.visible = "1, 0";
  EXPECT_EQ(FileOf(1), "GPU-bbbb2222 nvidia2");
  sources_.visible = "0,0";
  EXPECT_EQ(FileOf(0), "GPU-bbbb2222 nvidia2");
  EXPECT_THAT(FileOf(1), testing::HasSubstr("CUDA_VISIBLE_DEVICES=0,0 shows 1"));
  sources_.visible = "7,0";
  EXPECT_THAT(FileOf(0), testing::HasSubstr("CUDA_VISIBLE_DEVICES=7,0 shows 0"));
}

TEST_F(Gpus, WithoutUuidsAreNoneOfSeveral) {
  Add("0000:18:00.0", "GPU-\?\?\?\?-\?\?", 2, true);
  EXPECT_THAT(FileOf(0), testing::HasSubstr("nvidia-smi -pm 1"));
  EXPECT_EQ(FileOf(1), "GPU-aaaa1111 nvidia5");
  fs::remove(sources_.devices / "nvidia5");
  EXPECT_EQ(FileOf(0), " nvidia2") << "the only one is the first";
}

TEST_F(Gpus, AreTheFirstAloneWhereTheDriverListsNone) {
  EXPECT_EQ(WhyAbsent(*FindGpu(0, sources_), sources_), "");
  fs::remove_all(sources_.driver);
  EXPECT_EQ(FileOf(0), " nvidia0");
  EXPECT_THAT(WhyAbsent(*FindGpu(0, sources_), sources_), testing::HasSubstr("there is no NVIDIA GPU"));
  std::ofstream(sources_.devices / "nvidia0");
  EXPECT_EQ(WhyAbsent(*FindGpu(0, sources_), sources_), "");
  EXPECT_THAT(FileOf(1), testing::HasSubstr("as the device cuda, without a number"));
  sources_.visible = "1";
  EXPECT_THAT(FileOf(0), testing::HasSubstr("as the device cuda, without a number"));
}

TEST_F(Gpus, AreCalledWhatTheDriverCallsThem) {
  EXPECT_THAT(GpuModels(sources_), testing::ElementsAre("NVIDIA H200", "NVIDIA H200"));
  sources_.visible = "1";
  EXPECT_THAT(GpuModels(sources_), testing::ElementsAre("NVIDIA H200"));
}

TEST_F(Gpus, AreCalledWhatNvidiaSmiSaysWhereTheDriverListsNone) {
  fs::remove_all(sources_.driver);
  sources_.smi = directory_.path() / "smi";
  std::ofstream(sources_.smi) << "#!/bin/sh\n[ \"$1\" = --query-gpu=name ] && echo 'NVIDIA H100 80GB HBM3'\n";
  fs::permissions(sources_.smi, fs::perms::owner_all);
  EXPECT_THAT(GpuModels(sources_), testing::IsEmpty()) << "there is no device file";
  std::ofstream(sources_.devices / "nvidia0");
  EXPECT_THAT(GpuModels(sources_), testing::ElementsAre("NVIDIA H100 80GB HBM3"));
  sources_.smi = "/nowhere/nvidia-smi";
  EXPECT_THAT(GpuModels(sources_), testing::ElementsAre(""));
}

TEST(FindDevice, TakesNamesOfKinds) {
  EXPECT_TRUE(CheckDevice("cpu"));
  EXPECT_EQ(KindOfDevice("cuda:1"), KindOfDevice("cuda"));
  EXPECT_EQ(FindDevice("cuda:999").error().code, ErrorCode::kUnavailable);
  for (const char* wrong : {"", "tpu", "cuda:", "cuda:x", "cuda:1x", "cuda:-1", "cpu:0", "CUDA"}) {
    const auto found = FindDevice(wrong);
    ASSERT_FALSE(found) << wrong;
    EXPECT_EQ(found.error().code, ErrorCode::kUsage) << wrong;
    EXPECT_EQ(found.error().message,
              fmt::format("no device \"{}\"; there are: cpu, cuda, and cuda:1 for the second GPU", wrong));
  }
}

TEST(KindOfSource, IsOfTheExtension) {
  EXPECT_EQ(KindOfSource("a.cu"), KindOfDevice("cuda"));
  EXPECT_EQ(KindOfSource("b.cxx"), KindOfDevice("cpu"));
  EXPECT_EQ(KindOfSource("c.py"), nullptr);
}

}  // namespace
}  // namespace kb
