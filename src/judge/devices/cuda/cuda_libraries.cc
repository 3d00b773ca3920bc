#include "judge/devices/cuda/cuda_libraries.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

namespace kb {
namespace {

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

void AddState(const std::filesystem::path& file, std::set<std::string>* lines) {
  struct stat info;
  if (stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  lines->insert(
      fmt::format("{} {} {}.{:09}\n", file.string(), info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec));
}

// All that lies under a path, in no order.
void AddStates(const std::filesystem::path& path, std::set<std::string>* lines) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return AddState(path, lines);
  for (std::filesystem::recursive_directory_iterator file(path, ignored), end; file != end; file.increment(ignored)) {
    AddState(file->path(), lines);
  }
}

}  // namespace

std::vector<std::string> FoldersOf(const CudaLibraries& libraries) {
  std::set<std::string> folders;
  for (const auto& [name, library] : libraries) {
    for (const std::filesystem::path file : library.files) folders.insert(file.parent_path());
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

std::string StateOf(const std::string& name, const CudaLibrary& library) {
  std::set<std::string> lines;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(library.include, ignored), end; entry != end;
       entry.increment(ignored)) {
    const std::string file = entry->path().filename().string() + (entry->is_directory(ignored) ? "/" : "");
    for (const auto& [beginning, of] : kHeaders) {
      if (of == name && file.starts_with(beginning)) AddStates(entry->path(), &lines);
    }
  }
  for (const auto& file : library.files) AddState(file, &lines);
  std::string state;
  for (const std::string& line : lines) state += line;
  return state;
}

}  // namespace kb
