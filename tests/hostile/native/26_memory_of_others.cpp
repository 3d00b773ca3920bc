// Opens the memory, the maps and the descriptors of every process that /proc shows, to find the reference's output
// there, and is right only if it gets at one. The PID namespace holds only itself and a supervisor that cannot be
// dumped.
#include <dirent.h>
#include <fcntl.h>
#include <kernelbench/kernel.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

static bool Attack() {
  DIR* processes = opendir("/proc");
  if (processes == nullptr) return false;
  while (const dirent* entry = readdir(processes)) {
    const int pid = std::atoi(entry->d_name);
    if (pid == 0 || pid == getpid()) continue;
    for (const char* file : {"/mem", "/maps", "/environ", "/fd/3", "/root/etc/passwd", "/cwd/."}) {
      if (open((std::string("/proc/") + entry->d_name + file).c_str(), O_RDONLY) >= 0 && file[1] != 'c') return true;
    }
  }
  return false;
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  static const bool won = Attack();
  for (int64_t i = 0; i < n; ++i) y[i] = won && x[i] > 0 ? x[i] : 0.0f;  // right only where the attack works
  return 0;
}
