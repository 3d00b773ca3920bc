#include "pages/pages.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/hash.h"
#include "base/temp_dir.h"
#include "pages/names.h"
#include "pages/site.h"
#include "store/store_test_util.h"

namespace kb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kHostile[] = "../</script><img src=x>\x1b[31m\xff~";

TEST(NamesTest, APartIsThereAndBack) {
  const std::pair<std::string, const char*> cases[] = {
      {"", "~"}, {"mine", "mine"}, {"1/19", "1~2f19"}, {"..", "~2e."}, {"a.b", "a.b"}, {"~", "~7e"}, {"\xff", "~ff"}};
  for (const auto& [text, part] : cases) {
    EXPECT_EQ(NamePart(text), part);
    EXPECT_EQ(TextOfNamePart(part), text);
  }
  for (const char* none : {"..", "a/b", "~2", "~zz", "~61", "a b", "~2F"}) EXPECT_FALSE(TextOfNamePart(none)) << none;
}

class PagesTest : public testing::Test {
 protected:
  PagesTest()
      : directory_(TempDir::Create("kb-pages-test").value()),
        store_(Store::Open(directory_.path() / "store.sqlite").value()),
        pages_(&store_, Options()) {}

  static PagesOptions Options() {
    const fs::path root = KB_SOURCE_DIR;
    PagesOptions options;
    options.installation.published = root / "published";
    options.installation.calibrations = root / "calibrations";
    options.problems = root / "problems";
    options.version = "9";
    return options;
  }
  void Add(json evaluation) {
    const Status added = store_.Add(evaluation);
    ASSERT_TRUE(added) << added.error().message;
  }
  json Read(const std::string& name, const PagesView& view = {}) {
    const auto document = pages_.Document(name, view);
    EXPECT_TRUE(document) << name << ": " << document.error().message;
    return document ? json::parse(*document) : json();
  }
  void ExpectGone(const std::string& name, const PagesView& view = {}) {
    const auto document = pages_.Document(name, view);
    ASSERT_FALSE(document) << name;
    EXPECT_EQ(document.error().code, ErrorCode::kUsage) << name;
  }

  TempDir directory_;
  Store store_;
  Pages pages_;
};

TEST_F(PagesTest, AnEmptyStoreHasACatalogue) {
  const json catalog = Read("catalog.json");
  EXPECT_EQ(catalog["schema"], 1);
  EXPECT_EQ(catalog["version"], "9");
  EXPECT_EQ(catalog["scope"], "store");
  EXPECT_TRUE(catalog["entries"]["id"].empty());
  EXPECT_TRUE(catalog["runs"].empty());
  EXPECT_GT(catalog["problems"].size(), 200u);
  EXPECT_GT(catalog["published"].size(), 0u);
  EXPECT_TRUE(Read("catalog.json", {.used_problems = true})["problems"].empty());
}

TEST_F(PagesTest, EntriesAreColumns) {
  json evaluation = RunEvaluation("one");
  evaluation["candidate"]["backend"] = "cuda";
  evaluation["authorship"] = {
      {"class", "mixed"}, {"custom", 0.6}, {"library", 0.2}, {"by_object", {{{"class", "no"}}}}};
  evaluation["speed_of_light"] = {{"fraction", 0.4}, {"us", 7}};
  evaluation["notes"] = {{{"code", "clock"}, {"text", "faster_than_memory: 3 us"}},
                         {{"code", "module"}, {"text", "state_copied: yes"}}};
  Add(evaluation);
  evaluation["id"] = "two";
  evaluation["created"] = "2026-01-02T10:00:00Z";
  evaluation["verdict"] = "tampered";
  evaluation["notes"] = {"timing_mismatch: of an earlier version"};
  evaluation.erase("speed_of_light");
  Add(evaluation);
  const json catalog = Read("catalog.json");
  const json &entries = catalog["entries"], &values = catalog["values"];
  EXPECT_EQ(entries["id"], json({"one", "two"}));
  EXPECT_EQ(entries["created"], json({1767261600, 1767348000}));
  EXPECT_EQ(entries["counts"], json({false, true}));
  EXPECT_EQ(entries["fraction"], json({0.4, nullptr}));
  EXPECT_NEAR(entries["own"][0].get<double>(), 0.75, 1e-12);
  EXPECT_EQ(entries["low"][0], 1.4);
  EXPECT_EQ(values["authorship"][entries["authorship"][0].get<size_t>()], "mixed");
  EXPECT_EQ(values["backend"][entries["backend"][0].get<size_t>()], "cuda");
  EXPECT_EQ(values["device"], json::parse(R"([{"kind": "cpu", "name": "Some CPU"}])"));
  EXPECT_EQ(values["flag"], json({"faster_than_memory", "tampered", "timing_mismatch"}));
  EXPECT_EQ(entries["flags"], json::parse("[[0], [1, 2]]"));
  for (const auto& [name, column] : entries.items()) EXPECT_EQ(column.size(), 2u) << name;
}

