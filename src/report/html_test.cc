#include "report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <regex>

#include "report/sample_evaluations.h"
#include "report/svg_plots.h"
#include "report/text.h"
#include "report/view.h"

namespace kb {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

size_t Count(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// Every tag that is opened is closed, in order: a missing end tag would let one evaluation swallow the next.
testing::AssertionResult WellNested(const std::string& html) {
  static const std::regex kTag(R"(<(/?)([a-z0-9]+)((?:\s+[A-Za-z0-9-]+(?:=(?:'[^']*'|"[^"]*"))?)*)\s*(/?)>)");
  const std::string body = html.substr(html.find("<body>"), html.find("<script>") - html.find("<body>"));
  std::vector<std::string> open;
  std::string rest;
  size_t end = 0;
  for (std::sregex_iterator tag(body.begin(), body.end(), kTag), last; tag != last; ++tag) {
    rest += body.substr(end, static_cast<size_t>(tag->position()) - end);
    end = static_cast<size_t>(tag->position() + tag->length());
    const std::string name = (*tag)[2];
    if ((*tag)[4].length() > 0 || name == "br" || name == "input") continue;
    if ((*tag)[1].length() == 0) {
      open.push_back(name);
    } else if (open.empty() || open.back() != name) {
      return testing::AssertionFailure() << "</" << name << "> at " << tag->position();
    } else {
      open.pop_back();
    }
  }
  if (rest.find('<') != std::string::npos)
    return testing::AssertionFailure() << "a bare < in " << rest.substr(rest.find('<'), 80);
  return open == std::vector<std::string>{"body"} ? testing::AssertionSuccess()
                                                  : testing::AssertionFailure() << open.size() << " tags open";
}

TEST(HtmlTest, ContainsEachEvaluationWithItsNumbers) {
  const std::vector<json> all = SampleReport();
  const std::string html = HtmlReport(all);
  EXPECT_EQ(Count(html, "<details class='entry'"), all.size());
  for (const json& evaluation : all) {
    EXPECT_THAT(html, HasSubstr(EscapeHtml(evaluation["id"].get<std::string>())));
    if (evaluation["speedup"].is_null()) continue;
    EXPECT_THAT(html, HasSubstr(FormatSpeedup(evaluation["speedup"].get<double>())));
    EXPECT_THAT(html, HasSubstr(FormatInterval(evaluation["speedup_interval"][0].get<double>(),
                                               evaluation["speedup_interval"][1].get<double>())));
  }
  EXPECT_THAT(html, HasSubstr("20 evaluations on 11 problems"));
  EXPECT_THAT(html, HasSubstr("13 of 20"));
  EXPECT_THAT(html, HasSubstr("EPYC 9654 (cpu), 16 cores"));
  EXPECT_THAT(html, HasSubstr("PyTorch 2.9.0, Python 3.11.2, g++ 12.2.0"));
  EXPECT_TRUE(WellNested(html));
}

TEST(HtmlTest, NumbersOfOneGroup) {
  const std::string html = HtmlReport({SampleCorrect("a", "1/1", 2.0), SampleCorrect("b", "1/2", 8.0),
                                       SampleCorrect("c", "1/3", 0.5), SampleIncorrect("d", "1/4")});
  EXPECT_THAT(html, HasSubstr("<b>75%</b><span>3 of 4, [30.1%, 95.4%] at 95%"));
  EXPECT_THAT(html, HasSubstr("<b>50%</b><span>2 of 4; 2 with the whole interval above 1×"));
  EXPECT_THAT(html, HasSubstr("<b>2.00×</b>")) << "geometric mean of 2, 8 and 1/2";
  EXPECT_THAT(html, HasSubstr("over 3 correct ones"));
  EXPECT_THAT(html, HasSubstr("4,096 of 1,048,576 elements"));
  EXPECT_THAT(html, HasSubstr("p = 1.5: 2 of 4 (50%)"));
}

TEST(HtmlTest, SaysWhoDidTheWork) {
  nlohmann::json evaluation = SampleCorrect("a", "1/1", 2.0);
  evaluation["authorship"] = {{"class", "library"},
                              {"custom", 0.0},
                              {"library", 1.0},
                              {"python", 0.0},
                              {"other", 0.0},
                              {"samples", 99},
                              {"by_object", nlohmann::json::array()}};
  EXPECT_THAT(HtmlReport({evaluation}), HasSubstr("<dt>authorship</dt><dd>library (100% library)</dd>"));
}

TEST(HtmlTest, NothingYet) {
  const std::string html = HtmlReport({});
  EXPECT_THAT(html, HasSubstr("Nothing has been evaluated yet"));
  EXPECT_THAT(html, HasSubstr("</html>"));
  EXPECT_THAT(html, Not(HasSubstr("<svg")));
}

TEST(HtmlTest, HostileTextStaysText) {
  const std::string html = HtmlReport({SampleHostile("hostile")});
  EXPECT_EQ(Count(html, "<script"), 1u) << "only our own";
  EXPECT_EQ(Count(html, "</script>"), 1u);
  EXPECT_EQ(Count(html, "</style>"), 1u);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("&lt;/script&gt;&lt;/style&gt;"));
  EXPECT_THAT(html, HasSubstr("&amp;amp;"));
  EXPECT_EQ(html.find('\x1b'), std::string::npos);
  EXPECT_EQ(html.find("\xe2\x80\xae"), std::string::npos) << "an override that reverses the source";
  EXPECT_THAT(html, HasSubstr("[U+202E]reversed"));
  EXPECT_TRUE(WellNested(html));
  EXPECT_NO_THROW(static_cast<void>(json(html).dump())) << "the page is UTF-8";
}

