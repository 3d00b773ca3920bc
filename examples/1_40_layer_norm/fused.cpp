// Layer normalisation of whole images.
//
// Teaches: choosing the loop order by what is large. Gain and shift are as large as an image here. Image by image they
// would be read anew for each; with the images in the inner loop, a block of them is read once and serves all images.
// The statistics come from blocks too: each block's mean and squares around that mean, while it is in the cache, then
// all of them merged. The mean of the squares less the square of the mean would lose digits wherever the mean is large.
#include <kernelbench/kernel.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

constexpr int64_t kBlock = 4096;
constexpr double kEpsilon = 1e-5;

struct Moments {
  double mean, squares;  // squares of the distances from the mean, added up
};

const float* Parameter(const kb_call* call, const char* name) {
  for (int32_t i = 0; i < call->num_parameters; ++i) {
    if (std::strcmp(call->parameters[i].name, name) == 0) return static_cast<float*>(call->parameters[i].tensor.data);
  }
  return nullptr;
}

Moments MomentsOf(const float* x, int64_t n) {
  float sum = 0, squares = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += x[i];
  const float mean = sum / static_cast<float>(n);
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  return {mean, squares};
}

// Mean and 1 / sqrt(variance + eps) of an image from those of its blocks.
Moments Merge(const Moments* blocks, int64_t count, int64_t elements) {
  double sum = 0, squares = 0;
  const auto size = [&](int64_t block) { return static_cast<double>(std::min(kBlock, elements - block * kBlock)); };
  for (int64_t block = 0; block < count; ++block) sum += blocks[block].mean * size(block);
  const double mean = sum / static_cast<double>(elements);
  for (int64_t block = 0; block < count; ++block) {
    const double distance = blocks[block].mean - mean;
    squares += blocks[block].squares + distance * distance * size(block);
  }
  return {mean, 1 / std::sqrt(squares / static_cast<double>(elements) + kEpsilon)};
}

int64_t Elements(const kb_tensor& input) { return input.shape[1] * input.shape[2] * input.shape[3]; }
int64_t Blocks(const kb_tensor& input) { return (Elements(input) + kBlock - 1) / kBlock; }

}  // namespace

uint64_t kb_workspace_size(const kb_call* call) {
  const kb_tensor& input = call->inputs[0];
  return input.shape[0] * (Blocks(input) + 1) * sizeof(Moments);
}

int kb_forward(const kb_call* call) {
  const kb_tensor& input = call->inputs[0];
  const float* x = static_cast<const float*>(input.data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const float *gain = Parameter(call, "ln.weight"), *shift = Parameter(call, "ln.bias");
  if (gain == nullptr || shift == nullptr) return 1;
  const int64_t batch = input.shape[0], elements = Elements(input), blocks = Blocks(input);
  Moments* of_blocks = static_cast<Moments*>(call->workspace);
  Moments* of_images = of_blocks + batch * blocks;

#pragma omp parallel num_threads(call->num_threads)
  {
#pragma omp for collapse(2) schedule(static)
    for (int64_t n = 0; n < batch; ++n) {
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t begin = block * kBlock;
        of_blocks[n * blocks + block] = MomentsOf(x + n * elements + begin, std::min(kBlock, elements - begin));
      }
    }
#pragma omp for schedule(static)
    for (int64_t n = 0; n < batch; ++n) of_images[n] = Merge(of_blocks + n * blocks, blocks, elements);
#pragma omp for schedule(static)
    for (int64_t begin = 0; begin < elements; begin += kBlock) {
      const int64_t end = std::min(begin + kBlock, elements);
      for (int64_t n = 0; n < batch; ++n) {
        const float mean = static_cast<float>(of_images[n].mean), scale = static_cast<float>(of_images[n].squares);
        const float* from = x + n * elements;
        float* to = y + n * elements;
#pragma omp simd
        for (int64_t i = begin; i < end; ++i) to[i] = (from[i] - mean) * scale * gain[i] + shift[i];
      }
    }
  }
  return 0;
}
