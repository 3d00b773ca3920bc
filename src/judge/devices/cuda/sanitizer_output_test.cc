#include "judge/devices/cuda/sanitizer_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace kb {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(SanitizerOutput, AnAccessOutOfBounds) {
  const SanitizerOutput output = ReadSanitizerOutput(R"(========= COMPUTE-SANITIZER
something that the candidate prints
========= Invalid __global__ write of size 4 bytes
=========     at relu<float>(const float *, float *, int)+0x1b0 in /tmp/candidate.cu:12
=========     by thread (5,0,0) in block (3,1,0)
=========     Address 0x7f5b0e400414 is out of bounds
=========     and is 21 bytes after the nearest allocation at 0x7f5b0e400000 of size 1,024 bytes
=========     Saved host backtrace up to driver entry point at kernel launch time
=========         Host Frame: kb_forward [0x1234] in candidate.so
========= 
========= Invalid __global__ write of size 4 bytes
=========     at relu<float>(const float *, float *, int)+0x1b0 in /tmp/candidate.cu:12
=========     by thread (6,0,0) in block (3,1,0)
=========     Address 0x7f5b0e400418 is out of bounds
========= 
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on CUDA API call to cudaDeviceSynchronize.
=========     Saved host backtrace up to driver entry point at error
=========         Host Frame: main [0x1] in x
=========
========= ERROR SUMMARY: 3 errors
)");
  EXPECT_EQ(output.errors, 3);
  EXPECT_EQ(output.complaint, "");
  ASSERT_EQ(output.findings.size(), 2u);
  const SanitizerFinding& write = output.findings[0];
  EXPECT_EQ(write.what, "Invalid __global__ write of size 4 bytes");
  EXPECT_EQ(write.place.kernel, "relu<float>(const float *, float *, int)");
  EXPECT_EQ(write.place.file, "/tmp/candidate.cu");
  EXPECT_EQ(write.place.line, 12);
  EXPECT_EQ(write.thread, "5,0,0");
  EXPECT_EQ(write.block, "3,1,0");
  EXPECT_EQ(write.address, "0x7f5b0e400414");
  EXPECT_THAT(
      write.details,
      ElementsAre("is out of bounds", "21 bytes after the nearest allocation at 0x7f5b0e400000 of size 1,024 bytes"));
  EXPECT_EQ(write.count, 2);
  EXPECT_EQ(write.ToText(),
            "Invalid __global__ write of size 4 bytes in relu<float>(const float *, float *, int) at candidate.cu:12, "
            "thread (5,0,0) of block (3,1,0): address 0x7f5b0e400414 is out of bounds, 21 bytes after the nearest "
            "allocation at 0x7f5b0e400000 of size 1,024 bytes; 2 times");
  EXPECT_THAT(output.findings[1].what, HasSubstr("cudaErrorLaunchFailure"));
  EXPECT_EQ(output.findings[1].ToJson()["place"]["line"], nullptr);
}

TEST(SanitizerOutput, PlacesAsOtherVersionsWriteThem) {
  const struct {
    const char* line;
    DevicePlace expected;
  } cases[] = {
      {"at 0x160 in /tmp/memcheck_demo.cu:6:unaligned_kernel(void)",
       {"unaligned_kernel(void)", "/tmp/memcheck_demo.cu", 6}},
      {"at unaligned_kernel()+0x110", {"unaligned_kernel()", "", 0}},
      {"at 0x110 in unaligned_kernel()", {"unaligned_kernel()", "", 0}},
      {"at add_kernel+0x2f0 in /tmp/candidate.py:17", {"add_kernel", "/tmp/candidate.py", 17}},
      {"at mine::f(int)+0x10 in C:1:/x.cu:7", {"mine::f(int)", "C", 1}},
      {"at k()+0x20 in <unknown>", {"k()", "", 0}},
  };
  for (const auto& one : cases) {
    const auto output = ReadSanitizerOutput(
        std::string("========= Invalid __shared__ read of size 8 bytes\n=========     ") + one.line);
    ASSERT_EQ(output.findings.size(), 1u) << one.line;
    EXPECT_EQ(output.findings[0].place.kernel, one.expected.kernel) << one.line;
    EXPECT_EQ(output.findings[0].place.file, one.expected.file) << one.line;
    EXPECT_EQ(output.findings[0].place.line, one.expected.line) << one.line;
    EXPECT_EQ(output.errors, -1);
  }
}

