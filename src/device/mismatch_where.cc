#include "device/mismatch_where.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace kb {
namespace {

constexpr double kMostly = 0.75;     // share of a pattern that must be wrong; the rest is right by luck
constexpr double kSignificance = 5;  // a pattern counts if chance alone gives it once in e^5 cases
constexpr int kEdgeWidths = 3;       // edges of 1, 2 and 3 elements
constexpr size_t kEdgeDims = 8;      // dimensions looked at for edges

// What one pass over the wrong elements collects.
struct Hits {
  int64_t total = 1, wrong = 0, first = -1, last = -1;
  std::vector<std::vector<uint8_t>> by_dim;  // [dimension][index]: has a wrong element
  // [width - 1][set of dimensions]: wrong elements that lie at an edge in exactly these dimensions
  std::array<std::array<int64_t, 1 << kEdgeDims>, kEdgeWidths> edges{};
};

bool AtEdge(int64_t index, int64_t size, int width) { return index < width || index >= size - width; }

void CollectRow(std::span<const uint64_t> bits, int64_t row_begin, std::span<const int64_t> shape,
                std::span<const int64_t> outer, Hits& hits) {
  const int64_t inner = shape.back();
  const size_t inner_dim = shape.size() - 1;
  std::array<unsigned, kEdgeWidths> outer_edges{};
  bool any = false;
  for (int64_t i = row_begin; i < row_begin + inner;) {
    const uint64_t word = bits[i / 64] >> (i % 64);
    if (word == 0) {
      i += 64 - i % 64;
      continue;
    }
    i += std::countr_zero(word);
    if (i >= row_begin + inner) break;
    if (!any) {
      any = true;
      for (size_t d = 0; d < outer.size(); ++d) {
        hits.by_dim[d][outer[d]] = 1;
        if (d >= kEdgeDims) continue;
        for (int w = 0; w < kEdgeWidths; ++w) outer_edges[w] |= unsigned{AtEdge(outer[d], shape[d], w + 1)} << d;
      }
    }
    const int64_t column = i - row_begin;
    hits.by_dim[inner_dim][column] = 1;
    for (int w = 0; w < kEdgeWidths; ++w) {
      const unsigned own = inner_dim < kEdgeDims ? unsigned{AtEdge(column, inner, w + 1)} << inner_dim : 0;
      ++hits.edges[w][outer_edges[w] | own];
    }
    if (hits.first < 0) hits.first = i;
    hits.last = i;
    ++hits.wrong;
    ++i;
  }
}

Hits Collect(std::span<const uint64_t> bits, std::span<const int64_t> shape) {
  Hits hits;
  for (int64_t size : shape) {
    hits.total *= size;
    hits.by_dim.emplace_back(size, uint8_t{0});
  }
  if (hits.total == 0) return hits;
  std::vector<int64_t> outer(shape.size() - 1, 0);
  for (int64_t begin = 0; begin < hits.total; begin += shape.back()) {
    CollectRow(bits, begin, shape, outer, hits);
    for (size_t d = outer.size(); d-- > 0;) {
      if (++outer[d] < shape[d]) break;
      outer[d] = 0;
    }
  }
  return hits;
}

// `share` of all places would hold all `wrong` elements by chance with probability share^wrong.
bool Significant(double share, int64_t wrong) {
  return share < 1 && -std::log(share) * static_cast<double>(wrong) >= kSignificance;
}

// How the wrong elements are confined along one dimension.
struct Confinement {
  std::string text;  // empty: not confined, or to no simple set of indices
  double share = 1;  // of the dimension's indices
};

std::string RangeText(size_t dim, size_t dims, int64_t size, int64_t low, int64_t high) {
  const int64_t count = high - low + 1;
  const bool from_start = low == 0;
  const bool to_end = high == size - 1;
  if (dims == 1) {
    if (count == 1) return fmt::format("only index {}", low);
    if (to_end) return fmt::format("the last {} elements", count);
    if (from_start) return fmt::format("the first {} elements", count);
    return fmt::format("elements {} to {}", low, high);
  }
  if (dim == 0 && (to_end || from_start)) {
    if (count == 1) return fmt::format("the {} row of dimension 0", to_end ? "last" : "first");
    return fmt::format("the {} {} rows of dimension 0", to_end ? "last" : "first", count);
  }
  if (count == 1) return fmt::format("only index {} of dimension {}", low, dim);
  if (to_end) return fmt::format("dimension {} from {} on", dim, low);
  if (from_start) return fmt::format("dimension {} up to {}", dim, high);
  return fmt::format("dimension {} from {} to {}", dim, low, high);
}

Confinement Confine(const Hits& hits, std::span<const int64_t> shape, size_t dim) {
  const std::vector<uint8_t>& hit = hits.by_dim[dim];
  const int64_t size = shape[dim];
  const int64_t low = std::find(hit.begin(), hit.end(), 1) - hit.begin();
  int64_t high = low, count = 0, step = 0;
  for (int64_t i = low; i < size; ++i) {
    if (!hit[i]) continue;
    high = i;
    ++count;
    step = std::gcd(step, i - low);
  }
  const auto share_of = [&](int64_t indices) { return static_cast<double>(indices) / static_cast<double>(size); };
  const int64_t range = high - low + 1;
  if (static_cast<double>(count) >= kMostly * static_cast<double>(range) && Significant(share_of(range), hits.wrong)) {
    return {RangeText(dim, shape.size(), size, low, high), share_of(range)};
  }
  if (count < 3 || step < 2) return {};
  const int64_t steps = (size - 1 - low) / step + 1;
  if (low >= step || static_cast<double>(count) < kMostly * static_cast<double>(steps)) return {};
  if (!Significant(share_of(steps), hits.wrong)) return {};
  const std::string of = shape.size() == 1 ? "one element" : "one";
  const std::string where = shape.size() == 1 ? "" : fmt::format(" of dimension {}", dim);
  return {fmt::format("{} in {}{}, from {} on", of, step, where, low), share_of(steps)};
}

std::string DescribeDimensions(const Hits& hits, std::span<const int64_t> shape) {
  std::string text;
  double share = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const Confinement confinement = Confine(hits, shape, d);
    if (confinement.text.empty()) continue;
    text += (text.empty() ? "" : " and ") + confinement.text;
    share *= confinement.share;
  }
  if (text.empty()) return text;
  const double density = static_cast<double>(hits.wrong) / (share * static_cast<double>(hits.total));
  return density >= 0.25 ? text : "scattered over " + text;
}

