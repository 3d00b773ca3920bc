// Tools that look at what there is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "judge/candidate/folder.h"
#include "prompt/feedback_text.h"
#include "report/text.h"
#include "report/view.h"
#include "server/faces/mcp_tools.h"

namespace kb::server {
namespace {

using nlohmann::json;

constexpr int kMostPages = 20;  // of the store, of 1,000 entries each

// The prompt asks for an answer.
constexpr const char* kWithTools =
    "\n# With these tools\n\nIn place of an answer call compile, then evaluate, with the whole file as `source`, and "
    "with "
    "`name` kernel.cpp or kernel.cu if it is not Python.\n";

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool Wanted(const json& problem, const json& arguments) {
  if (arguments.contains("level") && problem.at("level") != arguments["level"]) return false;
  if (arguments.contains("deck") && problem.at("deck") != arguments["deck"]) return false;
  const std::string text = Lower(arguments.value("text", ""));
  return Lower(problem.at("name")).find(text) != std::string::npos ||
         Lower(problem.at("title")).find(text) != std::string::npos;
}

void TellProblems(const McpToolCallPtr& call, const json& all) {
  const json& arguments = call->arguments();
  const size_t offset = arguments.value("offset", size_t{0}), limit = arguments.value("limit", size_t{50});
  size_t total = 0;
  json told = json::array();
  std::string text;
  for (const json& problem : all.at("problems")) {
    if (!Wanted(problem, arguments)) continue;
    if (total++ < offset || told.size() >= limit) continue;
    told.push_back(McpPicked(problem, {"name", "title", "deck", "level"}));
    text += fmt::format("{}  {}\n", problem.at("name").get<std::string>(), problem.at("title").get<std::string>());
  }
  const size_t next = offset + told.size();
  const bool more = !told.empty() && next < total;
  std::string head = fmt::format("{} of {} problems", told.size(), total);
  if (more) head += fmt::format("; offset={} tells of those that follow", next);
  if (total == 0) head = "No problem is like that: leave out text, level or deck";
  call->Tell(head + "\n" + text,
             {{"problems", std::move(told)}, {"total", total}, {"next_offset", more ? json(next) : json(nullptr)}});
}

void TellProblem(const McpToolCallPtr& call, const json& problem, const json& instructions) {
  json structured = McpPicked(problem, McpProblemKeys());
  structured["instructions"] = instructions;
  std::string text = fmt::format("# {} {}\n\nSizes: {}. Precisions: {}.\n", problem.at("name").get<std::string>(),
                                 problem.at("title").get<std::string>(),
                                 fmt::join(problem.at("sizes").get<std::vector<std::string>>(), ", "),
                                 fmt::join(problem.at("precisions").get<std::vector<std::string>>(), ", "));
  if (problem.at("unscored").is_string()) {
    text += fmt::format("It counts for no score: {}.\n", problem["unscored"].get<std::string>());
  }
  if (instructions.is_string()) {
    text += "\n" + instructions.get<std::string>();
  } else {
    text += "\n" + Fenced(problem.at("source").get<std::string>(), "python") +
            "\nCall show_problem with backend to read how a candidate is written.\n";
  }
  call->Tell(std::move(text), std::move(structured));
}

// Among what the store has, the fastest at the slow end of its interval.
struct Search {
  std::optional<json> best;
  double low = 0;
  int pages = 0;
};

void LookAt(const json& entry, const std::string& size, Search* search) {
  const json& interval = entry.at("speedup_interval");
  if (entry.at("size") != size || !interval.is_array() || !interval[0].is_number()) return;
  const double low = interval[0].get<double>();
  if (search->best && low <= search->low) return;
  search->best = entry;
  search->low = low;
}

void TellBest(const McpToolCallPtr& call, const json& entry, const json& evaluation) {
  json structured = McpPicked(entry, McpBestKeys());
  structured["found"] = true;
  structured["evaluation_id"] = entry.at("id");
  structured["source"] = structured["files"] = nullptr;
  const json& candidate = evaluation.at("candidate");
  structured["file_name"] = candidate.at("path");
  const std::string source = candidate.at("source");
  const auto files = Unpack(source);
  if (IsPacked(source) && files) {
    structured["files"] = *files;
  } else {
    structured["source"] = source;
  }
  const json& interval = entry.at("speedup_interval");
  call->Tell(
      fmt::format("The best so far of {} at size {} is correct with a speedup of {}, between {} and {}: the reference "
                  "takes {}, it {}.\n\n{}\nJudged by {} on {}; evaluation {}, file {}.\n",
                  TextAt(entry, "problem"), TextAt(entry, "size"), FormatSpeedup(NumberAt(entry, "speedup")),
                  FormatSpeedup(interval.at(0).get<double>()),
                  interval.at(1).is_number() ? FormatSpeedup(interval[1].get<double>()) : kDash,
                  FormatTime(NumberAt(entry, "baseline_us")), FormatTime(NumberAt(entry, "candidate_us")),
                  Fenced(source), TextAt(entry, "protocol"), TextAt(entry, "device_name"), TextAt(entry, "id"),
                  TextAt(candidate, "path")),
      std::move(structured));
}

void TellOfNone(const McpToolCallPtr& call, const std::string& size) {
  json structured = McpPicked({{"problem", call->arguments()["problem"]}, {"size", size}}, McpBestKeys());
  structured.update(
      {{"found", false}, {"evaluation_id", nullptr}, {"source", nullptr}, {"files", nullptr}, {"file_name", nullptr}});
  call->Tell(fmt::format("No candidate of {} at size {} is correct with a speedup so far. Write one and evaluate it.",
                         call->arguments()["problem"].get<std::string>(), size),
             std::move(structured));
}

void SearchPage(const McpToolCallPtr& call, const std::shared_ptr<Search>& search, const json& before) {
  const json& arguments = call->arguments();
  const std::string size = arguments.value("size", "standard");
  std::string target =
      fmt::format("/v1/entries?verdict=correct&limit=1000&problem={}", McpEscaped(arguments["problem"]));
  if (arguments.contains("run")) target += "&run=" + McpEscaped(arguments["run"]);
  if (!before.is_null()) target += fmt::format("&before={}", before.get<int64_t>());
  call->Ask({.target = target}, [=](int, const json& page) {
    for (const json& entry : page.at("entries")) LookAt(entry, size, search.get());
    if (!page.at("next").is_null() && ++search->pages < kMostPages) return SearchPage(call, search, page["next"]);
    if (!search->best) return TellOfNone(call, size);
    const json best = *search->best;
    call->Ask({.target = "/v1/entries/" + McpEscaped(best.at("id"))},
              [=](int, const json& entry) { TellBest(call, best, entry.at("evaluation")); });
  });
}

}  // namespace

void McpListProblems(const McpToolCallPtr& call) {
  call->Ask({.target = "/v1/problems"}, [call](int, const json& all) { TellProblems(call, all); });
}

void McpShowProblem(const McpToolCallPtr& call) {
  const std::string name = McpEscaped(call->arguments()["problem"]);
  call->Ask({.target = "/v1/problems/" + name}, [call, name](int, const json& problem) {
    if (!call->arguments().contains("backend")) return TellProblem(call, problem, nullptr);
    call->Ask({.target = fmt::format("/v1/prompts/{}?problem={}", McpEscaped(call->arguments()["backend"]), name)},
              [call, problem](int, const json& prompt) {
                TellProblem(call, problem,
                            prompt.at("system").get<std::string>() + "\n\n" + prompt.at("user").get<std::string>() +
                                kWithTools);
              });
  });
}

// A name that is wrong would have no candidates either.
void McpBestSoFar(const McpToolCallPtr& call) {
  call->Ask({.target = "/v1/problems/" + McpEscaped(call->arguments()["problem"])},
            [call](int, const json&) { SearchPage(call, std::make_shared<Search>(), nullptr); });
}

}  // namespace kb::server
