#include "interop/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <system_error>
#include <tuple>

#include "interop/json_file.h"
#include "interop/line_reader.h"
#include "interop/listed_candidates.h"
#include "judge/candidate/folder.h"
#include "prompt/extract.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

using Found = std::vector<RunCandidate>;

// What KernelBench itself leaves in a run directory.
bool BelongsToRun(const std::string& name) {
  constexpr const char* kNames[] = {"generation_config.yaml", "eval_results.json", "pass_at_k_results.json",
                                    "analysis_results.json"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::string NameOf(const fs::path& path) {
  std::error_code ignored;
  const fs::path whole = fs::weakly_canonical(path, ignored);
  return fs::is_directory(whole, ignored) ? whole.filename() : whole.stem();
}

Result<std::string> RunModel(const fs::path& directory, std::vector<std::string>* notes) {
  const fs::path path = directory / "generation_config.yaml";
  KB_ASSIGN_OR_RETURN(const GenerationConfig config, ReadGenerationConfig(path));
  if (config.model) return *config.model;
  const std::string model = NameOf(directory);
  notes->push_back(fmt::format("no {} names a model_name: the model is called {}", path.string(), model));
  return model;
}

Result<Found> ReadRunDirectory(const fs::path& directory, std::vector<std::string>* notes) {
  std::error_code error;
  std::map<std::tuple<int, int, int, std::string>, RunCandidate> sorted;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    const std::string file_name = path.filename();
    if (BelongsToRun(file_name)) continue;
    const std::optional<KernelName> name = ParseKernelName(file_name);
    std::error_code ignored;
    const bool is_folder = name && name->language.empty();
    if (!name || !(is_folder ? fs::is_directory(path, ignored) : fs::is_regular_file(path, ignored))) {
      const char* why = !name       ? "its name is not level_{L}_problem_{P}_sample_{S}_kernel.py"
                        : is_folder ? "it is no folder"
                                    : "it is no file";
      notes->push_back(fmt::format("{}: skipped, {}", path.string(), why));
      continue;
    }
    RunCandidate candidate;
    candidate.problem = fmt::format("{}/{}", name->level, name->problem);
    candidate.sample = name->sample;
    candidate.path = path;
    if (!is_folder) candidate.language = name->language;
    candidate.place = path.string();
    sorted.emplace(std::tuple(name->level, name->problem, name->sample, file_name), std::move(candidate));
  }
  if (error) return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: {}", directory.string(), error.message()));
  std::sort(notes->begin(), notes->end());  // directories are in no order
  Found found;
  for (auto& [order, each] : sorted) found.push_back(std::move(each));
  if (found.empty()) return found;
  KB_ASSIGN_OR_RETURN(const std::string model, RunModel(directory, notes));
  for (RunCandidate& each : found) each.model = model;
  return found;
}

void NoteUnlisted(const fs::path& directory, const Found& found, std::vector<std::string>* notes) {
  std::vector<fs::path> listed;
  for (const RunCandidate& each : found) listed.push_back(each.path.lexically_normal());
  std::sort(listed.begin(), listed.end());
  std::vector<std::string> unlisted;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (LanguageOf(entry->path()).empty()) continue;
    if (std::binary_search(listed.begin(), listed.end(), entry->path().lexically_normal())) continue;
    unlisted.push_back(fmt::format("{}: skipped, the manifest does not list it", entry->path().string()));
  }
  std::sort(unlisted.begin(), unlisted.end());  // directories are in no order
  notes->insert(notes->end(), unlisted.begin(), unlisted.end());
}

Result<Found> ReadDirectory(const fs::path& directory, std::vector<std::string>* notes) {
  std::error_code ignored;
  const fs::path array = directory / "manifest.json", lines = directory / "manifest.jsonl";
  const bool has_array = fs::exists(array, ignored), has_lines = fs::exists(lines, ignored);
  if (has_array && has_lines) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} and {}: only one of them may list the candidates", array.string(), lines.string()));
  }
  if (!has_array && !has_lines) return ReadRunDirectory(directory, notes);
  const std::string model = NameOf(directory);
  KB_ASSIGN_OR_RETURN(Found found,
                      has_array ? ReadCandidateArray(array, model, notes) : ReadCandidateLines(lines, model, notes));
  NoteUnlisted(directory, found, notes);
  return found;
}

