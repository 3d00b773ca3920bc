// The rules of judgement, as data: protocols/*.toml, each key of which is also a flag.
#ifndef JUDGE_PROTOCOL_PROTOCOL_H_
#define JUDGE_PROTOCOL_PROTOCOL_H_

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/static/rules.h"

namespace kb {

struct Protocol {
  std::string name;
  std::string description;

  // What is run.
  std::string precision = "fp32";  // fp32, fp16 or bf16: of the modules and of fp32 inputs
  std::string baseline = "eager";  // eager: PyTorch as it ships
  // outer and host_time: the judge's clock from go to the last secret position. KernelBench's cuda_event, do_bench and
  // do_bench_impl: events around each call on the flushed device, the candidate's being its own word.
  std::string timing = "outer";
  std::map<std::string, std::string> static_rules = DefaultSeverities();  // rule: error, warning or off
  std::string backend;               // the candidate must be written in it; empty: what it seems to be written in
  bool measure = true;               // false: correctness only, no speedup
  int64_t weight_seed = -1;          // first seed of the weights, -1: random; others are random
  std::vector<int64_t> input_seeds;  // one more compared round of each; what is timed has new random bytes

  // How many rounds.
  static constexpr int kWeightSeeds = 2;       // the modules are constructed anew so often
  static constexpr int kLeastCompared = 5;     // rounds, warm-up included
  static constexpr double kConfidence = 0.95;  // of the interval, over all looks together
  int warmup_rounds = 2;                       // compared, timed, not scored
  std::vector<int> round_checks = {10, 14, 20, 28,
                                   40, 56, 80, 100};  // scored rounds after which the interval is looked at
  double half_width = 0.01;                           // enough when the interval's half-width is this, relative
  double slow_below = 0;                              // and when it is all below this speedup, however wide; 0: never
  std::string statistic = "median";                   // of the ratios: median or mean
  int stress_every = 2;  // for so many natural rounds one has another input distribution, on average; 0: none ever has

  // What is right.
  std::string comparison = "anchored";  // anchored: error budget from fp64; allclose: atol + rtol * |expected|
  double atol = 0;                      // allclose only
  double rtol = 1e-4;                   // anchored: floor of the largest error, in block magnitudes
  double rtol_rms = 2e-5;               // anchored: floor of the RMS error, in block magnitudes
  int anchor_rounds = 2;                // natural inputs on which the reference also runs in fp64; of others one
  bool repeat_bitwise = false;          // two calls on equal inputs must agree bit for bit
  bool compare_all = true;              // tell a wrong candidate's error on every input distribution of the rounds

  // A candidate's RMS error and its largest one over the baseline's own, and no error above this part of the output's
  // standard deviation.
  static constexpr double kRmsFactor = 2, kMaxFactor = 4, kMostOfDeviation = 0.1;

  // What counts.
  double speedup_cap = 0;  // larger speedups count as this; 0: no cap
  int audits = 0;          // audits whose lower speedup counts; without them the result says so
  // About what the calls that find out who did the work may take together; one is made whatever it takes. 0: none.
  double profile_ms = 300;
  std::vector<std::string> accept_authorship = {"custom", "mixed", "library"};  // whose speedup counts

  // Limits.
  double build_timeout_s = 180;
  double call_timeout_s = 30;         // half of what loading and constructing may take
  double evaluation_timeout_s = 600;  // of the candidate's loading and calls together
  double reference_timeout_s = 120;
  double memory_gb = 8;  // private memory of a runner

  // On a GPU. Events around a call count its launches as KernelBench counts them: then nothing hides them.
  bool LaunchesHide() const { return !TimedByEvents(); }
  bool CompilesBaseline() const { return baseline.starts_with("compile-") || baseline == "library"; }
  bool TimedByEvents() const { return timing == "cuda_event" || timing == "do_bench" || timing == "do_bench_impl"; }
  bool Profiles() const { return profile_ms > 0; }
  bool AcceptsEveryAuthorship() const;
  bool ChecksText() const;
  void CheckNoText();  // turns all rules off
  double LoadTimeout() const { return 2 * call_timeout_s; }

  // Keys that a flag changed.
  std::vector<std::string> changed;

  // `directory`/`name`.toml. Unknown keys and wrong types are usage errors that name the file.
  static Result<Protocol> Load(const std::filesystem::path& directory, const std::string& name);
  // Names of the protocols in a directory.
  static std::vector<std::string> List(const std::filesystem::path& directory);
  // Sets one key from text, as a flag does. Lists are comma-separated.
  Status Set(const std::string& key, const std::string& text);
  // Refuses combinations that cannot be judged.
  Status Validate() const;
  nlohmann::json ToJson() const;
  // What ToJson() made of a protocol, of this version or an earlier one: keys that are not there have their defaults,
  // and those that no protocol has any more are left out.
  static Protocol FromJson(const std::string& name, const nlohmann::json& keys);
  nlohmann::json ToleranceJson() const;  // the keys of the comparison, for the device process

  // Every key with one line of help, in the order of a table.
  struct Key {
    const char* name;
    const char* help;
  };
  static const std::vector<Key>& Keys();

  // Tolerances that differ by precision: {"fp16": {"rtol": 1e-2, ...}}; applied when the precision is known.
  nlohmann::json by_precision;
  void ApplyPrecision();
};

}  // namespace kb

#endif  // JUDGE_PROTOCOL_PROTOCOL_H_
