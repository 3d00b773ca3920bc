// Names of documents, whose parts may be any text: what a run, a model or a problem is called.
#ifndef PAGES_NAMES_H_
#define PAGES_NAMES_H_

#include <optional>
#include <string>
#include <string_view>

namespace kb {

// A part of a document's name: every byte but letters, digits, "_", "-" and a "." that is not the first is "~" and two
// hexadecimal digits; empty: "~". So it is a name of a file, too.
std::string NamePart(std::string_view text);
// And back; absent: it is no such part.
std::optional<std::string> TextOfNamePart(std::string_view part);

}  // namespace kb

#endif  // PAGES_NAMES_H_