// Dimensions whose first and last `width` indices both have wrong elements, as a set.
unsigned EdgeCandidates(const Hits& hits, std::span<const int64_t> shape, int width) {
  unsigned set = 0;
  for (size_t d = 0; d < std::min(shape.size(), kEdgeDims); ++d) {
    const std::vector<uint8_t>& hit = hits.by_dim[d];
    if (shape[d] < 4 * width) continue;
    const bool low = std::find(hit.begin(), hit.begin() + width, 1) != hit.begin() + width;
    const bool high = std::find(hit.end() - width, hit.end(), 1) != hit.end();
    if (low && high) set |= 1u << d;
  }
  return set;
}

std::string DescribeEdges(const Hits& hits, std::span<const int64_t> shape) {
  for (int width = 1; width <= kEdgeWidths; ++width) {
    const auto& edges = hits.edges[width - 1];
    const auto covers = [&](unsigned set) {
      for (unsigned mask = 0; mask < edges.size(); ++mask) {
        if (edges[mask] != 0 && (mask & set) == 0) return false;
      }
      return true;
    };
    unsigned set = EdgeCandidates(hits, shape, width);
    if (set == 0 || !covers(set)) continue;
    double inside = 1;
    std::vector<std::string> names;
    for (size_t d = 0; d < std::min(shape.size(), kEdgeDims); ++d) {
      if ((set >> d & 1) == 0) continue;
      if (covers(set & ~(1u << d))) {
        set &= ~(1u << d);
        continue;
      }
      inside *= 1 - 2.0 * width / static_cast<double>(shape[d]);
      names.push_back(std::to_string(d));
    }
    if (!Significant(1 - inside, hits.wrong)) continue;
    if (shape.size() == 1) return "only both ends";
    const std::string last = names.back();
    names.pop_back();
    if (names.empty()) return fmt::format("only the edges of dimension {}", last);
    return fmt::format("only the edges of dimensions {} and {}", fmt::join(names, ", "), last);
  }
  return "";
}

// A run of elements at the start or the end that is no whole number of rows.
std::string DescribeRun(const Hits& hits, std::span<const int64_t> shape) {
  const auto leading = std::find_if(shape.begin(), shape.end(), [](int64_t size) { return size > 1; });
  if (leading == shape.end()) return "";
  const int64_t row = hits.total / std::accumulate(shape.begin(), leading + 1, int64_t{1}, std::multiplies<>());
  const auto is_run = [&](int64_t length) {
    const bool whole_rows = static_cast<double>(length % row) >= 0.95 * static_cast<double>(row) || length % row == 0;
    return !whole_rows && static_cast<double>(hits.wrong) >= kMostly * static_cast<double>(length) &&
           Significant(static_cast<double>(length) / static_cast<double>(hits.total), hits.wrong);
  };
  if (hits.last == hits.total - 1 && is_run(hits.total - hits.first)) {
    return fmt::format("the last {} elements", hits.total - hits.first);
  }
  if (hits.first == 0 && is_run(hits.last + 1)) return fmt::format("the first {} elements", hits.last + 1);
  return "";
}

}  // namespace

std::string DescribeWhere(std::span<const uint64_t> wrong, std::span<const int64_t> shape) {
  static constexpr int64_t kScalar[] = {1};
  if (shape.empty()) shape = kScalar;
  const int64_t total = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  int64_t count = 0;
  for (uint64_t word : wrong) count += std::popcount(word);
  if (count == 0 || total == 0) return "";
  if (count == total) return "every element";
  if (count == 1) return "one element";
  const Hits hits = Collect(wrong, shape);
  for (auto describe : {DescribeRun, DescribeEdges, DescribeDimensions}) {
    if (std::string text = describe(hits, shape); !text.empty()) return text;
  }
  return static_cast<double>(hits.wrong) >= 0.9 * static_cast<double>(hits.total) ? "nearly every element"
                                                                                  : "scattered";
}

}  // namespace kb
