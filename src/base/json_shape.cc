#include "base/json_shape.h"

#include <fmt/format.h>

namespace kb {

Status CheckShape(std::string_view text, size_t most_depth, size_t most_values) {
  size_t depth = 0, values = 1;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      ++values;
      if (++depth > most_depth) return Fail(ErrorCode::kUsage, fmt::format("/: it nests deeper than {}", most_depth));
    } else if (c == ']' || c == '}') {
      if (depth > 0) --depth;
    } else if (c == ',') {
      ++values;
    }
    if (values > most_values) return Fail(ErrorCode::kUsage, fmt::format("/: it has more than {} values", most_values));
  }
  return {};
}

}  // namespace kb
