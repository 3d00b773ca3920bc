// A score sheet for programs (JSON, CSV), for people (terminal) and for a paper (Markdown).
#ifndef REPORT_SCORE_FORMATS_H_
#define REPORT_SCORE_FORMATS_H_

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "report/score_sheet.h"
#include "report/text.h"

namespace kb {

// One object on one line (docs/reference/scores.md).
std::string ScoreJson(const ScoreSheet& sheet);
// A line for each model, setting and part: all, without METR's removed problems, each level, each family.
std::string ScoreCsv(const ScoreSheet& sheet);
std::string ScoreTerminal(const ScoreSheet& sheet, size_t columns = kNoLimit);  // of the window, for its tables
std::string ScoreMarkdown(const ScoreSheet& sheet);

// What several of them say in the same words.
std::string ModelLabel(const std::string& model);  // "(no model)" for an empty one
std::string FormatShare(const Proportion& share, bool with_interval);
std::string FormatBounds(const Bounds& shares);          // "[31.2%, 40.1%]"
std::string RepresentedBy(const ScoreOptions& options);  // "the first sample of each problem"
std::string ThresholdName(double p);                     // "fast_0.5"

// A score where something is missing is shown as a range: "70% to 75%"; one that it does not change as ever.
inline constexpr char kNoBound[] = "?";  // the end of a mean of what may be as fast as it likes
std::string FormatRange(const std::string& low, const std::string& high);
std::string ShareText(const Proportion& share, const std::optional<Proportion>& if_all_pass);
std::string ShareText(const Score& score, size_t threshold);
std::string MeanText(const Score& score, std::optional<double> Figures::*mean);
// From the low end of the one interval to the high end of the other; "" where there is none.
std::string ShareIntervalText(const Score& score, size_t threshold);
std::string MeanIntervalText(const Score& score);
// The same for the scores of k samples; `k` is an index.
std::string ShareText(const ModelScores& model, size_t k, size_t threshold);
std::string ShareIntervalText(const ModelScores& model, size_t k, size_t threshold);
std::string BestText(const ModelScores& model, size_t k);
std::string BestIntervalText(const ModelScores& model, size_t k);
// A line for each, and one for those that are too many.
std::vector<std::string> MissingLabels(const std::vector<MissingSample>& missing);
nlohmann::ordered_json MissingJson(const std::vector<MissingSample>& missing);
bool AnyMissing(const ScoreSheet& sheet);
// Likewise, of verdicts about different texts of a problem; and what they are, for above them.
std::vector<std::string> MixedLabels(const std::vector<MixedProblem>& mixed);
nlohmann::ordered_json MixedJson(const std::vector<MixedProblem>& mixed);
inline constexpr char kMixedTitle[] =
    "verdicts about different texts of a problem (run or generate judges them again with the present one)";
std::string MixedText(const std::vector<MixedProblem>& mixed);  // title and lines; "" where there is none
// What a range says, in two sentences: " 70% to 75%: ...". "" where `missing` is false.
std::string RangeNote(bool missing);

}  // namespace kb

#endif  // REPORT_SCORE_FORMATS_H_
