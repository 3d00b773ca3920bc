#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <tuple>

#include "base/file.h"
#include "base/hash.h"
#include "cli/baseline_ahead.h"
#include "cli/baseline_table.h"
#include "cli/commands.h"
#include "cli/judge_flags.h"
#include "cli/keep_triton.h"
#include "cli/number_checks.h"
#include "cli/screen.h"
#include "cli/selection_flags.h"
#include "cli/steps.h"
#include "judge/devices/device_kind.h"
#include "judge/evaluate.h"
#include "report/text.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

struct BaselineFlags {
  SelectionFlags selection;
  DeviceFlags on;
  std::string size = DefaultSize(), precision, protocol = "quick", store = DefaultStore(), keep_triton;
  std::vector<std::string> kinds = {"eager"};
  int check = 0, jobs = 0;
  bool json = false, again = false, quiet = false;
};

// Problem, its text, size, precision, kind.
using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;

struct Measurer {
  std::unique_ptr<Evaluator> evaluator;
  Store store;
};

std::string NameOf(const BaselineTask& task) {
  return fmt::format("{} {} {}", task.problem.name, task.size, task.protocol.baseline);
}

Result<Protocol> MakeProtocol(const std::filesystem::path& directory, const std::string& name,
                              const std::string& precision, const std::string& kind) {
  KB_ASSIGN_OR_RETURN(Protocol protocol, Protocol::Load(directory, name));
  if (!precision.empty()) KB_RETURN_IF_ERROR(protocol.Set("precision", precision));
  KB_RETURN_IF_ERROR(protocol.Set("baseline", kind));
  protocol.ApplyPrecision();
  KB_RETURN_IF_ERROR(protocol.Validate());
  return protocol;
}

// What was measured on this device with this PyTorch.
Result<std::map<Key, json>> Known(const Store& store, const json& device) {
  KB_ASSIGN_OR_RETURN(const std::vector<json> baselines, store.Baselines());
  static constexpr const char* kSame[] = {"name", "cores", "torch"};
  std::map<Key, json> known;
  for (const json& each : baselines) {
    const json& info = each.at("device_info");
    const bool here = std::all_of(std::begin(kSame), std::end(kSame),
                                  [&](const char* key) { return info.value(key, json()) == device.at(key); });
    if (!here || each.at("origin") != "measured") continue;
    known[{each.at("problem"), each.at("sha256"), each.at("size"), each.at("precision"), each.at("kind")}] = each;
  }
  return known;
}

