// The text of memory.cu and compare.cu, which NVRTC compiles for the device that is present.
#ifndef DEVICE_CUDA_KERNELS_H_
#define DEVICE_CUDA_KERNELS_H_

namespace kb::cuda {

extern const char kKernelSource[];

}  // namespace kb::cuda

#endif  // DEVICE_CUDA_KERNELS_H_
