// Tensors that stand for a problem's where only memory accesses matter.
#ifndef RUNNER_STAND_IN_H_
#define RUNNER_STAND_IN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "kernelbench/kernel.h"
#include "runner/gpu.h"
#include "wire/ops.h"

namespace kb::runner {

// Contents: floating and complex numbers uniform in [0.5, 1), which no root, logarithm or division minds; integers and
// truth values 0, which is in range as an index.
std::vector<std::byte> StandIn(kb_dtype dtype, size_t bytes, uint64_t seed);

// Gives each tensor of `specs` (see TensorTable) memory of its own on the device, so that a checker sees what goes
// beyond it, and makes its address the spec's offset: the segment is all of memory. `fill`: with a StandIn().
Status Furnish(const Gpu& gpu, bool fill, std::vector<ops::Tensor>* specs);

}  // namespace kb::runner

#endif  // RUNNER_STAND_IN_H_
