#include "prompt/hardware.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"
#include "judge/devices/cuda/occupancy.h"

namespace kb {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::filesystem::path PromptData() { return FindInstallation().value().prompts; }

TEST(Hardware, EveryEntryCanBeTold) {
  const std::vector<std::string> names = HardwareNames(PromptData()).value();
  EXPECT_GE(names.size(), 14U);
  for (const std::string& name : names) {
    const auto text = DescribeHardware(PromptData(), name);
    ASSERT_TRUE(text) << name << ": " << text.error().message;
    EXPECT_THAT(*text, AllOf(HasSubstr(" GB of memory\n"), HasSubstr(" GB/s at most\n"))) << name;
    EXPECT_THAT(*text, Not(HasSubstr("{"))) << name;
  }
}

TEST(Hardware, NamesAndAliasesAreForgiving) {
  const std::string text = DescribeHardware(PromptData(), "H100 SXM").value();
  EXPECT_THAT(text,
              AllOf(HasSubstr("- 132 multiprocessors\n"), HasSubstr("fp16 989.4"), HasSubstr("228 KB of shared")));
  for (const char* name : {"h100", "H100", "h100-sxm", "H100_SXM"})
    EXPECT_EQ(DescribeHardware(PromptData(), name).value(), text);
  EXPECT_NE(DescribeHardware(PromptData(), "A100-80GB").value(), DescribeHardware(PromptData(), "A100").value());
  const auto unknown = DescribeHardware(PromptData(), "H1000");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message,
              AllOf(HasSubstr("no hardware H1000"), HasSubstr("H100 SXM"), HasSubstr("MI300X")));
}

// Two tables about the same devices: what fits by the occupancy calculator must be what the prompt says.
TEST(Hardware, LimitsAgreeWithTheOccupancyTables) {
  for (const char* capability : {"7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "12.0"}) {
    const std::string text = DescribeDevice(PromptData(), json{{"compute_capability", capability}}, {}).value();
    int64_t threads = 0, shared = 0;
    // One-warp blocks until threads run out would be limited by the number of blocks, so ask with 256 threads each.
    for (int64_t each : {1024, 1536, 2048}) {
      if (text.find(fmt::format("{} threads at most", each)) != std::string::npos) threads = each;
    }
    for (int64_t each : {64, 100, 164, 228}) {
      if (text.find(fmt::format(" {} KB of shared memory", each)) != std::string::npos) shared = each << 10;
    }
    EXPECT_EQ(TheoreticalOccupancy({256, 0, 0}, capability)->blocks, threads / 256) << capability;
    const int64_t reserved = capability[0] == '7' ? 0 : 1024;
    EXPECT_EQ(TheoreticalOccupancy({32, 0, shared - reserved}, capability)->blocks, 1) << capability;
    EXPECT_EQ(TheoreticalOccupancy({32, 0, shared - reserved + 256}, capability)->blocks, 0) << capability;
  }
}

TEST(Hardware, TellsWhatWasMeasured) {
  const json gpu = {{"name", "NVIDIA H200"},
                    {"cores", 132},
                    {"last_level_cache", 62914560},
                    {"compute_capability", "9.0"},
                    {"copy_gb_s", 4110.7},
                    {"memory", 150109880320},
                    {"rates", {{"fp32", 50.5}, {"tf32", 380.25}, {"fp16", 700.0}}}};
  EXPECT_EQ(DescribeDevice(PromptData(), gpu, {}).value(),
            "NVIDIA H200:\n- compute capability 9.0\n- 132 multiprocessors\n- 150.1 GB of memory\n- L2 cache 60 MiB\n"
            "- each multiprocessor: 65,536 registers of 32 bits (at most 255 a thread), 2048 threads at most (1,024 a "
            "block), 228 KB of shared memory at most (227 KB a block, above 48 KB only on request)\n"
            "- copying was measured at 4111 GB/s, bytes read and bytes written together\n"
            "- a large product of matrices was measured at, in TFLOP/s: fp32 50.5, tf32 380.25, fp16 700\n");
  const json cpu = {{"name", "Some CPU"}, {"cores", 2}, {"last_level_cache", 33554432}};
  EXPECT_EQ(DescribeDevice(PromptData(), cpu, {"AVX2, FMA", {"L1 data: 48 KiB a core"}}).value(),
            "Some CPU:\n- 2 cores\n- vector instructions: AVX2, FMA\n- cache L1 data: 48 KiB a core\n");
  EXPECT_THAT(DescribeDevice(PromptData(), cpu, {}).value(), HasSubstr("last-level cache 32 MiB"));
}

TEST(Hardware, ATableWithAnUnknownKeyIsRefused) {
  const TempDir directory = TempDir::Create("kb-hardware").value();
  ASSERT_TRUE(WriteFileAtomic(directory.path() / "hardware.toml",
                              "[gpus.X]\nname = \"X\"\nsource = \"its datasheet\"\nmemory_gib = 3\n"));
  EXPECT_THAT(DescribeHardware(directory.path(), "X").error().message,
              AllOf(HasSubstr("unknown key memory_gib"), HasSubstr("memory_gb")));
  ASSERT_TRUE(WriteFileAtomic(directory.path() / "hardware.toml", "[gpus.X]\nname = \"X\"\n"));
  EXPECT_THAT(DescribeHardware(directory.path(), "X").error().message, HasSubstr("needs a name and a source"));
}

}  // namespace
}  // namespace kb
