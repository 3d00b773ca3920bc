// Leaves 64 KiB of garbage where the report goes, to upset who decodes it. The decoder takes exactly what the encoder
// writes, and all else is forgery.
#include <kernelbench/kernel.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>

// The page with the doorbell, found among the descriptors.
static char* Doorbell() {
  for (int fd = 3; fd < 64; ++fd) {
    struct stat info {};
    if (fstat(fd, &info) != 0 || info.st_size != 68 * 1024) continue;
    void* page = mmap(nullptr, 68 * 1024, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page != MAP_FAILED) return static_cast<char*>(page);
  }
  return nullptr;
}

int kb_forward(const kb_call*) {
  if (char* page = Doorbell()) {
    for (int i = 0; i < 64 * 1024; ++i) page[192 + i] = static_cast<char>(i * 167 + 13);
    *reinterpret_cast<std::atomic<uint32_t>*>(page + 136) = 65536;
  }
  return 0;
}
