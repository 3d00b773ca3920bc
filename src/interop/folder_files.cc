#include "interop/folder_files.h"

#include <fmt/format.h>

#include <system_error>

#include "base/file.h"

namespace kb {

namespace fs = std::filesystem;

Status MakeDirectory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) return {};
  return Fail(ErrorCode::kUnavailable, fmt::format("cannot make {}: {}", directory.string(), error.message()));
}

Status WriteFolder(const fs::path& folder, const FolderFiles& files) {
  for (const auto& [path, text] : files) {
    KB_RETURN_IF_ERROR(MakeDirectory((folder / path).parent_path()));
    KB_RETURN_IF_ERROR(WriteFileAtomic(folder / path, text));
  }
  return {};
}

Status MakeNewDirectory(const fs::path& directory) {
  std::error_code error;
  if (fs::exists(directory, error) && (!fs::is_directory(directory, error) || !fs::is_empty(directory, error))) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} is not empty: name a directory that is not there yet", directory.string()));
  }
  return MakeDirectory(directory);
}

}  // namespace kb
