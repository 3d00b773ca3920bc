#include "cli/judge_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/config.h"
#include "cli/selection_flags.h"

namespace kb::cli {
namespace {

std::string FlagName(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

// What one evaluation at a time may have.
void AddEvalFlags(CLI::App* command, JudgeFlags* flags) {
  flags->device = Configured("device").value_or(kAuto);
  command
      ->add_option("--device", flags->device,
                   "cpu, cuda: the first NVIDIA GPU, or cuda:1: the second; auto: what native candidates are written "
                   "for, else a GPU where there is one")
      ->capture_default_str();
  std::vector<std::string> barriers;
  for (const Barrier& barrier : kBarriers) barriers.emplace_back(barrier.name);
  command
      ->add_option("--without", flags->without,
                   "take a barrier away, to prove what it holds (docs/reference/trust.md); implies --no-store")
      ->check(CLI::IsMember(barriers))
      ->allow_extra_args(false);
}

}  // namespace

void AddDeviceFlag(CLI::App* command, std::string* device) {
  command->add_option("--device", *device, "cpu, or cuda: the first NVIDIA GPU, or cuda:1: the second")
      ->capture_default_str();
}

void AddResourceFlags(CLI::App* command, DeviceFlags* flags) {
  command->add_option("--threads", flags->threads, "cores for either side; 0: all, divided by the devices")
      ->check(CLI::Range(0, 1024));
  command
      ->add_option("--device-memory", flags->device_memory_gb,
                   "GB of the device's memory to plan with at most; 0: what is free")
      ->check(CLI::Range(0.0, 1e6));
}

void AddCacheFlag(CLI::App* command, double* cache_gb) {
  command->add_option("--cache-gb", *cache_gb, "GB that the build cache may take; 0: no limit")
      ->envname("KERNELBENCH_CACHE_GB")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
}

void AddBuildFlags(CLI::App* command, BuildFlags* flags) {
  command
      ->add_option("--build-memory-gb", flags->memory_gb,
                   "GB of memory for one build: all its programs and files together")
      ->envname("KERNELBENCH_BUILD_MEMORY_GB")
      ->check(CLI::Range(0.1, 1e6))  // with less no compiler starts
      ->capture_default_str();
  AddCacheFlag(command, &flags->cache_gb);
}

void AddMachineFlags(CLI::App* command, JudgeFlags* flags) {
  command->add_option("--isolation", flags->isolation, "namespaces, or process where the machine refuses those")
      ->check(CLI::IsMember({"namespaces", "process"}))
      ->capture_default_str();
  AddResourceFlags(command, flags);
  command->add_option("--jobs", flags->jobs, "parallel builds; 0: as many as cores")->check(CLI::Range(0, 1024));
  AddBuildFlags(command, &flags->builds);
}

void AddJudgeFlags(CLI::App* command, const std::shared_ptr<JudgeFlags>& flags, bool run) {
  if (!run) AddEvalFlags(command, flags.get());
  AddSizeFlag(command, &flags->size);
  command->add_option("--protocol", flags->protocol, "rules of judgement; kernelbench protocols lists them")
      ->capture_default_str();
  AddMachineFlags(command, flags.get());
  for (const Protocol::Key& key : Protocol::Keys()) {
    const std::string name = key.name;
    command
        ->add_option_function<std::string>(
            FlagName(name), [flags, name](const std::string& value) { flags->keys[name] = value; }, key.help)
        ->group("Keys of the protocol");
  }
}

EvaluatorOptions OptionsOf(const DeviceFlags& flags) {
  EvaluatorOptions options;
  options.device = flags.device;
  options.threads = flags.threads;
  options.device_memory_gb = flags.device_memory_gb;
  return options;
}

EvaluatorOptions OptionsOf(const JudgeFlags& flags) {
  EvaluatorOptions options = OptionsOf(static_cast<const DeviceFlags&>(flags));
  options.isolation = flags.isolation == "process" ? Isolation::kProcess : Isolation::kNamespaces;
  options.without = {flags.without.begin(), flags.without.end()};
  SetBuilds(flags.builds, &options);
  return options;
}

void SetBuilds(const BuildFlags& flags, EvaluatorOptions* options) {
  options->build_memory_gb = flags.memory_gb;
  options->cache_gb = flags.cache_gb;
}

std::string RulesOf(const JudgeFlags& flags) {
  std::string rules = flags.protocol;
  for (const auto& [key, value] : flags.keys) rules += fmt::format(", {}={}", key, value);
  return rules;
}

Result<Protocol> ProtocolOf(const JudgeFlags& flags, const std::filesystem::path& directory) {
  KB_ASSIGN_OR_RETURN(Protocol protocol, Protocol::Load(directory, flags.protocol));
  for (const auto& [key, value] : flags.keys) KB_RETURN_IF_ERROR(protocol.Set(key, value));
  protocol.ApplyPrecision();
  KB_RETURN_IF_ERROR(protocol.Validate());
  return protocol;
}

}  // namespace kb::cli
