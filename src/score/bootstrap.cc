#include "score/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "base/result.h"

namespace kb {

std::vector<Bounds> BootstrapMeans(std::span<const std::vector<double>> rows, const BootstrapOptions& options) {
  KB_CHECK(options.confidence > 0 && options.confidence < 1 && options.resamples >= 40);
  if (rows.empty()) return {};
  const size_t columns = rows[0].size();
  const auto resamples = static_cast<size_t>(options.resamples);
  std::vector<std::vector<double>> means(columns, std::vector<double>(resamples));
  std::mt19937_64 generator(options.seed);
  std::vector<double> sums(columns);
  std::vector<int> drawn(rows.size());
  for (size_t resample = 0; resample < resamples; ++resample) {
    std::fill(drawn.begin(), drawn.end(), 0);
    for (size_t i = 0; i < rows.size(); ++i) ++drawn[DrawBelow(generator, rows.size())];
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t row = 0; row < rows.size(); ++row) {
      if (drawn[row] == 0) continue;
      const double times = drawn[row];
      const double* values = rows[row].data();
      for (size_t column = 0; column < columns; ++column) sums[column] += times * values[column];
    }
    for (size_t column = 0; column < columns; ++column)
      means[column][resample] = sums[column] / static_cast<double>(rows.size());
  }
  const auto cut = static_cast<size_t>((1 - options.confidence) / 2 * static_cast<double>(resamples));
  std::vector<Bounds> intervals;
  for (std::vector<double>& column : means) {
    std::sort(column.begin(), column.end());
    intervals.push_back({column[cut], column[resamples - 1 - cut]});
  }
  return intervals;
}

}  // namespace kb
