#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/baseline_table.h"
#include "cli/commands.h"
#include "cli/screen.h"
#include "cli/selection_flags.h"
#include "interop/baseline_file.h"
#include "interop/baseline_rows.h"
#include "report/text.h"
#include "score/score.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::json;

// KernelBench's names of what is the same here. Its other ones keep their names.
constexpr std::pair<const char*, const char*> kKinds[] = {
    {"torch", "eager"},
    {"torch_compile_inductor_default", "compile-default"},
    {"torch_compile_inductor_reduce-overhead", "compile-reduce-overhead"},
    {"torch_compile_inductor_max-autotune", "compile-max-autotune"}};
constexpr char kFilePrefix[] = "baseline_time_";

constexpr size_t kBaselineColumns = 110;  // of a window that has room for one line a baseline

struct FileFlags {
  std::string store = DefaultStore(), file, hardware;
  BaselineFilter filter;
  bool json = false, shipped = false, rows = false;
};

bool Imported(const json& baseline) { return baseline.at("origin") != "measured"; }

// An imported one has no median.
bool HasMedian(const json& baseline) { return !baseline.at("median_us").is_null(); }
double TypicalUs(const json& baseline) {
  return baseline.at(HasMedian(baseline) ? "median_us" : "mean_us").get<double>();
}

std::string TextOrDash(const json& value) { return value.is_string() ? OneLine(value.get<std::string>(), 60) : "-"; }

// Those that come with this installation.
Result<std::vector<json>> Shipped(const FileFlags& flags) {
  KB_ASSIGN_OR_RETURN(const Installation installation, FindInstallation());
  KB_ASSIGN_OR_RETURN(std::vector<json> baselines, ReadAllBaselineRows(installation.published / "baselines"));
  const std::pair<const char*, const std::string*> wanted[] = {{"problem", &flags.filter.problem},
                                                               {"size", &flags.filter.size},
                                                               {"precision", &flags.filter.precision},
                                                               {"kind", &flags.filter.kind}};
  std::erase_if(baselines, [&](const json& each) {
    return std::any_of(std::begin(wanted), std::end(wanted), [&](const auto& key_and_value) {
      const auto& [key, value] = key_and_value;
      return !value->empty() && each.at(key) != *value;
    });
  });
  return baselines;
}

Result<std::vector<json>> Stored(const FileFlags& flags) {
  if (flags.shipped) return Shipped(flags);
  if (!std::filesystem::exists(flags.store)) return std::vector<json>();  // reading must not create it
  KB_ASSIGN_OR_RETURN(const Store store, Store::Open(flags.store, {.create = false}));
  KB_ASSIGN_OR_RETURN(std::vector<json> baselines, store.Baselines(flags.filter));
  std::erase_if(baselines, [&](const json& each) {
    return !flags.hardware.empty() && each.at("device_info").at("name") != flags.hardware;
  });
  return baselines;
}

// Baselines that may be compared with each other, each group under a name for people.
std::map<std::string, std::vector<json>> Groups(const std::vector<json>& baselines) {
  std::map<std::string, std::vector<json>> groups;
  for (const json& each : baselines) {
    const json& info = each.at("device_info");
    const json cores = info.value("cores", json());
    groups[fmt::format("{}{}, {}, {}, {}", TextOrDash(info.at("name")),
                       each.at("device") == "cpu" && cores.is_number() ? fmt::format(" ({} cores)", cores.dump()) : "",
                       Imported(each) ? "imported" : "PyTorch " + TextOrDash(info.value("torch", json())),
                       TextOrDash(each.at("precision")), TextOrDash(each.at("size")))]
        .push_back(each);
  }
  return groups;
}

int List(const FileFlags& flags) {
  const auto baselines = Stored(flags);
  if (!baselines) return PrintError(baselines.error());
  if (flags.json) {
    for (const json& each : *baselines) fmt::print("{}", JsonLine(each));
    return kAllCorrect;
  }
  if (baselines->empty()) fmt::print("no baselines in {}\n", flags.shipped ? "this installation" : flags.store);
  const size_t columns = ColumnsOf(STDOUT_FILENO);
  for (const auto& [name, group] : Groups(*baselines)) {
    std::set<std::string> problems;
    fmt::print("{}\n{}", name, BaselineHeading(columns));
    for (const json& each : group) {
      problems.insert(each.at("problem"));
      fmt::print("{}", BaselineLine(each, columns));
    }
    fmt::print("{}\n", BaselineRatios(group, problems.size()));
  }
  return kAllCorrect;
}

