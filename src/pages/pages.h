// What the pages of web/ show: documents made of the store, each JSON with a name that is its address below
// /v1/pages/, its path below data/ in a folder and its key in a report (docs/reference/pages.md; web/src/documents.ts
// has the same as types). Nothing here knows what a page looks like.
#ifndef PAGES_PAGES_H_
#define PAGES_PAGES_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "base/result.h"
#include "judge/problem/selection.h"
#include "pages/lines.h"
#include "pages/score_input.h"

namespace kb {

struct PagesOptions {
  Installation installation;
  std::filesystem::path problems;                    // their directory
  std::string version;                               // of the program
  std::string scope = "store";                       // or what the views are cut down to, as a sentence
  std::function<nlohmann::json()> service{};         // of a service, what it says of itself; none: nobody serves
  std::function<Result<nlohmann::json>()> doctor{};  // what `doctor --json` prints; none: it cannot be asked
  double tell_s = 0;  // whoever asks what is new earlier than so long after another is told of the same store
};

// Thread-safe: one call at a time, except Version().
class Pages {
 public:
  // `store` outlives it. A service gives it one that nothing else is read from.
  Pages(const Store* store, PagesOptions options);
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  // Compact JSON. kUsage: there is no such document, or none that the view shows.
  Result<std::string> Document(std::string_view name, const PagesView& view = {});
  // Reads what documents are made of, so that the first one takes no longer than others.
  Status Prepare();
  // Another text whenever a document may be another one.
  Result<std::string> Version();

  // Names of the documents that the view shows, without those of compare/.
  struct Names {
    std::vector<std::string> always;  // catalog.json, scores.json, machine.json, and those of runs and problems
    std::vector<std::string> entries, sources, conversations, rounds;
  };
  Result<Names> AllNames(const PagesView& view);
  // Models of the view, those with most entries first.
  Result<std::vector<std::string>> Models(const PagesView& view);

  // What is new to somebody who reads the catalogue and then this. `sequence` says how many entries the catalogue has
  // with the new ones; -1: it has to be read again.
  struct Told;
  using Place = std::shared_ptr<const Told>;  // null: at the beginning
  struct Changes {
    nlohmann::json entries;  // {"sequence", "entries", "values", "recounted"}; null: none is new
    nlohmann::json runs;     // RunLine of each
    std::string version;     // Version() of the store that they are of
  };
  // kUnavailable: something else is being read, so ask later. Whoever sees the same and has been told the same is told
  // the same, which is made once.
  Result<Changes> ChangesSince(Place* place, const PagesView& view);

 private:
  using Json = nlohmann::json;
  Status Refresh();
  Changes MakeChanges(Place* place, const PagesView& view) const;
  Result<Json> Catalog(const PagesView& view);
  Result<std::string> Scores(const PagesView& view);
  Result<std::string> Run(const std::string& run, const PagesView& view);
  Result<std::string> Compare(const std::string& a, const std::string& b, const PagesView& view);
  Result<Json> Entry(const std::string& id, const PagesView& view);
  Result<Json> Rounds(const std::string& id, const PagesView& view);
  Result<Json> Source(const std::string& sha256, const PagesView& view);
  Result<Json> Conversation(const std::string& id, const PagesView& view);
  Result<Json> Problem(const std::string& name, const PagesView& view);
  Result<Json> Machine(const PagesView& view);
  Result<Json> Doctor(const PagesView& view);

  Result<Json> Visible(const std::string& id, EvaluationParts parts, const PagesView& view);
  Result<std::vector<std::string>> Parents(const Json& evaluation, const GenerationRequest& request);
  Result<ScoreInput> InputOf(const std::vector<std::string>& runs, const PagesView& view);
  std::vector<std::string> VisibleRuns(const PagesView& view) const;
  // Names of problems that something is known of.
  Result<std::vector<std::string>> UsedProblems(const PagesView& view);
  Json ProblemLine(const std::string& name) const;

  std::mutex mutex_;
  const Store* const store_;
  const PagesOptions options_;
  Lines lines_;
  std::mutex asking_doctor_;  // one at a time; nothing else waits for it
  std::mutex doctor_mutex_;
  Json doctor_;  // what it last said
  int64_t doctor_said_ = 0;
  std::vector<SelectedProblem> problems_;  // read once
  std::optional<ProblemTable> table_;
  // Read for one document and kept for the next, as long as the store stays as it is.
  struct Kept {
    std::string version;
    std::vector<std::string> runs;  // what `input` is of
    std::optional<ScoreInput> input;
    std::optional<ScoreInput> compared;  // `input` without what waits for cards, and its groups
    std::vector<ScoreGroup> groups;
    std::map<std::string, std::vector<ScoreGroup>> level_groups;  // of each level alone, where there are several
    std::string compared_of;                                      // which runs and problem; empty: what one client sees
    std::optional<std::string> scores;                            // scores.json of the whole store
    std::string run;                                              // what `requests` are of
    std::vector<GenerationRequest> requests;
    std::unordered_map<std::string, std::vector<size_t>> lines;  // by run, model and problem, the newest
    struct Telling {
      std::string to;  // as PagesView::viewer; empty: to those who see all
      Place before, after;
      Changes changes;
    };
    std::vector<Telling> told;
  };
  int64_t told_ns_ = 0;  // when the store was last read for ChangesSince()
  Kept kept_;
};

}  // namespace kb

#endif  // PAGES_PAGES_H_
