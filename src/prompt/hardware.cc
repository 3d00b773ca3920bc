#include "prompt/hardware.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include "base/file.h"
#include "report/view.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// The figures of an entry, in the order in which they are told; {} is the number.
struct Figure {
  const char* key;
  const char* text;
};
constexpr Figure kFigures[] = {
    {"compute_capability", "compute capability {}"},
    {"architecture", "architecture {}"},
    {"multiprocessors", "{} multiprocessors"},
    {"compute_units", "{} compute units"},
    {"wavefront", "wavefronts of {} lanes"},
    {"memory_gb", "{} GB of memory"},
    {"bandwidth_gb_s", "memory bandwidth {} GB/s at most"},
    {"l2_mb", "L2 cache {} MB"},
    {"l3_mb", "last-level cache {} MB"},
    {"lds_kb", "local data share {} KB a compute unit"},
    {"vgpr_kb", "vector registers {} KB a compute unit"},
};
constexpr const char* kRates[] = {"fp32", "tf32", "fp16", "bf16", "fp8"};

// "A100-80GB" and "a100 80gb" are one name.
std::string Folded(const std::string& name) {
  std::string folded;
  for (const unsigned char c : name) {
    if (std::isalnum(c)) folded += static_cast<char>(std::tolower(c));
  }
  return folded;
}

Result<json> ReadTable(const fs::path& prompts) {
  const fs::path file = prompts / "hardware.toml";
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, size_t{1} << 20));
  json table;
  try {
    std::ostringstream stream;
    stream << toml::json_formatter{toml::parse(text)};
    table = json::parse(stream.str());
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}:{}: {}", file.string(), error.source().begin.line, error.description()));
  }
  std::set<std::string> known = {"name", "aliases", "tflops", "source"};
  for (const Figure& figure : kFigures) known.insert(figure.key);
  if (!MemberAt(table, "gpus").is_object()) {
    return Fail(ErrorCode::kUsage, fmt::format("{} has no table gpus", file.string()));
  }
  for (const auto& [name, gpu] : table.at("gpus").items()) {
    if (!gpu.is_object() || TextAt(gpu, "name").empty() || TextAt(gpu, "source").empty()) {
      return Fail(ErrorCode::kUsage, fmt::format("{}: {} needs a name and a source", file.string(), name));
    }
    for (const auto& [key, value] : gpu.items()) {
      if (known.contains(key)) continue;
      return Fail(ErrorCode::kUsage, fmt::format("{}: {} has the unknown key {}; there are: {}", file.string(), name,
                                                 key, fmt::join(known, ", ")));
    }
  }
  return table;
}

std::string Plain(const json& value) {
  return value.is_string() ? value.get<std::string>() : fmt::format("{}", value.get<double>());
}

// What one multiprocessor holds; empty for a compute capability that is not in the table.
std::string LimitsText(const json& table, const std::string& capability) {
  const json& limits = MemberAt(MemberAt(table, "limits"), capability.c_str());
  if (!limits.is_object()) return "";
  return fmt::format(
      "- each multiprocessor: 65,536 registers of 32 bits (at most 255 a thread), {} threads at most (1,024 a "
      "block), {} KB of shared memory at most ({} KB a block, above 48 KB only on request)\n",
      Plain(limits.at("threads_per_multiprocessor")), Plain(limits.at("shared_per_multiprocessor_kb")),
      Plain(limits.at("shared_per_block_kb")));
}

std::string RatesText(const json& rates, const std::string& intro) {
  std::vector<std::string> parts;
  for (const char* type : kRates) {
    if (const auto rate = NumberAt(rates, type)) parts.push_back(fmt::format("{} {:.5g}", type, *rate));
  }
  return parts.empty() ? "" : fmt::format("- {}: {}\n", intro, fmt::join(parts, ", "));
}

std::string MiB(double bytes) { return fmt::format("{:.4g} MiB", bytes / (1 << 20)); }

std::string FirstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct Flag {
  const char* flag;  // in /proc/cpuinfo
  const char* name;
};
constexpr Flag kVectorFlags[] = {{"avx2", "AVX2"},
                                 {"fma", "FMA"},
                                 {"avx512f", "AVX-512F"},
                                 {"avx512bw", "AVX-512BW"},
                                 {"avx512dq", "AVX-512DQ"},
                                 {"avx512vl", "AVX-512VL"},
                                 {"avx512_vnni", "AVX-512 VNNI"},
                                 {"avx512_bf16", "AVX-512 BF16"},
                                 {"avx512_fp16", "AVX-512 FP16"},
                                 {"amx_bf16", "AMX BF16"},
                                 {"asimd", "NEON"},
                                 {"sve", "SVE"}};

}  // namespace

Result<std::vector<std::string>> HardwareNames(const fs::path& prompts) {
  KB_ASSIGN_OR_RETURN(const json table, ReadTable(prompts));
  std::vector<std::string> names;
  for (const auto& [name, gpu] : table.at("gpus").items()) names.push_back(name);
  return names;
}

