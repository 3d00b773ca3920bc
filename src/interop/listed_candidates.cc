#include "interop/listed_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <system_error>

#include "interop/json_file.h"
#include "interop/line_reader.h"
#include "judge/candidate/folder.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr auto kSourceKeys = {"source", "kernel", "code", "kernel_src"};

constexpr char kNoObject[] = "it is no JSON object in UTF-8";

// The first of the keys that is there, each a name for the same thing.
template <typename Read>
auto FirstOf(const Json& entry, std::initializer_list<const char*> keys, Read read) -> decltype(read(entry, "")) {
  for (const char* key : keys) {
    auto value = read(entry, key);
    if (!value || *value) return value;
  }
  return decltype(read(entry, "")){};
}

Result<std::string> ProblemOf(const Json& entry) {
  KB_ASSIGN_OR_RETURN(const auto problem, TextMember(entry, "problem"));
  if (problem && !problem->empty()) return *problem;
  KB_ASSIGN_OR_RETURN(const auto level, CountMember(entry, "level"));
  KB_ASSIGN_OR_RETURN(const auto id, CountMember(entry, "problem_id"));
  if (!level || !id)
    return Fail(ErrorCode::kUsage, "it needs a `problem` such as \"1/19\", or `level` and `problem_id`");
  return fmt::format("{}/{}", *level, *id);
}

// A list may come from anywhere, and what a candidate's path names ends up in results: nothing outside its directory.
Result<fs::path> ResolvePath(const fs::path& directory, std::string given) {
  const auto usable = [&] {
    const fs::path path(given);
    std::error_code ignored;
    return path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end() &&
           given.find('\0') == std::string::npos &&
           (fs::is_regular_file(directory / path, ignored) || fs::is_directory(directory / path, ignored));
  };
  if (!usable()) std::replace(given.begin(), given.end(), '\\', '/');  // as Windows writes it
  if (!usable()) {
    return Fail(ErrorCode::kUsage, fmt::format("`path` {} names no file or folder in {}", given,
                                               directory.empty() ? "." : directory.string()));
  }
  return directory / given;
}

Result<std::string> InlineLanguage(const Json& entry) {
  KB_ASSIGN_OR_RETURN(const auto language, TextMember(entry, "language"));
  if (!language || *language == "py" || *language == "python") return "py";
  if (*language == "cpp" || *language == "c++") return "cpp";
  if (*language == "cu" || *language == "cuda") return "cu";
  return Fail(ErrorCode::kUsage, fmt::format("`language` {} is none of py, cpp and cu", *language));
}

// A folder in the list itself: an object of texts by paths. Other lists mean other things by `files`.
const Json* FilesOf(const Json& entry) {
  const auto files = entry.find("files");
  return files != entry.end() && files->is_object() ? &*files : nullptr;
}

CandidateText PackedFiles(const Json& object) {
  FolderFiles files;
  for (const auto& [path, text] : object.items()) {
    if (!text.is_string()) return {PackedNothing(), fmt::format("`files`: {} is no text", path)};
    files[path] = text.get<std::string>();
  }
  auto packed = Pack(files);
  if (!packed) return {PackedNothing(), "`files`: " + packed.error().message};
  return {std::move(*packed), ""};
}

// The first of its texts that is not empty: an answer without code is written as null or "" under any of the names. A
// row with neither text nor path may be a folder.
Result<std::optional<CandidateText>> SourceOf(const Json& entry) {
  for (const char* key : kSourceKeys) {
    KB_ASSIGN_OR_RETURN(auto source, TextMember(entry, key));
    if (source && !source->empty()) return CandidateText{std::move(*source), ""};
  }
  KB_ASSIGN_OR_RETURN(const auto path, TextMember(entry, "path"));
  const Json* files = FilesOf(entry);
  if (files == nullptr || (path && !path->empty())) return std::optional<CandidateText>();
  return PackedFiles(*files);
}

// Of a row that has `files` and is no folder for it: which of its sources is taken. Empty for other rows.
std::string TakenBeforeFiles(const Json& entry) {
  if (!entry.is_object() || FilesOf(entry) == nullptr) return "";
  for (const char* key : {"source", "kernel", "code", "kernel_src", "path"}) {
    const auto text = TextMember(entry, key);
    if (text && *text && !(*text)->empty()) return key;
  }
  return "";
}

