// What the pages of web/ show: documents made of the store, each JSON with a name that is its address below
// /v1/pages/, its path below data/ in a folder and its key in a report (docs/reference/pages.md; web/src/documents.ts
// has the same as types). Nothing here knows what a page looks like.
#ifndef PAGES_PAGES_H_
#define PAGES_PAGES_H_

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/store.h"

namespace kb {

// A part of a document's name: every byte but letters, digits, "_", "-" and a "." that is not the first is "~" and two
// hexadecimal digits; empty: "~". And back; absent: it is no such part.
std::string NamePart(std::string_view text);
std::optional<std::string> TextOfNamePart(std::string_view part);

struct PagesOptions {
  // Runs that may be seen; empty: all.
  std::function<bool(const std::string& run)> may_see;
  StoreFilter filter;  // what a report or a folder is cut down to
};

// Thread-safe as far as the store is.
class Pages {
 public:
  Pages(const Store* store, PagesOptions options);
  // Compact JSON. kUsage: there is no such document.
  Result<std::string> Document(std::string_view name);
};

}  // namespace kb

#endif  // PAGES_PAGES_H_
