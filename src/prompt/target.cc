#include "prompt/target.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "judge/candidate/folder.h"
#include "judge/devices/device_kind.h"

namespace kb {
namespace {

struct BackendRow {
  Backend backend;
  const char* name;
  const char* title;
};

constexpr BackendRow kBackends[] = {
    {Backend::kNative, "native", "C++ against kernelbench/kernel.h"},
    {Backend::kCpp, "cpp", "C++ through PyTorch's load_inline"},
    {Backend::kCuda, "cuda", "CUDA through PyTorch's load_inline"},
    {Backend::kTriton, "triton", "Triton"},
    {Backend::kTilelang, "tilelang", "TileLang"},
    {Backend::kCute, "cute", "CuTe (CUTLASS)"},
    {Backend::kThunderkittens, "thunderkittens", "ThunderKittens"},
    {Backend::kHip, "hip", "HIP through PyTorch's load_inline"},
};

const BackendRow& RowOf(Backend backend) {
  return *std::find_if(std::begin(kBackends), std::end(kBackends),
                       [&](const BackendRow& row) { return row.backend == backend; });
}

}  // namespace

std::string_view Name(Backend backend) { return RowOf(backend).name; }

std::string_view Title(const Target& t) {
  return t.backend == Backend::kNative && t.gpu ? "CUDA C++ against kernelbench/kernel.h" : RowOf(t.backend).title;
}

std::vector<std::string> BackendNames() {
  std::vector<std::string> names;
  for (const BackendRow& row : kBackends) names.emplace_back(row.name);
  return names;
}

Result<Target> MakeTarget(const std::string& backend, const std::string& device) {
  const auto* row =
      std::find_if(std::begin(kBackends), std::end(kBackends), [&](const BackendRow& r) { return backend == r.name; });
  if (row == std::end(kBackends)) {
    return Fail(ErrorCode::kUsage,
                fmt::format("there is no backend {}; there are: {}", backend, fmt::join(BackendNames(), ", ")));
  }
  const DeviceKind* kind = KindOfDevice(device);
  const bool asks_cpu = kind != nullptr && kind->on_host(), asks_gpu = kind != nullptr && !kind->on_host();
  if (!device.empty() && kind == nullptr) {
    return Fail(ErrorCode::kUsage, fmt::format("there is no device {}; it is cpu, cuda or cuda:N", device));
  }
  if (row->backend == Backend::kNative) return Target{row->backend, asks_gpu};
  const bool gpu = row->backend != Backend::kCpp;
  if (gpu ? asks_cpu : asks_gpu) {
    return Fail(ErrorCode::kUsage, fmt::format("backend {} runs on {}, not on {}; for {} there are: {}", backend,
                                               gpu ? "a GPU" : "the CPU", device, asks_cpu ? "the CPU" : "a GPU",
                                               asks_cpu ? "native, cpp" : "native, cuda, triton and others"));
  }
  return Target{row->backend, gpu};
}

std::string_view FileExtension(const Target& target) {
  if (target.backend != Backend::kNative) return ".py";
  return target.gpu ? ".cu" : ".cpp";
}

std::string SolutionName(const Target& target) {
  return target.backend == Backend::kNative ? "kernel" + std::string(FileExtension(target)) : kFolderEntry;
}

std::string_view EntryPoint(const Target& target) {
  return target.backend == Backend::kNative ? "kb_forward" : "ModelNew";
}

}  // namespace kb
