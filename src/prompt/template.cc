#include "prompt/template.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>

#include "base/file.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostTemplateBytes = size_t{4} << 20;
constexpr const char* kKeys[] = {"description", "system",     "order",   "parts",   "contracts",
                                 "answers",     "precisions", "example", "examples"};

bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// Lays one file over a template.
class Overlay {
 public:
  Overlay(std::string file, PromptTemplate* target) : file_(std::move(file)), target_(target) {}

  Status Read(const toml::table& table) {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (std::find(std::begin(kKeys), std::end(kKeys), name) == std::end(kKeys)) {
        return Bad(value, fmt::format("there is no key {}; there are: {}", name, fmt::join(kKeys, ", ")));
      }
      if (name == "system" || name == "example" || name == "description") {
        std::string ignored;
        std::string* text = name == "system" ? &target_->system : name == "example" ? &target_->example : &ignored;
        KB_RETURN_IF_ERROR(String(name, value, text));
      } else if (name == "order") {
        KB_RETURN_IF_ERROR(Order(value));
      } else if (name == "examples") {
        KB_RETURN_IF_ERROR(Examples(value));
      } else {
        KB_RETURN_IF_ERROR(Texts(name, value));
      }
    }
    return {};
  }

 private:
  Status Bad(const toml::node& node, const std::string& what) const {
    return Fail(ErrorCode::kUsage, fmt::format("{}:{}: {}", file_, node.source().begin.line, what));
  }

  Status String(const std::string& name, const toml::node& node, std::string* text) const {
    const auto value = node.value_exact<std::string>();
    if (!value) return Bad(node, name + " must be a text");
    *text = *value;
    return {};
  }

  Status Order(const toml::node& node) {
    const toml::array* names = node.as_array();
    if (names == nullptr || names->empty()) return Bad(node, "order must be a list of the names of parts");
    target_->order.clear();
    for (const toml::node& each : *names) {
      std::string name;
      KB_RETURN_IF_ERROR(String("each name in order", each, &name));
      if (std::find(target_->order.begin(), target_->order.end(), name) != target_->order.end()) {
        return Bad(each, fmt::format("order names the part {} twice", name));
      }
      target_->order.push_back(name);
    }
    return {};
  }

  Status Texts(const std::string& key, const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return Bad(node, fmt::format("{} must be a table of texts", key));
    auto& texts = key == "parts"       ? target_->parts
                  : key == "contracts" ? target_->contracts
                  : key == "answers"   ? target_->answers
                                       : target_->precisions;
    const bool closed = key != "parts" && !texts.empty();  // only parts may be added
    for (const auto& [name, value] : *table) {
      const std::string entry(name.str());
      if (closed && !texts.contains(entry)) {
        std::vector<std::string> known;
        for (const auto& [each, text] : texts) known.push_back(each);
        return Bad(value, fmt::format("there is no {}.{}; there are: {}", key, entry, fmt::join(known, ", ")));
      }
      if (!std::all_of(entry.begin(), entry.end(), [](char c) { return IsNameCharacter(c) || c == '-'; })) {
        return Bad(value, fmt::format("{}.{}: names have small letters, digits and _", key, entry));
      }
      KB_RETURN_IF_ERROR(String(key + "." + entry, value, &texts[entry]));
    }
    return {};
  }

  Status Examples(const toml::node& node) {
    const toml::array* list = node.as_array();
    if (list == nullptr) return Bad(node, "examples must be written [[examples]]");
    target_->examples.clear();
    for (const toml::node& each : *list) {
      const toml::table* table = each.as_table();
      if (table == nullptr) return Bad(each, "examples must be written [[examples]]");
      PromptExample example;
      const std::pair<const char*, std::string*> members[] = {{"candidate", &example.candidate},
                                                              {"problem", &example.problem},
                                                              {"size", &example.size},
                                                              {"target", &example.target}};
      for (const auto& [key, value] : *table) {
        const auto member = std::find_if(std::begin(members), std::end(members),
                                         [name = key.str()](const auto& m) { return name == m.first; });
        if (member == std::end(members)) {
          return Bad(value, fmt::format("an example has no key {}; it has: candidate, problem, size, target",
                                        std::string(key.str())));
        }
        KB_RETURN_IF_ERROR(String(std::string(key.str()), value, member->second));
      }
      for (const auto& [key, member] : members) {
        if (member->empty()) return Bad(each, fmt::format("this example has no {}", key));
      }
      target_->examples.push_back(std::move(example));
    }
    return {};
  }

  std::string file_;
  PromptTemplate* target_;
};

tl::unexpected<Error> UnknownPlaceholder(const std::string& name, const Placeholders& values,
                                         const std::string& where) {
  std::vector<std::string> known;
  for (const auto& [each, ignored] : values) known.push_back(each);
  return Fail(
      ErrorCode::kUsage,
      fmt::format("{} has the placeholder {{{}}}, which does not exist; there are: {}; write {{{{{}}}}} for the "
                  "text itself",
                  where, name, fmt::join(known, ", "), name));
}

}  // namespace

Status PromptTemplate::LayOver(const fs::path& file) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMostTemplateBytes));
  try {
    const toml::table table = toml::parse(text);
    KB_RETURN_IF_ERROR(Overlay(file.string(), this).Read(table));
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}:{}: {}", file.string(), error.source().begin.line, error.description()));
  }
  for (const std::string& name : order) {
    if (parts.contains(name)) continue;
    std::vector<std::string> known;
    for (const auto& [each, ignored] : parts) known.push_back(each);
    return Fail(ErrorCode::kUsage, fmt::format("{}: order names the part {}, which does not exist; there are: {}",
                                               file.string(), name, fmt::join(known, ", ")));
  }
  return {};
}

Result<PromptTemplate> PromptTemplate::Load(const fs::path& directory, const fs::path& custom) {
  PromptTemplate result;
  KB_RETURN_IF_ERROR(result.LayOver(directory / "default.toml"));
  if (!custom.empty()) KB_RETURN_IF_ERROR(result.LayOver(custom));
  return result;
}

Result<FilledText> FillIn(std::string_view text, const Placeholders& values, const std::string& where) {
  FilledText filled;
  std::string& out = filled.text;
  for (size_t at = 0; at < text.size();) {
    const size_t open = std::min(text.find('{', at), text.size());
    out += text.substr(at, open - at);
    if (open == text.size()) break;
    const bool doubled = text.substr(open).starts_with("{{");
    const size_t begin = open + (doubled ? 2 : 1);
    size_t end = begin;
    while (end < text.size() && IsNameCharacter(text[end])) ++end;
    const bool name_like = end > begin && text[begin] >= 'a' && text[begin] <= 'z';
    if (!name_like || !text.substr(end).starts_with(doubled ? "}}" : "}")) {
      out += '{';
      at = open + 1;
      continue;
    }
    const std::string name(text.substr(begin, end - begin));
    at = end + (doubled ? 2 : 1);
    if (doubled) {
      out += "{" + name + "}";
      continue;
    }
    const auto value = values.find(name);
    if (value == values.end()) {
      return UnknownPlaceholder(name, values, where);
    }
    out += value->second;
    ++filled.placeholders;
    filled.empty += value->second.empty();
  }
  return filled;
}

}  // namespace kb