// The row of a problem of level 1 to 4, as its file is now; nothing for others, which KernelBench's file has no place
// for.
std::optional<BaselineRow> RowOf(const json& baseline, const std::vector<ProblemFile>& problems) {
  const auto problem = std::find_if(problems.begin(), problems.end(), [&](const ProblemFile& each) {
    return each.deck == "kernelbench" && baseline.at("problem") == each.name;
  });
  if (problem == problems.end() || Imported(baseline)) return std::nullopt;
  const auto source = ReadFile(problem->path);
  if (!source || baseline.at("sha256") != Sha256(*source)) return std::nullopt;
  const auto ms = [&](const char* key) { return baseline.at(key).is_null() ? 0.0 : baseline[key].get<double>() / 1e3; };
  return BaselineRow{.level = problem->level,
                     .problem = problem->path.filename().string(),
                     .mean_ms = ms("mean_us"),
                     .std_ms = ms("std_us"),
                     .min_ms = ms("min_us"),
                     .max_ms = ms("max_us"),
                     .trials = baseline.at("trials").get<int64_t>(),
                     .hardware = baseline.at("device_info").at("name"),
                     .device = baseline.at("device") == "cuda" ? "cuda:0" : baseline.at("device")};
}

// Of the problems as their files are now.
int ExportRows(const FileFlags& flags) {
  auto baselines = Stored(flags);
  if (!baselines) return PrintError(baselines.error());
  const auto directory = ProblemDirectory("");
  if (!directory) return PrintError(directory.error());
  std::map<std::string, std::string> texts;
  for (const ProblemFile& each : ListProblems(*directory)) {
    const auto source = ReadFile(each.path);
    if (source) texts[each.name] = Sha256(*source);
  }
  std::erase_if(*baselines, [&](const json& each) {
    const auto text = texts.find(each.at("problem"));
    return Imported(each) || text == texts.end() || each.at("sha256") != text->second;
  });
  if (baselines->empty()) {
    return PrintError(
        {ErrorCode::kUsage, fmt::format("no such measured baseline is in {}; kernelbench baseline measures "
                                        "them",
                                        flags.store)});
  }
  if (const Status written = WriteFileAtomic(flags.file, BaselineRowsText(*baselines)); !written)
    return PrintError(written.error());
  fmt::print("{} baselines written to {}\n", baselines->size(), flags.file);
  return kAllCorrect;
}

int Export(const FileFlags& given) {
  if (given.rows) return ExportRows(given);
  FileFlags flags = given;
  for (const auto& [value, otherwise] :
       {std::pair(&flags.filter.size, "standard"), {&flags.filter.precision, "fp32"}, {&flags.filter.kind, "eager"}}) {
    if (value->empty()) *value = otherwise;
  }
  const auto baselines = Stored(flags);
  if (!baselines) return PrintError(baselines.error());
  const auto directory = ProblemDirectory("");
  if (!directory) return PrintError(directory.error());
  const std::vector<ProblemFile> problems = ListProblems(*directory);
  std::vector<BaselineRow> rows;
  std::set<std::string> devices;
  for (const json& each : *baselines) {
    auto row = RowOf(each, problems);
    if (!row) continue;
    devices.insert(row->hardware);
    rows.push_back(std::move(*row));
  }
  if (rows.empty()) {
    return PrintError({ErrorCode::kUsage,
                       fmt::format("no measured {} baseline of levels 1 to 4 in {} and size {} is in {}; kernelbench "
                                   "baseline measures them",
                                   flags.filter.kind, flags.filter.precision, flags.filter.size, flags.store)});
  }
  if (devices.size() > 1) {
    return PrintError(
        {ErrorCode::kUsage, fmt::format("these were measured on several devices; choose one with --hardware: {}",
                                        fmt::join(devices, "; "))});
  }
  if (const Status written = WriteFileAtomic(flags.file, BaselineFileText(rows)); !written)
    return PrintError(written.error());
  fmt::print("{} of {} baselines written to {}\n", rows.size(), baselines->size(), flags.file);
  return kAllCorrect;
}

