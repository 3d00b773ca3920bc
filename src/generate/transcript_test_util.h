// An episode as tests give it, without a store.
#ifndef GENERATE_TRANSCRIPT_TEST_UTIL_H_
#define GENERATE_TRANSCRIPT_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "generate/relayed.h"
#include "generate/transcript.h"
#include "store/store.h"

namespace kb {

struct SampleEpisode {
  Episode episode;
  std::vector<Turn> turns;
  std::vector<std::pair<int, TurnFile>> files;
  std::vector<TurnVerdict> verdicts;
  std::map<std::string, std::string> contents;  // by hash

  Turn& Add(const nlohmann::json& answer, const nlohmann::json& results) {
    Turn turn;
    turn.id = turn.number = static_cast<int>(turns.size()) + 1;
    turn.kind = "work";
    turn.state = "done";
    turn.created = "2026-11-30T10:0" + std::to_string(turns.size() % 10) + ":05Z";
    turn.answer = answer.dump();
    turn.results = results.dump();
    turn.input = 100;
    turn.cache_read = 1000;
    turn.cache_write = 20;
    turn.output = 50;
    turn.reasoning_tokens = 30;
    turn.cost_usd = 0.25;
    turn.calls = 1;
    turn.seconds = 4;
    turn.tool_seconds = 1.5;
    return turns.emplace_back(std::move(turn));
  }
  void File(int turn, const std::string& path, const std::string& text) {
    const std::string sha256 = Sha256(text);
    contents[sha256] = text;
    files.push_back({turn, {path, 0644, sha256, ""}});
  }
  void Remove(int turn, const std::string& path) { files.push_back({turn, {path, 0, "", ""}}); }

