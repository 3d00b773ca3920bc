// Secret positions in CPU memory.
#ifndef DEVICE_CPU_SECRET_READER_H_
#define DEVICE_CPU_SECRET_READER_H_

#include <algorithm>
#include <random>
#include <vector>

#include "base/random.h"
#include "device/device.h"
#include "device/memory_ops.h"

namespace kb {

class CpuSecretReader : public SecretReader {
 public:
  explicit CpuSecretReader(std::span<const OutputItem> outputs) {
    for (const OutputItem& output : outputs) {
      const size_t element = output.elements() == 0 ? 1 : output.bytes() / static_cast<size_t>(output.elements());
      const auto count = static_cast<size_t>(std::min<int64_t>(kPositions, output.elements()));
      parts_.push_back({output.data, output.elements(), element, std::vector<int64_t>(count),
                        std::vector<std::byte>(count * element)});
    }
  }

  void Draw() override {
    std::mt19937_64 random(RandomBits());
    for (Part& part : parts_) {
      const bool all = static_cast<size_t>(part.elements) == part.positions.size();
      for (size_t i = 0; i < part.positions.size(); ++i) {
        part.positions[i] = static_cast<int64_t>(all ? i : random() % static_cast<uint64_t>(part.elements));
      }
    }
  }

  void Read() override {
    for (Part& part : parts_) ReadInto(part, part.values.data());
  }

  bool Hold() override {
    for (Part& part : parts_) {
      std::vector<std::byte> now(part.values.size());
      ReadInto(part, now.data());
      if (now != part.values) return false;
    }
    return true;
  }

  void Rebind(size_t output, const void* data) override { parts_.at(output).data = data; }

 private:
  static constexpr int64_t kPositions = 4096;
  struct Part {
    const void* data;
    int64_t elements;
    size_t element;
    std::vector<int64_t> positions;
    std::vector<std::byte> values;
  };

  static void ReadInto(const Part& part, void* values) {
    ReadSecretPositions(part.data, part.element, part.positions.data(), static_cast<int64_t>(part.positions.size()),
                        values);
  }

  std::vector<Part> parts_;
};

}  // namespace kb

#endif  // DEVICE_CPU_SECRET_READER_H_
