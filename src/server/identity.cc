#include "server/identity.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/cores.h"

namespace kb::server {
namespace {

// Decides which programs and libraries are found, and how they compute.
bool Matters(std::string_view name) {
  for (const char* prefix : {"KERNELBENCH_", "CUDA", "CUTLASS", "CUDNN", "CUBLAS", "THUNDERKITTENS", "TORCH", "PYTORCH",
                             "TRITON", "OMP_", "MKL_", "NVIDIA_"}) {
    if (name.starts_with(prefix)) {
      return name != "KERNELBENCH_STORE" && name != "KERNELBENCH_MODELS" && name != "KERNELBENCH_TOKEN" &&
             !name.starts_with("KERNELBENCH_PRICE");
    }
  }
  return name == "PATH" || name == "CXX" || name == "CC" || name == "PYTHONPATH" || name == "LD_LIBRARY_PATH" ||
         name == "XDG_CACHE_HOME" || name == "HOME";
}

std::string Program() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  struct stat stat {};
  if (error || ::stat("/proc/self/exe", &stat) != 0) return "";
  return fmt::format("{} of {} bytes, {}.{:09}", path.string(), stat.st_size, stat.st_mtim.tv_sec,
                     stat.st_mtim.tv_nsec);
}

}  // namespace

Identity IdentityOf(const EvaluatorOptions& options, const std::vector<std::string>& devices, int compilations) {
  Identity identity = {{"program", Program()},
                       {"user", std::to_string(::getuid())},
                       {"devices", fmt::format("{}", fmt::join(devices, ","))},
                       {"isolation", options.isolation == Isolation::kProcess ? "process" : "namespaces"},
                       {"--threads", std::to_string(options.threads)},
                       {"--device-memory", fmt::format("{}", options.device_memory_gb)},
                       {"--build-memory-gb", fmt::format("{}", options.build_memory_gb)},
                       {"--cache-gb", fmt::format("{}", options.cache_gb)},
                       {"--jobs", std::to_string(compilations)},
                       {"cores", std::to_string(CoreCount())}};
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const size_t equals = std::min(text.find('='), text.size() - 1);
    if (Matters(text.substr(0, equals))) identity[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return identity;
}

std::vector<std::string> Differences(const Identity& a, const Identity& b) {
  std::set<std::string> names;
  for (const Identity* identity : {&a, &b}) {
    for (const auto& [name, value] : *identity) names.insert(name);
  }
  std::vector<std::string> differ;
  for (const std::string& name : names) {
    const auto in_a = a.find(name), in_b = b.find(name);
    if (in_a == a.end() || in_b == b.end() || in_a->second != in_b->second) differ.push_back(name);
  }
  return differ;
}

}  // namespace kb::server
