// Makes text from outside fit for JSON: what a model or a server sends need not be UTF-8.
#ifndef BASE_UTF8_H_
#define BASE_UTF8_H_

#include <string>
#include <string_view>

namespace kb {

// Every byte that belongs to no well-formed UTF-8 sequence (RFC 3629: no surrogates, nothing overlong) as U+FFFD.
std::string ValidUtf8(std::string_view bytes);

// Its first `most` bytes; fewer where a character would be split.
std::string_view CutUtf8(std::string_view text, size_t most);

// JSON text in which each \uD800 to \uDFFF that has no partner is \uFFFD: some servers cut text between the two halves
// of a pair, and a strict parser refuses what is left.
std::string ReplaceLoneSurrogates(std::string_view json_text);

}  // namespace kb

#endif  // BASE_UTF8_H_