  Transcript Read() const {
    Transcript transcript{.run = "r", .episode = episode};
    transcript.request.model = "openai:m";
    transcript.request.problem = "1/36";
    transcript.request.sample = 2;
    transcript.request.candidate = 2;
    ParseOpening(&transcript);
    for (const Turn& turn : turns) transcript.turns.push_back(ParseTurn(turn));
    ReadRelayed(&transcript);
    for (const TurnVerdict& verdict : verdicts) transcript.turns.at(verdict.turn - 1).verdicts.push_back(verdict);
    AddFileChanges(
        files,
        [this](const std::string& sha256) -> Result<std::string> {
          const auto at = contents.find(sha256);
          if (at == contents.end()) return Fail(ErrorCode::kUsage, "there is none");
          return at->second;
        },
        &transcript);
    return transcript;
  }
};

// Two tools called side by side, a write that is judged, an edit, a history that is shortened, a lost call, and a
// submission.
inline SampleEpisode WholeEpisode() {
  using nlohmann::json;
  SampleEpisode sample;
  sample.episode.created = "2026-11-30T10:00:00Z";
  sample.episode.opening =
      json{{"system", "You write kernels."},
           {"tools", {{{"name", "write_file"}, {"description", "writes"}, {"parameters", {{"type", "object"}}}}}},
           {"messages", {{{"role", "user"}, {"text", "Read TASK.md and make it fast."}}}}}
          .dump();
  const auto call = [](const std::string& id, const std::string& name, const json& arguments) {
    return json{{"id", id}, {"name", name}, {"arguments", arguments.dump()}};
  };
  const auto result = [](const std::string& id, const std::string& name, const std::string& text, bool error = false) {
    return json{{"call_id", id}, {"name", name}, {"text", text}, {"is_error", error}, {"seconds", 0.5}};
  };
  sample.Add({{"text", "I look first."},
              {"reasoning", "What is there?"},
              {"finish", "tool_calls"},
              {"model", "m-2026"},
              {"raw", "{}"},
              {"calls", {call("a", "list", json::object()), call("b", "bash", {{"command", "nproc"}})}}},
             {{"results", {result("a", "list", "TASK.md\nreference.py"), result("b", "bash", "exit 1", true)}},
              {"text", "9 turns left"}});
  sample.Add({{"text", ""},
              {"finish", "tool_calls"},
              {"calls",
               {call("a", "write_file", {{"path", "model_new.py"}, {"content", "one\ntwo\nthree\n"}}),
                call("b", "evaluate", {{"path", "model_new.py"}})}}},
             {{"results", {result("a", "write_file", "written"), result("b", "evaluate", "correct, 1.31x")}}});
  sample.verdicts.push_back({.turn = 2,
                             .call = 1,
                             .tool = "evaluate",
                             .source_sha256 = Sha256("one\ntwo\nthree\n"),
                             .language = "py",
                             .verdict = "correct",
                             .speedup = 1.31,
                             .low = 1.2,
                             .high = 1.4,
                             .view = R"({"verdict": "correct", "reason": ""})",
                             .device_seconds = 2.5});
  sample.File(2, "model_new.py", "one\ntwo\nthree\n");
  Turn& condense = sample.Add({{"text", "I have written a kernel."}, {"finish", "stop"}},
                              {{"results", json::array()}, {"text", "You wrote: a kernel. Go on."}});
  condense.kind = "condense";
  condense.lost = 1;
  condense.lost_tokens = 900;
  condense.lost_usd = 0.125;
  sample.Add({{"text", "Faster."},
              {"finish", "tool_calls"},
              {"calls",
               {call("c", "edit_file", {{"path", "model_new.py"}, {"old_str", "two\n"}, {"new_str", "2\n2b\n"}}),
                {{"id", "d"}, {"name", "submit"}, {"arguments", "{\"solution_path\": "}}}}},
             {{"results", {result("c", "edit_file", "done"), result("d", "submit", "no JSON", true)}}});
  sample.turns.back().context = R"({"shrunk_before": 2})";
  sample.File(4, "model_new.py", "one\n2\n2b\nthree\n");
  sample.File(4, "a.o", std::string("\0ELF", 4));
  sample.episode.ended_by = "turns";
  sample.episode.ending = "it had 4 turns";
  return sample;
}

// The same in a store, as the request of that sample; the test fails where that fails.
inline GenerationRequest PutEpisode(Store* store, const std::string& run, int sample, const SampleEpisode& given) {
  const std::string owner = "me";
  const auto check = [](const auto& result) { ASSERT_TRUE(result) << result.error().message; };
  const auto files_of = [&](int turn) {
    std::vector<TurnFile> files;
    for (const auto& [number, file] : given.files) {
      if (number != turn) continue;
      files.push_back(file);
      if (!file.sha256.empty()) files.back().contents = given.contents.at(file.sha256);
    }
    return files;
  };
  GenerationRequest request;
  request.model = "openai:m";
  request.problem = "1/36";
  request.sample = request.candidate = sample;
  request = store->ClaimRequest(run, request, owner).value().value();
  Episode episode = given.episode;
  episode.request = request.id;
  check(store->BeginEpisode(owner, episode, files_of(0)));
  for (const Turn& turn : given.turns) {
    Turn asked = turn;
    if (turn.state != "asked") {  // the answer brings what was lost
      asked.lost = 0;
      asked.lost_tokens = 0;
      asked.lost_usd = 0;
    }
    const auto id = store->AskTurn(request.id, owner, asked);
    check(id);
    if (turn.state == "asked") continue;
    check(store->AnswerTurn(*id, owner, turn));
    std::vector<TurnVerdict> verdicts;
    for (TurnVerdict verdict : given.verdicts) {
      if (verdict.turn != turn.number) continue;
      verdict.source = given.contents.at(verdict.source_sha256);
      verdicts.push_back(std::move(verdict));
    }
    if (turn.state == "done") check(store->FinishTurn(*id, owner, turn, files_of(turn.number), verdicts));
  }
  if (!given.episode.ended_by.empty()) {
    check(store->EndEpisode(request.id, owner, given.episode.ended_by, given.episode.ending));
  }
  return request;
}

}  // namespace kb

#endif  // GENERATE_TRANSCRIPT_TEST_UTIL_H_
