#include "cli/audit_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "audit/transcript_digest.h"
#include "base/hash.h"
#include "cli/commands.h"
#include "cli/judge_again.h"
#include "judge/problem/metadata.h"
#include "report/text.h"

namespace kb::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string NameOf(const ScoreRow& row) {
  return fmt::format("{}, {} sample {}, {}, of {}", row.run.empty() ? "no run" : "run " + row.run,
                     row.model.empty() ? row.path : row.model, row.sample.value_or(0), row.verdict, row.created);
}

std::optional<double> Speedup(const json& evaluation) {
  const auto at = evaluation.find("speedup");
  return at != evaluation.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

std::string ExtensionOf(const std::string& path) { return fs::path(path).extension(); }

// Solutions by problem: those in the store, and those of examples/.
class Solutions {
 public:
  Solutions(const Store& store, const Installation& installation) : store_(store), examples_(installation.examples) {}

  // What was there before that candidate, of other runs.
  Result<std::vector<EarlierSolution>> Before(const ScoreRow& row) {
    KB_ASSIGN_OR_RETURN(const auto* known, Of(row.problem));
    std::vector<EarlierSolution> earlier;
    for (const auto& [other, shingles] : *known) {
      if (other.id == row.id) break;
      if (other.run != row.run) earlier.push_back({NameOf(other), shingles});
    }
    for (const EarlierSolution& example : examples_of_[row.problem]) earlier.push_back(example);
    return earlier;
  }

  // Verdicts on the same text at other sizes, the newest of each size.
  Result<std::vector<HeldOut>> AtOtherSizes(const ScoreRow& row) {
    KB_ASSIGN_OR_RETURN(const auto* known, Of(row.problem));
    std::map<std::string, HeldOut> by_size;
    for (const auto& [other, shingles] : *known) {
      if (other.sha256 != row.sha256 || other.size == row.size || other.problem_sha256 != row.problem_sha256) continue;
      KB_ASSIGN_OR_RETURN(const json evaluation, store_.Get(other.id));
      by_size[other.size] = {other.size, other.verdict, StoredText(evaluation, "reason"), other.speedup};
    }
    std::vector<HeldOut> judged;
    for (auto& [size, held_out] : by_size) judged.push_back(std::move(held_out));
    return judged;
  }

 private:
  using Known = std::vector<std::pair<ScoreRow, Shingles>>;  // in the order in which they were stored

  Result<const Known*> Of(const std::string& problem) {
    const auto [at, first] = known_.try_emplace(problem);
    if (!first) return &at->second;
    KB_ASSIGN_OR_RETURN(const std::vector<ScoreRow> rows, store_.Scores({.problem = problem}));
    std::map<std::string, Shingles> texts;
    for (const ScoreRow& row : rows) {
      auto text = texts.find(row.sha256);
      if (text == texts.end()) {
        const auto source = store_.Source(row.sha256);
        if (!source) continue;
        text = texts.emplace(row.sha256, ShinglesOf(*source, ExtensionOf(row.path))).first;
      }
      at->second.emplace_back(row, text->second);
    }
    KB_RETURN_IF_ERROR(ReadExamples(problem));
    return &at->second;
  }

  // Those for the problem "1/36" are in folders that begin with "1_36_".
  Status ReadExamples(const std::string& problem) {
    std::string prefix = problem + "_";
    std::replace(prefix.begin(), prefix.end(), '/', '_');
    std::error_code error;
    for (fs::recursive_directory_iterator at(examples_, error), end; at != end; at.increment(error)) {
      const fs::path inside = at->path().lexically_relative(examples_);
      if (!at->is_regular_file(error) || !inside.string().starts_with(prefix)) continue;
      KB_ASSIGN_OR_RETURN(const std::string source, ReadFile(at->path()));
      examples_of_[problem].push_back(
          {"examples/" + inside.string(), ShinglesOf(source, ExtensionOf(inside.string()))});
    }
    return {};
  }

  const Store& store_;
  const fs::path examples_;
  std::map<std::string, Known> known_;
  std::map<std::string, std::vector<EarlierSolution>> examples_of_;
};

// What an earlier audit had judged.
Result<std::map<std::string, std::vector<HeldOut>>> AuditedHeldOut(const Store& store, const std::string& run) {
  KB_ASSIGN_OR_RETURN(const std::vector<EvaluationReview> reviews, store.Reviews(run));
  std::map<std::string, std::vector<HeldOut>> known;
  for (const EvaluationReview& review : reviews) {
    if (review.auditor != kMechanicalAuditor) continue;
    const json findings = ParseStored(review.findings);
    if (!findings.is_object()) continue;
    for (const json& each : findings.value("held_out", json::array())) {
      const auto held_out = HeldOut::FromJson(each);
      if (held_out && held_out->by_audit) known[review.evaluation_id].push_back(*held_out);
    }
  }
  return known;
}

Status JudgeHeldOut(const MechanicalFlags& flags, const Store& store, ProblemFinder* finder,
                    std::vector<Audited>* audited) {
  std::map<std::string, std::vector<json>> evaluations;  // by kind of device
  std::map<std::string, std::vector<Audited*>> whose;
  for (Audited& one : *audited) {
    const std::string size = OtherSize(one.mechanical.sizes, one.row.size);
    if (!one.mechanical.held_out.empty() || size.empty()) continue;
    KB_ASSIGN_OR_RETURN(json evaluation, store.Get(one.row.id));
    evaluation["size"] = size;
    evaluations[one.row.device].push_back(std::move(evaluation));
    whose[one.row.device].push_back(&one);
  }
  for (const auto& [device, given] : evaluations) {
    const auto tell = [&](size_t at, const json& judged) {
      whose[device][at]->mechanical.held_out.push_back({StoredText(judged, "size"), StoredText(judged, "verdict"),
                                                        StoredText(judged, "reason"), Speedup(judged), true});
    };
    KB_RETURN_IF_ERROR(
        JudgeEachAgain({.devices = device, .isolation = flags.isolation, .quiet = flags.quiet}, given, finder, tell));
  }
  return {};
}

Status Find(const Store& store, Solutions* solutions, Audited* one) {
  KB_ASSIGN_OR_RETURN(const json evaluation, store.Get(one->row.id));
  KB_ASSIGN_OR_RETURN(const std::vector<EarlierSolution> earlier, solutions->Before(one->row));
  const json& candidate = evaluation.at("candidate");
  const Shingles own = ShinglesOf(StoredText(candidate, "source"), ExtensionOf(StoredText(candidate, "path")));
  auto& findings = one->mechanical.findings;
  for (auto some :
       {StreamFindings(evaluation), AuthorshipFindings(evaluation), HeldOutFindings(one->mechanical.held_out),
        SimilarFindings(own, ShinglesOf(one->problem_source, ".py"), earlier), TranscriptFindings(one->marks)}) {
    findings.insert(findings.end(), some.begin(), some.end());
  }
  return {};
}

}  // namespace

