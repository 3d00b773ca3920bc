// What the command says of evaluations: exit codes, flags, and what is shown of a store.

#include <algorithm>
#include <fstream>
#include <sstream>

#include "fixture.h"

namespace kb::pipeline {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using CommandTest = PipelineTest;

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(CommandTest, ShowListAndReportWhatWasStored) {
  const std::string problem = Write("relu.py", kReluProblem);
  const Ended judged = Run({"eval", problem, Write("right.cpp", kReluNative),
                            Write("wrong.cpp",
                                  "#include <kernelbench/kernel.h>\nint "
                                  "kb_forward(const kb_call*) { return 0; }\n"),
                            "--protocol", "quick", "--json"});
  ASSERT_EQ(judged.code, 1) << judged;
  const json right = judged.Of("right.cpp"), wrong = judged.Of("wrong.cpp");
  const std::string id = right.at("id"), other = wrong.at("id");
  ASSERT_NE(id, other);

  for (const std::string& known : {id, id.substr(0, id.size() - 2)}) {
    const Ended shown = Run({"show", known, "--json"});
    ASSERT_EQ(shown.code, 0) << shown;
    ASSERT_EQ(shown.Lines().size(), 1u);
    EXPECT_EQ(shown.Lines()[0], right) << "show prints what eval printed";
  }
  const Ended described = Run({"show", id});
  EXPECT_THAT(described.out, AllOf(HasSubstr("correct"), HasSubstr("right.cpp")));
  const Ended ambiguous = Run({"show", "20"});
  EXPECT_EQ(ambiguous.code, 2) << ambiguous;
  EXPECT_THAT(ambiguous.err, AllOf(HasSubstr("ambiguous"), HasSubstr(id), HasSubstr(other)));
  const Ended unknown = Run({"show", "19991231"});
  EXPECT_EQ(unknown.code, 2) << unknown;
  EXPECT_THAT(unknown.err, HasSubstr("19991231"));

  const auto listed = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), {"list", "--json"});
    const Ended list = Run(arguments);
    EXPECT_EQ(list.code, 0) << list;
    std::vector<std::string> ids;
    for (const json& line : list.Lines()) ids.push_back(line.value("id", ""));
    return ids;
  };
  EXPECT_THAT(listed({}), ::testing::ElementsAre(other, id)) << "newest first";
  EXPECT_THAT(listed({"--limit", "1"}), ::testing::ElementsAre(other));
  EXPECT_THAT(listed({"--verdict", "correct"}), ::testing::ElementsAre(id));
  EXPECT_THAT(listed({"--problem", "1/19"}), IsEmpty());
  EXPECT_THAT(Run({"list"}).out,
              AllOf(HasSubstr("right.cpp"), HasSubstr("wrong.cpp"), HasSubstr(id + "  "), HasSubstr(other + "  ")));

  const fs::path page = root() / "page.html";
  const Ended report = Run({"report", "-o", page.string()});
  EXPECT_EQ(report.code, 0) << report;
  EXPECT_THAT(report.out, HasSubstr("2 evaluations"));
  EXPECT_THAT(Contents(page), AllOf(HasSubstr(id), HasSubstr(other), HasSubstr("right.cpp"), HasSubstr("</html>")));
  const Ended nowhere = Run({"report", "-o", "/dev/null/page.html"});
  EXPECT_EQ(nowhere.code, 3) << nowhere;
  EXPECT_THAT(nowhere.err, HasSubstr("/dev/null/page.html"));

  const Ended unstored =
      Run({"eval", problem, Write("more.cpp", kReluNative), "--protocol", "quick", "--measure", "false", "--no-store"});
  EXPECT_EQ(unstored.code, 0) << unstored;
  EXPECT_EQ(StoredEvaluations(), 2);
}

TEST_F(CommandTest, EveryKeyOfAProtocolIsAFlag) {
  const Ended keys = Run({"protocols", "quick"});
  ASSERT_EQ(keys.code, 0) << keys;
  Arguments arguments = {
      "eval", Write("relu.py", kReluProblem), Write("right.cpp", kReluNative), "--protocol", "quick", "--json"};
  std::vector<std::string> names;
  std::istringstream lines(keys.out);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name, value;
    words >> name >> value;
    json parsed = json::parse(value, nullptr, false);
    ASSERT_FALSE(parsed.is_discarded()) << line;
    if (name == "measure") parsed = false;
    std::string text = parsed.is_string() ? parsed.get<std::string>() : parsed.dump();
    if (parsed.is_array()) {
      text = text.substr(1, text.size() - 2);
      std::erase(text, '"');
    }
    names.push_back(name);
    std::replace(name.begin(), name.end(), '_', '-');
    arguments.insert(arguments.end(), {"--" + name, text});
  }
  EXPECT_GE(names.size(), 30u);
  const Ended ended = Run(arguments);
  EXPECT_EQ(ended.code, 0) << ended;
  const json evaluation = ended.Of("right.cpp");
  ExpectDocumented(evaluation);
  EXPECT_THAT(evaluation.value("protocol_changed", std::vector<std::string>()),
              ::testing::UnorderedElementsAreArray(names));
  EXPECT_EQ(evaluation["protocol_keys"].size(), names.size());
}

