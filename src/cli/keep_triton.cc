#include "cli/keep_triton.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "cli/selection_flags.h"
#include "cli/steps.h"
#include "interop/kernelbook.h"
#include "judge/devices/device_kind.h"
#include "judge/evaluate.h"
#include "report/text.h"

namespace kb::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// What became of one problem.
struct Outcome {
  ordered_json row;  // of the pair; null: there is none
  std::string why;   // not
};

struct Keeper {
  std::unique_ptr<Evaluator> evaluator;
  Protocol protocol;
  KernelBookFile file;
  json device;
};

Result<Keeper> Open(const KeepTritonOptions& options) {
  KB_ASSIGN_OR_RETURN(auto evaluator, Evaluator::Create(OptionsOf(options.on)));
  KB_ASSIGN_OR_RETURN(Protocol protocol, Protocol::Load(evaluator->installation().protocols, options.protocol));
  if (!options.precision.empty()) KB_RETURN_IF_ERROR(protocol.Set("precision", options.precision));
  protocol.ApplyPrecision();
  KB_RETURN_IF_ERROR(protocol.Validate());
  KB_ASSIGN_OR_RETURN(KernelBookFile file, KernelBookFile::Open(options.file));
  KB_ASSIGN_OR_RETURN(json device, evaluator->DeviceInfo());
  return Keeper{std::move(evaluator), std::move(protocol), std::move(file), std::move(device)};
}

Result<Outcome> MakePair(const ProblemFile& problem, const std::string& size, Keeper* keeper) {
  Evaluator& evaluator = *keeper->evaluator;
  KB_ASSIGN_OR_RETURN(const InductorText text, evaluator.CompileToTriton(problem, size, keeper->protocol));
  if (!text.why.empty()) return Outcome{nullptr, text.why};
  KB_ASSIGN_OR_RETURN(Candidate candidate,
                      MakeCandidate("inductor.py", text.candidate, evaluator.setup().options.device));
  const Request request{problem, size, std::move(candidate), keeper->protocol};
  KB_RETURN_IF_ERROR(evaluator.MakeReady(request));
  KB_ASSIGN_OR_RETURN(Prepared prepared, evaluator.Prepare(request));
  KB_ASSIGN_OR_RETURN(const Evaluation evaluation, evaluator.EvaluateToTheEnd(&prepared));
  if (evaluation.verdict != Verdict::kCorrect) {
    return Outcome{nullptr, fmt::format("{}: {}", VerdictName(evaluation.verdict), OneLine(evaluation.reason, 300))};
  }
  const json versions = {{"kernelbench", KB_VERSION},
                         {"torch", keeper->device.at("torch")},
                         {"triton", text.triton},
                         {"cuda", keeper->device.value("cuda", json())}};
  return Outcome{
      KernelBookRow({text.entry_point, text.python, text.candidate, text.original, versions}, evaluation.ToJson()), ""};
}

// A pair's row without its texts; of a problem without a pair, why there is none.
std::string ToJsonLine(const std::string& problem, const std::string& size, const Outcome& outcome) {
  ordered_json line = {{"problem", problem}, {"size", size}, {"kept", !outcome.row.is_null()}, {"why", outcome.why}};
  for (const char* key : {"speedup", "speedup_interval", "uuid"}) {
    line[key] = outcome.row.is_null() ? ordered_json() : outcome.row.at(key);
  }
  return JsonLine(line);
}

std::string ToLine(const std::string& problem, const std::string& size, const Outcome& outcome) {
  const ordered_json& row = outcome.row;
  const std::string speedup =
      row.at("speedup").is_null()
          ? fmt::format("no speedup: {}", row.at("no_speedup").get<std::string>())
          : fmt::format("{:.2f} [{:.2f}, {:.2f}]", row.at("speedup").get<double>(),
                        row.at("speedup_interval").at(0).get<double>(), row.at("speedup_interval").at(1).get<double>());
  return fmt::format("{:<8} {:<9} {}\n", OneLine(problem, 60), size, speedup);
}

struct Missing {
  std::string problem, size, why;
};

void PrintSummary(size_t kept, size_t known, size_t failed, const std::vector<Missing>& missing) {
  fmt::print("{} kept, {} known, {} without a pair, {} failed\n", kept, known, missing.size(), failed);
  for (const Missing& each : missing) {
    fmt::print("{:<8} {:<9} no pair: {}\n", OneLine(each.problem, 60), each.size, OneLine(each.why, 400));
  }
}

}  // namespace

Status CanKeepTriton(const std::string& device) {
  const DeviceKind* kind = KindOfDevice(device);
  if (kind == nullptr || !kind->on_host()) return {};  // what is no device is told when it is opened
  return Fail(ErrorCode::kUsage,
              fmt::format("--keep-triton needs a GPU: on {} Inductor writes no Triton; add --device cuda", device));
}

int KeepTriton(const std::vector<SelectedProblem>& problems, const KeepTritonOptions& options) {
  auto keeper = Open(options);
  if (!keeper) return PrintError(keeper.error());
  const auto chosen = ChosenSize(options.size, options.on.device, FilesOf(problems));
  if (!chosen) return PrintError(chosen.error());
  const std::string& size = *chosen;
  Steps steps(options.quiet || options.json, problems.size(),
              "the pairs of finished problems are in the file, and the same command goes on");
  size_t kept = 0, known = 0;
  std::vector<Missing> missing;
  for (const SelectedProblem& problem : problems) {
    const std::string name = problem.file.name;
    bool is_known = false;
    const auto outcome = steps.Take("", fmt::format("{} {}", name, size), [&]() -> Result<Outcome> {
      KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(problem.file.path));
      is_known = keeper->file.Holds({Sha256(source), size, keeper->protocol.precision, keeper->protocol.name,
                                     keeper->device.at("name"), keeper->device.at("torch")});
      if (is_known) return Outcome{};
      KB_ASSIGN_OR_RETURN(Outcome made, MakePair(problem.file, size, &*keeper));
      if (!made.row.is_null()) KB_RETURN_IF_ERROR(keeper->file.Add(made.row));
      return made;
    });
    if (steps.ended()) return steps.exit_code();
    if (!outcome) continue;
    if (is_known) {
      ++known;
      continue;
    }
    if (outcome->row.is_null()) {
      missing.push_back({name, size, outcome->why});
    } else {
      ++kept;
    }
    if (options.json) {
      fmt::print("{}", ToJsonLine(name, size, *outcome));
    } else if (!outcome->row.is_null()) {
      fmt::print("{}", ToLine(name, size, *outcome));
    }
    std::fflush(stdout);
  }
  if (!options.json) PrintSummary(kept, known, steps.broken(), missing);
  return steps.exit_code();
}

}  // namespace kb::cli