TEST(HtmlTest, NeedsNothingFromOutside) {
  const std::string html = HtmlReport(SampleReport());
  for (const char* outside : {"http://", "https://", "src='", "<link", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_TRUE(std::regex_search(html, std::regex("script-src 'sha256-[A-Za-z0-9+/]{43}='")));
}

TEST(HtmlTest, WhatIsMissingBreaksNothing) {
  json odd = SampleCorrect("odd", "1/7", 1.5);
  odd["samples"] = {json::object(), 7, nullptr, {{"candidate_us", "x"}, {"baseline_us", 2}}};
  odd["speedup_interval"] = {1, "x"};
  odd["device_info"] = nullptr;
  odd["candidate"] = 3;
  odd["mismatch"] = {{"histogram", {1, {1, 2, 3}, {"inf", "many"}}}};
  odd["verdict"] = "a verdict of the future";
  odd["baseline_us"] = std::numeric_limits<double>::infinity();
  odd["speedup"] = 0.0;
  json zero = SampleCorrect("zero", "1/8", 1.5);
  zero["speedup"] = 0.0;
  zero["speedup_interval"] = {0.0, 0.0};
  for (const json& evaluation : {json::object(), json(nullptr), json::array({1}), odd, zero}) {
    const std::string html = HtmlReport({evaluation});
    EXPECT_EQ(Count(html, "<details class='entry'"), 1u);
    EXPECT_TRUE(WellNested(html));
    EXPECT_THAT(html, Not(HasSubstr("nan")));
  }
}

TEST(HtmlTest, NullSpeedupIsADash) {
  const std::string html = HtmlReport({SampleFailure("x", "1/1", "crashed")});
  EXPECT_THAT(html, HasSubstr("<b class='num even'>–</b><span class='num'>–</span>"));
  EXPECT_THAT(html, HasSubstr("No correct evaluation has been timed yet"));
  EXPECT_THAT(html, HasSubstr("SIGSEGV"));
}

TEST(PlotTest, OneRowForEachMeasuredEvaluation) {
  const std::vector<json> all = SampleReport();
  const std::vector<View> views = Views(all);
  const std::string plot = SpeedupPlot(views);
  EXPECT_EQ(Count(plot, "<g class='row'>"), 13u);
  EXPECT_LT(plot.find("matmul_tiled.py"), plot.find("relu_threads.py")) << "1/1 before 1/19";
  EXPECT_LT(plot.find("relu_threads.py"), plot.find("relu_simd.py")) << "faster first within a problem";
  EXPECT_THAT(plot, HasSubstr("mark even"));
  EXPECT_EQ(SpeedupPlot(std::span(views).subspan(2, 1)), "");
}

TEST(PlotTest, EachSampleIsDrawnOnce) {
  const json evaluation = SampleCorrect("a", "1/1", 2.0);
  const View view = MakeView(evaluation);
  const std::string plot = SamplesPlot(view);
  EXPECT_EQ(Count(plot, "h0"), 2u * 23) << "candidate and baseline of 23 rounds";
  EXPECT_EQ(Count(plot, "l6 6m-6 0l6 -6"), 2u) << "and one void round";
}

TEST(ViewTest, NaturalOrder) {
  const std::vector<std::string> sorted = {"1/1", "1/2", "1/10", "1/19", "2/1",     "10/1",
                                           "a",   "a1",  "a02",  "a10",  "modern:3"};
  for (size_t i = 0; i < sorted.size(); ++i) {
    for (size_t j = 0; j < sorted.size(); ++j) EXPECT_EQ(NaturalLess(sorted[i], sorted[j]), i < j) << i << " " << j;
  }
}

TEST(ViewTest, EveryVerdictOfTheContractIsKnown) {
  for (const char* verdict : {"not_run", "static_rejected", "build_failed", "load_failed", "crashed", "timed_out",
                              "out_of_memory", "wrong_form", "non_finite", "incorrect", "tampered", "correct"}) {
    EXPECT_STREQ(FindVerdict(verdict).name, verdict);
  }
  EXPECT_EQ(VerdictKinds().size(), 12u);
}

TEST(HtmlReport, AuditsComeWithTheFailuresFirst) {
  const json passing = {{"problem", "1/1"},
                        {"size", "small"},
                        {"device", "A CPU"},
                        {"passes", true},
                        {"failures", json::array()},
                        {"notes", {"<b>note</b>"}},
                        {"worst", {{"zeros", "inf"}, {"constant", 3.25}, {"input copy", nullptr}}}};
  json failing = passing;
  failing["problem"] = "2/83";
  failing["passes"] = false;
  failing["failures"] = {"a tensor of zeros passes"};
  for (const auto& evaluations : {std::vector<json>(), SampleReport()}) {
    const std::string html = HtmlReport(evaluations, {passing, failing});
    EXPECT_THAT(html, HasSubstr("1 of 2 pass"));
    EXPECT_THAT(html, HasSubstr("&lt;b&gt;note"));
    EXPECT_THAT(html, HasSubstr("<td class='num'>∞</td><td class='num'>3.25</td><td class='num'>–</td>"));
    EXPECT_LT(html.find("<td>2/83</td>"), html.find("<td>1/1</td>"));
  }
  EXPECT_THAT(HtmlReport(SampleReport()), Not(HasSubstr("Audit of the problems")));
}

}  // namespace
}  // namespace kb
