#include "judge/static/table_lookup.h"

#include <sstream>
#include <string>

namespace kb {

NameTable::NameTable(std::initializer_list<TableRow> rows) {
  for (const TableRow& row : rows) {
    std::istringstream names(row.names);
    for (std::string name; names >> name;) rules_.emplace(row.prefix + name, row.rule);
  }
}

const NameRule* NameTable::Find(std::string_view name, std::string_view separator) const {
  const auto found = [](const NameRule& rule) { return rule.reason[0] == '\0' ? nullptr : &rule; };
  for (std::string key(name);;) {
    if (const auto at = rules_.find(key); at != rules_.end()) return found(at->second);
    const size_t dot = key.rfind(separator);
    if (dot == std::string::npos) return nullptr;
    key.resize(dot + separator.size());  // "a.b.c", "a.b.", "a.b", "a.", "a"
    if (const auto at = rules_.find(key); at != rules_.end()) return found(at->second);
    key.resize(dot);
  }
}

}  // namespace kb
