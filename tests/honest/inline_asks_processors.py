"""Suspicious: inline C++ that starts threads and reads /proc. Right: as many threads as the processor has, all joined; none is
bound to the core of the thread that starts it."""
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <sched.h>
#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

static int described() {
  std::ifstream file("/proc/cpuinfo");
  int count = 0;
  for (std::string line; std::getline(file, line);) count += line.rfind("processor", 0) == 0;
  return count;
}

static int allowed() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  return sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : 0;
}

torch::Tensor relu(torch::Tensor x) {
  const int64_t threads = std::min<int64_t>(described(), std::thread::hardware_concurrency());
  TORCH_CHECK(threads >= at::get_num_threads(), "only ", threads, " processors are known");
  auto y = torch::empty_like(x);
  const float* in = x.data_ptr<float>();
  float* out = y.data_ptr<float>();
  const int64_t n = x.numel();
  std::vector<std::future<int>> parts;
  for (int64_t part = 0; part < threads; ++part) {
    parts.push_back(std::async(std::launch::async, [=] {
      for (int64_t i = n * part / threads; i < n * (part + 1) / threads; ++i) out[i] = std::max(in[i], 0.0f);
      return allowed();
    }));
  }
  for (auto& part : parts) {
    const int cores = part.get();
    TORCH_CHECK(cores >= at::get_num_threads(), "a new thread may use ", cores, " cores");
  }
  return y;
}
"""

native = load_inline(name="asks", cpp_sources=SOURCE, functions=["relu"])


class ModelNew(nn.Module):
    def forward(self, x):
        return native.relu(x)