Result<Found> ReadAny(const fs::path& path, std::vector<std::string>* notes) {
  std::error_code error;
  if (fs::is_directory(path, error)) return ReadDirectory(path, notes);
  if (!fs::is_regular_file(path, error)) {
    return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: no such file or directory", path.string()));
  }
  const std::string extension = path.extension();
  if (extension == ".jsonl" || extension == ".ndjson") return ReadCandidateLines(path, NameOf(path), notes);
  if (extension == ".json") return ReadCandidateArray(path, NameOf(path), notes);
  return Fail(ErrorCode::kUsage, fmt::format("{} lists no candidates: give a KernelBench run directory, a directory "
                                             "with manifest.json or manifest.jsonl, or a .jsonl file",
                                             path.string()));
}

Status CheckUnique(const Found& found) {
  using Key = std::tuple<std::string_view, std::string_view, int>;
  std::map<Key, const RunCandidate*> seen;
  for (const RunCandidate& each : found) {
    const auto [first, is_new] = seen.emplace(Key(each.model, each.problem, each.sample), &each);
    if (is_new) continue;
    return Fail(ErrorCode::kUsage,
                fmt::format("{} and {} are both sample {} of {} for problem {}: give each its own `sample`",
                            first->second->place, each.place, each.sample, each.model, each.problem));
  }
  return {};
}

// Takes `word` from the beginning of `text`.
bool Take(std::string_view* text, std::string_view word) {
  if (!text->starts_with(word)) return false;
  text->remove_prefix(word.size());
  return true;
}

bool TakeCount(std::string_view* text, int* count) {
  const size_t digits = std::min(text->find_first_not_of("0123456789"), text->size());
  const std::optional<int> parsed = ParseCount(text->substr(0, digits));
  if (!parsed) return false;
  *count = *parsed;
  text->remove_prefix(digits);
  return true;
}

}  // namespace

std::optional<KernelName> ParseKernelName(const std::string& file_name) {
  KernelName name;
  std::string_view rest = file_name;
  if (!Take(&rest, "level_") || !TakeCount(&rest, &name.level) || !Take(&rest, "_problem_") ||
      !TakeCount(&rest, &name.problem) || !Take(&rest, "_sample_") || !TakeCount(&rest, &name.sample) ||
      !Take(&rest, "_kernel")) {
    return std::nullopt;
  }
  if (rest.empty()) return name;
  if (!Take(&rest, ".")) return std::nullopt;
  if (rest != "py" && rest != "cpp" && rest != "cc" && rest != "cu") return std::nullopt;
  name.language = rest == "cc" ? "cpp" : rest;
  return name;
}

std::string MakeKernelName(const KernelName& name) {
  return fmt::format("level_{}_problem_{}_sample_{}_kernel{}{}", name.level, name.problem, name.sample,
                     name.language.empty() ? "" : ".", name.language);
}

Result<std::vector<RunCandidate>> ReadCandidates(const fs::path& path, std::vector<std::string>* notes) {
  std::vector<std::string> unread;
  KB_ASSIGN_OR_RETURN(Found found, ReadAny(path, notes ? notes : &unread));
  if (found.empty()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} holds no candidate: its files must be called level_{{L}}_problem_{{P}}_sample_{{S}}_"
                            "kernel.py, or be listed in manifest.json or a .jsonl file",
                            path.string()));
  }
  KB_RETURN_IF_ERROR(CheckUnique(found));
  return found;
}

Result<CandidateText> ReadSource(const RunCandidate& candidate) {
  if (!candidate.has_code) return CandidateText{"", "its row in the list holds no code"};
  if (!candidate.offset) return ReadCandidateText(candidate.path);
  const auto fail = [&](const std::string& what) {
    return Fail(ErrorCode::kUsage, fmt::format("{}: {}", candidate.place, what));
  };
  KB_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(candidate.path, *candidate.offset));
  KB_ASSIGN_OR_RETURN(const auto line, lines.Next());
  if (!line) return fail("it is not there any more");
  auto source = InlineSource(*line);
  if (!source) return fail(source.error().message);
  const std::string& text = source->text;
  if (text.size() > MostBytes(text)) {
    return CandidateText{
        "", fmt::format("its source is {} bytes long; a candidate may have {}", text.size(), MostBytes(text))};
  }
  if (IsPacked(text)) return std::move(*source);
  if (auto code = CodeOfAnswer(text, "." + candidate.language)) return CandidateText{std::move(*code), ""};
  return std::move(*source);
}

}  // namespace kb
