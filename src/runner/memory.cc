#include "runner/memory.h"

#include <sys/mman.h>
#include <sys/stat.h>

namespace kb::runner {

Result<Segment> Segment::Map(int fd) {
  struct stat info {};
  Segment segment;
  if (fstat(fd, &info) != 0) return Fail(ErrorCode::kEngine, "shared segment: fstat failed");
  segment.size_ = static_cast<size_t>(info.st_size);
  if (segment.size_ == 0) return segment;
  void* at = mmap(nullptr, segment.size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (at == MAP_FAILED) return Fail(ErrorCode::kEngine, "shared segment: mmap failed");
  segment.data_ = static_cast<std::byte*>(at);
  return segment;
}

Segment Segment::Of(std::byte* device_memory) {
  Segment segment;
  segment.data_ = device_memory;
  return segment;
}

TensorTable::TensorTable(const std::vector<ops::Tensor>& specs, const Segment& segment, int32_t device_type) {
  extents_.reserve(2 * specs.size());
  names_.reserve(specs.size());
  for (const ops::Tensor& spec : specs) {
    auto& shape = extents_.emplace_back(spec.shape);
    auto& strides = extents_.emplace_back(spec.strides);
    kb_tensor tensor{};
    tensor.data = segment.data() + spec.offset;
    tensor.device = {device_type, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = {static_cast<uint8_t>(spec.dtype[0]), static_cast<uint8_t>(spec.dtype[1]),
                    static_cast<uint16_t>(spec.dtype[2])};
    tensor.shape = shape.data();
    tensor.strides = strides.data();
    tensors_.push_back(tensor);
    parameters_.push_back({names_.emplace_back(spec.name).c_str(), tensor});
  }
}

std::vector<kb_scalar> ReadScalars(const nlohmann::json& specs) {
  std::vector<kb_scalar> scalars;
  for (const auto& spec : specs) {
    kb_scalar scalar{};
    scalar.is_integer = !spec.is_number_float();
    scalar.integer = spec.is_boolean() ? spec.get<bool>() : scalar.is_integer ? spec.get<int64_t>() : 0;
    scalar.real = scalar.is_integer ? static_cast<double>(scalar.integer) : spec.get<double>();
    scalars.push_back(scalar);
  }
  return scalars;
}

}  // namespace kb::runner
