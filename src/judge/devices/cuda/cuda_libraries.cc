#include "judge/devices/cuda/cuda_libraries.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

namespace kb {
namespace {

constexpr const char* kKittens = "thunderkittens";

// How names of headers begin, by the library that they belong to.
constexpr std::pair<std::string_view, const char*> kHeaders[] = {
    {"cublas", "cublas"}, {"cudnn", "cudnn"}, {"cutlass/", "cutlass"}, {"cute/", "cutlass"}, {"kittens.cuh", kKittens}};

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

bool AsksForHeaders(std::string_view source) { return source.find("__has_include") != std::string_view::npos; }

}  // namespace

const std::vector<HeaderLibrary>& HeaderLibraries() {
  static const std::vector<HeaderLibrary> kLibraries = {
      {"cutlass", "CUTLASS", "cutlass/cutlass.h", {"KERNELBENCH_CUTLASS", "CUTLASS_PATH"}},
      {kKittens,
       "ThunderKittens",
       "kittens.cuh",
       {"KERNELBENCH_THUNDERKITTENS", "THUNDERKITTENS_ROOT", "THUNDERKITTENS_PATH"}}};
  return kLibraries;
}

std::string FindHeaders(const HeaderLibrary& library) {
  std::error_code ignored;
  for (const std::string& variable : library.variables) {
    const char* set = std::getenv(variable.c_str());
    if (set == nullptr || *set == '\0') continue;
    const std::string include = std::string(set) + "/include";
    if (std::filesystem::exists(std::filesystem::path(include) / library.header, ignored)) return include;
  }
  return "";
}

std::string HowToHave(const HeaderLibrary& library) {
  return fmt::format("set {} to the folder whose include/ has {}{}", library.variables.front(), library.header,
                     library.name == "cutlass" ? ", or install the Python package nvidia-cutlass" : "");
}

Status CheckHeaderLibraries(std::string_view source, const CudaLibraries& libraries) {
  if (AsksForHeaders(source)) return {};
  const std::vector<std::string> included = LibrariesIncludedBy(source);
  for (const HeaderLibrary& library : HeaderLibraries()) {
    const bool wanted = std::find(included.begin(), included.end(), library.name) != included.end();
    if (!wanted || libraries.contains(library.name)) continue;
    return Fail(ErrorCode::kUnavailable,
                fmt::format("the candidate needs the headers of {}, which were not found on this machine; {}",
                            library.title, HowToHave(library)));
  }
  return {};
}

Status CheckLibraries(std::string_view source, const CudaLibraries& libraries) {
  KB_RETURN_IF_ERROR(CheckHeaderLibraries(source, libraries));
  if (AsksForHeaders(source)) return {};
  for (const std::string& name : LibrariesIncludedBy(source)) {
    if (libraries.contains(name)) continue;
    return Fail(
        ErrorCode::kUnavailable,
        fmt::format("the candidate needs {}, which neither this PyTorch nor the CUDA toolkit has; install it, or "
                    "set CUDA_HOME to a toolkit that has it",
                    name));
  }
  return {};
}

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
  if (name == kKittens) AddStates(library.include, &lines);  // its header includes all that lies beside it
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
