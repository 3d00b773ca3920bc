// How deep a JSON text nests and how much it holds, before it is parsed: a parsed value takes ten times as much memory
// as its text, and much that handles it calls itself for what is nested.
#ifndef BASE_JSON_SHAPE_H_
#define BASE_JSON_SHAPE_H_

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace kb {

inline constexpr size_t kMostDepth = 32, kMostValues = 500'000;

// kUsage: it nests deeper than kMostDepth or holds more than kMostValues. Takes any text.
Status CheckShape(std::string_view text);

}  // namespace kb

#endif  // BASE_JSON_SHAPE_H_
