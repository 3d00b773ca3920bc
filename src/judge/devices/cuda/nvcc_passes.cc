#include "judge/devices/cuda/nvcc_passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <string_view>

namespace kb {
namespace {

// The steps that a compilation for one architecture consists of.
enum class Step { kDevicePreprocess, kDeviceCompile, kAssemble, kEmbed, kHostPreprocess, kSplit, kHostCompile };

bool Has(std::string_view line, std::string_view part) { return line.find(part) != std::string_view::npos; }

// What a command of the dry run does; nothing for one that is not known.
std::optional<Step> StepOf(const std::string& line) {
  const std::string program = line.substr(0, line.find(' '));
  const auto is = [&](std::string_view name) { return Has(program, name); };
  if (is("cudafe++")) return Step::kSplit;
  if (is("cicc")) return Step::kDeviceCompile;
  if (is("ptxas")) return Step::kAssemble;
  if (is("fatbinary")) return Step::kEmbed;
  if (Has(line, " -E ") && Has(line, "-D__CUDA_ARCH__=")) return Step::kDevicePreprocess;
  if (Has(line, " -E ")) return Step::kHostPreprocess;
  if (Has(line, " -c ") && Has(line, ".cudafe1.cpp")) return Step::kHostCompile;
  return std::nullopt;
}

// Variables that the commands use or their programs read, as assignments for a shell.
std::string Export(const std::string& line) {
  static const std::regex kNeeded("(CICC_PATH|NVVMIR_LIBRARY_DIR|LD_LIBRARY_PATH|PATH)=([^'\"]*?) *");
  std::smatch match;
  if (!std::regex_match(line, match, kNeeded)) return "";
  return fmt::format("export {}='{}'\n", match[1].str(), match[2].str());
}

}  // namespace

std::optional<std::string> OverlappedPasses(const std::string& dryrun, const std::string& unit) {
  static const std::regex kAssignment("[A-Za-z_]+=.*");
  static const std::regex kUnitFile("--module_id_file_name \"([^\"']+)\"");
  std::map<Step, std::string> steps;
  std::string script;
  std::istringstream lines(dryrun);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#$ ")) return std::nullopt;  // a warning, or an error
    line.erase(0, 3);
    if (std::regex_match(line, kAssignment)) {
      script += Export(line);
      continue;
    }
    if (line.starts_with("rm ") || line.starts_with("mkdir ")) continue;
    const auto step = StepOf(line);
    if (!step || !steps.emplace(*step, line).second) return std::nullopt;
  }
  if (steps.size() != 7) return std::nullopt;
  std::smatch match;
  std::string& split = steps[Step::kSplit];
  const size_t generates = split.find("--gen_module_id_file ");
  if (!std::regex_search(split, match, kUnitFile) || generates == std::string::npos) return std::nullopt;
  const std::string unit_file = match[1].str();
  split.erase(generates, std::string_view("--gen_module_id_file ").size());
  script += fmt::format("printf %s '_{}' >\"{}\" || exit 1\n", unit, unit_file);
  script += fmt::format("{{ {} && {} && {} && {}; }} >device.log 2>&1 & device=$!\n", steps[Step::kDevicePreprocess],
                        steps[Step::kDeviceCompile], steps[Step::kAssemble], steps[Step::kEmbed]);
  script += fmt::format("{{ {} && {}; }} >host.log 2>&1; host=$?\n", steps[Step::kHostPreprocess], split);
  // Both passes read the whole source, so most of what they say, they say twice; the host pass is over sooner.
  script += "cat host.log; [ $host = 0 ] || { kill $device; exit $host; }\n";
  script += "wait $device; device=$?\ncat device.log; [ $device = 0 ] || exit $device\n";
  return script + steps[Step::kHostCompile] + "\n";
}

}  // namespace kb
