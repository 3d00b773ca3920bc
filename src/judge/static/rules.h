// The rules of static analysis by name, and what a rule says about a candidate. docs/reference/static.md shows each by
// example.
#ifndef JUDGE_STATIC_RULES_H_
#define JUDGE_STATIC_RULES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kb {

enum class Severity { kOff, kWarning, kError };

std::string_view SeverityName(Severity severity);
std::optional<Severity> SeverityFromName(std::string_view name);

struct StaticRule {
  const char* name;
  Severity severity;  // unless a protocol says otherwise
  const char* meaning;
};

// The first are KernelBench's, by its names; the others are for what it misses.
const std::vector<StaticRule>& StaticRules();
bool IsStaticRule(std::string_view name);
// Name of the rule -> "error", "warning" or "off".
std::map<std::string, std::string> DefaultSeverities();

// One place in a text that a rule speaks of, before severities are known.
struct RuleHit {
  std::string rule;
  size_t byte = 0;  // in the text that was analysed
  std::string reason;
};

}  // namespace kb

#endif  // JUDGE_STATIC_RULES_H_
