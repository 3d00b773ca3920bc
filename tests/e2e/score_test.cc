// Scores and comparisons of a real store by the real binary.

#include <cmath>
#include <fstream>
#include <set>

#include "base/file.h"
#include "harness.h"
#include "store/store.h"

namespace kb::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ScoreTest : public EngineTest {
 protected:
  // Twenty problems of level 1; `good` solves all, twice as fast; `bad` the first four, slower. One job failed.
  void Fill() {
    auto opened = Store::Open(store());
    ASSERT_TRUE(opened) << opened.error().message;
    for (const std::string model : {"good", "bad"}) {
      for (int problem = 60; problem < 80; ++problem) {
        const bool correct = model == "good" || problem < 64;
        json evaluation = {{"id", model + std::to_string(problem)},
                           {"created", "2026-01-01T00:00:00Z"},
                           {"run", "run-of-" + model},
                           {"model", model},
                           {"sample", 0},
                           {"problem", "1/" + std::to_string(problem)},
                           {"problem_sha256", "x"},
                           {"size", "standard"},
                           {"device", "cuda"},
                           {"device_info", {{"name", "Some GPU"}, {"torch", "2.9.1"}}},
                           {"protocol", "kernelbench"},
                           {"baseline", "eager"},
                           {"candidate", {{"path", model + ".py"}, {"sha256", model + std::to_string(problem)}}},
                           {"verdict", correct ? "correct" : "incorrect"},
                           {"speedup", nullptr}};
        if (correct) evaluation["speedup"] = model == "good" ? 2.0 : 0.8;
        const Status added = opened->Add(evaluation);
        ASSERT_TRUE(added) << added.error().message;
      }
    }
    AddFailedJob("1/80");
  }

  // Of `bad`.
  void AddFailedJob(const std::string& problem) {
    auto opened = Store::Open(store());
    ASSERT_TRUE(opened) << opened.error().message;
    Job job;
    job.model = "bad";
    job.problem = problem;
    job.device = "cuda";
    job.protocol = "kernelbench";
    job.size = "standard";
    job.sha256 = "what it wrote then";
    const auto added = opened->AddJob("run-of-bad", job);
    ASSERT_TRUE(added) << added.error().message;
    ASSERT_TRUE(opened->ClaimJob(added->id, "me").value());
    ASSERT_TRUE(opened->GiveUpJob(added->id, "me", "the GPU fell off the bus", false));
  }

  json Score(Arguments arguments) {
    arguments.insert(arguments.begin(), "score");
    arguments.emplace_back("--json");
    const Ended ended = Run(arguments);
    EXPECT_EQ(ended.code, 0) << ended;
    const auto lines = ended.Lines();
    return lines.size() == 1 ? lines[0] : json();
  }
};

void Keys(const json& value, std::set<std::string>* keys) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) {
      keys->insert(key);
      // These are named by what is counted.
      if (key != "levels" && key != "families" && key != "verdicts") Keys(member, keys);
    }
  } else if (value.is_array()) {
    for (const json& member : value) Keys(member, keys);
  }
}

void ExpectKeysDocumented(const json& value) {
  const auto docs = ReadFile(std::filesystem::path(KB_SOURCE_DIR) / "docs" / "reference" / "scores.md");
  ASSERT_TRUE(docs);
  std::set<std::string> keys;
  Keys(value, &keys);
  for (const std::string& key : keys) EXPECT_THAT(*docs, HasSubstr("`" + key + "`"));
}

TEST_F(ScoreTest, JsonByHandAndAsDocumented) {
  Fill();
  const json sheet = Score({});
  ExpectKeysDocumented(sheet);
  ASSERT_EQ(sheet["models"].size(), 2u);
  const json& bad = sheet["models"][0];
  EXPECT_EQ(bad["model"], "bad");
  EXPECT_EQ(bad["torch"], json::array({"2.9.1"}));
  const int64_t n = bad["all"]["problems"];
  EXPECT_EQ(n + static_cast<int64_t>(bad["unscored"].size()), 21) << "the failed one was attempted";
  for (const json& point : bad["all"]["fast_p"]) {
    EXPECT_EQ(point["count"], point["p"] < 0.8 ? bad["all"]["correct"] : json(0)) << "0.8 is not faster than 0.8";
    EXPECT_EQ(point["total"], n);
  }
  EXPECT_NEAR(bad["all"]["geometric_mean"], 0.8, 1e-12);
  EXPECT_NEAR(bad["all"]["geometric_mean_incorrect_as_1"],
              std::pow(0.8, bad["all"]["correct"].get<double>() / static_cast<double>(n)), 1e-12);
  EXPECT_EQ(bad["levels"].size(), 1u);
  EXPECT_LT(bad["without_metr"]["problems"], n) << "METR removed 1/77";
  ASSERT_EQ(sheet["engine"].size(), 1u);
  EXPECT_EQ(sheet["engine"][0]["failed"], 1);
  EXPECT_EQ(sheet["engine"][0]["errors"][0]["error"], "the GPU fell off the bus");
}

