// Results as files: a folder for any web server, and one page that holds everything.
#ifndef PAGES_SITE_H_
#define PAGES_SITE_H_

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pages/pages.h"

namespace kb {

inline constexpr size_t kMostCompared = 12;  // models of which each two are compared

struct SiteOptions {
  PagesView view;     // without what `view.left_out` names: rounds, conversations, sources
  std::string start;  // of a page: the address that it shows first, as "#/leaderboard"; empty: its own choice
  size_t most_bytes = size_t{200} << 20;  // of a page's documents
  // Before each document; an error ends it.
  std::function<Status(size_t done, size_t all)> progress{};
};

struct SiteWritten {
  size_t documents = 0, entries = 0;
  uint64_t bytes = 0;
  std::vector<std::string> left_out;  // kinds of documents, and how many single ones
  size_t not_compared = 0;            // models beyond kMostCompared
};

// Writes index.html, app.js, style.css and data/. The folder must be new, empty or one that this made; what was there
// is replaced at once, when all is written, and stays as it is after an error. Documents whose names no file system
// takes, and those of evaluations that the store cannot read, are left out. kUsage: it is another folder.
Result<SiteWritten> WriteSite(Pages* pages, const std::filesystem::path& web, const std::filesystem::path& folder,
                              const SiteOptions& options);

// One HTML file with all documents, which needs nothing else: its Content-Security-Policy lets its own script and style
// alone be used, by their hashes. Where documents are more than `most_bytes`, rounds are left out, then conversations,
// then sources.
Result<SiteWritten> WritePage(Pages* pages, const std::filesystem::path& web, const std::filesystem::path& file,
                              const SiteOptions& options);

}  // namespace kb

#endif  // PAGES_SITE_H_
