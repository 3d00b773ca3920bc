// Verdicts that count side by side although they are about different texts of one problem: they answer different
// questions, and a sheet has to say so.
#ifndef REPORT_SCORE_TEXTS_H_
#define REPORT_SCORE_TEXTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/score_row.h"

namespace kb {

struct MixedProblem {
  struct Text {
    std::string sha256, newest;  // when the newest verdict about it was made
    int64_t samples = 0;
    std::vector<std::string> runs;  // different ones, in order of appearance

    std::string name() const { return sha256.substr(0, 12); }  // enough to tell the texts of a problem apart
  };
  std::string problem;
  std::vector<Text> texts;  // two or more, that of the newest verdict first

  std::string label() const;  // "1/12: 3 about text 0a1b2c3d4e5f (run new), 1 about text 5f4e3d2c1b0a (run old)"
};

// In natural order. A sample that is given twice counts once; one without a verdict, or that was rejected by its own
// text, is about no text of the problem.
std::vector<MixedProblem> MixedProblems(std::span<const ScoreRow* const> samples);

}  // namespace kb

#endif  // REPORT_SCORE_TEXTS_H_
