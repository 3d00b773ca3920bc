// The folder that a site is written to: whose it is, and how a new one takes its place.
#ifndef PAGES_SITE_FOLDER_H_
#define PAGES_SITE_FOLDER_H_

#include <filesystem>

#include "base/result.h"
#include "base/temp_dir.h"

namespace kb {

inline constexpr char kSiteMarker[] = ".kernelbench-site";  // in a folder that may be replaced

// kUsage: it is neither new nor empty nor one with a marker.
Status CheckSiteFolder(const std::filesystem::path& folder);

// Two files change places, or an errno; EINVAL where the file system cannot do that.
using Exchange = int (*)(const char* a, const char* b);
int ExchangeFiles(const char* a, const char* b);

// `made`, which lies beside it, takes the place of `folder` and its mode; what was there goes. After an error it is
// still there. kUsage: as CheckSiteFolder().
Status PublishFolder(TempDir* made, const std::filesystem::path& folder, Exchange exchange = ExchangeFiles);

}  // namespace kb

#endif  // PAGES_SITE_FOLDER_H_
