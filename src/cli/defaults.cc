#include "cli/defaults.h"

#include <algorithm>

#include "cli/config.h"
#include "judge/devices/device_kind.h"
#include "judge/problem/metadata.h"
#include "store/store.h"

namespace kb::cli {
namespace {

// The largest problem of levels 1 to 4 takes about 50 GiB at standard size, its own process included.
constexpr uint64_t kForStandard = uint64_t{64} << 30;

Result<bool> HasSmall(const ProblemFile& problem) {
  KB_ASSIGN_OR_RETURN(const std::string text, TextOf(problem));
  const std::vector<std::string> sizes = ReadMetadata(text).sizes;
  return std::find(sizes.begin(), sizes.end(), "small") != sizes.end();
}

// Bytes of the device's own memory, or as many as anything wants where it does not tell; 0: it is the host.
Result<uint64_t> MemoryOf(const std::string& device) {
  KB_RETURN_IF_ERROR(CheckDevice(device));
  const DeviceKind* const kind = KindOfDevice(device);
  if (kind->memory == nullptr) return 0;
  KB_ASSIGN_OR_RETURN(const FoundDevice found, FindDevice(device));
  const auto gauge = kind->memory(found.number);
  const auto memory = gauge ? (*gauge)() : std::nullopt;
  return memory ? memory->total : UINT64_MAX;
}

// The one size that a run was generated at or that its jobs have; empty: it has none, or several.
Result<std::string> StoredSize(const std::filesystem::path& path, const std::string& run) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::string();
  KB_ASSIGN_OR_RETURN(const Store store, Store::Open(path));
  KB_ASSIGN_OR_RETURN(const nlohmann::json generation, store.Generation(run));
  if (generation.is_object()) return generation.value("size", std::string());
  KB_ASSIGN_OR_RETURN(const std::vector<Job> jobs, store.Jobs(run));
  const auto differs = [&](const Job& job) { return job.size != jobs.front().size; };
  return jobs.empty() || std::any_of(jobs.begin(), jobs.end(), differs) ? std::string() : jobs.front().size;
}

}  // namespace

const std::string& ThisDevice() {
  static const std::string device = Configured("device").value_or(CheckDevice("cuda") ? "cuda" : "cpu");
  return device;
}

std::string DefaultSize() { return Configured("size").value_or(kAuto); }

std::string DefaultProtocol() { return Configured("protocol").value_or("strict"); }

std::vector<std::string> DefaultModels() {
  const auto model = Configured("model");
  return model ? std::vector<std::string>{*model} : std::vector<std::string>{};
}

std::string DeviceFor(const std::string& device, const std::vector<std::string>& candidates) {
  if (device != kAuto) return device;
  const DeviceKind* const kind = candidates.empty() ? nullptr : KindOfSource(candidates.front());
  const auto same = [&](const std::string& file) { return KindOfSource(file) == kind; };
  return kind != nullptr && std::all_of(candidates.begin(), candidates.end(), same) ? kind->name : ThisDevice();
}

std::string SizeThatFits(uint64_t memory, bool all_have_small) {
  return all_have_small && memory < kForStandard ? "small" : "standard";
}

Result<std::string> ChosenSize(const std::string& size, const std::string& device,
                               const std::vector<ProblemFile>& problems) {
  if (size != kAuto) return size;
  KB_ASSIGN_OR_RETURN(const uint64_t memory, MemoryOf(device));
  bool all_have_small = true;
  for (const ProblemFile& problem : problems) {
    KB_ASSIGN_OR_RETURN(const bool has_small, HasSmall(problem));
    all_have_small &= has_small;
  }
  return SizeThatFits(memory, all_have_small);
}

Result<std::string> SizeToAsk(const std::string& size, const std::string& device,
                              const std::vector<ProblemFile>& problems) {
  if (size == kAuto && !CheckDevice(device)) return std::string("standard");
  return ChosenSize(size, device, problems);
}

Result<std::string> SizeOfRun(const std::string& size, const std::string& device,
                              const std::vector<ProblemFile>& problems, const std::filesystem::path& store,
                              const std::string& run) {
  if (size != kAuto) return size;
  KB_ASSIGN_OR_RETURN(std::string stored, StoredSize(store, run));
  if (!stored.empty()) return stored;
  return SizeToAsk(size, device, problems);
}

}  // namespace kb::cli
