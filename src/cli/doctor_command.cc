#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/clock.h"
#include "cli/commands.h"
#include "judge/calibrate.h"
#include "judge/doctor/doctor.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct DoctorFlags {
  std::string isolation = "namespaces", device = ThisDevice();
  std::vector<std::string> without;
  int times = 5;
  bool json = false, verbose = false, calibrate = false;
};

void PrintChecks(const Diagnosis& diagnosis) {
  std::string group;
  for (const char* name : {"tools", "resources", "timing", "isolation"}) {
    for (const Check& check : diagnosis.checks) {
      if (check.group != name) continue;
      if (check.group != group) fmt::print("{}\n", check.group);
      group = check.group;
      fmt::print("  {:<8} {}: {}\n", check.state, check.name, check.detail);
      if (!check.remedy.empty()) fmt::print("           -> {}\n", check.remedy);
    }
  }
}

void PrintBackends(const Diagnosis& diagnosis) {
  fmt::print("backends\n");
  for (const BackendHere& each : diagnosis.backends) {
    if (each.lacks.empty()) {
      fmt::print("  {:<8} {}: {}\n", "ok", each.name, each.with);
    } else {
      fmt::print("  {:<8} {}: it lacks {}\n", "not here", each.name, fmt::join(each.lacks, "; "));
    }
  }
}

std::string Inside(const std::string& runner) {
  return runner == "problem" ? "a client's problem" : runner + " runner";
}

void PrintProbes(const Diagnosis& diagnosis, bool verbose) {
  std::map<std::string, std::pair<int, int>> held;  // by runner: of how many
  for (const Probe& probe : diagnosis.probes) {
    auto& [holds, all] = held[probe.runner];
    holds += probe.holds;
    ++all;
  }
  fmt::print("tried from inside\n");
  for (const auto& [runner, count] : held) {
    fmt::print("  {:<8} {}: {} of {} forbidden things failed\n", count.first == count.second ? "ok" : "OPEN",
               Inside(runner), count.first, count.second);
  }
  for (const Probe& probe : diagnosis.probes) {
    if (probe.holds && !verbose) continue;
    fmt::print("  {:<8} {}: {} ({}): {}\n", probe.holds ? "ok" : "OPEN", Inside(probe.runner), probe.forbidden,
               probe.barrier, probe.detail);
  }
}

json FloorJson(const Floor& floor) { return {{"us", floor.us}, {"relative", floor.relative}}; }

// What is measured goes to a file that evaluations on this device read from then on.
int CalibrateDevice(const DoctorFlags& flags) {
  EvaluatorOptions options;
  options.device = flags.device;
  options.own_floors = false;
  options.isolation = flags.isolation == "process" ? Isolation::kProcess : Isolation::kNamespaces;
  const auto evaluator = Evaluator::Create(options);
  if (!evaluator) return PrintError(evaluator.error());
  if (const Status may = CanKeepFloors((*evaluator)->setup().device.kind->name, ""); !may)
    return PrintError(may.error());
  const auto say = [&](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const auto seen = Calibrate(evaluator->get(), flags.times, say);
  if (!seen) return PrintError(seen.error());
  std::vector<Calibrated> native, module;
  for (const Calibrated& each : *seen) (each.module ? module : native).push_back(each);
  const std::string kind = (*evaluator)->setup().device.kind->name, name = (*evaluator)->DeviceName();
  const Floors floors{FloorOf(native), FloorOf(module),
                      fmt::format("kernelbench doctor --calibrate, {}, {}", name, UtcNow("%Y-%m-%d"))};
  if (const Status kept = KeepFloors(floors, kind, name); !kept) return PrintError(kept.error());
  const std::string file = OwnFloors(kind, name).string();
  if (flags.json) {
    fmt::print("{}", JsonLine(json{{"schema", 1},
                                   {"device", kind},
                                   {"name", name},
                                   {"native", FloorJson(floors.native)},
                                   {"module", FloorJson(floors.module)},
                                   {"file", file}}));
    return kAllCorrect;
  }
  for (const auto& [of, floor] : {std::pair("native", floors.native), std::pair("module", floors.module)}) {
    fmt::print("{} candidates on {}: {:.1f} us and {:.1f}%\n", of, name, floor.us, 100 * floor.relative);
  }
  fmt::print("{} holds them; evaluations on this device use them from now on. Remove it to undo this.\n", file);
  return kAllCorrect;
}

int Doctor(const DoctorFlags& flags) {
  if (flags.calibrate) return CalibrateDevice(flags);
  const auto installation = FindInstallation();
  if (!installation) return PrintError(installation.error());
  const Isolation wanted = flags.isolation == "process" ? Isolation::kProcess : Isolation::kNamespaces;
  const auto diagnosis = Diagnose(*installation, wanted, {flags.without.begin(), flags.without.end()},
                                  std::filesystem::path(DefaultStore()).parent_path());
  if (!diagnosis) return PrintError(diagnosis.error());
  if (flags.json) {
    fmt::print("{}", JsonLine(diagnosis->ToJson()));
    return diagnosis->Healthy() ? kAllCorrect : kEngineFailure;
  }
  PrintChecks(*diagnosis);
  PrintBackends(*diagnosis);
  PrintProbes(*diagnosis, flags.verbose);
  if (diagnosis->Healthy()) {
    fmt::print("\nEvaluations run here with --isolation={}.\n", diagnosis->isolation);
    return kAllCorrect;
  }
  fmt::print("\nSomething is missing: see \"missing\" and \"OPEN\" above.\n");
  return kEngineFailure;
}

}  // namespace

void AddDoctor(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<DoctorFlags>();
  CLI::App* command = app->add_subcommand("doctor", "what holds on this machine, and what would spoil results");
  std::vector<std::string> barriers;
  for (const Barrier& barrier : kBarriers) barriers.emplace_back(barrier.name);
  command->add_option("--isolation", flags->isolation, "namespaces or process")
      ->check(CLI::IsMember({"namespaces", "process"}))
      ->capture_default_str();
  command
      ->add_option("--without", flags->without, "take a barrier away, to see what it holds (docs/reference/trust.md)")
      ->check(CLI::IsMember(barriers))
      ->allow_extra_args(false);
  command->add_flag("--verbose", flags->verbose, "also what holds");
  CLI::Option* calibrate =
      command->add_flag("--calibrate", flags->calibrate, "measure by how much ratios are wrong here, and keep it")
          ->excludes("--without")
          ->excludes("--verbose");
  command->add_option("--device", flags->device, "which one to calibrate: cpu, cuda or cuda:N")
      ->needs(calibrate)
      ->capture_default_str();
  command->add_option("--times", flags->times, "how often each candidate is judged for it")
      ->check(CLI::Range(3, 1000))
      ->needs(calibrate)
      ->capture_default_str();
  command->add_flag("--json", flags->json, "machine-readable (docs/reference/cli.md)");
  command->callback([flags, exit_code] { *exit_code = Doctor(*flags); });
}

}  // namespace kb::cli
