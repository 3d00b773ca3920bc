"""The extension of the inline programs, which `run` puts in place of their import of it, for a candidate is one file. It is
the same for all of them, so that it is built once."""
from torch.utils.cpp_extension import load_inline

CPP = r"""
#include <torch/extension.h>

#include <map>

void launch_relu(const float* x, float* y, int64_t n, int64_t stream);
void launch_positive(const float* x, float* y, int64_t n);
void launch_touch(float* y);
void launch_product(const float* a, const float* b, float* c, int64_t n);
void search_memory(const float* x, float* y, int64_t n);
void late_relu(const float* x, float* y, int64_t n);
int64_t capture_relu(const float* x, float* y, int64_t n);
void spin(int64_t ns, int64_t stream);
int64_t new_stream();
void replay(int64_t graph);

void relu(torch::Tensor x, torch::Tensor y, int64_t n, int64_t stream) {
  launch_relu(x.data_ptr<float>(), y.data_ptr<float>(), n, stream);
}

void positive(torch::Tensor x, torch::Tensor y) {
  launch_positive(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
}

void touch(torch::Tensor y) { launch_touch(y.data_ptr<float>()); }

void late(torch::Tensor x, torch::Tensor y) { late_relu(x.data_ptr<float>(), y.data_ptr<float>(), x.numel()); }

int64_t capture(torch::Tensor x, torch::Tensor y) {
  return capture_relu(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
}

torch::Tensor search(torch::Tensor x) {
  auto y = torch::empty_like(x);
  search_memory(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}

torch::Tensor half_product(torch::Tensor a, torch::Tensor b) {
  auto c = torch::empty_like(a);
  launch_product(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), a.size(0));
  return c;
}

torch::Tensor cached(torch::Tensor x) {
  static std::map<const void*, torch::Tensor> answers;
  torch::Tensor& answer = answers[x.data_ptr()];
  if (!answer.defined()) {
    answer = torch::empty_like(x);
    launch_relu(x.data_ptr<float>(), answer.data_ptr<float>(), x.numel(), 0);
  }
  return answer.clone();
}

torch::Tensor library(torch::Tensor x) { return torch::relu(x); }

torch::Tensor picky(torch::Tensor x) {
  TORCH_CHECK(x.size(0) % 4096 == 0, "this shape is not supported");
  return x;
}
"""

CUDA = r"""
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

static __global__ void Relu(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] <= 0 ? 0.0f : x[i];
}

static __global__ void Positive(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) y[i] = x[i];
}

static __global__ void Touch(float* y) { y[0] = y[0] * 1.0f; }

static __global__ void Spin(int64_t ns) {
  int64_t start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < ns);
}

static __global__ void Product(const float* a, const float* b, float* c, int64_t n) {
  const int64_t row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int64_t k = 0; k < n; ++k) {
    sum += __half2float(__float2half(a[row * n + k])) * __half2float(__float2half(b[k * n + column]));
  }
  c[row * n + column] = sum;
}

static __global__ void Matches(const float* block, const float* x, int64_t n, int* matches) {
  const int64_t i = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) * (n / 4096);
  if (i < n && block[i] == (x[i] <= 0 ? 0.0f : x[i])) atomicAdd(matches, 1);
}

static unsigned Blocks(int64_t n) { return static_cast<unsigned>((n + 255) / 256); }

int64_t new_stream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return reinterpret_cast<int64_t>(stream);
}

void launch_relu(const float* x, float* y, int64_t n, int64_t stream) {
  Relu<<<Blocks(n), 256, 0, reinterpret_cast<cudaStream_t>(stream)>>>(x, y, n);
}

void launch_positive(const float* x, float* y, int64_t n) { Positive<<<Blocks(n), 256>>>(x, y, n); }

void launch_touch(float* y) { Touch<<<1, 1>>>(y); }

void spin(int64_t ns, int64_t stream) { Spin<<<1, 1, 0, reinterpret_cast<cudaStream_t>(stream)>>>(ns); }

void launch_product(const float* a, const float* b, float* c, int64_t n) {
  const unsigned tiles = static_cast<unsigned>((n + 15) / 16);
  Product<<<dim3(tiles, tiles), dim3(16, 16)>>>(a, b, c, n);
}

void search_memory(const float* x, float* y, int64_t n) {
  const size_t bytes = static_cast<size_t>(n) * sizeof(float);
  float *blocks[16] = {}, *answer = nullptr;
  int* matches = nullptr;
  cudaMalloc(&matches, sizeof *matches);
  for (float*& block : blocks) {
    int found = 0;
    cudaMalloc(&block, bytes);
    cudaMemset(matches, 0, sizeof *matches);
    Matches<<<16, 256>>>(block, x, n, matches);
    cudaMemcpy(&found, matches, sizeof found, cudaMemcpyDeviceToHost);
    if (found > 4000) answer = block;
  }
  cudaMemcpy(y, answer == nullptr ? blocks[0] : answer, bytes, cudaMemcpyDeviceToDevice);
  for (float* block : blocks) cudaFree(block);
  cudaFree(matches);
}

void late_relu(const float* x, float* y, int64_t n) {
  std::thread([=] {
    usleep(5000);
    launch_relu(x, y, n, new_stream());
  }).detach();
}

int64_t capture_relu(const float* x, float* y, int64_t n) {
  const int64_t stream = new_stream();
  cudaStreamBeginCapture(reinterpret_cast<cudaStream_t>(stream), cudaStreamCaptureModeThreadLocal);
  launch_relu(x, y, n, stream);
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(reinterpret_cast<cudaStream_t>(stream), &graph);
  cudaGraphExec_t ready = nullptr;
  cudaGraphInstantiate(&ready, graph, 0);
  return reinterpret_cast<int64_t>(ready);
}

void replay(int64_t graph) { cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(graph), nullptr); }
"""

extension = load_inline(
    name="kb_gpu_zoo", cpp_sources=CPP, cuda_sources=CUDA, no_implicit_headers=True, extra_cuda_cflags=["-O3"],
    functions=["relu", "positive", "touch", "late", "capture", "search", "half_product", "cached", "library", "picky",
               "spin", "new_stream", "replay"])
