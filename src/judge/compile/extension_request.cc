#include "judge/compile/extension_request.h"

#include <algorithm>
#include <cctype>

namespace kb {
namespace {

using nlohmann::json;

constexpr const char* kSources[] = {"cpp", "cuda"};
constexpr const char* kFlags[] = {"cflags", "cuda_cflags", "ldflags", "include_paths"};
constexpr const char* kSwitches[] = {"error_handling", "implicit_headers"};

// A field, or null. By reference: copying and printing JSON are recursive, so one that nests a million times would
// exhaust our stack. Only what was seen to be flat is copied.
const json& Field(const json& object, const char* name) {
  static const json kNull;
  const auto found = object.find(name);
  return found == object.end() ? kNull : *found;
}

// A word of a command ends at a NUL, and what comes behind it would be lost.
bool IsText(const json& value) {
  return value.is_string() && value.get_ref<const std::string&>().find('\0') == std::string::npos;
}

bool IsListOfTexts(const json& list) { return list.is_array() && std::all_of(list.begin(), list.end(), IsText); }

// As extensions.key() makes it. Files are named after it.
bool IsKey(const json& value) {
  if (!value.is_string()) return false;
  const auto& key = value.get_ref<const std::string&>();
  return key.size() == 64 && key.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool IsIdentifier(const json& value) {
  if (!value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) { return isalnum(c) || c == '_'; });
}

// A path below a folder, in words that are no flags.
bool IsFileName(std::string_view name) {
  constexpr size_t kLongest = 200;
  if (name.empty() || name.size() > kLongest || name.ends_with('/')) return false;
  bool begins = true;
  for (const unsigned char c : name) {
    if (begins && (c == '-' || c == '.' || c == '/')) return false;
    if (!isalnum(c) && c != '_' && c != '.' && c != '+' && c != '-' && c != '/') return false;
    begins = c == '/';
  }
  return true;
}

// The files of `load`: none, or all that its sources are; bindings are added to neither.
bool HasUsableFiles(const json& request) {
  const json& files = Field(request, "files");
  if (!files.is_object() || files.size() > kMaxFiles) return false;
  if (files.empty()) return true;
  size_t bytes = 0;
  for (const auto& [name, text] : files.items()) {
    if (!IsFileName(name) || !IsText(text)) return false;
    for (size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
      if (files.contains(name.substr(0, end))) return false;  // a file cannot be a folder, too
    }
    bytes += text.get_ref<const std::string&>().size();
  }
  const auto is_file = [&](const json& name) { return files.contains(name.get_ref<const std::string&>()); };
  return bytes <= kMaxFileBytes && Field(request, "functions").empty() && !Field(request, "implicit_headers") &&
         std::all_of(std::begin(kSources), std::end(kSources), [&](const char* part) {
           return std::all_of(Field(request, part).begin(), Field(request, part).end(), is_file);
         });
}

bool IsUsable(const json& request) {
  if (!request.is_object() || !IsKey(Field(request, "key")) || !IsIdentifier(Field(request, "name"))) return false;
  const json& functions = Field(request, "functions");
  if (!functions.is_object() ||
      !std::all_of(functions.begin(), functions.end(), [](const json& text) { return text.is_primitive(); })) {
    return false;
  }
  for (const char* name : kSources) {
    if (!IsListOfTexts(Field(request, name))) return false;
  }
  size_t flag_bytes = Field(request, "name").get_ref<const std::string&>().size();  // a flag says it, too
  for (const char* name : kFlags) {
    const json& list = Field(request, name);
    if (!IsListOfTexts(list)) return false;
    for (const json& flag : list) flag_bytes += flag.get_ref<const std::string&>().size() + 3;
  }
  return flag_bytes <= kMaxFlagBytes &&
         std::all_of(std::begin(kSwitches), std::end(kSwitches),
                     [&](const char* name) { return Field(request, name).is_boolean(); }) &&
         HasUsableFiles(request);
}

ExtensionRequest Take(const json& request) {
  ExtensionRequest taken{Field(request, "key").get<std::string>(), json::object()};
  const auto take = [&](const char* name) { taken.description[name] = Field(request, name); };
  for (const char* name : {"name", "functions", "files"}) take(name);
  for (const char* name : kSources) take(name);
  for (const char* name : kFlags) take(name);
  for (const char* name : kSwitches) take(name);
  return taken;
}

}  // namespace

std::vector<ExtensionRequest> ReadCapture(std::string_view text) {
  std::vector<ExtensionRequest> requests;
  if (text.size() > kMaxCaptureBytes) return requests;
  const json captured = json::parse(text, nullptr, false);
  if (!captured.is_object()) return requests;
  const json& wanted = Field(captured, "extensions");
  if (!wanted.is_array()) return requests;
  for (const json& request : wanted) {
    if (requests.size() == kMaxExtensions) break;
    if (IsUsable(request)) requests.push_back(Take(request));
  }
  return requests;
}

std::optional<ExtensionRequest> ReadAsked(std::string_view text) {
  const json asked = json::parse(text, nullptr, false);
  return IsUsable(asked) ? std::optional(Take(asked)) : std::nullopt;
}

}  // namespace kb
