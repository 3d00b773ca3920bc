#include "model/key.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = size_t{1} << 16;

std::string Trimmed(std::string text) {
  const auto is_space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), is_space));
  text.erase(std::find_if_not(text.rbegin(), text.rend(), is_space).base(), text.end());
  return text;
}

// The last line that names it; empty: there is none.
std::string ValueIn(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::string value;
  for (std::string line; std::getline(lines, line);) {
    line = Trimmed(line);
    if (line.starts_with("export ")) line = Trimmed(line.substr(7));
    const size_t equals = line.find('=');
    if (equals == std::string::npos || Trimmed(line.substr(0, equals)) != name) continue;
    value = Trimmed(line.substr(equals + 1));
    const bool quoted = value.size() > 1 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
    if (quoted) value = value.substr(1, value.size() - 2);
  }
  return value;
}

std::vector<fs::path> Files() {
  std::error_code ignored;
  return {fs::current_path(ignored) / ".env", ConfigDirectory() / ".env"};
}

}  // namespace

FoundKey FindKey(const std::string& name) {
  if (name.empty()) return {};
  const char* const set = std::getenv(name.c_str());
  if (std::string value = Trimmed(set ? set : ""); !value.empty()) return {std::move(value), "the environment"};
  for (const fs::path& file : Files()) {
    const auto text = ReadFile(file, kMostBytes);
    if (!text) continue;
    std::string value = ValueIn(*text, name);
    if (value.empty()) continue;
    struct stat status {};
    const bool exposed = stat(file.c_str(), &status) == 0 && (status.st_mode & (S_IRGRP | S_IROTH)) != 0;
    return {std::move(value), file.string(), exposed};
  }
  return {};
}

}  // namespace kb