json Mechanical::ToJson() const {
  json found = json::array(), judged = json::array();
  for (const AuditFinding& finding : findings) found.push_back(finding.ToJson());
  for (const HeldOut& each : held_out) judged.push_back(each.ToJson());
  return {{"findings", std::move(found)}, {"held_out", std::move(judged)}};
}

Result<std::vector<Audited>> FastCandidates(const std::string& run, double above, const Store& store,
                                            ProblemFinder* finder, std::vector<std::string>* notes) {
  KB_ASSIGN_OR_RETURN(const std::vector<ScoreRow> rows, store.Scores({.run = run}));
  if (rows.empty()) return Fail(ErrorCode::kUsage, fmt::format("the store holds no evaluation of a run {}", run));
  KB_ASSIGN_OR_RETURN(const std::vector<GenerationRequest> requests, store.Requests(run));
  std::vector<Audited> audited;
  for (const ScoreRow& row : rows) {
    if (row.verdict != "correct" || !row.speedup || *row.speedup <= above) continue;
    const Result<ProblemFile>& problem = finder->Find(row.problem);
    if (!problem) return tl::make_unexpected(problem.error());
    KB_ASSIGN_OR_RETURN(std::string source, ReadFile(problem->path));
    if (row.problem_sha256 != Sha256(source)) {
      notes->push_back(fmt::format("{} of {} is left out: the problem is another text now", row.id, row.problem));
      continue;
    }
    Audited one{.row = row, .problem = *problem};
    one.mechanical.sizes = ReadMetadata(source).sizes;
    one.problem_source = std::move(source);
    for (const GenerationRequest& request : requests) {
      if (request.model != row.model || request.problem != row.problem || request.candidate != row.sample) continue;
      KB_ASSIGN_OR_RETURN(const std::optional<Transcript> transcript, ReadTranscript(store, run, request));
      if (!transcript) continue;
      one.marks = MarksOf(*transcript);
      one.digest = DigestOf(*transcript, one.marks);
    }
    audited.push_back(std::move(one));
  }
  return audited;
}

Status AuditMechanically(const MechanicalFlags& flags, const Installation& installation, ProblemFinder* finder,
                         Store* store, std::vector<Audited>* audited) {
  if (audited->empty()) return {};
  Solutions solutions(*store, installation);
  KB_ASSIGN_OR_RETURN(const auto judged_before, AuditedHeldOut(*store, audited->front().row.run));
  for (Audited& one : *audited) {
    KB_ASSIGN_OR_RETURN(one.mechanical.held_out, solutions.AtOtherSizes(one.row));
    const auto before = judged_before.find(one.row.id);
    if (before == judged_before.end() || (flags.again && flags.held_out)) continue;
    auto& known = one.mechanical.held_out;
    known.insert(known.end(), before->second.begin(), before->second.end());
  }
  if (flags.held_out) KB_RETURN_IF_ERROR(JudgeHeldOut(flags, *store, finder, audited));
  for (Audited& one : *audited) {
    KB_RETURN_IF_ERROR(Find(*store, &solutions, &one));
    EvaluationReview review;
    review.evaluation_id = one.row.id;
    review.auditor = kMechanicalAuditor;
    review.passes = one.mechanical.findings.empty();
    review.speedup = one.row.speedup;
    review.findings = JsonLine(one.mechanical.ToJson());
    review.exchange = "{}";
    KB_RETURN_IF_ERROR(store->AddReview(review));
  }
  return {};
}

}  // namespace kb::cli