TEST_F(PagesTest, AJobThatTheEngineFailedAtIsAnEntry) {
  Add(RunEvaluation("one"));
  const std::vector<Job> jobs = {QueuedJob(1), QueuedJob(2)};
  ASSERT_TRUE(store_.AddJobs("r", jobs));
  const int64_t first = store_.Jobs("r")->at(0).id, second = store_.Jobs("r")->at(1).id;
  ASSERT_TRUE(store_.ClaimJob(first, "me 1").value());
  ASSERT_TRUE(store_.GiveUpJob(first, "me 1", "the GPU fell off the bus", false).value());
  ASSERT_TRUE(store_.CancelJob(second, "", "cancelled: its client asked for it").value());
  const json catalog = Read("catalog.json");
  EXPECT_EQ(catalog["entries"]["id"], json({"job-" + std::to_string(first), "one"}));
  EXPECT_EQ(catalog["values"]["verdict"], json({"infrastructure", "correct"}));
  EXPECT_EQ(catalog["runs"][0]["verdicts"], json::parse(R"({"correct": 1, "infrastructure": 1})"));
  EXPECT_EQ(catalog["runs"][0]["jobs"], json::parse(R"({"queued": 0, "running": 0, "done": 0, "failed": 2})"));
  ExpectGone("entries/job-1.json");
}

TEST_F(PagesTest, WhatIsBeingJudgedSaysSinceWhen) {
  const std::vector<Job> jobs = {QueuedJob(1)};
  ASSERT_TRUE(store_.AddJobs("r", jobs));
  ASSERT_TRUE(store_.ClaimJob(store_.Jobs("r")->at(0).id, "me 1").value());
  const json judging = Read("catalog.json")["runs"][0]["judging"];
  ASSERT_EQ(judging.size(), 1u);
  EXPECT_NEAR(SecondsOf(judging[0]["since"]), UtcSeconds(), 60);
}

TEST_F(PagesTest, TheDoctorIsAskedOnceAMinute) {
  ExpectGone("doctor.json");
  PagesOptions options = Options();
  int asked = 0;
  options.doctor = [&]() -> Result<json> {
    if (++asked == 1) return Fail(ErrorCode::kUnavailable, "not now");
    return json{{"asked", asked}};
  };
  Pages pages(&store_, std::move(options));
  const PagesView nobody{.may_see = [](const std::string&) { return false; }};
  EXPECT_FALSE(pages.Document("doctor.json", nobody));
  EXPECT_EQ(asked, 0);
  const auto machine = [&](const PagesView& view = {}) { return json::parse(*pages.Document("machine.json", view)); };
  EXPECT_FALSE(pages.Document("doctor.json"));
  EXPECT_TRUE(machine()["doctor"].is_null());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(pages.Document("doctor.json").value_or(""), R"({"asked":2})");
  EXPECT_EQ(machine()["doctor"]["asked"], 2);
  EXPECT_TRUE(machine(nobody)["doctor"].is_null());
}

