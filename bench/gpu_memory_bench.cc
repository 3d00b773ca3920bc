// The judge's own work on a GPU's memory around one call, for 1 GiB of outputs of each floating type, against the copy
// rate that the device library measures on the same device: poisoning and comparing should reach 80% of it.
//
//   kb_gpu_memory_bench            (KERNELBENCH_NVRTC: the compiler's library, if it is not found by itself)
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "device/cuda/memory.h"
#include "device/device.h"

namespace {

constexpr size_t kBytes = size_t{1} << 30;
constexpr int kRepetitions = 11;

double MedianSeconds(const std::function<void()>& work) {
  std::vector<double> seconds;
  for (int i = -2; i < kRepetitions; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    if (i >= 0) seconds.push_back(took.count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRepetitions / 2, seconds.end());
  return seconds[kRepetitions / 2];
}

std::unique_ptr<kb::Buffer> Allocate(kb::Device& device) {
  auto buffer = device.Allocate(kBytes);
  if (buffer) return std::move(*buffer);
  fmt::print(stderr, "{}\n", buffer.error().message);
  std::exit(1);
}

}  // namespace

int main() {
  auto made = kb::MakeCudaDevice(4);
  if (!made) {
    fmt::print(stderr, "{}\n", made.error().message);
    return 1;
  }
  kb::Device& device = **made;
  const double copy_gb_s = device.Info().at("copy_gb_s");
  fmt::print("{}\n\n| {} MiB of | work | ms | GB/s | of the copy rate |\n|---|---|---|---|---|\n", device.Info().dump(),
             kBytes >> 20);
  const auto print = [&](const char* type, const char* work, double seconds, size_t touched) {
    const double gb_s = static_cast<double>(touched) / seconds / 1e9;
    fmt::print("| {} | {} | {:.3f} | {:.0f} | {:.0f}% |\n", type, work, 1e3 * seconds, gb_s, 100 * gb_s / copy_gb_s);
  };
  const auto got = Allocate(device), expected = Allocate(device);
  const std::vector<std::pair<const char*, kb_dtype>> types = {{"fp32", {KB_FLOAT, 32, 1}},
                                                               {"fp16", {KB_FLOAT, 16, 1}},
                                                               {"bf16", {KB_BFLOAT, 16, 1}},
                                                               {"fp64", {KB_FLOAT, 64, 1}}};
  const double flush = MedianSeconds([&] { device.Flush(); });
  for (const auto& [name, dtype] : types) {
    const auto elements = static_cast<int64_t>(kBytes / (dtype.bits / 8));
    const kb::OutputItem output{got->data(), dtype, {elements}};
    // 0x3f3f... is a number of about 1 in every type; the other side differs a little.
    const auto& driver = **kb::cuda::LoadDriver();
    kb::cuda::Must(driver, driver.cuMemsetD32Async(kb::cuda::At(got->data()), 0x3f3f3f3f, kBytes / 4, nullptr), "fill");
    kb::cuda::Must(driver, driver.cuMemsetD32Async(kb::cuda::At(expected->data()), 0x3f3f3f3f, kBytes / 4, nullptr),
                   "fill");
    kb::cuda::Must(driver, driver.cuStreamSynchronize(nullptr), "fill");
    bool equal = true;
    print(name, "compare", MedianSeconds([&] {
            equal &= device.CompareOutput(got->data(), expected->data(), output, {}, {}, 12345).ok;
          }),
          2 * kBytes);
    if (!equal) return 1;
    print(name, "poison", MedianSeconds([&] { device.Present({}, {&output, 1}, 12345, {}); }) - flush, kBytes);
  }
  fmt::print("\nA flush of the caches, {:.3f} ms, is taken off poison's time.\n", 1e3 * flush);
  return 0;
}
