// Tables of words: each row is a rule, its reason, and the names it holds for, separated by spaces.
#ifndef JUDGE_STATIC_TABLE_LOOKUP_H_
#define JUDGE_STATIC_TABLE_LOOKUP_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "judge/static/tables.h"

namespace kb {

struct TableRow {
  NameRule rule;
  const char* prefix;  // put before each name
  const char* names;
};

class NameTable {
 public:
  NameTable(std::initializer_list<TableRow> rows);
  // The row of the name itself, else of its nearest parent: a row "torch.fft." holds for what is in torch.fft, a row
  // "torch.mm" for torch.mm and what is in it. Null if there is none, or one whose reason is empty.
  const NameRule* Find(std::string_view name, std::string_view separator = ".") const;

 private:
  std::unordered_map<std::string, NameRule> rules_;
};

}  // namespace kb

#endif  // JUDGE_STATIC_TABLE_LOOKUP_H_
