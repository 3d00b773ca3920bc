// Tables of cases for the rules: a text and the "rule:line" pairs it must give.
#ifndef JUDGE_STATIC_TEST_UTIL_H_
#define JUDGE_STATIC_TEST_UTIL_H_

#include <string>
#include <vector>

#include "judge/static/static_check.h"

namespace kb {

// The severities of a protocol under which every rule speaks.
StaticOptions AllRules(const std::string& backend = "");

// "rule:line" of each finding, in order.
std::vector<std::string> Found(const std::string& text, SourceKind kind, const StaticOptions& options = AllRules());

struct RuleCase {
  const char* text;
  std::vector<std::string> found;
};
// Each text gives exactly what the table says.
void ExpectFound(const std::vector<RuleCase>& cases, SourceKind kind);

}  // namespace kb

#endif  // JUDGE_STATIC_TEST_UTIL_H_
