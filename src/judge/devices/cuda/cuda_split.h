// A CUDA source as two: a C++ file for the host and a device file for NVRTC. Together they take a fraction of nvcc's
// time, most of which goes into reading CUDA's headers twice.
//
// The host half does what nvcc's own host code does: every kernel is a function of its form that launches it,
// registered with the CUDA runtime under its address, so that whatever takes a kernel (cudaFuncSetAttribute, occupancy,
// cooperative launches, pointers to kernels) takes it here as well, and arguments are converted by calling it. Lines
// and, but for launches, columns are those of the source.
//
// A source is split only if each part of it certainly belongs to one half or means the same in both. What makes the two
// halves dangerous is a name that one of them no longer holds: another may be found in its place. So no half may
// mention the name of anything that was left out of it. Whatever is not certain is refused, and nvcc builds it.
#ifndef JUDGE_DEVICES_CUDA_CUDA_SPLIT_H_
#define JUDGE_DEVICES_CUDA_CUDA_SPLIT_H_

#include <string>
#include <vector>

namespace kb {

struct CudaSplit {
  std::string refusal;  // "line 7: it includes <cub/cub.cuh>"; empty: the source is split
  // The host half refers to kb_nvrtc_image, a fat binary, and to kb_nvrtc_name_0, ...: the machine code's names for
  // `kernels`.
  std::string host, device;
  std::vector<std::string> kernels;  // expressions, as NVRTC takes them
};

// `name`: of the source in the compilers' messages.
CudaSplit SplitCuda(const std::string& source, const std::string& name);

}  // namespace kb

#endif  // JUDGE_DEVICES_CUDA_CUDA_SPLIT_H_
