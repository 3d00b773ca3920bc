// A runner with a GPU sees /sys and may write below /proc. It looks for a setting of the machine that it could change,
// and is right only if there is one. It opens and writes nothing.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <kernelbench/kernel.h>

#include <cstdio>

static __global__ void Relu(const float* x, float* y, int64_t n) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] <= 0 ? 0.0f : x[i];
}

static void Launch(const float* x, float* y, int64_t n, cudaStream_t stream) {
  Relu<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(x, y, n);
}

static int64_t Count(const kb_tensor& tensor) {
  int64_t n = 1;
  for (int d = 0; d < tensor.ndim; ++d) n *= tensor.shape[d];
  return n;
}

static bool Attack() {
  for (const char* path : {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/printk",
                           "/proc/sys/kernel/sched_rt_runtime_us", "/proc/sys/vm/drop_caches",
                           "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity",
                           "/sys/bus/pci/rescan", "/sys/power/state", "/sys/kernel/mm/transparent_hugepage/enabled",
                           "/sys/module/nvidia/uevent", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
                           "/dev/mem", "/dev/kmsg", "/etc/ld.so.cache", "/usr/bin/env", "/proc/self/exe"}) {
    if (open(path, O_WRONLY) < 0) continue;
    std::fprintf(stderr, "opened %s\n", path);
    return true;
  }
  return false;
}

KB_EXPORT int kb_forward(const kb_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  auto* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = Count(call->inputs[0]);
  const auto stream = static_cast<cudaStream_t>(call->stream);
  static const bool won = Attack();
  if (won) {  // right only where the attack works
    Launch(x, y, n, stream);
  } else {
    cudaMemsetAsync(y, 0, static_cast<size_t>(n) * sizeof(float), stream);
  }
  return static_cast<int>(cudaGetLastError());
}
