#include "report/published.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "report/text.h"
#include "report/text_table.h"
#include "score/score.h"

namespace kb {
namespace {

using Json = nlohmann::ordered_json;

Result<PublishedResult> ResultOf(const toml::table& table) {
  PublishedResult result;
  result.name = table["name"].value_or("");
  result.value = table["value"].value_or(0.0);
  result.problems = table["problems"].value_or(int64_t{0});
  result.scored = table["scored"].value_or(false);
  result.cap = table["cap"].value<double>();
  result.device = table["device"].value_or("");
  result.torch = table["torch"].value_or("");
  result.published = table["published"].value_or("");
  result.source = table["source"].value_or("");
  result.date = table["date"].value_or("");
  if (!result.name.empty() && result.value > 0 && result.problems > 0 && !result.source.empty() && !result.date.empty())
    return result;
  return Fail(ErrorCode::kUsage,
              fmt::format("the result {} needs name, value, problems, source and date", result.name));
}

}  // namespace

Result<Published> ReadPublished(const std::filesystem::path& path) {
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, size_t{1} << 20));
  Published published;
  try {
    const toml::table table = toml::parse(text);
    published.description = table["description"].value_or("");
    if (const toml::array* results = table["result"].as_array()) {
      for (const toml::node& node : *results) {
        auto result = node.is_table() ? ResultOf(*node.as_table()) : Fail(ErrorCode::kUsage, "a result is no table");
        if (!result) return Fail(ErrorCode::kUsage, fmt::format("{}: {}", path.string(), result.error().message));
        published.results.push_back(*std::move(result));
      }
    }
  } catch (const toml::parse_error& error) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{}: line {}: {}", path.string(), error.source().begin.line, error.description()));
  }
  return published;
}

void AddMeasured(std::span<const nlohmann::json> rows, const std::set<std::string>& unscored, const std::string& source,
                 Published* published) {
  using Where = std::pair<std::string, std::string>;                                             // device and PyTorch
  std::map<Where, std::map<std::string, std::map<std::string, const nlohmann::json*>>> medians;  // by kind and problem
  for (const nlohmann::json& row : rows) {
    const nlohmann::json& info = row.at("device_info");
    medians[{info.at("name"), info.at("torch")}][row.at("kind")][row.at("problem")] = &row;
  }
  for (const auto& [where, kinds] : medians) {
    const auto eager = kinds.find("eager");
    if (eager == kinds.end()) continue;
    for (const auto& [kind, of_problem] : kinds) {
      constexpr std::string_view kCompiled = "compile-";
      if (!kind.starts_with(kCompiled)) continue;
      for (const bool scored : {false, true}) {
        std::vector<Outcome> ratios;
        std::string date;
        for (const auto& [problem, row] : of_problem) {
          const auto base = eager->second.find(problem);
          if (base == eager->second.end() || (scored && unscored.contains(problem))) continue;
          ratios.push_back(
              {problem, true, base->second->at("median_us").get<double>() / row->at("median_us").get<double>()});
          date = std::max(date, row->at("created").get<std::string>().substr(0, 10));
        }
        const auto mean = GeometricMean(ratios);
        if (!mean) continue;
        published->results.push_back({.name = "torch.compile, " + kind.substr(kCompiled.size()),
                                      .value = std::round(*mean * 1e3) / 1e3,
                                      .problems = static_cast<int64_t>(ratios.size()),
                                      .scored = scored,
                                      .cap = {},
                                      .device = where.first,
                                      .torch = where.second,
                                      .published = "",
                                      .source = source,
                                      .date = date});
      }
    }
  }
}

nlohmann::ordered_json PublishedJson(const Published& published) {
  Json list = Json::array();
  const auto text = [](const std::string& said) { return said.empty() ? Json() : Json(said); };
  for (const PublishedResult& each : published.results) {
    list.push_back({{"name", each.name},
                    {"geometric_mean", each.value},
                    {"problems", each.problems},
                    {"scored", each.scored},
                    {"cap", each.cap ? Json(*each.cap) : Json()},
                    {"device", text(each.device)},
                    {"torch", text(each.torch)},
                    {"published", text(each.published)},
                    {"source", each.source},
                    {"date", each.date}});
  }
  return list;
}

std::string PublishedText(const Published& published, size_t columns) {
  if (published.results.empty()) return "";
  TextTable table{{{"", "problems", "geo. mean", "cap", "device", "PyTorch", "source"}}};
  std::vector<std::string> sources;
  for (const PublishedResult& each : published.results) {
    const std::string source = fmt::format("{}, {}", each.source, each.date);
    auto at = std::find(sources.begin(), sources.end(), source);
    if (at == sources.end()) at = sources.insert(sources.end(), source);
    table.rows.push_back({each.name, fmt::format("{}{}", each.problems, each.scored ? " that count here" : ""),
                          fmt::format("{:g}×", each.value), each.cap ? fmt::format("{:g}×", *each.cap) : kDash,
                          each.device.empty() ? kDash : each.device, each.torch.empty() ? kDash : each.torch,
                          fmt::format("[{}]", at - sources.begin() + 1)});
  }
  std::string out = fmt::format("{}: on other devices and versions, over eager PyTorch\n{}", published.description,
                                AlignedTable(table, "  ", columns));
  for (size_t i = 0; i < sources.size(); ++i) out += fmt::format("  [{}] {}\n", i + 1, sources[i]);
  return out + "\n";
}

}  // namespace kb