Result<std::vector<std::string>> NvidiaNames(const fs::path& prompts) {
  KB_ASSIGN_OR_RETURN(const json table, ReadTable(prompts));
  std::vector<std::string> names;
  for (const auto& [key, gpu] : table.at("gpus").items()) {
    if (!TextAt(gpu, "name").starts_with("NVIDIA ")) continue;
    names.push_back(key);
    names.push_back(TextAt(gpu, "name"));
    for (const json& alias : MemberAt(gpu, "aliases")) names.push_back(Plain(alias));
  }
  return names;
}

Result<std::string> DescribeHardware(const fs::path& prompts, const std::string& name) {
  KB_ASSIGN_OR_RETURN(const json table, ReadTable(prompts));
  for (const auto& [key, gpu] : table.at("gpus").items()) {
    bool is_meant = Folded(key) == Folded(name);
    for (const json& alias : MemberAt(gpu, "aliases")) is_meant = is_meant || Folded(Plain(alias)) == Folded(name);
    if (!is_meant) continue;
    std::string text = TextAt(gpu, "name") + ":\n";
    for (const Figure& figure : kFigures) {
      if (const json& value = MemberAt(gpu, figure.key); !value.is_null()) {
        text += "- " + fmt::format(fmt::runtime(figure.text), Plain(value)) + "\n";
      }
    }
    text += LimitsText(table, TextAt(gpu, "compute_capability"));
    return text + RatesText(MemberAt(gpu, "tflops"), "peak rate in TFLOP/s, dense");
  }
  KB_ASSIGN_OR_RETURN(const std::vector<std::string> names, HardwareNames(prompts));
  return Fail(ErrorCode::kUsage,
              fmt::format("there is no hardware {}; there are: auto (the device that is here), none, {}", name,
                          fmt::join(names, ", ")));
}

HostFacts ReadHostFacts() {
  HostFacts facts;
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::set<std::string> flags;
  for (std::string line; flags.empty() && std::getline(cpuinfo, line);) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
    std::istringstream words(line.substr(std::min(line.find(':') + 1, line.size())));
    for (std::string word; words >> word;) flags.insert(word);
  }
  std::vector<std::string> names;
  for (const Flag& flag : kVectorFlags) {
    if (flags.contains(flag.flag)) names.emplace_back(flag.name);
  }
  facts.vector_extensions = fmt::format("{}", fmt::join(names, ", "));
  for (int index = 0; index < 8; ++index) {
    const fs::path cache = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}", index);
    const std::string level = FirstLine(cache / "level"), type = FirstLine(cache / "type");
    const std::string size = FirstLine(cache / "size"), shared = FirstLine(cache / "shared_cpu_list");
    if (level.empty() || size.empty() || type == "Instruction") continue;
    const std::string number = size.substr(0, size.size() - 1), unit = size.substr(size.size() - 1);  // "48K"
    facts.caches.push_back(fmt::format("L{}{}: {} {}iB{}", level, type == "Data" ? " data" : "", number, unit,
                                       shared.find_first_of(",-") == std::string::npos ? " a core" : ", shared"));
  }
  return facts;
}

Result<std::string> DescribeDevice(const fs::path& prompts, const json& device_info, const HostFacts& host) {
  KB_ASSIGN_OR_RETURN(const json table, ReadTable(prompts));
  const std::string capability = TextAt(device_info, "compute_capability");
  const auto cores = NumberAt(device_info, "cores"), cache = NumberAt(device_info, "last_level_cache");
  const bool gpu = !capability.empty();
  std::string text = TextAt(device_info, "name") + ":\n";
  if (gpu) text += fmt::format("- compute capability {}\n", capability);
  if (cores) text += fmt::format("- {:.0f} {}\n", *cores, gpu ? "multiprocessors" : *cores == 1 ? "core" : "cores");
  if (gpu) {
    if (const auto memory = NumberAt(device_info, "memory")) {
      text += fmt::format("- {:.4g} GB of memory\n", *memory / 1e9);
    }
    if (cache) text += fmt::format("- L2 cache {}\n", MiB(*cache));
    text += LimitsText(table, capability);
  } else {
    if (!host.vector_extensions.empty()) text += "- vector instructions: " + host.vector_extensions + "\n";
    for (const std::string& each : host.caches) text += "- cache " + each + "\n";
    if (host.caches.empty() && cache) text += fmt::format("- last-level cache {}\n", MiB(*cache));
  }
  if (const auto copy = NumberAt(device_info, "copy_gb_s")) {
    text += fmt::format("- copying was measured at {:.4g} GB/s, bytes read and bytes written together\n", *copy);
  }
  return text + RatesText(MemberAt(device_info, "rates"), "a large product of matrices was measured at, in TFLOP/s");
}

Result<std::string> HardwareText(const fs::path& prompts, const std::string& wanted, const Target& target,
                                 const std::function<Result<json>()>& device_info) {
  if (wanted == "none") return std::string();
  if (wanted != "auto") {
    if (target.gpu) return DescribeHardware(prompts, wanted);
    return Fail(ErrorCode::kUsage,
                fmt::format("--hardware {} names a GPU, but the candidate is for the CPU; add --device "
                            "cuda, or take --hardware auto",
                            wanted));
  }
  KB_ASSIGN_OR_RETURN(const json info, device_info());
  return DescribeDevice(prompts, info, target.gpu ? HostFacts() : ReadHostFacts());
}

}  // namespace kb
