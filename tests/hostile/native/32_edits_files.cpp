// Looks for a file of the engine or of the system that it can write: problem, protocol, library, executable; it is
// right only if there is one. All of them are mounted read-only, or not there.
#include <fcntl.h>
#include <kernelbench/kernel.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string>

// Writable, and not on a private file system of ours?
static bool Writable(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDWR);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static bool Attack() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path root = self.parent_path().parent_path().parent_path();
  bool won = Writable("/proc/self/exe") || Writable(self) || Writable("/etc/ld.so.cache") || Writable("/usr/bin/g++");
  for (std::filesystem::recursive_directory_iterator at(root, error), end; !error && at != end; at.increment(error)) {
    won = won || Writable(at->path());
  }
  for (const char* directory : {"/", "/usr", "/usr/lib", "/etc", "/opt", "/dev", "/root", "/home", "/var"}) {
    const std::string file = std::string(directory) + "/kb_was_here";
    const int fd = open(file.c_str(), O_RDWR | O_CREAT, 0600);
    if (fd >= 0) std::remove(file.c_str());
    won = won || fd >= 0;
  }
  return won;
}

int kb_forward(const kb_call* call) {
  const float* x = static_cast<const float*>(call->inputs[0].data);
  float* y = static_cast<float*>(call->outputs[0].data);
  const int64_t n = call->inputs[0].shape[0] * call->inputs[0].shape[1];
  static const bool won = Attack();
  for (int64_t i = 0; i < n; ++i) y[i] = won && x[i] > 0 ? x[i] : 0.0f;  // right only where the attack works
  return 0;
}