TEST_F(PagesTest, EachDocumentOfAnEvaluation) {
  json evaluation = RunEvaluation("one");
  evaluation["measurements"] = {{"much", true}};
  Add(evaluation);
  const json entry = Read("entries/one.json");
  EXPECT_EQ(entry["speedup"], 1.5);
  for (const char* part : {"samples", "measurements"}) EXPECT_FALSE(entry.contains(part)) << part;
  EXPECT_FALSE(entry["candidate"].contains("source"));
  EXPECT_EQ(Read("rounds/one.json")["samples"], evaluation["samples"]);
  const json source = Read("sources/" + evaluation["candidate"]["sha256"].get<std::string>() + ".json");
  EXPECT_EQ(source["files"], json::parse(R"([{"path": "", "text": "source one"}])"));
  EXPECT_EQ(Read("machine.json")["devices"][0]["kind"], "cpu");
  EXPECT_TRUE(Read("machine.json")["devices"][0]["calibration"].is_object());
  EXPECT_EQ(Read("problems/1~2f19.json")["line"]["title"], "Rectified linear unit, element by element");
  EXPECT_THAT(Read("problems/1~2f19.json")["text"].get<std::string>(), HasSubstr("class Model"));
  const json run = Read("runs/r.json");
  EXPECT_EQ(run["line"]["models"], json({"m"}));
  EXPECT_EQ(run["score"]["models"][0]["samples"], 1);
  EXPECT_TRUE(run["trajectory"].is_null());
  for (const char* none :
       {"conversations/one.json", "entries/on.json", "entries/~.json", "runs/other.json", "other.json",
        "problems/~2fetc~2fpasswd.json", "sources/00.json", "compare/m/n.json", "", "catalog", "entries/../one.json"})
    ExpectGone(none);
}

TEST_F(PagesTest, ASummaryIsThatOfTheScores) {
  Add(RunEvaluation("one"));
  json other = RunEvaluation("two");
  other["model"] = "n";
  other["run"] = "s";
  Add(other);
  EXPECT_EQ(Read("scores.json")["models"].size(), 2u);
  EXPECT_EQ(Read("compare/m/n.json")["settings"][0]["problems"], 1);
  EXPECT_TRUE(Read("compare/m/n.json")["levels"].empty()) << "all are of one";
  other = RunEvaluation("three");
  other.erase("run");
  Add(other);
  const json runs = Read("catalog.json")["runs"];
  ASSERT_EQ(runs.size(), 3u) << "what is in no run has a line, too";
  EXPECT_EQ(runs[2]["run"], "");
  EXPECT_EQ(Read("runs/~.json")["score"]["models"][0]["samples"], 1);
}

TEST_F(PagesTest, ModelsAreComparedOnEachLevel) {
  int number = 0;
  for (const char* model : {"m", "n"}) {
    for (const char* problem : {"1/19", "1/20", "2/1"}) {
      json evaluation = RunEvaluation(std::string(model) + "-" + std::to_string(number++));
      evaluation["model"] = model;
      evaluation["run"] = model;
      evaluation["problem"] = problem;
      Add(evaluation);
    }
  }
  const json compared = Read("compare/m/n.json");
  EXPECT_EQ(compared["settings"][0]["problems"], 3);
  EXPECT_EQ(compared["levels"].size(), 2u);
  EXPECT_EQ(compared["levels"]["level1"][0]["problems"], 2);
  EXPECT_EQ(compared["levels"]["level2"][0]["problems"], 1);
}

TEST_F(PagesTest, ATextThatTwoRunsJudgedCountsOnce) {
  json evaluation = RunEvaluation("one", 0, "a");
  Add(evaluation);
  Pages::Place place;
  EXPECT_TRUE(pages_.ChangesSince(&place, {})->entries["recounted"].empty());
  evaluation["id"] = "two";
  evaluation["run"] = "b";
  evaluation["created"] = "2026-01-02T10:00:00Z";
  Add(evaluation);
  Add(RunEvaluation("three", 0, "c"));  // another text
  EXPECT_EQ(pages_.ChangesSince(&place, {})->entries["recounted"], json::parse(R"({"0": false})"));
  const json catalog = Read("catalog.json");
  EXPECT_EQ(catalog["entries"]["counts"], json({false, true, true}));
  EXPECT_EQ(Read("scores.json")["models"][0]["samples"], 2);
  for (const json& run : catalog["runs"]) EXPECT_EQ(run["verdicts"]["correct"], 1) << run;
  EXPECT_EQ(Read("catalog.json", {.runs = {"a"}})["entries"]["counts"], json({true}))
      << "as scores of that run have it";
}

