#include "cli/sanitize.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/progress.h"
#include "report/text.h"

namespace kb::cli {

using nlohmann::json;

std::string DescribeSanitized(const json& result) {
  const std::string head =
      fmt::format("{} {}  {}: ", OneLine(result.at("problem").get<std::string>(), 60),
                  OneLine(result.at("candidate").get<std::string>(), 100), result.at("tool").get<std::string>());
  const json& clean = result.at("clean");
  std::string out;
  if (clean.is_null()) {
    out = head + "nothing can be said\n  " + OneLine(result.at("reason").get<std::string>(), 1000) + "\n";
  } else if (clean.get<bool>()) {
    return head + "nothing found\n";
  } else {
    out = head +
          (result.at("errors").is_null() ? "errors\n" : fmt::format("{} errors\n", result.at("errors").get<int64_t>()));
  }
  for (const json& finding : result.at("findings")) {
    out += "  " + OneLine(finding.at("text").get<std::string>(), 1000) + "\n";
  }
  const std::string printed = result.at("output");
  if (!printed.empty()) out += "\noutput (end):\n" + CleanText(Tail(printed, 4000));
  return out;
}

int SanitizeAll(const std::vector<Request>& requests, EvaluatorOptions options, const std::string& tool, bool as_json,
                bool quiet) {
  Progress progress(quiet || as_json, requests.size());
  options.progress = [&](const std::string& line) { progress.Say(line); };
  auto evaluator = Evaluator::Create(options);
  if (!evaluator) return progress.Clear(), PrintError(evaluator.error());
  int exit_code = kAllCorrect;
  for (const Request& request : requests) {
    const auto result = (*evaluator)->Sanitize(request, tool);
    progress.Done();
    progress.Clear();
    if (!result) return std::max<int>(exit_code, PrintError(result.error()));
    if (result->at("clean") != true) exit_code = kNotAllCorrect;
    if (as_json) {
      fmt::print("{}", JsonLine(*result));
    } else {
      fmt::print("{}", DescribeSanitized(*result));
    }
    std::fflush(stdout);
  }
  return exit_code;
}

}  // namespace kb::cli
