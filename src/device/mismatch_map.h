// Where the wrong elements of an output lie, as a small picture.
#ifndef DEVICE_MISMATCH_MAP_H_
#define DEVICE_MISMATCH_MAP_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kb {

inline constexpr int64_t kMostMapCells = 32;  // along either side

// The output as a matrix: the dimensions before `split` are its rows, the others its columns. Rows and columns are
// grouped into cells of nearly equal size.
struct MismatchMap {
  size_t split = 0;
  int64_t rows = 0, columns = 0;  // cells
  std::vector<double> wrong;      // the share of each cell's elements that is wrong, row by row
};

// `wrong` as DescribeWhere() takes it. Of the ways to split the dimensions the one with the most cells, of equals the
// first. No cells where the output has no elements.
MismatchMap MapMismatch(std::span<const uint64_t> wrong, std::span<const int64_t> shape);

}  // namespace kb

#endif  // DEVICE_MISMATCH_MAP_H_
