#include "interop/json_file.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <set>

#include "base/file.h"
#include "base/utf8.h"

namespace kb {
namespace {

constexpr int kMaxCount = 1'000'000'000;

const Json* Member(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

Result<Json> ParseStrictly(std::string_view text) {
  constexpr int kMaxDepth = 64;  // values are copied and written recursively
  bool too_deep = false;
  try {
    Json value = Json::parse(text, [&](int depth, Json::parse_event_t, Json&) {
      too_deep |= depth > kMaxDepth;
      return depth <= kMaxDepth;
    });
    if (!too_deep) return value;
    return Fail(ErrorCode::kUsage, fmt::format("nested more than {} deep", kMaxDepth));
  } catch (const nlohmann::json::exception& exception) {
    return Fail(ErrorCode::kUsage, fmt::format("no JSON: {}", exception.what()));
  }
}

bool IsWordByte(char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-'; }

// The end of the string whose opening quote is at `begin`.
size_t EndOfString(std::string_view text, size_t begin) {
  for (size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace

std::string WithoutBareWords(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') {
      end = EndOfString(text, at);
    } else if (IsWordByte(text[at])) {
      while (end < text.size() && IsWordByte(text[end])) ++end;
    }
    const std::string_view part = text.substr(at, end - at);
    plain += part == "NaN" || part == "Infinity" || part == "-Infinity" ? "null" : part;
    at = end;
  }
  return plain;
}

Result<Json> ParseJson(std::string_view text) {
  if (auto strict = ParseStrictly(text)) return strict;
  return ParseStrictly(ReplaceLoneSurrogates(WithoutBareWords(text)));
}

std::string RepeatedKey(std::string_view text, std::string_view member) {
  std::string outer, repeated;
  std::set<std::string> seen;
  const auto note = [&](int depth, Json::parse_event_t event, Json& value) {
    if (event != Json::parse_event_t::key) return true;
    const auto key = value.get<std::string>();
    if (depth == 1) outer = key;
    if (depth == 2 && outer == member && !seen.insert(key).second && repeated.empty()) repeated = key;
    return true;
  };
  const Json read = Json::parse(ReplaceLoneSurrogates(WithoutBareWords(text)), note, false);
  return repeated;
}

Result<Json> ReadJsonFile(const std::filesystem::path& path) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  auto value = ParseJson(text);
  if (!value) return Fail(ErrorCode::kUsage, fmt::format("{} is {}", path.string(), value.error().message));
  return value;
}

Result<std::optional<double>> NumberMember(const Json& object, const char* key) {
  const Json* value = Member(object, key);
  if (value == nullptr) return std::optional<double>();
  if (!value->is_number()) return Fail(ErrorCode::kUsage, fmt::format("`{}` is no number", key));
  return std::optional(value->get<double>());
}

Result<std::optional<std::string>> TextMember(const Json& object, const char* key) {
  const Json* value = Member(object, key);
  if (value == nullptr) return std::optional<std::string>();
  if (!value->is_string()) return Fail(ErrorCode::kUsage, fmt::format("`{}` is no text", key));
  return std::optional(value->get<std::string>());
}

Result<std::optional<int>> CountMember(const Json& object, const char* key) {
  const Json* value = Member(object, key);
  if (value == nullptr) return std::optional<int>();
  std::optional<int> count;
  if (value->is_string()) count = ParseCount(value->get_ref<const std::string&>());
  if (value->is_number_unsigned() && value->get<uint64_t>() <= kMaxCount) count = value->get<int>();
  if (!count) return Fail(ErrorCode::kUsage, fmt::format("`{}` is no whole number from 0 to {}", key, kMaxCount));
  return count;
}

std::optional<int> ParseCount(std::string_view text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 0 || count > kMaxCount) return std::nullopt;
  return count;
}

std::string FileText(const Json& value) { return value.dump(4, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace kb
