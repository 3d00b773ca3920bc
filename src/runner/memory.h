// The memory that the judge shares with this runner, and what lies where in it.
#ifndef RUNNER_MEMORY_H_
#define RUNNER_MEMORY_H_

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernelbench/kernel.h"
#include "wire/ops.h"

namespace kb::runner {

// One mapped segment; unmapped never: it lives as long as the process.
class Segment {
 public:
  static Result<Segment> Map(int fd);
  static Segment Of(std::byte* device_memory);  // mapped by other means, of unknown size
  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// The tensors of one kind, as kernel.h describes them. Not movable: kb_tensor points into it.
class TensorTable {
 public:
  TensorTable(const std::vector<ops::Tensor>& specs, const Segment& segment, int32_t device_type);
  TensorTable(const TensorTable&) = delete;
  TensorTable& operator=(const TensorTable&) = delete;

  std::vector<kb_tensor>& tensors() { return tensors_; }
  const std::vector<kb_tensor>& tensors() const { return tensors_; }
  const std::vector<kb_parameter>& parameters() const { return parameters_; }

 private:
  std::vector<std::vector<int64_t>> extents_;
  std::vector<std::string> names_;
  std::vector<kb_tensor> tensors_;
  std::vector<kb_parameter> parameters_;
};

// `specs`: an array of numbers.
std::vector<kb_scalar> ReadScalars(const nlohmann::json& specs);

}  // namespace kb::runner

#endif  // RUNNER_MEMORY_H_
