// The candidates of a run as users have them. Nothing is executed, and no source is kept in memory.
// docs/reference/interop.md has the formats:
//   a KernelBench run directory   level_{L}_problem_{P}_sample_{S}_kernel.py, generation_config.yaml; a candidate that
//   is
//                                 a folder has that name without .py
//   a directory with manifest.json (an array) or manifest.jsonl
//   a .jsonl file with a candidate a line, its source in the line or in a file
#ifndef INTEROP_CANDIDATES_H_
#define INTEROP_CANDIDATES_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/candidate/folder.h"

namespace kb {

struct RunCandidate {
  std::string model;
  std::string problem;  // as FindProblem takes it: "1/19"
  int sample = 0;
  std::filesystem::path path;     // the candidate's file or folder, or the .jsonl file that holds its source
  std::optional<int64_t> offset;  // of the line with the source; absent if `path` is the candidate itself
  std::string language = "py";    // "py", "cpp" or "cu": what the source's file would be called
  bool has_code = true;           // false: an attempt that its list has no code of
  std::string place;              // for messages: the file, and the line or entry in it
};

// In order: KernelBench's files by level, problem and sample, the others as they are listed. A text goes into `notes`
// for everything that is left out or had to be guessed; those of a list's rows that cannot be used name file and line.
// Errors are kUsage: what cannot be read, no candidate at all, and two candidates with the same model, problem and
// sample.
Result<std::vector<RunCandidate>> ReadCandidates(const std::filesystem::path& path,
                                                 std::vector<std::string>* notes = nullptr);

// The candidate's text, taken out of an answer with fences where a list holds one in place of code; or why there is
// none that could be judged. Errors: it cannot be read any more.
Result<CandidateText> ReadSource(const RunCandidate& candidate);

// Level, problem and sample of a name as KernelBench gives it; absent for any other name.
struct KernelName {
  int level = 0, problem = 0, sample = 0;
  std::string language;  // empty: a folder's
};
std::optional<KernelName> ParseKernelName(const std::string& file_name);
std::string MakeKernelName(const KernelName& name);

// `model_name` of a generation_config.yaml, and its `level`. Absent: not there, or of another type, or no such file.
// Text that is no YAML is a usage error.
struct GenerationConfig {
  std::optional<std::string> model;
  std::optional<int> level;
};
Result<GenerationConfig> ReadGenerationConfig(const std::filesystem::path& path);
std::string GenerationConfigText(const GenerationConfig& config);

}  // namespace kb

#endif  // INTEROP_CANDIDATES_H_
