// What the text of a candidate tells before anything is built: parsed, never matched as text, so words in comments,
// docstrings and longer identifiers mean nothing. It can be fooled by whoever tries; the rounds are what judges.
#ifndef JUDGE_STATIC_STATIC_CHECK_H_
#define JUDGE_STATIC_STATIC_CHECK_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "judge/static/rules.h"

namespace kb {

struct StaticFinding {
  std::string file;  // of a candidate that is a folder; else empty
  std::string rule;
  Severity severity = Severity::kWarning;
  int line = 1, column = 1;  // in the file, from 1; columns in bytes
  std::string reason;
  std::string excerpt;   // the line of the file, trimmed and cut
  std::string language;  // "python", "cpp" or "cuda"
  std::string where;     // "string at line N" for source inside a Python string; else empty
};

struct StaticOptions {
  std::string backend;             // KernelBench's name, "native", or "torch" for a module without a kernel
  std::string precision = "fp32";  // of the problem
  std::map<std::string, std::string> severities = DefaultSeverities();
};

enum class SourceKind { kPython, kCpp, kCuda };

// A file of a candidate.
struct StaticSource {
  std::string text;
  SourceKind kind = SourceKind::kPython;
  std::string file;  // as StaticFinding has it
};

// By file, then by line; each file is analysed whatever the others are. The first that defines ModelNew counts. One
// finding for each rule and line, none whose severity is off.
std::vector<StaticFinding> StaticCheck(const std::vector<StaticSource>& sources, const StaticOptions& options);

// The first error; null if there is none.
const StaticFinding* FirstError(const std::vector<StaticFinding>& findings);
// "static: RULE, line N: REASON", of a folder "static: RULE, FILE, line N: REASON".
std::string StaticSentence(const StaticFinding& finding);
// Such sentences, one for each rule that warns, at its first place.
std::vector<std::string> StaticNotes(const std::vector<StaticFinding>& findings);
nlohmann::json StaticFindingsJson(const std::vector<StaticFinding>& findings);

}  // namespace kb

#endif  // JUDGE_STATIC_STATIC_CHECK_H_