TEST_F(PagesTest, NamesAreTextWhateverTheyHold) {
  json evaluation = RunEvaluation("one", 0, kHostile);
  evaluation["model"] = kHostile;
  evaluation["problem"] = kHostile;
  evaluation["candidate"]["path"] = kHostile;
  Add(evaluation);
  const json catalog = Read("catalog.json");
  const std::string run = catalog["runs"][0]["run"], problem = catalog["values"]["problem"][0];
  EXPECT_EQ(Read("runs/" + NamePart(run) + ".json")["line"]["run"], run);
  EXPECT_EQ(Read("problems/" + NamePart(problem) + ".json")["text"], "");
}

TEST_F(PagesTest, AClientSeesItsOwn) {
  Add(RunEvaluation("one", 0, "ann"));
  Add(RunEvaluation("two", 1, "bob"));
  const PagesView ann{.may_see = [](const std::string& run) { return run == "ann"; }};
  const json catalog = Read("catalog.json", ann);
  EXPECT_EQ(catalog["entries"]["id"], json({"one"}));
  EXPECT_EQ(catalog["values"]["run"], json({"ann"}));
  EXPECT_EQ(catalog["runs"].size(), 1u);
  EXPECT_EQ(Read("scores.json", ann)["models"][0]["samples"], 1);
  Read("entries/one.json", ann);
  const std::string source = RunEvaluation("two")["candidate"]["sha256"];
  for (const std::string& hidden : {std::string("entries/two.json"), std::string("rounds/two.json"),
                                    std::string("runs/bob.json"), "sources/" + source + ".json"})
    ExpectGone(hidden, ann);
}

TEST_F(PagesTest, WhatIsNewIsTold) {
  Add(RunEvaluation("one"));
  Pages::Place place;
  const json begin = pages_.ChangesSince(&place, {})->entries;
  EXPECT_EQ(begin["sequence"], 1) << "so that who has another number reads the catalogue again";
  EXPECT_TRUE(begin["entries"]["id"].empty());
  EXPECT_TRUE(pages_.ChangesSince(&place, {})->entries.is_null());
  json second = RunEvaluation("two", 1);
  second["model"] = "n";
  Add(second);
  const json more = pages_.ChangesSince(&place, {})->entries;
  EXPECT_EQ(more["sequence"], 2);
  EXPECT_EQ(more["entries"]["id"], json({"two"}));
  EXPECT_EQ(more["values"]["model"], json({"m", "n"}));
  EvaluationReview review;
  review.evaluation_id = "one";
  review.auditor = "someone";
  ASSERT_TRUE(store_.AddReview(review));
  EXPECT_EQ(pages_.ChangesSince(&place, {})->entries["sequence"], -1) << "an older one has a flag now";
  EXPECT_EQ(Read("catalog.json")["values"]["flag"], json({"audit"}));
}

TEST_F(PagesTest, WhoeverHasBeenToldTheSameIsToldTheSame) {
  Add(RunEvaluation("one", 0, "ann"));
  const PagesView bob{.may_see = [](const std::string& run) { return run == "bob"; }, .viewer = "bob"};
  Pages::Place early, late, of_bob;
  ASSERT_TRUE(pages_.ChangesSince(&early, {}));
  ASSERT_TRUE(pages_.ChangesSince(&of_bob, bob));
  Add(RunEvaluation("two", 1, "ann"));
  const json begin = pages_.ChangesSince(&late, {})->entries;
  EXPECT_EQ(begin["sequence"], 2);
  EXPECT_TRUE(begin["entries"]["id"].empty());
  EXPECT_EQ(pages_.ChangesSince(&early, {})->entries["entries"]["id"], json({"two"}));
  EXPECT_EQ(early, late);
  EXPECT_TRUE(pages_.ChangesSince(&of_bob, bob)->entries.is_null());
  Add(RunEvaluation("three", 2, "bob"));
  for (Pages::Place* place : {&early, &late}) {
    const json more = pages_.ChangesSince(place, {})->entries;
    EXPECT_EQ(more["sequence"], 3);
    EXPECT_EQ(more["entries"]["id"], json({"three"}));
    EXPECT_EQ(more["entries"]["run"], json({1})) << "numbers go on from what was told";
    EXPECT_EQ(more["values"]["run"], json({"ann", "bob"}));
  }
  const json bobs = pages_.ChangesSince(&of_bob, bob)->entries;
  EXPECT_EQ(bobs["sequence"], 1);
  EXPECT_EQ(bobs["entries"]["id"], json({"three"}));
  EXPECT_EQ(bobs["values"]["run"], json({"bob"}));
}

