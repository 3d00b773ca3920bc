#include "judge/devices/cuda/counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

namespace kb {
namespace {

using nlohmann::json;

constexpr double kWorthCounting = 0.03;  // share of the time from which a kernel is counted
constexpr size_t kMostFunctions = 10;
constexpr size_t kMostComplaint = 1000;
constexpr size_t kMostCounted = 40;  // each is run some 16 times
constexpr std::string_view kHeader = "\"ID\",\"Process ID\"";
// The stalls' metrics are asked for by this pattern, for not every GPU has all reasons.
constexpr std::string_view kStalled = "smsp__average_warps_issue_stalled_", kPerIssue = "_per_issue_active";

// What a metric is called in a row, and ncu's name for it. All are percentages but dram_bytes.
constexpr std::pair<const char*, const char*> kShares[] = {
    {"occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active"},
    {"dram", "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"},
    {"sm", "sm__throughput.avg.pct_of_peak_sustained_elapsed"},
    {"issue", "smsp__issue_active.avg.pct_of_peak_sustained_active"},
    {"l1_hits", "l1tex__t_sector_hit_rate.pct"},
    {"l2_hits", "lts__t_sector_hit_rate.pct"},
};
constexpr const char* kDramBytes[] = {"dram__bytes_read.sum", "dram__bytes_write.sum"};

// The fields of a line of CSV, all of which ncu quotes; empty if that is no such line.
std::vector<std::string> Fields(std::string_view line) {
  std::vector<std::string> fields;
  size_t at = 0;
  while (at < line.size() && line[at] == '"') {
    std::string field;
    for (++at;; ++at) {
      if (at >= line.size()) return {};
      if (line[at] != '"') {
        field += line[at];
      } else if (at + 1 < line.size() && line[at + 1] == '"') {
        field += line[++at];
      } else {
        break;
      }
    }
    fields.push_back(std::move(field));
    if (++at == line.size()) return fields;
    if (line[at++] != ',') return {};
  }
  return {};
}

// "1,398,261.33"; nothing for "n/a" and whatever else is no finite number.
std::optional<double> Number(std::string text) {
  std::erase(text, ',');
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// The numbers in "(65536, 1, 1)".
json Extents(std::string_view text) {
  json extents = json::array();
  const char *at = text.data(), *end = text.data() + text.size();
  while (at < end && extents.size() < 3) {
    int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error == std::errc()) extents.push_back(extent);
    at = error == std::errc::invalid_argument ? at + 1 : next;
  }
  return extents;
}

using Row = std::map<std::string, std::string>;  // by column

std::optional<double> NumberIn(const Row& row, const std::string& column) {
  const auto found = row.find(column);
  return found == row.end() ? std::nullopt : Number(found->second);
}

std::optional<double> MeanOf(const std::vector<Row>& launches, const std::string& column) {
  double sum = 0;
  for (const Row& launch : launches) {
    const auto number = NumberIn(launch, column);
    if (!number) return std::nullopt;
    sum += *number / static_cast<double>(launches.size());
  }
  return std::isfinite(sum) ? std::optional(sum) : std::nullopt;
}

// How a warp's time divides between what it waits for, and issuing ("selected").
json Stalls(const std::vector<Row>& launches) {
  const std::string end = std::string(kPerIssue) + ".ratio";
  std::map<std::string, double> stalls;
  double sum = 0;
  for (const auto& [column, ignored] : launches.front()) {
    if (!column.starts_with(kStalled) || !column.ends_with(end)) continue;
    const std::string reason = column.substr(kStalled.size(), column.size() - kStalled.size() - end.size());
    const auto warps = MeanOf(launches, column);
    if (!warps || *warps < 0 || reason.ends_with("_not_issued")) continue;
    stalls[reason] = *warps;
    sum += *warps;
  }
  if (!(sum > 0) || !std::isfinite(sum)) return nullptr;
  json shares = json::object();
  for (const auto& [reason, warps] : stalls) shares[reason] = warps / sum;
  return shares;
}

json RowOf(const std::string& name, const json& grid, const json& block, const std::vector<Row>& launches) {
  json out = {{"name", name},          {"grid", grid},
              {"block", block},        {"launches", launches.size()},
              {"dram_bytes", nullptr}, {"stalls", Stalls(launches)}};
  for (const auto& [key, metric] : kShares) {
    const auto percent = MeanOf(launches, metric);
    out[key] = percent ? json(*percent / 100) : json(nullptr);
  }
  const auto read = MeanOf(launches, kDramBytes[0]), written = MeanOf(launches, kDramBytes[1]);
  if (read && written) out["dram_bytes"] = *read + *written;
  return out;
}

bool IsIdentifier(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

}  // namespace

std::vector<std::string> FunctionsOf(const json& kernels) {
  std::map<std::string, double> shares;
  for (const json& kernel : kernels) {
    std::string name = kernel.at("name");
    name.resize(std::min(name.size(), name.find('<')));
    if (const size_t scope = name.rfind("::"); scope != std::string::npos) name.erase(0, scope + 2);
    if (IsIdentifier(name)) shares[name] += kernel.at("share").get<double>();
  }
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [name, share] : shares) {
    if (share >= kWorthCounting) sorted.emplace_back(-share, name);
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> functions;
  for (const auto& [share, name] : sorted) {
    if (functions.size() < kMostFunctions) functions.push_back(name);
  }
  return functions;
}

std::vector<std::string> CounterOptions(const std::vector<std::string>& functions) {
  std::vector<std::string> metrics = {kDramBytes[0], kDramBytes[1], fmt::format("regex:{}.*{}", kStalled, kPerIssue)};
  for (const auto& [key, metric] : kShares) metrics.emplace_back(metric);
  return {"--csv",
          "--page",
          "raw",
          "--print-units",
          "base",
          "--print-kernel-base",
          "mangled",
          "--target-processes",
          "all",
          "--profile-from-start",
          "off",
          "--clock-control",  // the clocks that calls are timed with
          "none",
          "--launch-count",
          std::to_string(kMostCounted),
          "--kernel-name",
          fmt::format("regex:(^|[: ])({})($|[<(])", fmt::join(functions, "|")),
          "--metrics",
          fmt::format("{}", fmt::join(metrics, ","))};
}

Counters CountersIn(std::string_view text) {
  Counters counters;
  size_t rows = 0;
  std::vector<std::string> columns;
  std::map<std::tuple<std::string, json, json>, std::vector<Row>> kernels;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    constexpr std::string_view kError = "==ERROR== ";
    if (line.starts_with(kError) && counters.complaint.size() < kMostComplaint) {
      counters.complaint += std::string(line.substr(kError.size(), kMostComplaint)) + "\n";
    }
    // What was printed without an end of line may stand before it. ncu prints one, at the end.
    if (const size_t header = line.find(kHeader); header != std::string_view::npos) {
      columns = Fields(line.substr(header));
      kernels.clear();
      rows = 0;
      continue;
    }
    if (rows == kMostCounted) continue;
    const std::vector<std::string> fields = Fields(line);
    if (fields.empty() || fields.size() != columns.size()) continue;
    Row row;
    for (size_t i = 0; i < fields.size(); ++i) row[columns[i]] = fields[i];
    if (!Number(row["ID"])) continue;  // the line of units
    ++rows;
    auto& launches = kernels[{row["Kernel Name"], Extents(row["Grid Size"]), Extents(row["Block Size"])}];
    launches.push_back(std::move(row));
  }
  for (const auto& [key, launches] : kernels) {
    const auto& [name, grid, block] = key;
    counters.kernels.push_back(RowOf(name, grid, block, launches));
  }
  while (counters.complaint.ends_with('\n')) counters.complaint.pop_back();
  return counters;
}

}  // namespace kb