TEST_F(ScoreTest, SpeedupsOfLowerArithmeticCanBeTakenAway) {
  Fill();
  {
    auto opened = Store::Open(store());
    ASSERT_TRUE(opened) << opened.error().message;
    for (const auto& [problem, types] :
         {std::pair("61", json({"f16", "tf32"})), {"62", json::array()}, {"63", json()}}) {
      json evaluation = opened->Get(std::string("good") + problem).value();
      evaluation["id"] = std::string("traced") + problem;
      evaluation["created"] = "2026-01-02T00:00:00Z";
      evaluation["authorship"] = {{"class", "custom"}, {"arithmetic", types}};
      ASSERT_TRUE(opened->Add(evaluation));
    }
  }
  const json all = Score({"run-of-good"})["models"][0]["all"];
  const json fp32 = Score({"run-of-good", "--arithmetic", "fp32"})["models"][0]["all"];
  EXPECT_EQ(fp32["correct"], all["correct"]);
  EXPECT_EQ(fp32["measured"], all["measured"].get<int>() - 1);
  EXPECT_EQ(Run({"score", "--arithmetic", "fp8"}).code, 2);
}

TEST_F(ScoreTest, FlagsSelect) {
  Fill();
  EXPECT_EQ(Score({"run-of-good"})["models"].size(), 1u);
  EXPECT_EQ(Score({"--model", "good,bad"})["models"].size(), 2u);
  EXPECT_EQ(Score({"--select", "1/60-63", "run-of-good"})["models"][0]["problems"], 4);
  EXPECT_EQ(Score({"--select", "1/77,1/78", "--without-metr"})["models"][0]["problems"], 1);
  for (const Arguments& nothing :
       {Arguments{"--level", "2"}, {"--device", "cpu"}, {"--protocol", "strict"}, {"--size", "small"}}) {
    EXPECT_THAT(Score(nothing)["models"], IsEmpty()) << nothing[0];
  }
  EXPECT_EQ(Score({"--device", "Some GPU", "--level", "1"})["models"].size(), 2u);
  EXPECT_NEAR(Score({"--cap", "1.5", "--p", "1.9"})["models"][1]["all"]["geometric_mean"], 1.5, 1e-12);
  const Ended unknown = Run({"score", "no-such-run"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("no run no-such-run"), HasSubstr("run-of-good")));
  for (const Arguments& wrong : {Arguments{"score", "--format", "pdf"},
                                 {"score", "-o", "scores.xyz"},
                                 {"score", "--k", "0"},
                                 {"score", "--cap", "0"},
                                 {"score", "--select", "9/999"}}) {
    EXPECT_EQ(Run(wrong).code, 2) << wrong[1];
  }
}

TEST_F(ScoreTest, EveryFormat) {
  EXPECT_THAT(Run({"score"}).out, HasSubstr("nothing to score")) << "there is no store yet";
  EXPECT_FALSE(std::filesystem::exists(store())) << "reading made one";
  Fill();
  EXPECT_THAT(Run({"score"}).out, AllOf(HasSubstr("good · Some GPU (cuda) · kernelbench"), HasSubstr("fast_0.8"),
                                        HasSubstr("1 of them: the GPU fell off the bus")));
  const std::pair<const char*, const char*> kFiles[] = {
      {"s.json", "{\"schema\":1"}, {"s.csv", "model,device,"}, {"s.md", "| Model |"}, {"s.html", "<!doctype html>"}};
  for (const auto& [name, beginning] : kFiles) {
    const std::string path = (root() / name).string();
    EXPECT_EQ(Run({"score", "-o", path}).code, 0);
    EXPECT_TRUE(ReadFile(path).value_or("").starts_with(beginning)) << name;
  }
}

