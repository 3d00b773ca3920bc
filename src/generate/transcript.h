// What an agent did in one episode (store/episode.h), as it is shown, exported and audited.
#ifndef GENERATE_TRANSCRIPT_H_
#define GENERATE_TRANSCRIPT_H_

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/episode.h"
#include "store/generation.h"

namespace kb {

class Store;

// What a turn did to a file of the agent's folder.
struct FileChange {
  std::string path;
  unsigned mode = 0;
  std::string sha256;  // of what it is now; empty: it is gone
  std::string change;  // "made", "changed", "removed"
  // Lines; absent for a file that holds a zero byte, or is not in the store.
  std::optional<int64_t> added, removed;
};

struct TranscriptResult {
  std::string call_id, name, text;
  bool is_error = false;
  std::optional<double> seconds;  // absent where it is not known
};

struct TranscriptCall {
  std::string id, name;
  std::string arguments;                   // as the model wrote them
  nlohmann::json parsed;                   // null if they are no JSON
  std::optional<TranscriptResult> result;  // absent as long as the turn is not done
};

// What a program asked the model in a turn, where it drives the model by itself.
struct RelayedRequest {
  int conversation = 1;  // in the order in which they began
  // Why this one begins it: "first", of those with tools; "restart", the program was started again; "aside", without
  // tools, such as for a title or a summary; "changed", with a history that was changed; "other", with another system
  // prompt, such as for a part of the work. Empty: it goes on.
  std::string begins;
  bool aside = false;                              // it has no tools, and others have
  bool another = false;                            // the turn before is of another conversation
  int repeated = 0;                                // parts of it that were said in another conversation
  std::string system;                              // where it begins
  nlohmann::json tools = nlohmann::json::array();  // where they differ from those of the conversation's last request
  size_t tools_bytes = 0;                          // as they were sent
  std::vector<std::pair<std::string, std::string>> told;  // role and text: what was said by none but the program
  std::string model;                                      // that it asked for
  std::vector<std::string> dropped, denied;  // members that were not passed on; why calls before this one were refused
  nlohmann::json raw;                        // as it is stored
};

struct TranscriptTurn {
  Turn turn;
  nlohmann::json context;  // null: nothing was done to the history
  std::optional<RelayedRequest> relayed;
  std::string text, reasoning, finish, finish_word, model;
  std::vector<TranscriptCall> calls;
  std::vector<TranscriptResult> other_results;  // of no call of that turn
  std::string follows;                          // what the model was told after the results
  std::vector<FileChange> files;                // by path
  std::vector<TurnVerdict> verdicts;
};

struct Transcript {
  std::string run;
  GenerationRequest request;
  Episode episode;
  std::string system;
  nlohmann::json tools = nlohmann::json::array();             // as they were offered
  std::vector<std::pair<std::string, std::string>> messages;  // of the opening: role and text
  std::vector<TranscriptTurn> turns;
  // What it submitted; absent: nothing yet, or nothing at all.
  std::optional<GenerationAnswer> submitted;
  nlohmann::json evaluation;  // of that in the run; null: there is none
};

// What is stored may be from an archive of strangers, or be a model's own words. Null if it is no JSON, or a too deep
// one.
nlohmann::json ParseStored(const std::string& text);
// A member that is a text, else an empty one.
std::string StoredText(const nlohmann::json& object, const char* key);

// All of a turn or opening whose JSON can be read; what cannot is left empty.
TranscriptTurn ParseTurn(const Turn& turn);
void ParseOpening(Transcript* transcript);

// Files that turns changed, as Store::TurnFiles() has them; those of turn 0 were there before. `contents` of a hash.
using FileContents = std::function<Result<std::string>(const std::string& sha256)>;
void AddFileChanges(std::span<const std::pair<int, TurnFile>> files, const FileContents& contents,
                    Transcript* transcript);

// Sums over turns. Costs are those of answers; what lost calls can have taken is apart.
struct TranscriptTotals {
  int turns = 0, condensed = 0;  // condensed: of them those that shortened the history
  std::map<std::string, int> calls;
  int failed_calls = 0;
  int64_t input = 0, cache_read = 0, cache_write = 0, output = 0, reasoning = 0;
  int64_t Prompt() const { return input + cache_read + cache_write; }
  int without_usage = 0;            // answers
  std::optional<double> usd = 0.0;  // absent as soon as one answer's is not known
  int lost = 0;
  int64_t lost_tokens = 0;
  double lost_usd = 0;
  double model_seconds = 0, tool_seconds = 0, device_seconds = 0;
  int evaluations = 0;  // verdicts of the tool evaluate
};
TranscriptTotals TotalsOf(const Transcript& transcript);
void AddTo(const TranscriptTurn& turn, TranscriptTotals* totals);

// The fastest correct candidate on the way, or one without a speedup where none has one; null: none is correct.
const TurnVerdict* BestVerdict(const Transcript& transcript);

// docs/reference/transcripts.md. `raw`: with the provider's own answer.
nlohmann::json EpisodeJson(const Transcript& transcript);
nlohmann::json TurnJson(const TranscriptTurn& turn, bool raw);
nlohmann::json EndJson(const Transcript& transcript);

// Absent: the request is no agent's.
Result<std::optional<Transcript>> ReadTranscript(const Store& store, const std::string& run,
                                                 const GenerationRequest& request);

}  // namespace kb

#endif  // GENERATE_TRANSCRIPT_H_
