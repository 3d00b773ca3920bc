// Text that occurs in an agent's task folder.
#ifndef AGENTS_SEARCH_H_
#define AGENTS_SEARCH_H_

#include <string>

#include "agents/box.h"
#include "base/result.h"

namespace kb {

struct SearchRequest {
  std::string pattern;
  bool plain = false;      // it is text, not a regular expression (Perl's, or where grep lacks those, POSIX's)
  std::string path = ".";  // a file, or a folder with all that is below it
};

// Lines "path:number:text", sorted, at most so many as fit an answer; binary files and links are left out. A command in
// the box, so neither an expression without end nor what is found costs more than a command may. Errors are texts for a
// model.
Result<std::string> Search(Box* box, const SearchRequest& request);

}  // namespace kb

#endif  // AGENTS_SEARCH_H_
