#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "interop/original_run.h"
#include "report/score_formats.h"
#include "report/score_texts.h"
#include "report/text.h"
#include "store/store.h"

namespace kb::cli {
namespace {

using nlohmann::ordered_json;

struct OriginalFlags {
  std::string store = DefaultStore();
  std::string directory, run, baseline;
  std::optional<int> level;
  bool json = false;
};

const char* Verdict(const KernelBenchResult& result) {
  return result.correct ? "correct" : result.compiled ? "incorrect" : "not compiled";
}

// KernelBench knows less than our verdicts say; correct or not is what both say.
bool Agree(const SampleBothWays& sample) { return sample.original->correct == (sample.ours->verdict == "correct"); }

template <typename T>
ordered_json OrNull(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json SampleJson(int level, const SampleBothWays& sample) {
  ordered_json line = {{"problem", fmt::format("{}/{}", level, sample.problem)},
                       {"sample", sample.sample},
                       {"original", nullptr},
                       {"ours", nullptr}};
  if (const KernelBenchResult* original = sample.original) {
    line["original"] = {{"verdict", Verdict(*original)},
                        {"compiled", original->compiled},
                        {"correct", original->correct},
                        {"runtime_ms", OrNull(original->runtime_ms)},
                        {"speedup", OrNull(sample.original_speedup)}};
  }
  if (const ScoreRow* ours = sample.ours) {
    line["ours"] = {{"id", ours->id},
                    {"verdict", ours->verdict},
                    {"correct", ours->verdict == "correct"},
                    {"candidate_us", OrNull(ours->candidate_us)},
                    {"speedup", OrNull(ours->speedup)},
                    {"speedup_interval", nullptr},
                    {"size", ours->size},
                    {"device", ours->device_name},
                    {"protocol", ours->protocol}};
    if (ours->low && ours->high) line["ours"]["speedup_interval"] = {*ours->low, *ours->high};
  }
  return line;
}

std::string Cell(const std::string& text, size_t columns) {
  const std::string clean = OneLine(text, columns);
  return clean + std::string(columns - std::min(columns, DisplayWidth(clean)), ' ');
}

void PrintTable(int level, const std::vector<SampleBothWays>& samples) {
  fmt::print("{:<8} {:>6}   {:<12}  {} {}   {:<15} {} {}\n", "problem", "sample", "KernelBench", Cell("time", 9),
             Cell("speedup", 8), "here", Cell("time", 9), "speedup");
  for (const SampleBothWays& sample : samples) {
    const auto* original = sample.original;
    const auto* ours = sample.ours;
    std::optional<double> runtime_us;
    if (original && original->runtime_ms) runtime_us = *original->runtime_ms * 1e3;
    fmt::print("{:<8} {:>6}   {}  {} {}   {} {} {}\n", fmt::format("{}/{}", level, sample.problem), sample.sample,
               Cell(original ? Verdict(*original) : kDash, 12), Cell(FormatTime(runtime_us), 9),
               Cell(FormatSpeedup(sample.original_speedup), 8), Cell(ours ? ours->verdict : kDash, 15),
               Cell(FormatTime(ours ? ours->candidate_us : std::nullopt), 9),
               FormatSpeedup(ours ? ours->speedup : std::nullopt));
  }
  int64_t both = 0, agree = 0;
  for (const SampleBothWays& sample : samples) {
    if (!sample.original || !sample.ours) continue;
    ++both;
    agree += Agree(sample) ? 1 : 0;
  }
  fmt::print("{} samples judged by both; on {} of them both agree whether it is correct\n", both, agree);
}

int Original(OriginalFlags flags) {
  std::error_code ignored;
  if (flags.run.empty()) flags.run = std::filesystem::weakly_canonical(flags.directory, ignored).filename();
  const auto original = ReadOriginalRun(flags.directory, flags.level, flags.baseline);
  if (!original) return PrintError(original.error());
  for (const std::string& note : original->notes) fmt::print(stderr, "kernelbench: {}\n", CleanText(note));
  std::vector<ScoreRow> rows;
  if (std::filesystem::exists(flags.store)) {
    const auto store = Store::Open(flags.store, {.create = false});
    if (!store) return PrintError(store.error());
    auto read = store->Scores({.run = flags.run});
    if (!read) return PrintError(read.error());
    rows = std::move(*read);
  }
  if (rows.empty()) {
    fmt::print(stderr,
               "kernelbench: nothing is stored of a run {}: judge it with kernelbench run, or name another with "
               "--run\n",
               CleanText(flags.run));
  }
  const std::vector<SampleBothWays> samples = PairSamples(*original, rows);
  std::vector<const ScoreRow*> verdicts;
  for (const SampleBothWays& sample : samples) {
    if (sample.ours != nullptr) verdicts.push_back(sample.ours);
  }
  fmt::print(stderr, "{}", MixedText(MixedProblems(verdicts)));
  if (!flags.json) PrintTable(original->level, samples);
  for (const SampleBothWays& sample : samples) {
    if (flags.json) {
      fmt::print("{}", JsonLine(SampleJson(original->level, sample)));
    }
  }
  return kAllCorrect;
}

}  // namespace

void AddOriginal(CLI::App* app, int* exit_code) {
  CLI::App* command = app->add_subcommand("original", "what KernelBench itself said of a run, beside what is stored");
  auto flags = std::make_shared<OriginalFlags>();
  command->add_option("directory", flags->directory, "KernelBench's runs/NAME with eval_results.json")->required();
  command->add_option("--run", flags->run, "the same candidates' run in the store; default: the directory's name");
  command->add_option("--baseline", flags->baseline, "KernelBench's baseline_time_*.json, for its speedups");
  command->add_option("--level", flags->level, "the run's level, where its files do not tell");
  command->add_option("--store", flags->store, "where results are kept")->capture_default_str();
  command->add_flag("--json", flags->json, "one line of JSON for each sample (docs/reference/interop.md)");
  command->callback([flags, exit_code] { *exit_code = Original(*flags); });
}

}  // namespace kb::cli
