#include "judge/static/candidate_check.h"

#include <optional>

namespace kb {

namespace {

// Of a folder's files; nothing for one that is no source text.
std::optional<SourceKind> SourceKindOf(const std::filesystem::path& path) {
  const std::string extension = path.extension();
  if (extension == ".py") return SourceKind::kPython;
  if (extension == ".cu" || extension == ".cuh") return SourceKind::kCuda;
  for (const char* cpp : {".cpp", ".cc", ".cxx", ".c", ".h", ".hh", ".hpp", ".inc", ".inl"}) {
    if (extension == cpp) return SourceKind::kCpp;
  }
  return std::nullopt;
}

}  // namespace

std::vector<StaticSource> StaticSourcesOf(const Candidate& candidate) {
  if (!IsPacked(candidate.source)) {
    const bool module = candidate.kind == CandidateKind::kModule, cuda = candidate.path.extension() == ".cu";
    return {{candidate.source, module ? SourceKind::kPython : cuda ? SourceKind::kCuda : SourceKind::kCpp}};
  }
  std::vector<StaticSource> sources;
  for (auto& [path, text] : Unpack(candidate.source).value_or(FolderFiles())) {
    if (const auto kind = SourceKindOf(path)) sources.push_back({text, *kind, path});
  }
  return sources;
}

std::vector<StaticFinding> StaticCheckCandidate(const Candidate& candidate, const Protocol& protocol) {
  const std::string& backend = protocol.backend.empty() ? candidate.backend : protocol.backend;
  return StaticCheck(StaticSourcesOf(candidate), {backend, protocol.precision, protocol.static_rules});
}

}  // namespace kb
