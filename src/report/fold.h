// Text that is no wider than a window.
#ifndef REPORT_FOLD_H_
#define REPORT_FOLD_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace kb {

// Lines that are wider than `columns` go on below, broken between words where that can be. What goes on begins under
// the line's second column, where it has one (two spaces or more after its first word), else a little further in than
// the line. Escape sequences of colours take no column.
std::string Fold(std::string_view text, size_t columns);

}  // namespace kb

#endif  // REPORT_FOLD_H_
