// The lines of a store that the catalogue is made of: what was judged, and the jobs that the engine failed at. They are
// read once, and then what is new.
#ifndef PAGES_LINES_H_
#define PAGES_LINES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "store/store.h"

namespace kb {

inline constexpr char kInfrastructure[] = "infrastructure";  // the verdict of a job that the engine failed at

template <typename T>
nlohmann::json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}

struct Line {
  EntryRow entry;        // `row.id` of a job that failed: "job-NUMBER"
  bool audited = false;  // and an audit does not confirm it
  bool newest = true;    // of its sample in its run
};

// Of whom sees what. An empty function or string means no restriction.
struct PagesView {
  std::function<bool(const std::string& run)> may_see{};  // "": what is in no run
  std::string viewer{};                                   // whom `may_see` is of: equal ones see the same
  std::vector<std::string> runs{};
  std::string problem{}, verdict{};
  int limit = 0;                        // at most so many entries, the newest; 0: all
  bool used_problems = false;           // only problems that something was judged on
  std::vector<std::string> left_out{};  // kinds of documents that there are none of: "rounds"

  bool Takes(const ScoreRow& row) const;
  bool TakesRun(const std::string& run) const;
};

class Lines {
 public:
  explicit Lines(const Store* store) : store_(store) {}
  // Reads what has changed since the last time.
  Status Refresh();
  // In the order in which they were found; an older one goes or changes only with a new generation().
  const std::vector<Line>& all() const { return lines_; }
  const std::vector<RunSummary>& runs() const { return runs_; }
  const GenerationSpent& SpentOf(const std::string& run) const;
  int64_t generation() const { return generation_; }
  // Of the store, as it was read.
  const std::string& version() const { return version_; }

  // Places of the lines that the view takes, in their order.
  std::vector<size_t> Taken(const PagesView& view) const;
  // Of these, which scores of all of them count (GroupRows()), and the jobs that failed.
  std::vector<bool> Counting(const std::vector<size_t>& taken) const;

 private:
  Status ReadAnew();
  Status Extend();
  void MarkNewest();

  const Store* store_;
  std::string version_;
  int64_t generation_ = 0, last_sequence_ = 0, evaluations_ = 0;
  std::vector<Line> lines_;
  std::unordered_set<int64_t> failed_;
  std::map<std::string, bool> audits_;
  std::vector<RunSummary> runs_;
  std::map<std::string, GenerationSpent> spent_;
};

// Columns of lines, with the values that they point into (web/src/documents.ts). Lines are added in their order, so
// values that were there stay where they are.
class Columns {
 public:
  Columns();
  void Add(const Line& line, bool counts);
  nlohmann::json Values() const;
  // Of the lines since the last time.
  nlohmann::json TakeEntries();

 private:
  class Names {
   public:
    int Of(const std::string& key, const nlohmann::json& value);
    const nlohmann::json& all() const { return all_; }

   private:
    std::unordered_map<std::string, int> numbers_;
    nlohmann::json all_ = nlohmann::json::array();
  };
  int Number(const char* column, const std::string& value);

  std::map<std::string, Names> names_;
  nlohmann::json entries_;  // TakeEntries()
};

// Seconds since 1970 of "2024-05-01T10:00:00Z"; 0: it is no such text.
int64_t SecondsOf(const std::string& iso8601);

// RunLine of each run that the view takes, newest first; last one of evaluations without a run, where there are any.
nlohmann::json RunLines(const Lines& lines, const PagesView& view, int64_t now);

}  // namespace kb

#endif  // PAGES_LINES_H_
