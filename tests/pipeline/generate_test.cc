// Models write candidates: from a problem to scores in one command, and the same command again goes on.

#include <signal.h>

#include <algorithm>
#include <set>

#include "base/file.h"
#include "fixture.h"
#include "store/store.h"

namespace kb::pipeline {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr char kNativeRelu[] = R"(```cpp
#include <kernelbench/kernel.h>

#include <cstdint>

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  for (int64_t i = 0; i < 64 * 64; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
```)";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

class GenerateTest : public PipelineTest {
 protected:
  // A replay of these answers, by sample; each costs 0.001 dollars and has 1,000 tokens.
  void Answers(const std::vector<std::string>& texts, double wait_s = 0) const {
    std::string lines;
    for (size_t sample = 0; sample < texts.size(); ++sample) {
      lines += json{{"sample", sample},
                    {"text", texts[sample]},
                    {"wait_s", wait_s},
                    {"usage", {{"input", 600}, {"output", 400}}}}
                   .dump() +
               "\n";
    }
    Write("answers.jsonl", lines);
    Write("models.toml",
          "[models.m]\nprovider = \"replay\"\npath = \"answers.jsonl\"\nprice = { input = 1.0, output = 1.0 }\n");
  }
  Arguments Command(const Arguments& more = {}) const {
    Arguments arguments = {"generate",      Write("relu.py", kReluProblem),
                           "--model",       "m",
                           "--models-file", (root() / "models.toml").string(),
                           "--run",         "r",
                           "--protocol",    "quick",
                           "--measure",     "false",
                           "--profile-ms",  "0",
                           "--shots",       "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
};

TEST_F(GenerateTest, AnswersAreJudgedAndScoredAndAskedForOnce) {
  Answers(
      {kNativeRelu, Replaced(kNativeRelu, ": 0;", ": 1;"), "No.", Replaced(kNativeRelu, "return 0", "return none")});
  const Ended first = Run(Command({"--samples", "4", "--json"}));
  EXPECT_EQ(first.code, 0) << first;
  std::vector<json> lines = first.Lines();
  ASSERT_EQ(lines.size(), 5u) << first;
  const json summary = lines.back();
  lines.pop_back();
  std::map<int, std::string> verdicts;
  for (const json& line : lines) {
    EXPECT_EQ(line.at("run"), "r");
    EXPECT_EQ(line.at("model"), "m");
    verdicts[line.at("sample").get<int>()] = line.at("verdict").get<std::string>();
    if (line.at("sample") == 2) {
      EXPECT_THAT(line.at("reason").get<std::string>(), HasSubstr("holds no candidate"));
    }
  }
  EXPECT_THAT(verdicts, UnorderedElementsAre(testing::Pair(0, "correct"), testing::Pair(1, "incorrect"),
                                             testing::Pair(2, "static_rejected"), testing::Pair(3, "build_failed")));
  EXPECT_EQ(summary.at("answered"), 4);
  EXPECT_EQ(summary.at("without_candidate"), 1);
  EXPECT_NEAR(summary.at("cost_usd").get<double>(), 0.004, 1e-9);

  const Ended second = Run(Command({"--samples", "4", "--json"}));
  EXPECT_EQ(second.code, 0) << second;
  ASSERT_EQ(second.Lines().size(), 1u) << "nothing is judged again";
  EXPECT_EQ(second.Lines()[0].at("calls"), 4);
  EXPECT_THAT(Run({"score", "r"}).out, HasSubstr("m"));
  const json trajectory = Run({"trajectory", "r", "--json"}).Lines().at(0);
  EXPECT_EQ(trajectory.at("models").at(0).at("points").size(), 4u);
  EXPECT_EQ(trajectory.at("models").at(0).at("steps").back().at("tokens"), 4000);
  const Ended shown = Run({"trajectory", "r", "--candidate", "2"});
  EXPECT_THAT(shown.out, HasSubstr("No."));
  EXPECT_THAT(shown.out, HasSubstr("torch.relu")) << "the prompt";
  const Ended full = Run({"trajectory", "r", "--candidate", "2", "--full"});
  EXPECT_EQ(full.code, 2);
  EXPECT_THAT(full.err, HasSubstr("is no agent's"));
  const Ended atif = Run({"export", "r", "--atif"});
  EXPECT_EQ(atif.code, 2);
  EXPECT_THAT(atif.err, HasSubstr("no agent has worked in a run r"));
  const Ended other = Run(Command({"--samples", "4", "--regenerate", "1"}));
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.err, HasSubstr("regenerate was 0, now 1"));

  const Arguments again = Command({"--samples", "4", "--json"});
  Write("relu.py", std::string(kReluProblem) + "# Another text.\n");
  const Ended changed = Run(again);
  EXPECT_EQ(changed.code, 0) << changed;
  ASSERT_EQ(changed.Lines().size(), 5u) << "all are judged again, with the problem's present text";
  EXPECT_EQ(changed.Lines()[4].at("calls"), 4) << "and none is asked for again";
  EXPECT_EQ(Run({"store", "check"}).code, 0);
  ExpectNoProcessLeft();
}

TEST_F(GenerateTest, WithoutAJudgeItOnlyGeneratesAndCapsEndIt) {
  Answers(std::vector<std::string>(20, "No."));
  const Ended capped = Run(Command({"--samples", "20", "--no-judge", "--max-usd", "0.0065", "--json"}));
  EXPECT_EQ(capped.code, 0) << capped;
  const json summary = capped.Lines().at(0);
  EXPECT_EQ(summary.at("ended_by"), "--max-usd 0.0065");
  EXPECT_EQ(summary.at("calls"), 7) << "six cost 0.006, the seventh passes the cap";
  EXPECT_EQ(StoredEvaluations(), 0);

  // What earlier answers took is what others are expected to take.
  const Ended told = Run(Command({"--samples", "20", "--no-judge", "--forecast", "--json"}));
  EXPECT_EQ(told.code, 0) << told;
  const json forecast = told.Lines().at(0).at("forecast").at(0);
  EXPECT_EQ(forecast.at("answers"), 13);
  EXPECT_EQ(forecast.at("learnt_from"), 7);
  const Ended rest = Run(Command({"--samples", "20", "--no-judge", "--json"}));
  EXPECT_EQ(rest.code, 0) << rest;
  const double took = rest.Lines().at(0).at("cost_usd").get<double>() - summary.at("cost_usd").get<double>();
  EXPECT_NEAR(forecast.at("cost_usd").get<double>(), took, 0.1 * took);
  const double tokens = forecast.at("input_tokens").get<double>() + forecast.at("output_tokens").get<double>();
  EXPECT_NEAR(tokens, 13'000, 1'300);

  for (const char* cap : {"--max-tokens", "--max-evaluations"}) {
    const Ended none = Run(Command({"--samples", "30", "--no-judge", cap, "1", "--json"}));
    EXPECT_EQ(none.code, std::string(cap) == "--max-tokens" ? 0 : 2) << cap << none;
  }
}

TEST_F(GenerateTest, AKillLosesNoAnswerAndAsksNoneTwice) {
  std::vector<std::string> texts;
  for (int i = 0; i < 30; ++i) texts.push_back("No, " + std::to_string(i));
  Answers(texts, 0.1);
  size_t before = 0;
  for (int kills = 0; kills < 3; ++kills) {
    const Engine engine = Start(Command({"--samples", "30", "--no-judge"}));
    usleep(200'000 + 60'000 * static_cast<unsigned>(kills));
    engine.Signal(SIGKILL);
  }
  const Ended rest = Run(Command({"--samples", "30", "--no-judge", "--json"}));
  EXPECT_EQ(rest.code, 0) << rest;
  EXPECT_EQ(rest.Lines().at(0).at("calls"), 30) << "of all commands together";
  EXPECT_EQ(rest.Lines().at(0).at("answered"), 30);
  std::set<int> samples;
  const json shown = Run({"trajectory", "r", "--json"}).Lines().at(0);
  for (const json& point : shown.at("models").at(0).at("points")) {
    samples.insert(point.at("sample").get<int>());
    ++before;
  }
  EXPECT_EQ(before, 30u);
  EXPECT_EQ(samples.size(), 30u) << "each once";
  EXPECT_EQ(Run({"store", "check"}).code, 0);
}

TEST_F(GenerateTest, InterruptedItSaysHowToGoOn) {
  Answers(std::vector<std::string>(30, "No."), 0.2);
  Engine engine = Start(Command({"--samples", "30", "--no-judge"}));
  usleep(400'000);
  engine.Signal(SIGINT);
  const Ended ended = engine.Wait();
  EXPECT_EQ(ended.code, 130) << ended;
  EXPECT_THAT(ended.out, HasSubstr("still open (the same command goes on)"));
  Answers(std::vector<std::string>(30, "No."));
  const Ended rest = Run(Command({"--samples", "30", "--no-judge", "--json"}));
  EXPECT_EQ(rest.code, 0) << rest;
  EXPECT_EQ(rest.Lines().at(0).at("calls"), 30);
}

TEST_F(GenerateTest, AMatrixIsGeneratedJudgedAndScored) {
  Answers({kNativeRelu, "No."});
  Write("more.toml",
        "[models.a]\nprovider = \"replay\"\npath = \"answers.jsonl\"\n[models.b]\nprovider = \"replay\"\npath = "
        "\"answers.jsonl\"\n");
  const std::string text = "problems = [\"" + Write("relu.py", kReluProblem) +
                           "\"]\nmodels = [\"a\", \"b\"]\nrun = \"r\"\n" + "models-file = \"" +
                           (root() / "more.toml").string() +
                           "\"\nsamples = 2\nprotocol = \"quick\"\nmeasure = false\nprofile-ms = 0\nshots = 0\n";
  const std::string file = Write("matrix.toml", text), report = (root() / "report.html").string();
  const Ended ended = Run({"matrix", file, "--json", "--report", report});
  EXPECT_EQ(ended.code, 0) << ended;
  const std::vector<json> lines = ended.Lines();
  ASSERT_EQ(lines.size(), 6u) << "four evaluations, the run, the scores";
  std::map<std::string, int> correct;
  for (const json& line : lines) {
    if (line.contains("verdict")) correct[line.at("model")] += line.at("verdict") == "correct" ? 1 : 0;
  }
  EXPECT_THAT(correct, UnorderedElementsAre(testing::Pair("a", 1), testing::Pair("b", 1)));
  EXPECT_TRUE(std::filesystem::exists(report));
  Write("matrix.toml", text + "sampels = 3\n");
  const Ended misspelt = Run({"matrix", file});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_THAT(misspelt.err, HasSubstr("there is no key sampels"));
}

TEST_F(GenerateTest, AuditorsAnswerStrictlyAndTheLowerSpeedupCounts) {
  Answers({kNativeRelu});
  const Ended judged = Run({"generate", Write("relu.py", kReluProblem), "--model", "m", "--models-file",
                            (root() / "models.toml").string(), "--run", "r", "--protocol", "quick", "--profile-ms", "0",
                            "--shots", "0"});
  ASSERT_EQ(judged.code, 0) << judged;
  const std::string passes =
      R"({"exploits_benchmark": false, "works_for_new_inputs": true, "only_default_stream": true, "passes": true, "explanation": "a loop"})";
  const auto auditor = [&](const std::string& name, const std::string& text) {
    Write(name + ".jsonl", json{{"text", text}}.dump() + "\n");
    return "[models." + name + "]\nprovider = \"replay\"\npath = \"" + name + ".jsonl\"\n";
  };
  const std::string models =
      Write("models.toml", auditor("kind", passes) + auditor("chatty", "It looks fine to me. " + passes));
  const auto audit = [&](const std::string& auditors) {
    return Run({"audit", "r", "--auditors", auditors, "--models-file", models, "--above", "0", "--json"});
  };
  const Ended kind = audit("kind");
  EXPECT_EQ(kind.code, 0) << kind;
  const json first = kind.Lines().at(0);
  EXPECT_EQ(first.at("audited_speedup"), first.at("speedup"));
  const auto measured = [&] {
    const json scores = json::parse(Run({"score", "r", "--audited", "--json"}).out);
    return scores.at("models").at(0).at("all").at("measured").get<int>();
  };
  EXPECT_EQ(measured(), 1);
  const Ended both = audit("kind,chatty");
  EXPECT_EQ(both.code, 1) << both;
  const json second = both.Lines().at(0);
  EXPECT_EQ(second.at("audited_speedup"), 0.0);
  EXPECT_EQ(second.at("audits").at(1).at("outcome"), "unparsable");
  EXPECT_EQ(measured(), 0) << "an unconfirmed speedup is none";
  // What is stored is not asked again: the answers may go.
  Write("chatty.jsonl", "{\"problem\": \"none\"}\n");
  EXPECT_EQ(audit("kind,chatty").code, 1);
  EXPECT_EQ(audit("kind,kind").code, 2);
}

// Long enough for likeness to mean something.
std::string LongRelu(const std::string& name) {
  const std::string text = R"(```cpp
#include <kernelbench/kernel.h>

#include <cstdint>

static float Larger(float v, float w) { return v > w ? v : w; }

struct V {
  const float* from;
  float* to;
  int64_t size;
};

static void Block(const V& v, int64_t begin, int64_t count) {
  while (count-- > 0) v.to[begin + count] = Larger(v.from[begin + count], 0.0f);
}

int kb_forward(const kb_call* call) {
  V v{static_cast<const float*>(call->inputs[0].data), static_cast<float*>(call->outputs[0].data), 64 * 64};
  int64_t done = 0;
  for (; done + 16 <= v.size; done += 16) Block(v, done, 16);
  if (done < v.size) Block(v, done, v.size - done);
  return 0;
}
```)";
  std::string renamed;
  for (const char c : text) renamed += c == 'v' ? name : std::string(1, c);
  return Replaced(renamed, name + "oid Block", "void Block");
}

TEST_F(GenerateTest, MechanicalAuditsNeedNoModelAndOnlyMark) {
  const std::string problem = Write("relu.py", kReluProblem + std::string("\nSIZES = {\"small\": {\"ROWS\": 8}}\n"));
  const auto judge = [&](const std::string& run, const std::string& answer) {
    Answers({answer});
    return Run({"generate", problem, "--model", "m", "--models-file", (root() / "models.toml").string(), "--run", run,
                "--protocol", "quick", "--size", "standard", "--profile-ms", "0", "--shots", "0"});
  };
  ASSERT_EQ(judge("first", LongRelu("v")).code, 0);
  ASSERT_EQ(judge("copied", LongRelu("tensors")).code, 0);
  std::filesystem::remove(root() / "models.toml");
  const auto audit = [&](const std::string& run, const Arguments& more = {}) {
    Arguments arguments = {"audit", run, "--mechanical", "--above", "0", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  };
  const Ended first = audit("first");
  EXPECT_EQ(first.code, 0) << first;
  EXPECT_EQ(first.Lines().at(0).at("mechanical").at("findings"), json::array()) << "nothing was there before";
  const Ended copied = audit("copied", {"--held-out", "--quiet"});
  EXPECT_EQ(copied.code, 1) << copied;
  const json line = copied.Lines().at(0), found = line.at("mechanical").at("findings");
  ASSERT_EQ(found.size(), 1u) << line;
  EXPECT_EQ(found.at(0).at("audit"), "similar");
  EXPECT_THAT(found.at(0).at("evidence").get<std::string>(), HasSubstr("run first"));
  EXPECT_EQ(line.at("audited_speedup"), nullptr);
  const json held_out = line.at("mechanical").at("held_out");
  ASSERT_EQ(held_out.size(), 1u) << line;
  EXPECT_EQ(held_out.at(0).at("size"), "small");
  EXPECT_EQ(held_out.at(0).at("verdict"), "correct");
  EXPECT_EQ(audit("copied").Lines().at(0).at("mechanical").at("held_out"), held_out) << "it is kept";
  const Ended score = Run({"score", "copied", "--audited", "--json"});
  EXPECT_THAT(score.out, HasSubstr("\"measured\":0")) << "no model has confirmed it";
  const Ended neither = Run({"audit", "copied"}), both = Run({"audit", "copied", "--mechanical", "--auditors", "m"});
  EXPECT_EQ(neither.code, 2);
  EXPECT_THAT(neither.err, HasSubstr("--mechanical, which needs none"));
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("leave out --auditors"));
}

// An evaluation is an agent's by model, problem and number.
TEST_F(GenerateTest, AnAuditReadsTheTranscriptOfTheAgentThatWroteTheCandidate) {
  Answers({LongRelu("v")});
  ASSERT_EQ(
      Run({"generate", Write("relu.py", kReluProblem), "--model", "m", "--models-file",
           (root() / "models.toml").string(), "--run", "r", "--protocol", "quick", "--profile-ms", "0", "--shots", "0"})
          .code,
      0);
  {
    Store store = Store::Open(this->store()).value();
    json evaluation = store.Get(store.Scores({.run = "r"}).value().at(0).id).value();
    for (const int number : {0, 1}) {
      evaluation["id"] = "agent" + std::to_string(number);
      evaluation["run"] = "agent";
      evaluation["sample"] = number;
      ASSERT_TRUE(store.Add(evaluation));
    }
    GenerationRequest request;
    request.model = "m";
    request.problem = evaluation.at("problem");
    request.sample = request.candidate = 1;
    request = store.ClaimRequest("agent", request, "me").value().value();
    ASSERT_TRUE(store.BeginEpisode("me", {.request = request.id, .opening = "{}"}));
    Turn turn{.number = 1, .kind = "work"};
    const int64_t id = store.AskTurn(request.id, "me", turn).value();
    const json call = {{"id", "a"}, {"name", "bash"}, {"arguments", R"({"command": "cat /root/best.cpp"})"}};
    turn.answer = json{{"text", "I look."}, {"calls", {call}}}.dump();
    ASSERT_TRUE(store.AnswerTurn(id, "me", turn));
    turn.results = json{{"results", {{{"call_id", "a"}, {"name", "bash"}, {"text", "exit 1"}}}}}.dump();
    ASSERT_TRUE(store.FinishTurn(id, "me", turn, {}, {}));
  }
  const Ended ended = Run({"audit", "agent", "--mechanical", "--above", "0", "--json"});
  EXPECT_EQ(ended.code, 1) << ended;
  const std::vector<json> lines = ended.Lines();
  ASSERT_EQ(lines.size(), 2u) << ended;
  for (const json& line : lines) {
    std::vector<std::string> places;
    for (const json& finding : line.at("mechanical").at("findings")) {
      if (finding.at("audit") != "similar") places.push_back(finding.at("where"));
    }
    EXPECT_EQ(places,
              line.at("sample") == 1 ? std::vector<std::string>{"turn 1, call 1 (bash)"} : std::vector<std::string>())
        << line;
  }
}

TEST_F(GenerateTest, APresetSetsWhatNoFlagSays) {
  Answers({kNativeRelu});
  const Ended listed = Run({"presets", "--json"});
  ASSERT_EQ(listed.Lines().size(), 4u) << listed;
  EXPECT_EQ(listed.Lines().at(3).at("flags").at("turns-by-level"), "10,12,15,15");
  const Ended unknown = Run(Command({"--preset", "v4"}));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there are inspect, kernelbench, level3, v3"));
  // The preset's strategy has agents: one answer each, and nothing is known of what they take before some have worked.
  const Ended preset = Run(Command({"--preset", "v3", "--forecast", "--json"}));
  const json forecast = preset.Lines().at(0).at("forecast").at(0);
  EXPECT_EQ(forecast.at("answers"), 1) << preset;
  EXPECT_TRUE(forecast.at("most_tokens").is_null()) << preset;
  // A problem from elsewhere has no level, so --turns counts.
  const Ended given = Run(Command({"--preset", "v3", "--strategy", "refine", "--turns", "7", "--forecast", "--json"}));
  EXPECT_EQ(given.Lines().at(0).at("forecast").at(0).at("answers"), 7) << given;
}

TEST_F(GenerateTest, TheWinnerOfEachProblemIsWrittenWithWhatItAchieved) {
  Answers({kNativeRelu, Replaced(kNativeRelu, "return 0", "return 0 + 0")});
  Arguments generate = Command({"--samples", "2"});
  std::replace(generate.begin(), generate.end(), std::string("false"), std::string("true"));
  ASSERT_EQ(Run(generate).code, 0);
  const std::string directory = root() / "best";
  const Ended best = Run({"best", "r", "-o", directory, "--json"});
  ASSERT_EQ(best.code, 0) << best;
  const json line = best.Lines().at(0);
  const std::string text = *ReadFile(std::filesystem::path(directory) / line.at("file").get<std::string>());
  EXPECT_THAT(text, HasSubstr("// SPDX-License-Identifier: NOASSERTION"));
  EXPECT_THAT(text, HasSubstr(line.at("id").get<std::string>()));
  EXPECT_THAT(text, HasSubstr("kb_forward"));
  EXPECT_EQ(json::parse(*ReadFile(std::filesystem::path(directory) / "best.json")).at(0).at("id"), line.at("id"));
  const Ended again = Run({"best", "r", "-o", directory});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("is not empty"));
  EXPECT_EQ(Run({"best", "none", "-o", directory + "2"}).code, 2);
}

TEST_F(GenerateTest, WhatCannotBeIsRefusedWithAReason) {
  Answers({"No."});
  Write("answers.jsonl", json{{"sample", 9}, {"text", "No."}}.dump() + "\n");
  int runs = 0;
  const auto said = [&](const Arguments& more, int code = 2) {
    Arguments arguments = Command(more);
    *std::find(arguments.begin(), arguments.end(), "r") = "r" + std::to_string(runs++);
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, code) << ended;
    return ended.err;
  };
  EXPECT_THAT(said({"--samples", "2", "--no-judge"}, 3), HasSubstr("has no answer for problem relu, sample "));
  Answers({"No."});
  EXPECT_THAT(said({"--strategy", "refine", "--no-judge"}), HasSubstr("needs verdicts"));
  EXPECT_THAT(said({"--backend", "triton"}), HasSubstr("triton"));
  EXPECT_THAT(said({"--model", "gpt"}), HasSubstr("gpt"));
  EXPECT_THAT(said({"--model", "m"}), HasSubstr("twice"));
  Write("models.toml", "[models.m]\nprovider = \"replay\"\npath = \"answers.jsonl\"\n");
  EXPECT_THAT(said({"--max-usd", "1", "--no-judge"}), HasSubstr("price"));
}

}  // namespace
}  // namespace kb::pipeline
