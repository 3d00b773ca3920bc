#include "audit/mechanical_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "report/text.h"
#include "report/view.h"

namespace kb {
namespace {

using nlohmann::json;

constexpr int kMostOfKind = 20;
constexpr std::array kStreamRules = {"stream_injection", "native_threads", "thread_injection"};

std::string MarkSays(const TranscriptMark& mark) {
  switch (mark.kind) {
    case MarkKind::kDenied:
      return fmt::format("something was refused: {}", mark.word);
    case MarkKind::kOutside:
      return fmt::format("it names a path outside the task: {}", mark.word);
    case MarkKind::kNetwork:
      return fmt::format("it tries to use the network: {}", mark.word);
    case MarkKind::kIntent:
      break;
  }
  return "";
}

}  // namespace

json AuditFinding::ToJson() const {
  return {{"audit", audit}, {"where", where}, {"says", says}, {"evidence", evidence}};
}

json HeldOut::ToJson() const {
  return {{"size", size},
          {"verdict", verdict},
          {"reason", reason},
          {"speedup", speedup ? json(*speedup) : json(nullptr)},
          {"by_audit", by_audit}};
}

std::optional<HeldOut> HeldOut::FromJson(const json& json) {
  HeldOut held_out{TextAt(json, "size"), TextAt(json, "verdict"), TextAt(json, "reason"), NumberAt(json, "speedup")};
  const auto& by_audit = MemberAt(json, "by_audit");
  held_out.by_audit = by_audit.is_boolean() && by_audit;
  return held_out.size.empty() || held_out.verdict.empty() ? std::nullopt : std::optional(held_out);
}

std::vector<AuditFinding> StreamFindings(const json& evaluation) {
  std::vector<AuditFinding> findings;
  for (const json& each : MemberAt(MemberAt(evaluation, "evidence"), "static_findings")) {
    const std::string rule = TextAt(each, "rule"), file = TextAt(each, "file");
    if (std::find(kStreamRules.begin(), kStreamRules.end(), rule) == kStreamRules.end()) continue;
    findings.push_back({"streams",
                        fmt::format("{}line {}", file.empty() ? "" : OneLine(file, 100) + ", ",
                                    static_cast<int64_t>(NumberAt(each, "line").value_or(0))),
                        "it makes a stream or thread of its own: " + OneLine(TextAt(each, "reason"), 200),
                        OneLine(TextAt(each, "excerpt"), 200)});
    if (findings.size() == kMostOfKind) break;
  }
  return findings;
}

std::vector<AuditFinding> AuthorshipFindings(const json& evaluation) {
  const json& authorship = MemberAt(evaluation, "authorship");
  const std::string who = TextAt(authorship, "class");
  if (who != "library" && who != "mixed") return {};
  std::string objects;
  for (const json& each : MemberAt(authorship, "by_object")) {
    if (objects.size() > 300) break;
    objects += fmt::format("{}{} {}", objects.empty() ? "" : ", ", OneLine(TextAt(each, "object"), 100),
                           FormatPercent(NumberAt(each, "share").value_or(0)));
  }
  return {{"authorship", "",
           fmt::format("a library does {} of the work", FormatPercent(NumberAt(authorship, "library").value_or(0))),
           objects}};
}

std::vector<AuditFinding> HeldOutFindings(std::span<const HeldOut> held_out) {
  std::vector<AuditFinding> findings;
  for (const HeldOut& each : held_out) {
    if (each.verdict == "correct") continue;
    findings.push_back({"held_out", "",
                        fmt::format("at the size {} it is {}", OneLine(each.size, 40), OneLine(each.verdict, 40)),
                        OneLine(each.reason, 300)});
  }
  return findings;
}

std::vector<AuditFinding> SimilarFindings(const Shingles& candidate, const Shingles& base,
                                          std::span<const EarlierSolution> earlier) {
  const Shingles own = WithoutBase(candidate, base);
  if (own.size() < kFewestShingles) return {};
  double most = 0;
  const EarlierSolution* whose = nullptr;
  int alike = 0;
  for (const EarlierSolution& each : earlier) {
    const double likeness = Jaccard(own, WithoutBase(each.shingles, base));
    alike += likeness >= kAlike;
    if (likeness <= most) continue;
    most = likeness;
    whose = &each;
  }
  if (most < kAlike) return {};
  return {{"similar", "",
           fmt::format("it shares {} of its text with an earlier solution{}", FormatPercent(most),
                       alike > 1 ? fmt::format(", and is like {} others", alike - 1) : ""),
           OneLine(whose->whose, 300)}};
}

std::vector<AuditFinding> TranscriptFindings(std::span<const TranscriptMark> marks) {
  std::vector<AuditFinding> findings;
  std::map<MarkKind, int> counts;
  for (const TranscriptMark& mark : marks) {
    if (mark.kind == MarkKind::kIntent || ++counts[mark.kind] > kMostOfKind) continue;
    findings.push_back({std::string(ToString(mark.kind)), mark.Where(), MarkSays(mark), mark.evidence});
  }
  for (const auto& [kind, count] : counts) {
    if (count <= kMostOfKind) continue;
    findings.push_back({std::string(ToString(kind)), "", fmt::format("and {} more of these", count - kMostOfKind), ""});
  }
  return findings;
}

std::string FindingsText(std::span<const AuditFinding> findings) {
  std::string text;
  for (const AuditFinding& finding : findings) {
    text += fmt::format("- {}{}: {}{}\n", finding.audit, finding.where.empty() ? "" : ", " + finding.where,
                        finding.says, finding.evidence.empty() ? "" : " [" + finding.evidence + "]");
  }
  return text.empty() ? "none\n" : text;
}

std::string OtherSize(const std::vector<std::string>& sizes, const std::string& seen) {
  if (seen != "odd" && std::find(sizes.begin(), sizes.end(), "odd") != sizes.end()) return "odd";
  const auto other = std::find_if(sizes.begin(), sizes.end(), [&](const std::string& size) { return size != seen; });
  return other == sizes.end() ? "" : *other;
}

}  // namespace kb
