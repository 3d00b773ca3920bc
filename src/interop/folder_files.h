// Candidates as files.
#ifndef INTEROP_FOLDER_FILES_H_
#define INTEROP_FOLDER_FILES_H_

#include <filesystem>

#include "base/result.h"
#include "judge/candidate/folder.h"

namespace kb {

// With those above it. kUnavailable where it cannot be made.
Status MakeDirectory(const std::filesystem::path& directory);
// kUsage if it is there and holds anything, or is no directory: nothing that is there is written over.
Status MakeNewDirectory(const std::filesystem::path& directory);
Status WriteFolder(const std::filesystem::path& folder, const FolderFiles& files);

}  // namespace kb

#endif  // INTEROP_FOLDER_FILES_H_
