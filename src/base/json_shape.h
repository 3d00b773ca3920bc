// How deep a JSON text nests and how much it holds, before it is parsed: a parsed value takes ten times as much memory
// as its text, and much that handles it calls itself for what is nested.
#ifndef BASE_JSON_SHAPE_H_
#define BASE_JSON_SHAPE_H_

#include <cstddef>
#include <string_view>

#include "base/result.h"

namespace kb {

inline constexpr size_t kMostDepth = 32, kMostValues = 500'000;

// kUsage: it nests deeper or holds more values. Takes any text.
Status CheckShape(std::string_view text, size_t most_depth = kMostDepth, size_t most_values = kMostValues);

}  // namespace kb

#endif  // BASE_JSON_SHAPE_H_
