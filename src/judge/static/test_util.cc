#include "judge/static/test_util.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kb {

StaticOptions AllRules(const std::string& backend) {
  StaticOptions options;
  options.backend = backend;
  for (auto& [rule, severity] : options.severities) severity = "error";
  return options;
}

std::vector<std::string> Found(const std::string& text, SourceKind kind, const StaticOptions& options) {
  std::vector<std::string> found;
  for (const StaticFinding& each : StaticCheck({{text, kind}}, options)) {
    found.push_back(each.rule + ":" + std::to_string(each.line));
  }
  return found;
}

void ExpectFound(const std::vector<RuleCase>& cases, SourceKind kind) {
  for (const RuleCase& each : cases) {
    EXPECT_THAT(Found(each.text, kind), testing::ElementsAreArray(each.found)) << each.text;
  }
}

}  // namespace kb
