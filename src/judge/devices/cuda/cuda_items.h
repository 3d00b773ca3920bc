// What a CUDA source file consists of at its outermost levels, and which of the two compilations each part belongs to.
#ifndef JUDGE_DEVICES_CUDA_CUDA_ITEMS_H_
#define JUDGE_DEVICES_CUDA_CUDA_ITEMS_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "judge/devices/cuda/cuda_words.h"

namespace kb {

// Several times what candidates have. Looking for names takes up to the square of it, and texts may be hostile.
inline constexpr size_t kMostSplitBytes = size_t{64} << 10;

enum class CudaPart { kHost, kDevice, kBoth };

struct TextRange {
  size_t begin = 0, end = 0;
  bool Holds(size_t byte) const { return begin <= byte && byte < end; }
};

struct CudaItem {
  TextRange range;  // with its template head
  CudaPart part = CudaPart::kBoth;
  std::string name;  // empty: none that text elsewhere could mention
  // Of kBoth: may be left out of a half that nowhere mentions the name.
  bool optional_in_host = false, optional_in_device = false;
};

struct CudaKernel {
  std::string scope;  // "a::b::"
  std::string name;
  size_t name_at = 0;
  bool is_template = false;
};

// name<arguments>, a function's.
struct TemplateUse {
  size_t name_at = 0;
  std::string arguments;  // with <>
};

struct CudaInclude {
  TextRange range;
  std::string header;  // without <>
};

// Bytes that one half has otherwise: blank, and then this text.
struct TextEdit {
  TextRange range;
  std::string text;
};

struct CudaItems {
  std::string refusal;  // why the file cannot be split; empty: it can, as far as this goes
  std::vector<CudaItem> items;
  std::vector<CudaInclude> includes;
  std::vector<CudaKernel> kernels;
  std::vector<TextEdit> host_edits;     // kernels as functions that launch them; device members without their bodies
  std::vector<TextRange> device_edits;  // host members, blank
  std::vector<TextRange> device_bodies;
  std::vector<TemplateUse> uses;
  std::vector<TextEdit> launches;  // among the edits of the host half
};

CudaItems FindCudaItems(const std::string& source);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_CUDA_ITEMS_H_