// The kind that a file's name tells: baseline_time_torch.json holds eager's times.
Result<std::string> KindOf(const std::filesystem::path& file) {
  std::string name = file.stem();
  if (!name.starts_with(kFilePrefix)) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} is not named {}NAME.json: say with --kind what it holds", file.string(), kFilePrefix));
  }
  name = name.substr(sizeof kFilePrefix - 1);
  for (const auto& [theirs, ours] : kKinds) {
    if (name == theirs) return std::string(ours);
  }
  return name;
}

// In microseconds, or null.
json MicrosecondsOf(const std::optional<double>& ms) { return ms ? json(1e3 * *ms) : json(); }

json BaselineOf(const BaselineRow& row, const std::string& kind, const FileFlags& flags) {
  const auto number = ProblemNumber(row.problem);
  const std::string device = row.device.substr(0, row.device.find(':'));
  return {{"origin", "kernelbench"},
          {"problem", fmt::format("{}/{}", row.level, number ? std::to_string(*number) : row.problem)},
          {"sha256", nullptr},
          {"size", flags.filter.size},
          {"precision", flags.filter.precision},
          {"kind", kind},
          {"device", device.empty() ? json() : json(device)},
          {"device_info",
           {{"name", row.hardware.empty() ? flags.hardware : row.hardware},
            {"cores", nullptr},
            {"torch", nullptr},
            {"clocks", nullptr}}},
          {"protocol", nullptr},
          {"median_us", nullptr},
          {"mean_us", 1e3 * row.mean_ms},
          {"std_us", MicrosecondsOf(row.std_ms)},
          {"min_us", MicrosecondsOf(row.min_ms)},
          {"max_us", MicrosecondsOf(row.max_ms)},
          {"trials", row.trials},
          {"interval", nullptr},
          {"confidence", nullptr},
          {"compile_s", nullptr},
          {"engine_us", nullptr},
          {"created", UtcNow(kIso8601)},
          {"notes", {"imported: from " + flags.file + ", not measured here"}}};
}

int ImportRows(const FileFlags& flags) {
  const auto rows = ReadBaselineRows(flags.file);
  if (!rows) return PrintError(rows.error());
  auto store = Store::Open(flags.store);
  if (!store) return PrintError(store.error());
  for (const json& row : *rows) {
    if (const Status added = store->AddBaseline(row); !added) return PrintError(added.error());
  }
  fmt::print("{} measured baselines imported from {}\n", rows->size(), flags.file);
  return kAllCorrect;
}

int Import(const FileFlags& flags) {
  if (flags.file.ends_with(".jsonl")) return ImportRows(flags);
  const auto kind = flags.filter.kind.empty() ? KindOf(flags.file) : Result<std::string>(flags.filter.kind);
  if (!kind) return PrintError(kind.error());
  const auto rows = ReadBaselineFile(flags.file);
  if (!rows) return PrintError(rows.error());
  for (const BaselineRow& row : *rows) {
    if (!row.hardware.empty() || !flags.hardware.empty()) continue;
    return PrintError({ErrorCode::kUsage, fmt::format("{}, level {}, {}: no hardware is named: say it with --hardware",
                                                      flags.file, row.level, row.problem)});
  }
  auto store = Store::Open(flags.store);
  if (!store) return PrintError(store.error());
  for (const BaselineRow& row : *rows) {
    if (const Status added = store->AddBaseline(BaselineOf(row, *kind, flags)); !added)
      return PrintError(added.error());
  }
  fmt::print("{} baselines of kind {} imported from {}\n", rows->size(), OneLine(*kind, 60), flags.file);
  return kAllCorrect;
}

}  // namespace

std::string BaselineHeading(size_t columns) {
  if (columns < kBaselineColumns) {
    return fmt::format("{:<8} {:<9} {:<24} {:>12}\n", "problem", "size", "kind", "median") +
           "  interval, calls, compile; notes\n";
  }
  return fmt::format("{:<8} {:<9} {:<24} {:>12} {:>21} {:>6} {:>9}  {}\n", "problem", "size", "kind", "median",
                     "interval, us", "calls", "compile", "notes");
}

