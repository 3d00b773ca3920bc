// Names of kernels as people write them.
#ifndef WIRE_KERNEL_NAME_H_
#define WIRE_KERNEL_NAME_H_

#include <string>

namespace kb {

// "void relu<float>(float*)" of "_Z4reluIfEvPT_", without what stands before and behind: "relu<float>". At most
// kMaxKernelName bytes (wire/report.h). What is not mangled stays as it is.
std::string ReadableName(const std::string& mangled);

}  // namespace kb

#endif  // WIRE_KERNEL_NAME_H_
