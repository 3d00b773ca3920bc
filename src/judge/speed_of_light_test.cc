#include "judge/speed_of_light.h"

#include <gtest/gtest.h>

namespace kb {
namespace {

using nlohmann::json;

const json kMatmul = {
    {"input_bytes", 8e6}, {"parameter_bytes", 0}, {"output_bytes", 4e6}, {"flops", 2e9}, {"matrix_flops", 2e9}};
const json kDevice = {{"copy_gb_s", 1000}, {"rates", {{"fp32", 10}, {"tf32", 100}, {"fp16", 200}}}};

TEST(SpeedOfLight, IsTheLongerOfMemoryAndCompute) {
  const json fp32 = SpeedOfLight(kMatmul, kDevice, "fp32", 400);
  EXPECT_DOUBLE_EQ(fp32.at("memory_us"), 12);
  EXPECT_DOUBLE_EQ(fp32.at("compute_us"), 200);
  EXPECT_EQ(fp32.at("bound"), "compute");
  EXPECT_DOUBLE_EQ(fp32.at("fraction"), 0.5);
  const json fp16 = SpeedOfLight(kMatmul, kDevice, "fp16", 20);
  EXPECT_DOUBLE_EQ(fp16.at("memory_us"), 6);
  EXPECT_DOUBLE_EQ(fp16.at("us"), 10);
  const json slow = SpeedOfLight(kMatmul, {{"copy_gb_s", 10}, {"rates", {{"fp32", 10}}}}, "fp32", 2400);
  EXPECT_EQ(slow.at("bound"), "memory");
  EXPECT_DOUBLE_EQ(slow.at("fraction"), 0.5);
}

TEST(SpeedOfLight, CountsTf32WhereFp32WouldTakeLonger) {
  const json tf32 = SpeedOfLight(kMatmul, kDevice, "fp32", 40);
  EXPECT_EQ(tf32.at("rate"), "tf32");
  EXPECT_DOUBLE_EQ(tf32.at("compute_us"), 20);
  EXPECT_DOUBLE_EQ(tf32.at("fraction"), 0.5);
  json tensor_cores = kDevice;
  tensor_cores["rates"]["tf32"] = 1000;
  const json memory = SpeedOfLight(kMatmul, tensor_cores, "fp32", 24);
  EXPECT_EQ(memory.at("bound"), "memory") << "products take 2 us then";
  EXPECT_DOUBLE_EQ(memory.at("fraction"), 0.5);
  EXPECT_EQ(SpeedOfLight(kMatmul, kDevice, "fp32", 175).at("rate"), "tf32") << "1.14 times as fast, as 2/35 on an H100";
  const json measured_low = SpeedOfLight(kMatmul, kDevice, "fp32", 190);
  EXPECT_EQ(measured_low.at("rate"), "fp32") << "rates are measured to some percent";
  const json cpu = SpeedOfLight(kMatmul, {{"copy_gb_s", 1000}, {"rates", {{"fp32", 10}}}}, "fp32", 40);
  EXPECT_EQ(cpu.at("rate"), "fp32") << "there is no other";
}

TEST(SpeedOfLight, SaysNothingWithoutFigures) {
  EXPECT_TRUE(SpeedOfLight(json::object(), kDevice, "fp32", 1).is_null());
  EXPECT_TRUE(SpeedOfLight(kMatmul, json::object(), "fp32", 1).is_null());
  const json memory = SpeedOfLight(kMatmul, {{"copy_gb_s", 1000}}, "fp32", 24);
  EXPECT_TRUE(memory.at("compute_us").is_null());
  EXPECT_DOUBLE_EQ(memory.at("fraction"), 0.5);
}

}  // namespace
}  // namespace kb