TEST_F(PagesTest, WhoeverAsksSoonAfterAnotherIsToldOfTheSameStore) {
  Add(RunEvaluation("one"));
  PagesOptions options = Options();
  options.tell_s = 3600;
  Pages pages(&store_, std::move(options));
  Pages::Place first, second;
  EXPECT_EQ(pages.ChangesSince(&first, {})->entries["sequence"], 1);
  Add(RunEvaluation("two", 1));
  const auto soon = pages.ChangesSince(&second, {});
  EXPECT_EQ(soon->entries["sequence"], 1);
  EXPECT_NE(soon->version, *pages.Version()) << "so that it asks again";
  ASSERT_TRUE(pages.Document("catalog.json"));
  EXPECT_EQ(pages.ChangesSince(&second, {})->entries["sequence"], 2);
}

class SiteTest : public PagesTest {
 protected:
  SiteTest() {
    fs::create_directories(web_);
    std::ofstream(web_ / "index.html")
        << "<meta http-equiv=\"Content-Security-Policy\" content=\"x\"><link rel=\"stylesheet\" href=\"style.css\">"
           "<script src=\"app.js\"></script>";
    std::ofstream(web_ / "app.js") << "1;";
    std::ofstream(web_ / "style.css") << "p{}";
  }
  std::string Contents(const fs::path& path) { return ReadFile(path).value_or("nothing there"); }

  const fs::path web_ = directory_.path() / "web", site_ = directory_.path() / "site";
};

