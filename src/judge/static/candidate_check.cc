#include "judge/static/candidate_check.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

namespace kb {

namespace {

enum class FileKind { kPython, kNative, kData };

// Of a folder's file by its name. A compiler reads any file, so all are native code but those that are known to be
// none.
FileKind KindByName(const std::filesystem::path& path) {
  const std::string extension = path.extension();
  if (extension == ".py") return FileKind::kPython;
  for (const char* data :
       {".cfg", ".csv", ".ini", ".json", ".jsonl", ".md", ".rst", ".toml", ".tsv", ".txt", ".yaml", ".yml"}) {
    if (extension == data) return FileKind::kData;
  }
  return FileKind::kNative;
}

SourceKind NativeKind(const std::filesystem::path& path) {
  const std::string extension = path.extension();
  return extension == ".cu" || extension == ".cuh" ? SourceKind::kCuda : SourceKind::kCpp;
}

// Calls `found` with the file names that the line has between quotes or angle brackets, without folders.
template <typename Found>
void ForNamesIn(std::string_view line, Found found) {
  size_t begin = 0;
  char opened = 0;  // the quote, bracket or slash before `begin`
  for (size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (c != '"' && c != '\'' && c != '<' && c != '>' && c != '/') continue;
    if (c != '<' && c != '/' && opened != 0) {
      std::string_view name = line.substr(begin, at - begin);
      if (name.ends_with('\\')) name.remove_suffix(1);  // a quote in a string of Python's
      found(name);
    }
    opened = c;
    begin = at + 1;
  }
}

// Files of data and Python that native code includes: Python in which a line says "include", and all native code.
class Inclusions {
 public:
  explicit Inclusions(const FolderFiles& files) : files_(files) {
    for (const auto& [path, text] : files) {
      const FileKind kind = KindByName(path);
      if (kind != FileKind::kNative) by_name_[std::filesystem::path(path).filename()].push_back(path);
      if (kind != FileKind::kData) to_read_.emplace_back(path, kind == FileKind::kNative);
    }
  }

  std::set<std::string> Find() {
    while (!to_read_.empty()) {
      const auto [path, native] = to_read_.front();
      to_read_.pop_front();
      Read(files_.at(path), native);
    }
    return included_;
  }

 private:
  void Read(std::string_view text, bool native) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      if (!native && line.find("include") == line.npos) continue;
      ForNamesIn(line, [&](std::string_view name) {
        const auto named = by_name_.find(name);
        if (named == by_name_.end()) return;
        for (const std::string& path : named->second) {
          included_.insert(path);
          to_read_.emplace_back(path, true);
        }
        by_name_.erase(named);
      });
    }
  }

  const FolderFiles& files_;
  std::map<std::string, std::vector<std::string>, std::less<>> by_name_;
  std::deque<std::pair<std::string, bool>> to_read_;  // path, and whether it is native code
  std::set<std::string> included_;
};

// The one that defines ModelNew first, then the small ones.
void Order(std::vector<StaticSource>* sources) {
  const auto rank = [](const StaticSource& each) {
    return std::tuple(each.file != kFolderEntry, each.text.size(), std::string_view(each.file));
  };
  std::stable_sort(sources->begin(), sources->end(),
                   [&](const StaticSource& a, const StaticSource& b) { return rank(a) < rank(b); });
}

}  // namespace

std::vector<StaticSource> StaticSourcesOf(const Candidate& candidate) {
  if (!IsPacked(candidate.source)) {
    const bool module = candidate.kind == CandidateKind::kModule, cuda = candidate.path.extension() == ".cu";
    return {{candidate.source, module ? SourceKind::kPython : cuda ? SourceKind::kCuda : SourceKind::kCpp}};
  }
  std::vector<StaticSource> sources;
  const FolderFiles files = Unpack(candidate.source).value_or(FolderFiles());
  const std::set<std::string> included = Inclusions(files).Find();
  for (const auto& [path, text] : files) {
    const FileKind kind = KindByName(path);
    if (kind == FileKind::kPython) sources.push_back({text, SourceKind::kPython, path});
    if (kind == FileKind::kNative || included.contains(path)) sources.push_back({text, NativeKind(path), path});
  }
  Order(&sources);
  return sources;
}

std::vector<StaticFinding> StaticCheckCandidate(const Candidate& candidate, const Protocol& protocol) {
  const std::string& backend = protocol.backend.empty() ? candidate.backend : protocol.backend;
  return StaticCheck(StaticSourcesOf(candidate), {backend, protocol.precision, protocol.static_rules});
}

}  // namespace kb