TEST_F(CommandTest, AnErrorOfStaticAnalysisRejectsAndWarningsAreNoted) {
  std::string text = kReluNative;
  text.insert(text.find("  const float* x"), "  if (call == nullptr) fopen(\"/tmp/x\", \"r\");\n");
  const std::string opens = Write("opens.cpp", "#include <cstdio>\n" + text);
  const Ended rejected = Run(Eval({opens}, {"--static", "file_access=error"}));
  EXPECT_EQ(rejected.code, 1) << rejected;
  const json refused = rejected.Of("opens.cpp");
  EXPECT_EQ(refused["verdict"], "static_rejected");
  EXPECT_THAT(refused["reason"].get<std::string>(), HasSubstr("file_access, line 6"));
  EXPECT_EQ(refused["evidence"]["static_findings"].at(0)["rule"], "file_access");

  const Ended judged = Run(Eval({opens}));
  EXPECT_EQ(judged.code, 0) << judged;
  EXPECT_THAT(judged.Of("opens.cpp")["notes"].dump(), HasSubstr("static: file_access, line 6: "));
  const Ended off = Run(Eval({opens}, {"--static", "off"}));
  EXPECT_FALSE(off.Of("opens.cpp")["evidence"].contains("static_findings"));
}

// Problems that pass an audit, and what is wrong with one that does not.
TEST_F(CommandTest, AnAuditSaysWhatItsProblemsLack) {
  Play({Answers<ops::Anchor>({.judgeable = true}, {.problem = "sound.py"}),
        AnswersOnly<ops::Anchor>({.judgeable = false, .notes = {}}, {.problem = "wild.py"}),
        {.op = ops::Audit::kOp, .problem = "zero.py", .answer = {{"failures", {"an answer of zeros passes"}}}}});
  Arguments audit = {"problems", "audit", "--size", "standard", "--json"};
  for (const char* name : {"sound.py", "wild.py", "zero.py"}) audit.push_back(Write(name, kReluProblem));
  const Ended ended = Run(audit);
  EXPECT_EQ(ended.code, 1) << ended;
  std::map<std::string, std::string> failures;
  for (const json& line : ended.Lines()) {
    failures[fs::path(line.at("problem").get<std::string>()).filename()] = line.at("failures").dump();
    EXPECT_EQ(line.at("passes"), line.at("failures").empty());
  }
  EXPECT_EQ(failures["sound.py"], "[]");
  EXPECT_THAT(failures["wild.py"], HasSubstr("on natural inputs the reference is further from fp64"));
  EXPECT_THAT(failures["zero.py"], HasSubstr("an answer of zeros passes"));
}

TEST_F(CommandTest, ExitCodes) {
  const std::string problem = Write("relu.py", kReluProblem), right = Write("right.cpp", kReluNative);
  const Ended correct = Run({"eval", problem, right, "--protocol", "quick", "--measure", "false", "--json"});
  EXPECT_EQ(correct.code, 0) << correct;
  ExpectDocumented(correct.Of("right.cpp"));
  const Ended usage = Run({"eval", problem, (root() / "absent.cpp").string()});
  EXPECT_EQ(usage.code, 2) << usage;
  EXPECT_THAT(usage.err, HasSubstr("absent.cpp"));
  EXPECT_THAT(usage.out, IsEmpty());
  const Ended engine = Run({"eval", problem, right, "--store", "/dev/null/store.sqlite"});
  EXPECT_EQ(engine.code, 3) << engine;
}

TEST_F(CommandTest, AnAuditGoesOnWhereItWasCutOff) {
  const std::string first = Write("first.py", kReluProblem),
                    second = Write("second.py", kReluProblem + std::string("# Another.\n"));
  const auto audit = [&](const Arguments& more) {
    Arguments arguments = {"problems", "audit", "--size", "standard", "--store", store()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Run(arguments);
  };
  EXPECT_THAT(audit({first}).out, HasSubstr("1 pass, 0 fail, 0 could not be audited; 0 of them were known"));
  EXPECT_THAT(audit({first, second}).out, HasSubstr("2 pass, 0 fail, 0 could not be audited; 1 of them were known"));
  EXPECT_THAT(audit({first, "--again"}).out, HasSubstr("0 of them were known"));
  Write("first.py", kReluProblem + std::string("# And another.\n"));
  EXPECT_THAT(audit({first}).out, HasSubstr("0 of them were known")) << "the text is another one";
}

TEST_F(CommandTest, AResultSaysWhichBarriersWereMissing) {
  const Ended ended = Run({"eval", Write("relu.py", kReluProblem), Write("relu.cpp", kReluNative), "--json",
                           "--protocol", "quick", "--without", "poison", "--store", store().string()});
  const json evaluation = ended.Of("relu.cpp");
  EXPECT_EQ(evaluation.at("verdict"), "correct") << ended;
  const json& barriers = evaluation.at("isolation_info");
  EXPECT_EQ(std::count(barriers.begin(), barriers.end(), "poison"), 0);
  EXPECT_EQ(std::count(barriers.begin(), barriers.end(), "freeze"), 1);
  EXPECT_NE(evaluation.at("notes").dump().find("weakened: judged without poison"), std::string::npos);
  EXPECT_EQ(StoredEvaluations(), 0);
}

}  // namespace
}  // namespace kb::pipeline