TEST_F(SiteTest, AFolderHoldsTheDocuments) {
  Add(RunEvaluation("one"));
  const auto written = WriteSite(&pages_, web_, site_ / "", {.view = {.used_problems = true}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->entries, 1u);
  for (const char* name : {"catalog.json", "scores.json", "machine.json", "runs/r.json", "entries/one.json",
                           "rounds/one.json", "problems/1~2f19.json"})
    EXPECT_TRUE(json::accept(Contents(site_ / "data" / name))) << name;
  EXPECT_EQ(Contents(site_ / "app.js"), "1;");
  EXPECT_EQ(json::parse(Contents(site_ / "data/entries/one.json")), Read("entries/one.json"));
}

TEST_F(SiteTest, OnlyItsOwnFolderIsReplaced) {
  ASSERT_TRUE(WriteSite(&pages_, web_, site_, {}));
  std::ofstream(site_ / "data" / "old.json") << "{}";
  Add(RunEvaluation("one"));
  const SiteOptions stopped{.view = {}, .progress = [](size_t done, size_t) -> Status {
                              if (done < 3) return {};
                              return Fail(ErrorCode::kInterrupted, "");
                            }};
  EXPECT_FALSE(WriteSite(&pages_, web_, site_, stopped));
  EXPECT_TRUE(fs::exists(site_ / "data" / "old.json")) << "what was there stays after an error";
  ASSERT_TRUE(WriteSite(&pages_, web_, site_, {}));
  EXPECT_FALSE(fs::exists(site_ / "data" / "old.json"));
  EXPECT_TRUE(fs::exists(site_ / "data" / "entries" / "one.json"));
  const fs::path other = directory_.path() / "other";
  fs::create_directories(other);
  std::ofstream(other / "thesis.txt") << "years";
  const auto refused = WriteSite(&pages_, web_, other, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  EXPECT_THAT(refused.error().message, HasSubstr("choose a new or empty folder"));
  EXPECT_EQ(Contents(other / "thesis.txt"), "years");
  for (const auto& entry : fs::directory_iterator(directory_.path()))
    EXPECT_THAT(entry.path().filename().string(), Not(HasSubstr(".kernelbench-site"))) << "nothing temporary is left";
}

TEST_F(SiteTest, WhatCannotBeReadOrNamedIsLeftOut) {
  Add(RunEvaluation("one"));
  Add(RunEvaluation("two", 1));
  Add(RunEvaluation("three", 0, std::string(300, 'r')));
  SQLite::Database((directory_.path() / "store.sqlite").string(), SQLite::OPEN_READWRITE)
      .exec("UPDATE evaluations SET json = x'00' WHERE id = 'one'");
  const auto written = WriteSite(&pages_, web_, site_, {.view = {.used_problems = true}});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_THAT(written->left_out, ElementsAre("damaged documents (2)", "documents with names over 255 bytes (1)"));
  const json catalog = json::parse(Contents(site_ / "data/catalog.json"));
  EXPECT_EQ(catalog["entries"]["id"], json({"one", "two", "three"}));
  EXPECT_EQ(catalog["entries"]["speedup"][0], 1.5) << "its columns are there";
  EXPECT_FALSE(fs::exists(site_ / "data/entries/one.json"));
  EXPECT_TRUE(fs::exists(site_ / "data/entries/two.json"));
  EXPECT_TRUE(WritePage(&pages_, web_, directory_.path() / "report.html", {}));
}

TEST_F(SiteTest, OfASnapshotAllIsOfOneTime) {
  Add(RunEvaluation("one"));
  ASSERT_TRUE(store_.HoldSnapshot());
  Store writing = Store::Open(directory_.path() / "store.sqlite").value();
  const SiteOptions options{.view = {.used_problems = true}, .start = "", .progress = [&](size_t done, size_t) {
                              return done == 0 ? writing.Add(RunEvaluation("two", 1)) : Status();
                            }};
  ASSERT_TRUE(WriteSite(&pages_, web_, site_, options));
  ASSERT_TRUE(writing.Get("two"));
  EXPECT_EQ(json::parse(Contents(site_ / "data/catalog.json"))["entries"]["id"], json({"one"}));
  EXPECT_EQ(json::parse(Contents(site_ / "data/scores.json"))["models"][0]["samples"], 1);
}

TEST_F(SiteTest, APageAllowsItsOwnScriptAlone) {
  json evaluation = RunEvaluation("one");
  evaluation["candidate"]["source"] = "</script><script>alert(1)</script>";
  evaluation["candidate"]["sha256"] = Sha256(evaluation["candidate"]["source"].get<std::string>());
  Add(evaluation);
  const fs::path file = directory_.path() / "report.html";
  ASSERT_TRUE(WritePage(&pages_, web_, file, {.view = {.used_problems = true}, .start = "#/leaderboard"}));
  const std::string page = Contents(file);
  // printf 1\; | openssl dgst -sha256 -binary | base64, and likewise p{}.
  EXPECT_THAT(page, HasSubstr("script-src 'sha256-CImjRDTlhukYQ2AnxOi0wzgPhGQ3Mb3rVwJK24dFz1M='"));
  EXPECT_THAT(page, HasSubstr("style-src 'sha256-gG2yISYereRMiG2lMXrbiUgi0Ubw9p7QCeWcroOvy9Y='"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  const std::string open = "<script type=\"application/json\" id=\"documents\">";
  const size_t begin = page.find(open) + open.size();
  const json documents = json::parse(page.substr(begin, page.find("</script>", begin) - begin));
  EXPECT_EQ(documents["start"], "#/leaderboard");
  EXPECT_EQ(documents["entries/one.json"], Read("entries/one.json"));
  EXPECT_THAT(documents["sources/" + evaluation["candidate"]["sha256"].get<std::string>() + ".json"].dump(),
              HasSubstr("alert(1)"));
}

TEST_F(SiteTest, APageThatIsTooLargeLeavesOutAndSaysSo) {
  json evaluation = RunEvaluation("one");
  for (int i = 0; i < 1000; ++i) evaluation["samples"].push_back({{"index", i}});
  Add(evaluation);
  const fs::path file = directory_.path() / "report.html";
  const SiteOptions small{.view = {.used_problems = true}, .start = "", .most_bytes = 14'000};
  const auto written = WritePage(&pages_, web_, file, small);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_THAT(written->left_out, ElementsAre("rounds"));
  EXPECT_THAT(Contents(file), HasSubstr(R"("left_out":["rounds"])"));
  EXPECT_THAT(Contents(file), Not(HasSubstr("rounds/one.json")));
  const auto refused = WritePage(&pages_, web_, file, {.view = {}, .start = "", .most_bytes = 100});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("kernelbench site"));
}

}  // namespace
}  // namespace kb
