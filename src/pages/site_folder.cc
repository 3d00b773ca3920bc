#include "pages/site_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <cerrno>
#include <system_error>

namespace kb {

namespace fs = std::filesystem;

namespace {

auto NotPut(const fs::path& folder, const std::error_code& error, const std::string& old) {
  return Fail(ErrorCode::kEngine, fmt::format("cannot put the new folder in the place of {}: {}; {}", folder.string(),
                                              error.message(), old));
}

// For a moment there is no folder.
Status ReplaceInTwoSteps(TempDir* made, const fs::path& folder) {
  KB_ASSIGN_OR_RETURN(TempDir aside, TempDir::Create(kSiteMarker, folder.parent_path()));
  std::error_code error, back;
  fs::rename(folder, aside.path(), error);
  if (error) return NotPut(folder, error, "what was there is as it was");
  fs::rename(made->path(), folder, error);
  if (!error) {
    made->Release();
    return {};
  }
  fs::rename(aside.path(), folder, back);
  if (!back) return NotPut(folder, error, "what was there is as it was");
  const std::string kept = aside.path().string();
  aside.Release();
  return NotPut(folder, error, fmt::format("what was there is {} now", kept));
}

}  // namespace

Status CheckSiteFolder(const fs::path& folder) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(folder, error);
  if (status.type() == fs::file_type::not_found) return {};
  if (status.type() != fs::file_type::directory) {
    return Fail(ErrorCode::kUsage, fmt::format("{} is no folder: choose a new one", folder.string()));
  }
  if (fs::is_empty(folder, error) || fs::exists(folder / kSiteMarker, error)) return {};
  if (error) return Fail(ErrorCode::kUsage, fmt::format("cannot read {}: {}", folder.string(), error.message()));
  return Fail(ErrorCode::kUsage,
              fmt::format("{} holds files that `kernelbench site` did not write: choose a new or empty folder",
                          folder.string()));
}

int ExchangeFiles(const char* a, const char* b) {
  return ::renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0 ? 0 : errno;
}

Status PublishFolder(TempDir* made, const fs::path& folder, Exchange exchange) {
  KB_RETURN_IF_ERROR(CheckSiteFolder(folder));  // again: somebody may have put something there meanwhile
  std::error_code error;
  const fs::file_status old = fs::status(folder, error);
  const bool is_there = fs::exists(old);
  fs::permissions(made->path(), is_there ? old.permissions() : fs::perms(0755), error);
  if (!is_there) {
    fs::rename(made->path(), folder, error);
    if (error) return NotPut(folder, error, "nothing is there");
    made->Release();
    return {};
  }
  const int failed = exchange(made->path().c_str(), folder.c_str());
  if (failed == 0) return {};
  if (failed == EINVAL || failed == ENOSYS) return ReplaceInTwoSteps(made, folder);
  return NotPut(folder, {failed, std::generic_category()}, "what was there is as it was");
}

}  // namespace kb
