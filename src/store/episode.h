// What agents did in a run. An agent's work on one problem is an episode: one request (generation.h), whose answer is
// what it submits, with a turn for each answer of the model. A turn is `asked` before the model is, `answered` with the
// answer as it came before any of its tools runs, and `done` with their results; all of it by the request's owner. So
// it is known after a kill which tools may have begun.
//
// What is JSON nests at most 64 deep, for archives with more are refused: what a model wrote is a text in it.
#ifndef STORE_EPISODE_H_
#define STORE_EPISODE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kb {

struct Episode {
  int64_t request = 0;
  std::string created;
  std::string harness;   // empty: our own loop
  std::string opening;   // JSON: {"system", "tools", "messages"}: all that the model is told before its first turn
  std::string ended_by;  // "submit", "turns", "tokens", "usd", "seconds", "no_calls", ...; empty: it goes on
  std::string ending;    // the same as a sentence
};

struct Turn {
  int64_t id = 0, request = 0;
  int number = 0;       // from 1, without gaps
  std::string kind;     // "work"; "condense": the model shortens its history
  std::string state;    // "asked", "answered", "done"
  std::string created;  // when it was asked first, UTC
  std::string context;  // JSON: what is done to the history before the model is asked; empty: nothing
  // Calls of the model that were begun and whose answers were lost, with the most that they can have taken.
  int lost = 0;
  int64_t lost_tokens = 0;
  double lost_usd = 0;
  std::string answer;  // JSON: {"text", "reasoning", "finish", "finish_word", "raw", "model", "calls": [{"id", "name",
                       // "arguments"}]}
  // Tokens, each counted once; absent where the provider did not say.
  std::optional<int64_t> input, cache_read, cache_write, output, reasoning_tokens;
  std::optional<double> cost_usd;  // absent where it is not known
  std::string price_source;
  int calls = 0;       // made until one succeeded; 0: none did, and `answer` is what came of it
  double seconds = 0;  // of that one
  std::string
      results;  // JSON: {"results": [{"call_id", "name", "text", "is_error", "seconds"}], "text": what follows them}
  double tool_seconds = 0;  // of all its tools
};

// A file of the agent's folder that a turn made, changed or removed.
struct TurnFile {
  std::string path;      // in UTF-8
  unsigned mode = 0;     // permissions
  std::string sha256;    // empty: it is gone
  std::string contents;  // to be stored under that hash; as stored, where it is asked for
};

// What the judge said to an agent in a turn, about a candidate whose text is stored under its hash.
struct TurnVerdict {
  int turn = 0;  // number
  int call = 0;  // among the turn's calls, from 0; -1: nobody knows of which
  // "compile", "evaluate", "profile"; "submit", which is no verdict; or "bash", of a command that held a device.
  std::string tool;
  std::string source_sha256, language;
  std::string source;                        // to be stored under that hash
  std::string verdict;                       // of an evaluation; empty: there is none
  std::optional<double> speedup, low, high;  // and its interval
  std::string view;                          // JSON: all that the judge told
  double device_seconds = 0;
};

}  // namespace kb

#endif  // STORE_EPISODE_H_
