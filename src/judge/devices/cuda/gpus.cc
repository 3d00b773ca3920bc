#include "judge/devices/cuda/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>

#include "base/file.h"
#include "base/seat.h"
#include "base/subprocess.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// The value of a line "Device Minor: \t 0"; empty if there is none.
std::string ValueOf(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key + ":")) continue;
    const size_t start = line.find_first_not_of(" \t", key.size() + 1);
    return start == std::string::npos ? "" : line.substr(start, line.find_last_not_of(" \t") + 1 - start);
  }
  return "";
}

// In order of the bus, as CUDA numbers them under CUDA_DEVICE_ORDER=PCI_BUS_ID.
std::vector<Gpu> AllGpus(const GpuSources& sources) {
  std::error_code ignored;
  std::vector<fs::path> places;
  for (const auto& entry : fs::directory_iterator(sources.driver, ignored)) places.push_back(entry.path());
  std::sort(places.begin(), places.end());
  std::vector<Gpu> gpus;
  for (const fs::path& place : places) {
    const auto text = ReadFile(place / "information");
    if (!text) continue;
    Gpu gpu{ValueOf(*text, "GPU UUID"), sources.devices / ("nvidia" + ValueOf(*text, "Device Minor"))};
    gpu.model = ValueOf(*text, "Model");
    const auto near = ReadFile(sources.bus / place.filename() / "local_cpulist");
    if (near) gpu.near = ParseCores(*near);
    if (gpu.name.find('?') != std::string::npos) gpu.name.clear();  // the driver has not asked the GPU yet
    // A container may show fewer device files than the driver has GPUs.
    if (fs::exists(gpu.file, ignored)) gpus.push_back(gpu);
  }
  return gpus;
}

// As CUDA reads the list: it ends at the first that there is not, or not any more.
std::vector<Gpu> Chosen(const std::vector<Gpu>& all, const std::string& visible) {
  std::vector<Gpu> gpus;
  std::istringstream parts(visible);
  for (std::string part; std::getline(parts, part, ',');) {
    std::erase(part, ' ');
    const bool number = !part.empty() && part.size() < 4 && part.find_first_not_of("0123456789") == std::string::npos;
    const auto found = std::find_if(all.begin(), all.end(), [&](const Gpu& gpu) {
      return number ? &gpu - all.data() == std::stoi(part) : part.size() > 4 && gpu.name.starts_with(part);
    });
    const auto same = [&](const Gpu& gpu) { return gpu.file == found->file; };
    if (found == all.end() || std::any_of(gpus.begin(), gpus.end(), same)) break;
    gpus.push_back(*found);
  }
  return gpus;
}

// Where the driver lists no GPU there may be a first one all the same.
std::vector<std::string> FirstByTool(const GpuSources& sources) {
  std::error_code ignored;
  if (!fs::exists(sources.devices / "nvidia0", ignored)) return {};
  SpawnOptions options;
  options.argv = {sources.smi, "--query-gpu=name", "--format=csv,noheader"};
  for (const char* name : {"PATH", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(name)) options.environment.push_back(fmt::format("{}={}", name, value));
  }
  const auto ended = RunToEnd(options, std::chrono::seconds(20));
  if (!ended || !ended->status.ok()) return {""};
  return {ended->output.substr(0, ended->output.find_first_of("\r\n"))};
}

}  // namespace

GpuSources ThisMachine() {
  GpuSources sources;
  if (const char* other = std::getenv("KERNELBENCH_NVIDIA")) {
    sources.driver = fs::path(other) / "driver";
    sources.devices = fs::path(other) / "devices";
    sources.bus = fs::path(other) / "bus";
  }
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES")) sources.visible = visible;
  return sources;
}

Result<Gpu> FindGpu(int number, const GpuSources& sources) {
  const std::vector<Gpu> all = AllGpus(sources);
  if (all.empty()) {
    if (number == 0 && sources.visible.value_or("0") == "0") return Gpu{"", sources.devices / "nvidia0"};
    return Fail(ErrorCode::kUnavailable,
                fmt::format("no NVIDIA driver lists its GPUs in {}: if there is one, it can be used as the device "
                            "cuda, without a number and without CUDA_VISIBLE_DEVICES",
                            sources.driver.string()));
  }
  const std::vector<Gpu> gpus = sources.visible ? Chosen(all, *sources.visible) : all;
  if (static_cast<size_t>(number) >= gpus.size()) {
    const std::string shown =
        sources.visible ? fmt::format(" of which CUDA_VISIBLE_DEVICES={} shows {},", *sources.visible, gpus.size())
                        : "";
    return Fail(ErrorCode::kUnavailable, fmt::format("there is no cuda:{}: this machine has {} GPU{},{} counted from 0",
                                                     number, all.size(), all.size() == 1 ? "" : "s", shown));
  }
  const Gpu& gpu = gpus[static_cast<size_t>(number)];
  if (gpu.name.empty() && all.size() > 1) {
    return Fail(ErrorCode::kUnavailable,
                "the NVIDIA driver does not know its GPUs' UUIDs yet; nvidia-smi -pm 1 makes it ask them");
  }
  return gpu;
}

std::vector<std::string> GpuModels(const GpuSources& sources) {
  std::vector<Gpu> gpus = AllGpus(sources);
  if (gpus.empty()) return FirstByTool(sources);
  if (sources.visible) gpus = Chosen(gpus, *sources.visible);
  std::vector<std::string> models;
  for (const Gpu& gpu : gpus) models.push_back(gpu.model);
  return models;
}

std::string WhyAbsent(const Gpu& gpu, const GpuSources& sources) {
  std::error_code ignored;
  if (fs::exists(gpu.file, ignored)) return "";
  return fmt::format(
      "there is no NVIDIA GPU on this machine: {} lists none and {} is not there; nvidia-smi shows what "
      "the driver sees",
      sources.driver.string(), gpu.file);
}

std::vector<std::string> CudaEnvironment(const std::string& gpu) {
  std::vector<std::string> environment = {
      // OpenMP's threads are not bound: the judge's and the runner's would spin on the same core. And asking torch for
      // a
      // GPU must not start CUDA, which does not survive the zygote's forks.
      "PYTORCH_NVML_BASED_CUDA_CHECK=1",
      // Of NVML, which a confined process does not reach, it wants no more than the number of devices.
      "PYTHONWARNINGS=ignore:Can't initialize NVML", "CUDA_DEVICE_ORDER=PCI_BUS_ID"};
  if (!gpu.empty()) environment.push_back("CUDA_VISIBLE_DEVICES=" + gpu);
  return environment;
}

}  // namespace kb
