// JSON as other programs write it. A value that is null counts as absent.
#ifndef INTEROP_JSON_FILE_H_
#define INTEROP_JSON_FILE_H_

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace kb {

// Keys in the order of the file: KernelBench's analysis pairs files by position.
using Json = nlohmann::ordered_json;

// `text` with null for NaN, Infinity and -Infinity outside of strings: Python's json writes them, and they are no JSON.
std::string WithoutBareWords(std::string_view text);

// The value of a text as other programs write it: such words are null, and half a surrogate pair in a string ("\ud800")
// is U+FFFD. What is no JSON in UTF-8 is a usage error that says where.
Result<Json> ParseJson(std::string_view text);

// A key that the object `member` of the text's object has more than once, of which ParseJson() keeps the last; empty if
// there is none.
std::string RepeatedKey(std::string_view text, std::string_view member);

// The file's one value, read as ParseJson() does; a byte order mark is skipped. Errors are kUsage and name the file and
// the place in it.
Result<Json> ReadJsonFile(const std::filesystem::path& path);

// Members of an object: absent if not there or null, an error sentence ("`mean` is no number") if of another type.
Result<std::optional<double>> NumberMember(const Json& object, const char* key);
Result<std::optional<std::string>> TextMember(const Json& object, const char* key);
// From 0 to a thousand million; digits in a text count too.
Result<std::optional<int>> CountMember(const Json& object, const char* key);

// Digits and nothing else, up to a thousand million.
std::optional<int> ParseCount(std::string_view text);

// Pretty-printed, with a newline at the end; bytes that are not UTF-8 become U+FFFD.
std::string FileText(const Json& value);

}  // namespace kb

#endif  // INTEROP_JSON_FILE_H_