// All kinds of a problem follow each other: it is loaded once.
Result<std::vector<BaselineTask>> MakeTasks(const std::vector<SelectedProblem>& problems, const BaselineFlags& flags,
                                            const Measurer& measurer) {
  std::vector<Protocol> protocols;
  for (const std::string& kind : flags.kinds) {
    KB_ASSIGN_OR_RETURN(Protocol protocol, MakeProtocol(measurer.evaluator->installation().protocols, flags.protocol,
                                                        flags.precision, kind));
    protocols.push_back(std::move(protocol));
  }
  KB_ASSIGN_OR_RETURN(const json device, measurer.evaluator->DeviceInfo());
  KB_ASSIGN_OR_RETURN(const auto known, Known(measurer.store, device));
  KB_ASSIGN_OR_RETURN(const std::string size, ChosenSize(flags.size, flags.on.device, FilesOf(problems)));
  std::vector<BaselineTask> tasks;
  for (const SelectedProblem& problem : problems) {
    KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(problem.file.path));
    const std::string sha256 = Sha256(source);
    for (const Protocol& protocol : protocols) {
      BaselineTask task{problem.file, size, protocol, nullptr, nullptr};
      const auto stored = [&](const std::string& kind) {
        const auto found = known.find({problem.file.name, sha256, task.size, protocol.precision, kind});
        return found == known.end() ? json() : found->second;
      };
      task.known = stored(protocol.baseline);
      task.eager = stored("eager");
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

int MeasureAll(const std::vector<BaselineTask>& tasks, const BaselineFlags& flags, size_t problems,
               Measurer* measurer) {
  const auto is_new = [&](const BaselineTask& task) { return flags.again || task.known.is_null(); };
  const auto to_measure = static_cast<size_t>(std::count_if(tasks.begin(), tasks.end(), is_new));
  Steps steps(flags.quiet || flags.json, to_measure, "what was measured is stored, and the same command goes on");
  std::vector<json> baselines;
  const bool eager_anew =
      flags.again && std::find(flags.kinds.begin(), flags.kinds.end(), "eager") != flags.kinds.end();
  for (const BaselineTask& task : tasks) {
    if (!eager_anew && !task.eager.is_null()) baselines.push_back(task.eager);
  }
  std::vector<const BaselineTask*> anew;
  for (const BaselineTask& task : tasks) {
    if (is_new(task)) anew.push_back(&task);
  }
  CompilesAhead ahead(measurer->evaluator.get(), std::move(anew), flags.jobs);
  size_t measured = 0;
  if (!flags.json) fmt::print("{}", BaselineHeading(ColumnsOf(STDOUT_FILENO)));
  // False: all ends.
  const auto take = [&](const BaselineTask& task) {
    json baseline = task.known;
    if (is_new(task)) {
      auto taken = steps.Take("", NameOf(task), [&]() -> Result<json> {
        KB_ASSIGN_OR_RETURN(json now, measurer->evaluator->MeasureBaseline(task.problem, task.size, task.protocol,
                                                                           ahead.SecondsOf(task)));
        KB_RETURN_IF_ERROR(measurer->store.AddBaseline(now));
        return now;
      });
      if (!taken) return !steps.ended();
      ++measured;
      baseline = std::move(*taken);
    }
    fmt::print("{}", flags.json ? JsonLine(baseline) : BaselineLine(baseline, ColumnsOf(STDOUT_FILENO)));
    std::fflush(stdout);
    baselines.push_back(std::move(baseline));
    return true;
  };
  std::vector<const BaselineTask*> last;
  for (const BaselineTask& task : tasks) {
    if (is_new(task)) steps.Say("compiling " + NameOf(task));
    if (is_new(task) && !ahead.Compile(task)) {
      last.push_back(&task);
    } else if (!take(task)) {
      return steps.exit_code();
    }
  }
  for (const BaselineTask* task : last) {
    if (!take(*task)) return steps.exit_code();
  }
  if (!flags.json) {
    fmt::print("{} measured, {} known, {} could not be measured\n{}", measured, tasks.size() - to_measure,
               steps.broken(), BaselineRatios(baselines, problems));
  }
  return steps.exit_code();
}

// `count` of those that are stored, in their order; the same ones for the same seed.
std::vector<BaselineTask> Draw(std::vector<BaselineTask> tasks, size_t count, uint64_t seed) {
  std::erase_if(tasks, [](const BaselineTask& task) { return task.known.is_null(); });
  std::mt19937_64 generator(seed);
  while (tasks.size() > count) tasks.erase(tasks.begin() + static_cast<std::ptrdiff_t>(generator() % tasks.size()));
  return tasks;
}

// Changed is what no time lies in both intervals of.
json Compare(const json& stored, const json& now) {
  const auto bound = [](const json& baseline, size_t at) { return baseline.at("interval").at(at).get<double>(); };
  json comparison = {{"changed", bound(now, 0) > bound(stored, 1) || bound(now, 1) < bound(stored, 0)},
                     {"ratio", now.at("median_us").get<double>() / stored.at("median_us").get<double>()},
                     {"stored", stored},
                     {"now", now}};
  for (const char* key : {"problem", "size", "precision", "kind"}) comparison[key] = stored.at(key);
  return comparison;
}

void PrintComparison(const json& comparison) {
  const auto interval = [&](const char* which) {
    const json& bounds = comparison.at(which).at("interval");
    return fmt::format("[{:.1f}, {:.1f}]", bounds[0].get<double>(), bounds[1].get<double>());
  };
  fmt::print("{:<8} {:<9} {:<24} stored {:>21}, now {:>21} us, {:.3f} of it: {}\n",
             OneLine(comparison.at("problem").get<std::string>(), 60), comparison.at("size").get<std::string>(),
             comparison.at("kind").get<std::string>(), interval("stored"), interval("now"),
             comparison.at("ratio").get<double>(), comparison.at("changed").get<bool>() ? "changed" : "the same");
}

int CheckSome(const std::vector<BaselineTask>& all, const BaselineFlags& flags, Measurer* measurer) {
  const std::vector<BaselineTask> tasks = Draw(all, static_cast<size_t>(flags.check), flags.selection.selection.seed);
  if (tasks.empty()) {
    return PrintError({ErrorCode::kUsage,
                       "no stored baseline of this selection, size, precision, kind, device and "
                       "PyTorch could be checked; measure some first, without --check"});
  }
  Steps steps(flags.quiet || flags.json, tasks.size(), "--check stores nothing; the same command begins anew");
  int changed = 0;
  for (const BaselineTask& task : tasks) {
    const auto now = steps.Take("checking ", NameOf(task), [&]() -> Result<json> {
      // By the rules of then: another protocol may time otherwise.
      KB_ASSIGN_OR_RETURN(const Protocol protocol,
                          MakeProtocol(measurer->evaluator->installation().protocols, task.known.at("protocol"),
                                       task.protocol.precision, task.protocol.baseline));
      return measurer->evaluator->MeasureBaseline(task.problem, task.size, protocol);
    });
    if (steps.ended()) return steps.exit_code();
    if (!now) continue;
    const json comparison = Compare(task.known, *now);
    changed += comparison.at("changed").get<bool>() ? 1 : 0;
    flags.json ? fmt::print("{}", JsonLine(comparison)) : PrintComparison(comparison);
    std::fflush(stdout);
  }
  if (!flags.json) {
    fmt::print("{} checked, {} changed by more than their intervals, {} could not be measured\n",
               tasks.size() - steps.broken(), changed, steps.broken());
  }
  return std::max<int>(steps.exit_code(), changed > 0 ? kNotAllCorrect : kAllCorrect);
}

int Baseline(const BaselineFlags& flags) {
  if (!flags.keep_triton.empty()) {
    if (const Status can = CanKeepTriton(flags.on.device); !can) return PrintError(can.error());
  }
  const auto problems = SelectProblems(flags.selection);
  if (!problems) return PrintError(problems.error());
  if (!flags.keep_triton.empty()) {
    return KeepTriton(
        *problems, {flags.keep_triton, flags.size, flags.precision, flags.protocol, flags.on, flags.json, flags.quiet});
  }
  if (const Status there = CheckDevice(flags.on.device); !there) return PrintError(there.error());
  auto store = Store::Open(flags.store);
  if (!store) return PrintError(store.error());
  auto evaluator = Evaluator::Create(OptionsOf(flags.on));
  if (!evaluator) return PrintError(evaluator.error());
  Measurer measurer{std::move(*evaluator), std::move(*store)};
  const auto tasks = MakeTasks(*problems, flags, measurer);
  if (!tasks) return PrintError(tasks.error());
  return flags.check > 0 ? CheckSome(*tasks, flags, &measurer) : MeasureAll(*tasks, flags, problems->size(), &measurer);
}

}  // namespace

void AddBaseline(CLI::App* app, int* exit_code) {
  auto flags = std::make_shared<BaselineFlags>();
  CLI::App* command = app->add_subcommand("baseline", "measure and keep PyTorch's own times. Resumes");
  AddSelectionFlags(command, &flags->selection);
  AddSizeFlag(command, &flags->size);
  AddDeviceFlag(command, &flags->on.device);
  CLI::Option* kind =
      command
          ->add_option("--kind", flags->kinds,
                       "eager, eager-fp32, compile-default, compile-reduce-overhead, compile-max-autotune, or library, "
                       "of problems that name one; several, separated by commas")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->capture_default_str();
  command->add_option("--precision", flags->precision, "fp32, fp16 or bf16; default: the protocol's");
  command->add_option("--protocol", flags->protocol, "how many calls, how narrow an interval")->capture_default_str();
  AddResourceFlags(command, &flags->on);
  command
      ->add_option("--jobs", flags->jobs,
                   "baselines that are compiled at the same time, before they are measured; 0: half as many as cores")
      ->check(CLI::Range(0, 1024));
  command->add_option("--store", flags->store, "where baselines are kept")->capture_default_str();
  CLI::Option* again = command->add_flag("--again", flags->again, "also what was measured before");
  CLI::Option* check =
      command
          ->add_option("--check", flags->check,
                       "measure so many stored ones again, drawn by --seed, keep nothing, and say which changed")
          ->check(AtLeast(1))
          ->excludes(again);
  command
      ->add_option("--keep-triton", flags->keep_triton,
                   "measure nothing, but write problems and the Triton that torch.compile makes of them to this file, "
                   "JSON Lines with KernelBook's fields, each pair judged correct before; needs --device cuda. Resumes")
      ->excludes(kind)
      ->excludes(again)
      ->excludes(check);
  command->add_flag("--json", flags->json, "one line of JSON for each (docs/reference/baselines.md)");
  command->add_flag("--quiet", flags->quiet, "no progress");
  command->require_subcommand(0, 1);
  AddBaselineFiles(command, exit_code);
  command->callback([command, flags, exit_code] {
    if (command->get_subcommands().empty()) *exit_code = Baseline(*flags);
  });
}

}  // namespace kb::cli
