// Foreign text as indented lines of a terminal: clean, broken at a width, and only its head and tail where it is long.
#ifndef GENERATE_TEXT_BLOCK_H_
#define GENERATE_TEXT_BLOCK_H_

#include <string>
#include <string_view>
#include <vector>

namespace kb {

struct BlockOptions {
  size_t columns = 100;
  size_t indent = 0;
  size_t head = 0, tail = 0;  // lines; both 0: all
};

// Ends with a newline, unless the text is empty.
std::string TextBlock(std::string_view text, const BlockOptions& options);

// Short clean texts beside each other, as many to a line as there is room for.
std::string Joined(const std::vector<std::string>& parts, size_t columns, size_t indent);

}  // namespace kb

#endif  // GENERATE_TEXT_BLOCK_H_