Result<RunCandidate> ParseEntry(const Json& entry, const fs::path& list, const std::string& model,
                                std::optional<int64_t> offset) {
  if (!entry.is_object()) return Fail(ErrorCode::kUsage, kNoObject);
  RunCandidate candidate;
  KB_ASSIGN_OR_RETURN(const auto own_model, FirstOf(entry, {"model", "model_name"}, TextMember));
  KB_ASSIGN_OR_RETURN(const auto sample, FirstOf(entry, {"sample", "sample_id"}, CountMember));
  KB_ASSIGN_OR_RETURN(const auto source, SourceOf(entry));
  KB_ASSIGN_OR_RETURN(const auto path, TextMember(entry, "path"));
  KB_ASSIGN_OR_RETURN(candidate.problem, ProblemOf(entry));
  candidate.model = own_model.value_or(model);
  candidate.sample = sample.value_or(0);
  if (source && offset) {
    candidate.path = list;
    candidate.offset = offset;
    KB_ASSIGN_OR_RETURN(candidate.language, InlineLanguage(entry));
    return candidate;
  }
  if (source && !path) {
    return Fail(ErrorCode::kUsage, "it needs a `path`; sources in the list itself belong in a .jsonl file");
  }
  if (!path || path->empty()) {
    candidate.path = list;
    candidate.language = InlineLanguage(entry).value_or("py");
    candidate.has_code = false;
    return candidate;
  }
  KB_ASSIGN_OR_RETURN(candidate.path, ResolvePath(list.parent_path(), *path));
  std::error_code ignored;
  if (fs::is_directory(candidate.path, ignored)) return candidate;
  candidate.language = LanguageOf(candidate.path);
  if (candidate.language.empty()) {
    return Fail(ErrorCode::kUsage,
                fmt::format("`path` {} is neither a .py nor a .cpp nor a .cu file, nor a folder", *path));
  }
  return candidate;
}

// What one list holds.
struct Listed {
  std::vector<RunCandidate> found;
  std::vector<std::string> left_out, notes;

  void Parse(const Json& entry, const fs::path& list, const std::string& model, std::optional<int64_t> offset,
             std::string place) {
    if (const std::string taken = TakenBeforeFiles(entry); !taken.empty())
      notes.push_back(fmt::format("{}: `{}` is taken, `files` is not", place, taken));
    Add(ParseEntry(entry, list, model, offset), std::move(place));
  }

  void Add(Result<RunCandidate> candidate, std::string place) {
    if (!candidate) {
      left_out.push_back(fmt::format("{}: left out, {}", place, candidate.error().message));
      return;
    }
    candidate->place = std::move(place);
    found.push_back(std::move(*candidate));
  }

  // An error if nothing can be used.
  Result<std::vector<RunCandidate>> End(const fs::path& list, std::vector<std::string>* said) {
    said->insert(said->end(), notes.begin(), notes.end());
    said->insert(said->end(), left_out.begin(), left_out.end());
    if (!found.empty() || left_out.empty()) return std::move(found);
    return Fail(ErrorCode::kUsage, fmt::format("{} holds no candidate that can be used ({} left out); the first is {}",
                                               list.string(), left_out.size(), left_out.front()));
  }
};

}  // namespace

std::string LanguageOf(const fs::path& file) {
  const std::string extension = file.extension();
  if (extension == ".py") return "py";
  if (extension == ".cu") return "cu";
  for (const char* cpp : {".cpp", ".cc", ".cxx", ".c"}) {
    if (extension == cpp) return "cpp";
  }
  return "";
}

Result<CandidateText> InlineSource(std::string_view line) {
  const auto entry = ParseJson(line);
  if (!entry || !entry->is_object()) return Fail(ErrorCode::kUsage, kNoObject);
  KB_ASSIGN_OR_RETURN(auto source, SourceOf(*entry));
  if (!source) return Fail(ErrorCode::kUsage, "it has no `source` any more");
  if (FilesOf(*entry) != nullptr && IsPacked(source->text)) {
    const std::string twice = RepeatedKey(line, "files");
    if (!twice.empty()) return CandidateText{PackedNothing(), fmt::format("`files`: {} is there twice", twice)};
  }
  return std::move(*source);
}

Result<std::vector<RunCandidate>> ReadCandidateArray(const fs::path& path, const std::string& model,
                                                     std::vector<std::string>* notes) {
  KB_ASSIGN_OR_RETURN(const Json list, ReadJsonFile(path));
  if (!list.is_array()) return Fail(ErrorCode::kUsage, fmt::format("{} is no array of candidates", path.string()));
  Listed listed;
  for (size_t i = 0; i < list.size(); ++i) {
    listed.Parse(list[i], path, model, std::nullopt, fmt::format("{}, entry {}", path.string(), i + 1));
  }
  return listed.End(path, notes);
}

Result<std::vector<RunCandidate>> ReadCandidateLines(const fs::path& path, const std::string& model,
                                                     std::vector<std::string>* notes) {
  KB_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  Listed listed;
  for (;;) {
    KB_ASSIGN_OR_RETURN(const auto line, lines.Next());
    if (!line) return listed.End(path, notes);
    std::string place = fmt::format("{}:{}", path.string(), lines.number());
    if (lines.too_long()) {
      listed.Add(Fail(ErrorCode::kUsage, fmt::format("the line is longer than {} bytes", kMaxLineBytes)),
                 std::move(place));
    } else if (line->find_first_not_of(" \t\r") != std::string_view::npos) {
      const auto entry = ParseJson(*line);
      listed.Parse(entry ? *entry : Json(), path, model, lines.offset(), std::move(place));
    }
  }
}

}  // namespace kb
