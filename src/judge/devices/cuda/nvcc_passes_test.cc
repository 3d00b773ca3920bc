#include "judge/devices/cuda/nvcc_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {
namespace {

using testing::HasSubstr;
using testing::Not;

// What nvcc 13.0 prints, shortened.
constexpr char kDryRun[] = R"(#$ _SPACE_= 
#$ TOP=/cuda/bin/..
#$ CICC_PATH=/cuda/bin/../nvvm/bin
#$ PATH=/cuda/bin/../nvvm/bin:/cuda/bin:/usr/bin
#$ INCLUDES="-I/cuda/include"  
#$ g++ -D__CUDA_ARCH_LIST__=900 -E -x c++ -D__CUDACC__ "k.cu" -o "k.cpp4.ii" 
#$ cudafe++ --gen_c_file_name "k.cudafe1.cpp" --stub_file_name "k.cudafe1.stub.c" --gen_module_id_file --module_id_file_name "k.module_id" "k.cpp4.ii" 
#$ g++ -D__CUDA_ARCH__=900 -D__CUDA_ARCH_LIST__=900 -E -x c++ -D__CUDACC__ "k.cu" -o "k.cpp1.ii" 
#$ "$CICC_PATH/cicc" -arch compute_90a --module_id_file_name "k.module_id" "k.cpp1.ii" -o "k.ptx"
#$ ptxas -arch=sm_90a "k.ptx" -o "k.cubin" 
#$ fatbinary --create="k.fatbin" "--image3=kind=elf,sm=90a,file=k.cubin" --embedded-fatbin="k.fatbin.c" 
#$ rm k.fatbin
#$ g++ -D__CUDA_ARCH__=900 -c -x c++ "k.cudafe1.cpp" -o "k.o" 
)";

std::string Without(const std::string& line) {
  std::string text = kDryRun;
  const size_t begin = text.find(line);
  EXPECT_NE(begin, std::string::npos);
  return text.erase(begin, text.find('\n', begin) + 1 - begin);
}

TEST(NvccPasses, RunAtTheSameTime) {
  const auto script = OverlappedPasses(kDryRun, "kb_1f");
  ASSERT_TRUE(script);
  EXPECT_THAT(*script, HasSubstr("export CICC_PATH='/cuda/bin/../nvvm/bin'\n"));
  EXPECT_THAT(*script, HasSubstr("printf %s '_kb_1f' >\"k.module_id\""));
  EXPECT_THAT(*script, Not(HasSubstr("--gen_module_id_file")));
  EXPECT_THAT(*script, Not(HasSubstr("INCLUDES=")));
  // The device pass from its preprocessor to the embedded binary in the background, the host pass beside it, and last
  // what needs both.
  const size_t device = script->find("k.cpp1.ii\" "), embed = script->find("fatbinary"),
               background = script->find(" & device=$!");
  const size_t host = script->find("k.cpp4.ii\" "), wait = script->find("wait $device"), last = script->find("k.o\"");
  EXPECT_LT(device, embed);
  EXPECT_LT(embed, background);
  EXPECT_LT(background, host);
  EXPECT_LT(host, wait);
  EXPECT_LT(wait, last);
}

TEST(NvccPasses, WhatIsNotKnownIsLeftToNvcc) {
  EXPECT_FALSE(OverlappedPasses("", "u"));
  EXPECT_FALSE(OverlappedPasses("nvcc warning : something\n" + std::string(kDryRun), "u"));
  EXPECT_FALSE(OverlappedPasses(Without("#$ ptxas"), "u"));
  EXPECT_FALSE(OverlappedPasses(std::string(kDryRun) + "#$ ptxas -arch=sm_80 \"k.ptx\" -o \"k80.cubin\"\n", "u"))
      << "two architectures";
  EXPECT_FALSE(OverlappedPasses(std::string(kDryRun) + "#$ nvlink k.o\n", "u"));
}

}  // namespace
}  // namespace kb
