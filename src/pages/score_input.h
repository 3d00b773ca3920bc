// What scores are made of: which stored evaluations they are about, and what is known of their problems.
#ifndef PAGES_SCORE_INPUT_H_
#define PAGES_SCORE_INPUT_H_

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/problem/selection.h"
#include "report/score_sheet.h"
#include "store/store.h"

namespace kb {

struct ScoreQuery {
  std::vector<std::string> runs;            // none: all
  std::filesystem::path problems;           // the directory that the selection is about
  Selection selection;                      // the problems that count
  std::vector<std::string> models, levels;  // none: all
  std::string device, protocol, size;       // empty: all; a device's kind or name
  bool audited = false;
  std::string arithmetic;  // empty: any
};

struct ScoreInput {
  std::vector<ScoreRow> rows;
  std::vector<RunJob> jobs;  // without a verdict; `rows` hold them too
  ProblemTable problems;
  SpentByRun spent;
};

// "level1", "v3:level4", "modern"; "" of a file from elsewhere.
std::string LevelOf(const ProblemFile& file);

// Of the problems that a directory holds, and which of them its list of METR's names.
ProblemTable ProblemTableOf(std::span<const SelectedProblem> known, const std::filesystem::path& problems);
Result<ProblemTable> ReadProblemTable(const std::filesystem::path& problems);

// What the query selects. A run that does not exist has none.
Result<ScoreInput> ReadScoreInput(const Store& store, const ScoreQuery& query, ProblemTable problems);

// kUsage unless all of them are there.
Status CheckRuns(const std::vector<std::string>& wanted, const std::vector<std::string>& there,
                 const std::string& store);

// Takes away what waits for cards (base/card.h) on which nothing was judged.
void DropWaitingCards(ScoreInput* input);

}  // namespace kb

#endif  // PAGES_SCORE_INPUT_H_