std::string BaselineLine(const json& baseline, size_t columns) {
  const json &interval = baseline.at("interval"), &compile = baseline.at("compile_s");
  std::string notes;
  for (const json& note : baseline.at("notes")) notes += (notes.empty() ? "" : "; ") + note.get<std::string>();
  const std::string bounds =
      interval.is_array() ? fmt::format("[{:.1f}, {:.1f}]", interval[0].get<double>(), interval[1].get<double>()) : "-";
  const std::string time = (HasMedian(baseline) ? "" : "mean ") + FormatTime(TypicalUs(baseline));
  const std::string compiled = compile.is_number() ? fmt::format("{:.1f} s", compile.get<double>()) : "-";
  const auto calls = baseline.at("trials").get<int64_t>();
  const std::string first = fmt::format("{:<8} {:<9} {:<24} {:>12}", TextOrDash(baseline.at("problem")),
                                        TextOrDash(baseline.at("size")), TextOrDash(baseline.at("kind")), time);
  notes = OneLine(notes, 200);
  if (columns < kBaselineColumns) {
    return fmt::format("{}\n  {} us, {} calls{}{}\n", first, bounds, calls,
                       compile.is_number() ? ", compile " + compiled : "", notes.empty() ? "" : "; " + notes);
  }
  return fmt::format("{} {:>21} {:>6} {:>9}  {}\n", first, bounds, calls, compiled, notes);
}

std::string BaselineRatios(const std::vector<json>& baselines, size_t problems) {
  // Imported and measured times are not divided by each other, nor those of two texts or sizes of a problem.
  using Key = std::tuple<bool, std::string, std::string, std::string>;
  std::map<std::string, std::map<Key, double>> by_kind;
  for (const json& each : baselines) {
    by_kind[each.at("kind")][{Imported(each), each.at("problem"), each.at("sha256").dump(), each.at("size")}] =
        TypicalUs(each);
  }
  std::string lines;
  const std::map<Key, double> eager = by_kind["eager"];
  by_kind.erase("eager");
  for (const auto& [kind, times] : by_kind) {
    std::vector<Outcome> ratios;
    for (const auto& [key, us] : times) {
      const auto found = eager.find(key);
      if (found != eager.end()) ratios.push_back({std::get<1>(key), true, found->second / us});
    }
    lines += fmt::format("{} against eager: {} ({} of {} problems have both)\n", OneLine(kind, 60),
                         FormatSpeedup(GeometricMean(ratios)), ratios.size(), problems);
  }
  return lines;
}

void AddBaselineFiles(CLI::App* baseline, int* exit_code) {
  const auto add = [&](const char* name, const char* help, int (*run)(const FileFlags&)) {
    auto flags = std::make_shared<FileFlags>();
    CLI::App* sub = baseline->add_subcommand(name, help);
    sub->add_option("--store", flags->store, "where baselines are kept")->capture_default_str();
    sub->callback([flags, exit_code, run] { *exit_code = run(*flags); });
    return std::pair(sub, flags);
  };
  const auto [list, listed] = add("list", "stored baselines, and how much faster than eager they are", List);
  list->add_option("--problem", listed->filter.problem, "only this problem, as in 1/19");
  list->add_option("--kind", listed->filter.kind, "only this kind");
  list->add_option("--size", listed->filter.size, "only this size");
  list->add_option("--precision", listed->filter.precision, "only this precision");
  list->add_option("--hardware", listed->hardware, "only of the device with this name");
  list->add_flag("--shipped", listed->shipped, "those that come with this installation, instead of a store's");
  list->add_flag("--json", listed->json, "one line of JSON for each (docs/reference/baselines.md)");

  const auto [write, written] =
      add("export", "write measured baselines of one kind as KernelBench does, or all as rows", Export);
  write->add_option("-o,--output", written->file, "file to write")->required();
  write->add_flag("--rows", written->rows, "JSON Lines instead, one for each baseline of any kind, size and precision");

  const auto [read, imported] = add("import", "keep KernelBench's baselines, marked as such, or exported rows", Import);
  imported->filter = {.size = "standard", .precision = "fp32"};
  read->add_option("file", imported->file, "baseline_time_NAME.json, or a .jsonl of `export --rows`")->required();
  for (const auto& [sub, flags] : {std::pair(write, written), std::pair(read, imported)}) {
    sub->add_option("--kind", flags->filter.kind, "its kind; default: eager, or what the imported file's name says");
    sub->add_option("--size", flags->filter.size, "of the problems; default: standard, with --rows all");
    sub->add_option("--precision", flags->filter.precision, "that they were run in; default: fp32, with --rows all");
    sub->add_option("--hardware", flags->hardware, "name of the device, where there are several or none");
  }
}

}  // namespace kb::cli