TEST(SanitizerOutput, RacesBarriersAndMemoryThatWasNeverWritten) {
  const SanitizerOutput races = ReadSanitizerOutput(R"(========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sum(int *, int *)+0x260 in /tmp/candidate.cu:17
=========     and Read access at sum(int *, int *)+0x5e0 in /tmp/candidate.cu:22 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
)");
  EXPECT_EQ(races.errors, 1);
  EXPECT_EQ(races.complaint, "");
  ASSERT_EQ(races.findings.size(), 1u);
  EXPECT_EQ(
      races.findings[0].ToText(),
      "Error: Race reported between Write access in sum(int *, int *) at candidate.cu:17 and in sum(int *, int *) "
      "at candidate.cu:22");
  EXPECT_EQ(races.findings[0].ToJson()["other"]["line"], 22);

  const SanitizerOutput others = ReadSanitizerOutput(R"(========= Uninitialized __global__ memory read of size 4 bytes
=========     at add(int *)+0x1a0
=========     by thread (0,0,0) in block (17,0,0)
=========     Address 0x7f4cf7200200
=========
========= Barrier error detected. Divergent thread(s) in block.
=========     at diverge(int *)+0xf0 in /tmp/candidate.cu:9
=========     by thread (0,0,0) in block (0,0,0)
========= ERROR SUMMARY: 2 errors
)");
  ASSERT_EQ(others.findings.size(), 2u);
  EXPECT_EQ(others.findings[0].address, "0x7f4cf7200200");
  EXPECT_THAT(others.findings[0].details, IsEmpty());
  EXPECT_EQ(others.findings[1].place.line, 9);
}

TEST(SanitizerOutput, NothingFoundAndNothingWatched) {
  const SanitizerOutput clean = ReadSanitizerOutput("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n");
  EXPECT_EQ(clean.errors, 0);
  EXPECT_THAT(clean.findings, IsEmpty());
  const SanitizerOutput blind = ReadSanitizerOutput(
      "========= COMPUTE-SANITIZER\n========= Error: Target application terminated before first instrumented API "
      "call\n");
  EXPECT_EQ(blind.errors, -1);
  EXPECT_THAT(blind.complaint, HasSubstr("Target application terminated"));
  EXPECT_EQ(ReadSanitizerOutput("").errors, -1);
  EXPECT_EQ(WithoutSanitizerLines("a\n========= x\nb"), "a\nb\n");
}

TEST(SanitizerOutput, HostileTextIsOnlyText) {
  std::mt19937 random(1);
  const std::string words[] = {"=========",
                               "\n",
                               " ",
                               "     ",
                               "at ",
                               "(",
                               ")",
                               "+0x",
                               " in ",
                               ":",
                               "12",
                               "and",
                               "Address ",
                               "by thread ",
                               "Race",
                               " access at ",
                               "[",
                               "]",
                               "ERROR SUMMARY: 99999999999999999999",
                               "Error: "};
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (int n = 0; n < 60; ++n) text += words[random() % std::size(words)];
    const SanitizerOutput output = ReadSanitizerOutput(text);
    for (const SanitizerFinding& finding : output.findings) EXPECT_FALSE(finding.ToText().empty());
  }
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "========= Invalid " + std::to_string(i) + std::string(5000, 'x') + "\n";
  const SanitizerOutput output = ReadSanitizerOutput(many);
  EXPECT_EQ(output.findings.size(), 100u);
  EXPECT_LE(output.findings[0].what.size(), 1000u);
}

}  // namespace
}  // namespace kb
