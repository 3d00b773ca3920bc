"""Causal attention with a streaming softmax, as inline C++; the two projections stay with the library.

Teaches: mixed authorship, and the idea behind flash attention. The matrix of attention weights is never stored: a few
queries meet the keys block by block, and the running maximum, sum and weighted values are rescaled whenever a larger
logit turns up. Blocks that the causal mask would blot out are not computed at all.
"""
import math

import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <ATen/Parallel.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <vector>

constexpr int64_t kQueries = 4;  // handled together, so that each key and value is loaded once for all of them
constexpr int64_t kKeys = 64;    // in a block

// exp(x) for x <= 0 in a form that compilers vectorise; see 1_23_softmax/fused.cpp.
static inline float exp_negative(float x) {
  constexpr float round = 12582912.0f;
  const float clamped = x > -87.0f ? x : -87.0f;
  const float shifted = clamped * 1.44269504f + round;
  const float r = clamped - (shifted - round) * 0.69314718f;
  float p = 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  uint32_t bits, exponent;
  std::memcpy(&bits, &p, sizeof bits);
  std::memcpy(&exponent, &shifted, sizeof exponent);
  bits += exponent << 23;
  std::memcpy(&p, &bits, sizeof p);
  return p;
}

// One head of one sequence. q and v are rows of `stride` floats; `keys` is transposed and scaled: keys[d][s].
static void attend(const float* q, const float* keys, const float* v, float* y, int64_t length, int64_t depth,
                   int64_t stride, int64_t y_stride) {
  std::vector<float> sums(kQueries * depth);
  for (int64_t first = 0; first < length; first += kQueries) {
    const int64_t queries = std::min(kQueries, length - first);
    float max[kQueries], sum[kQueries] = {};
    std::fill(max, max + kQueries, -FLT_MAX);
    std::fill(sums.begin(), sums.end(), 0.0f);

    for (int64_t block = 0; block < first + queries; block += kKeys) {
      const int64_t count = std::min(kKeys, first + queries - block);
      float logit[kQueries][kKeys] = {};
      const float* rows[kQueries];
      for (int64_t i = 0; i < kQueries; ++i) rows[i] = q + (first + std::min(i, queries - 1)) * stride;
      if (count == kKeys) {
        for (int64_t d = 0; d < depth; ++d) {
          for (int64_t i = 0; i < kQueries; ++i) {
            const float factor = rows[i][d];
#pragma omp simd
            for (int64_t s = 0; s < kKeys; ++s) logit[i][s] += factor * keys[d * length + block + s];
          }
        }
      } else {
        for (int64_t d = 0; d < depth; ++d) {
          for (int64_t i = 0; i < kQueries; ++i) {
            const float factor = rows[i][d];
#pragma omp simd
            for (int64_t s = 0; s < count; ++s) logit[i][s] += factor * keys[d * length + block + s];
          }
        }
      }
      for (int64_t i = 0; i < queries; ++i) {
        const int64_t visible = std::min(count, first + i + 1 - block);  // keys at or before this query
        if (visible <= 0) {
          std::fill(logit[i], logit[i] + kKeys, 0.0f);
          continue;
        }
        float new_max = max[i];
        for (int64_t s = 0; s < visible; ++s) new_max = std::max(new_max, logit[i][s]);
        const float shrink = exp_negative(max[i] - new_max);
        float block_sum = 0;
#pragma omp simd reduction(+ : block_sum)
        for (int64_t s = 0; s < visible; ++s) {
          logit[i][s] = exp_negative(logit[i][s] - new_max);
          block_sum += logit[i][s];
        }
        std::fill(logit[i] + visible, logit[i] + kKeys, 0.0f);
        sum[i] = sum[i] * shrink + block_sum;
        max[i] = new_max;
        for (int64_t d = 0; d < depth; ++d) sums[i * depth + d] *= shrink;
      }
      for (int64_t s = 0; s < count; ++s) {
        const float* value = v + (block + s) * stride;
        for (int64_t i = 0; i < kQueries; ++i) {
          const float weight = logit[i][s];
#pragma omp simd
          for (int64_t d = 0; d < depth; ++d) sums[i * depth + d] += weight * value[d];
        }
      }
    }
    for (int64_t i = 0; i < queries; ++i) {
      for (int64_t d = 0; d < depth; ++d) y[(first + i) * y_stride + d] = sums[i * depth + d] / sum[i];
    }
  }
}

// qkv: (batch, length, 3 * width), the output of the first projection. Returns (batch, length, width).
torch::Tensor causal_attention(torch::Tensor input, int64_t heads, double scale) {
  const torch::Tensor qkv = input.contiguous();
  const int64_t batch = qkv.size(0), length = qkv.size(1), width = qkv.size(2) / 3, depth = width / heads;
  torch::Tensor y = torch::empty({batch, length, width}, qkv.options());
  const float* from = qkv.data_ptr<float>();
  float* to = y.data_ptr<float>();
  at::parallel_for(0, batch * heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> keys(depth * length);
    for (int64_t task = begin; task < end; ++task) {
      const int64_t head = task % heads * depth;
      const float* q = from + task / heads * length * 3 * width + head;
      for (int64_t s = 0; s < length; ++s) {
        const float* k = q + width + s * 3 * width;
        for (int64_t d = 0; d < depth; ++d) keys[d * length + s] = k[d] * static_cast<float>(scale);
      }
      attend(q, keys.data(), q + 2 * width, to + task / heads * length * width + head, length, depth, 3 * width, width);
    }
  });
  return y;
}
"""

extension = load_inline(
    name="kb_example_causal_attention",
    cpp_sources=SOURCE,
    functions=["causal_attention"],
    extra_cflags=["-O3", "-march=native", "-fopenmp", "-fno-math-errno", "-fno-trapping-math"],
)


class ModelNew(nn.Module):
    def __init__(self, n_embd, n_head, attn_pdrop, resid_pdrop, max_seqlen):
        super().__init__()
        if attn_pdrop != 0.0:
            raise NotImplementedError("the attention weights are never stored, so none can be dropped")
        self.n_head = n_head
        self.scale = 1.0 / math.sqrt(n_embd // n_head)
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.resid_dropout = nn.Dropout(resid_pdrop)

    def forward(self, x):
        y = extension.causal_attention(self.c_attn(x), self.n_head, self.scale)
        return self.resid_dropout(self.c_proj(y))
