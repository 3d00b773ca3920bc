#include "runner/stand_in.h"

#include <algorithm>
#include <cstring>
#include <random>

namespace kb::runner {
namespace {

// Bits of a number in [0.5, 1): sign and exponent are fixed, the mantissa is drawn.
template <typename Bits>
void Fill(std::vector<std::byte>* bytes, Bits exponent, int mantissa, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (size_t at = 0; at + sizeof(Bits) <= bytes->size(); at += sizeof(Bits)) {
    const auto bits = static_cast<Bits>(exponent | static_cast<Bits>(random() & ((uint64_t{1} << mantissa) - 1)));
    std::memcpy(bytes->data() + at, &bits, sizeof bits);
  }
}

}  // namespace

std::vector<std::byte> StandIn(kb_dtype dtype, size_t bytes, uint64_t seed) {
  std::vector<std::byte> contents(bytes);
  const int bits = dtype.code == KB_COMPLEX ? dtype.bits / 2 : dtype.bits;
  if (dtype.code == KB_BFLOAT && bits == 16) Fill<uint16_t>(&contents, 0x3f00, 7, seed);
  if (dtype.code == KB_FLOAT8_E4M3FN) Fill<uint8_t>(&contents, 0x30, 3, seed);
  if (dtype.code == KB_FLOAT8_E5M2) Fill<uint8_t>(&contents, 0x38, 2, seed);
  if (dtype.code != KB_FLOAT && dtype.code != KB_COMPLEX) return contents;
  if (bits == 16) Fill<uint16_t>(&contents, 0x3800, 10, seed);
  if (bits == 32) Fill<uint32_t>(&contents, 0x3f000000, 23, seed);
  if (bits == 64) Fill<uint64_t>(&contents, 0x3fe0000000000000, 52, seed);
  return contents;
}

Status Furnish(const Gpu& gpu, bool fill, std::vector<ops::Tensor>* specs) {
  uint64_t seed = 1;
  for (ops::Tensor& spec : *specs) {
    KB_ASSIGN_OR_RETURN(void* const memory, gpu.Allocate(std::max<size_t>(spec.bytes, 1)));
    if (fill && spec.bytes > 0) {
      const kb_dtype form{static_cast<uint8_t>(spec.dtype[0]), static_cast<uint8_t>(spec.dtype[1]), 1};
      KB_RETURN_IF_ERROR(gpu.Upload(memory, StandIn(form, spec.bytes, seed++)));
    }
    spec.offset = reinterpret_cast<uint64_t>(memory);
  }
  return {};
}

}  // namespace kb::runner
