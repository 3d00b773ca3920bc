// Whole files, writes that appear at once or not at all, and where things are.
#ifndef BASE_FILE_H_
#define BASE_FILE_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kb {

// Reads at most `limit` bytes; a longer file is a usage error that names the limit.
Result<std::string> ReadFile(const std::filesystem::path& path, size_t limit = size_t{256} << 20);

// Writes beside `path`, then renames: readers see the old contents or the new, never a part.
Status WriteFileAtomic(const std::filesystem::path& path, std::string_view contents, unsigned mode = 0644);

// As many files may be open as the system allows, within reason: a build holds a descriptor for each of its sources.
void RaiseOpenFiles();

// The first executable of that name in $PATH, absolute. A name with a slash is a path of its own.
std::optional<std::string> FindProgram(const std::string& name);

// kernelbench below $XDG_CONFIG_HOME or ~/.config; empty where neither is known.
std::filesystem::path ConfigDirectory();

// $XDG_CACHE_HOME/kernelbench or ~/.cache/kernelbench; KERNELBENCH_CACHE overrides it.
std::filesystem::path CacheDirectory();

// Where this installation keeps its data (problems, protocols, prompts, examples, python): beside the running
// executable, found through /proc/self/exe, either in an installed tree (bin/.. + share/kernelbench) or in a source
// checkout.
struct Installation {
  std::filesystem::path libexec;   // runner and helper programs, libraries
  std::filesystem::path include;   // holds kernelbench/kernel.h
  std::filesystem::path python;    // holds kernelbench_torch/
  std::filesystem::path problems;  // holds level1/ ...
  std::filesystem::path protocols;
  std::filesystem::path prompts;
  std::filesystem::path examples;  // candidates that prompts show
  std::filesystem::path models;    // holds prices.toml
  std::filesystem::path calibrations;
  std::filesystem::path published;  // what others published
  std::filesystem::path rewards;
  std::filesystem::path web;  // pages that show results: index.html, app.js, style.css
};
Result<Installation> FindInstallation();

}  // namespace kb

#endif  // BASE_FILE_H_
