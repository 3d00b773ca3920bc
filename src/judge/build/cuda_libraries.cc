#include "judge/build/cuda_libraries.h"

#include <algorithm>
#include <set>

namespace kb {
namespace {

using nlohmann::json;

// How names of headers begin, by the library that they belong to.
constexpr std::pair<std::string_view, const char*> kHeaders[] = {
    {"cublas", "cublas"}, {"cudnn", "cudnn"}, {"cutlass/", "cutlass"}, {"cute/", "cutlass"}};

// What "#include <name>" or "#include "name"" includes; empty: the line is none.
std::string_view IncludedBy(std::string_view line) {
  const auto skip_blanks = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
  for (const std::string_view word : {"#", "include"}) {
    skip_blanks();
    if (!line.starts_with(word)) return {};
    line.remove_prefix(word.size());
  }
  skip_blanks();
  if (line.empty() || (line[0] != '<' && line[0] != '"')) return {};
  line.remove_prefix(1);
  return line.substr(0, line.find_first_of(">\""));
}

}  // namespace

CudaLibraries CudaLibrariesOf(const json& told) {
  CudaLibraries libraries;
  for (const auto& [name, one] : told.items()) {
    CudaLibrary& library = libraries[name];
    library.include = one.at("include").get<std::string>();
    for (const json& file : one.at("files")) library.files.emplace_back(file.get<std::string>());
  }
  return libraries;
}

std::vector<std::string> FoldersOf(const CudaLibraries& libraries) {
  std::set<std::string> folders;
  for (const auto& [name, library] : libraries) {
    for (const auto& file : library.files) folders.insert(file.parent_path());
  }
  return {folders.begin(), folders.end()};
}

std::vector<std::string> LibrariesIncludedBy(std::string_view source) {
  std::set<std::string> names;
  while (!source.empty()) {
    const size_t end = std::min(source.find('\n'), source.size());
    const std::string_view header = IncludedBy(source.substr(0, end));
    for (const auto& [beginning, name] : kHeaders) {
      if (header.starts_with(beginning)) names.insert(name);
    }
    source.remove_prefix(std::min(end + 1, source.size()));
  }
  return {names.begin(), names.end()};
}

}  // namespace kb
