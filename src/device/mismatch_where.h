// Where the wrong elements of an output lie, in one sentence for whoever writes the next attempt.
#ifndef DEVICE_MISMATCH_WHERE_H_
#define DEVICE_MISMATCH_WHERE_H_

#include <cstdint>
#include <span>
#include <string>

namespace kb {

// Bit i of `wrong` (bit i % 64 of word i / 64) is set if element i of the contiguous tensor is wrong; bits beyond the
// last element are clear. Garbage is right here and there by luck, so a pattern may have holes.
// For example "every element", "one element", "the last 13 elements", "the last 3 rows of dimension 0", "dimension 1
// from 96 on", "only index 5 of dimension 1", "one in 4 of dimension 3, from 1 on", "only the edges of dimensions 2 and
// 3", "scattered". Several dimensions are joined by " and " and mean their intersection. Empty if nothing is wrong.
std::string DescribeWhere(std::span<const uint64_t> wrong, std::span<const int64_t> shape);

}  // namespace kb

#endif  // DEVICE_MISMATCH_WHERE_H_