TEST_F(ScoreTest, AFolderAndAPageHoldWhatTheCommandsPrint) {
  Fill();
  const std::filesystem::path site = root() / "site", page = root() / "report.html";
  const auto document = [&](const std::string& name) {
    return json::parse(ReadFile(site / "data" / name).value_or(""), nullptr, false);
  };
  const Ended written = Run({"site", site.string()});
  EXPECT_EQ(written.code, 0) << written;
  EXPECT_THAT(written.out, HasSubstr("40 entries"));
  EXPECT_EQ(document("scores.json"), Score({}));
  EXPECT_EQ(document("runs/run-of-bad.json")["score"], Score({"run-of-bad"}));
  json compared = document("compare/good/bad.json");
  EXPECT_EQ(compared["levels"], json::object()) << "all problems are of one";
  compared.erase("levels");
  EXPECT_EQ(compared, Run({"compare", "good", "bad", "--ranges", "--json"}).Lines().at(0));
  EXPECT_EQ(document("entries/good60.json"), Run({"show", "good60", "--json"}).Lines().at(0));
  const json catalog = document("catalog.json");
  EXPECT_EQ(catalog["entries"]["id"].size(), 41u) << "and one that the engine failed at";
  EXPECT_THAT(ReadFile(site / "index.html").value_or(""), HasSubstr("<script src=\"app.js\">"));
  EXPECT_TRUE(std::filesystem::exists(site / "app.js"));

  const Ended one = Run({"report", "--run", "run-of-good", "-o", page.string()});
  EXPECT_EQ(one.code, 0) << one;
  EXPECT_THAT(one.out, HasSubstr("20 evaluations written"));
  const std::string html = ReadFile(page).value_or("");
  const std::string open = "id=\"documents\">";
  const size_t begin = html.find(open) + open.size();
  const json documents = json::parse(html.substr(begin, html.find("</script>", begin) - begin), nullptr, false);
  EXPECT_EQ(documents["catalog.json"]["entries"]["id"].size(), 20u);
  EXPECT_EQ(documents["catalog.json"]["scope"], "only the run run-of-good");
  EXPECT_FALSE(documents.contains("runs/run-of-bad.json"));

  const Ended no_run = Run({"report", "--run", "typo", "-o", page.string()});
  EXPECT_EQ(no_run.code, 2) << no_run;
  EXPECT_THAT(no_run.err, HasSubstr("it has run-of-good, run-of-bad"));
  const Ended refused = Run({"site", root().string()});
  EXPECT_EQ(refused.code, 2) << refused;
  EXPECT_THAT(refused.err, HasSubstr("choose a new or empty folder"));
  EXPECT_TRUE(std::filesystem::exists(store()));
}

// A candidate that makes the engine fail gains nothing by it.
TEST_F(ScoreTest, AJobThatFailsMakesARange) {
  Fill();
  const json good = Score({"--model", "good"})["models"][0];
  EXPECT_FALSE(good.contains("missing") || good["all"].contains("if_all_pass")) << "of which all is known";
  const json before = Score({"--model", "bad"})["models"][0];
  EXPECT_EQ(before["missing"].size(), 1u);
  AddFailedJob("1/79");  // which was judged with another text, and was wrong
  const json sheet = Score({"--model", "bad"});
  ExpectKeysDocumented(sheet);
  const json& bad = sheet["models"][0];
  EXPECT_EQ(bad["all"]["fast_p"], before["all"]["fast_p"]);
  EXPECT_EQ(bad["all"]["geometric_mean_incorrect_as_1"], before["all"]["geometric_mean_incorrect_as_1"]);
  EXPECT_EQ(bad["all"]["missing"], 2);
  EXPECT_EQ(bad["all"]["if_all_pass"]["correct"], bad["all"]["correct"].get<int>() + 2);
  EXPECT_EQ(bad["all"]["if_all_pass"]["geometric_mean"], nullptr);
  EXPECT_EQ(bad["missing"][0]["problem"], "1/79");
  EXPECT_EQ(bad["missing"][0]["reason"], "the GPU fell off the bus");
  EXPECT_THAT(Run({"score"}).out, HasSubstr("missing    1/79 sample 0, run run-of-bad: no verdict: the GPU fell off"));

  const Ended refused = Run({"compare", "good", "bad"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("0 of good's and 1 of bad's"), HasSubstr("1/79"), HasSubstr("--ranges")));
  EXPECT_THAT(refused.out, IsEmpty());
  const Ended ranges = Run({"compare", "good", "bad", "--ranges"});
  EXPECT_EQ(ranges.code, 0) << ranges;
  EXPECT_THAT(ranges.out, AllOf(HasSubstr("good is better"), HasSubstr("bad: 1/79 sample 0")));
  const json compared = Run({"compare", "good", "bad", "--ranges", "--json"}).Lines().at(0);
  ExpectKeysDocumented(compared);
  const json& setting = compared["settings"][0];
  EXPECT_LT(setting["lowest"]["fast_p"][0]["difference"], setting["highest"]["fast_p"][0]["difference"]);
  EXPECT_EQ(setting["missing_b"].size(), 1u);
}

TEST_F(ScoreTest, CompareModelsAndRuns) {
  Fill();
  const Ended table = Run({"compare", "good", "bad"});
  EXPECT_EQ(table.code, 0) << table;
  EXPECT_THAT(table.out, AllOf(HasSubstr("good is better"), HasSubstr("where they differ most")));
  const auto sheet = Run({"compare", "run-of-good", "run-of-bad", "--by", "run", "--json"}).Lines();
  ASSERT_EQ(sheet.size(), 1u);
  ExpectKeysDocumented(sheet[0]);
  const json& setting = sheet[0]["settings"][0];
  EXPECT_LT(setting["fast_p"][0]["p_value"], 0.001);
  EXPECT_NEAR(setting["speedup_both_correct"]["ratio"], 2.5, 1e-12);
  EXPECT_EQ(Run({"compare", "good", "good", "--json"}).Lines().at(0)["settings"][0]["fast_p"][0]["p_value"], 1.0);
  const Ended unknown = Run({"compare", "good", "ugly"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("bad, good"));
}

}  // namespace
}  // namespace kb::e2e
