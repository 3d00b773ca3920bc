// Functions of a library that was found at run time.
#ifndef CUDA_LIBRARY_H_
#define CUDA_LIBRARY_H_

#include <dlfcn.h>

namespace kb::cuda {

// Puts the address of `name` in `library` (from dlopen) into *function. False, and null, if it has none.
template <typename Function>
bool Find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

}  // namespace kb::cuda

#endif  // CUDA_LIBRARY_H_
