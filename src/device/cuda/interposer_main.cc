// kb-interposer: see interposer.h. Started by the device process with the number of a descriptor.

#include <cstdio>
#include <cstdlib>

#include "device/cuda/interposer.h"

int main(int argc, char** argv) {
  if (argc == 2) return kb::cuda::ServeInterposer(std::atoi(argv[1]));
  std::fprintf(stderr, "kb-interposer is started by kernelbench, not by hand\n");
  return 2;
}
