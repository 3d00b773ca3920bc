// Which NVIDIA GPUs there are, before any of them is opened.
#ifndef JUDGE_DEVICES_CUDA_GPUS_H_
#define JUDGE_DEVICES_CUDA_GPUS_H_

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace kb {

struct Gpu {
  std::string name;            // as CUDA_VISIBLE_DEVICES takes it: a UUID; empty: whichever comes first
  std::string file;            // under /dev: whoever sees no other reaches no other
  std::vector<int> near = {};  // hardware threads; empty: not known
  std::string model = {};      // what the driver calls it: "NVIDIA H100 80GB HBM3"; empty: not known
};

struct GpuSources {
  std::filesystem::path driver = "/proc/driver/nvidia/gpus";  // a directory a GPU, named by its place on the bus
  std::filesystem::path devices = "/dev";
  std::filesystem::path bus = "/sys/bus/pci/devices";
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES, if it is set: numbers, in order of the bus, or UUIDs
  std::string smi = "nvidia-smi";      // asked for names where the driver lists no GPU
};
// $KERNELBENCH_NVIDIA: a directory with other ones, as `driver`, `devices` and `bus`.
GpuSources ThisMachine();

// GPU `number`, from 0, of those that this process may use: those whose device files are here, in order of the bus, or
// the ones that CUDA_VISIBLE_DEVICES names, in its order. Where the driver lists none, GPU 0 is taken at its word;
// opening it will tell.
Result<Gpu> FindGpu(int number, const GpuSources& sources);

// What the driver calls the GPUs that this process may use, in the order of FindGpu()'s numbers.
std::vector<std::string> GpuModels(const GpuSources& sources);

// Why there is surely no such GPU; empty: its file is here.
std::string WhyAbsent(const Gpu& gpu, const GpuSources& sources);

// Of every process that may use CUDA. `gpu`: the only one that it is to show, as CUDA_VISIBLE_DEVICES takes it, or
// empty.
std::vector<std::string> CudaEnvironment(const std::string& gpu);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_GPUS_H_
