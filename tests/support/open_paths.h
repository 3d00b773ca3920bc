// For tests that run as root: candidates are another user, who must come to the sources and to Python.
#ifndef TESTS_SUPPORT_OPEN_PATHS_H_
#define TESTS_SUPPORT_OPEN_PATHS_H_

#include <filesystem>
#include <vector>

namespace kb {

// From now on this process and its children see `paths` below directories that are open to everybody, in a mount
// namespace of their own. Changes nothing for other users than root, and where all is open already.
void OpenPaths(const std::vector<std::filesystem::path>& paths);

}  // namespace kb

#endif  // TESTS_SUPPORT_OPEN_PATHS_H_
