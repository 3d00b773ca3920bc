#include "device/cuda/interposer.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "cuda/driver.h"

namespace kb::cuda {
namespace {

// The low halves are futexes.
struct Page {
  std::atomic<uint64_t> asked, done;
  std::atomic<uint32_t> ready;
};

constexpr size_t kPageBytes = 4096;
constexpr size_t kBytes = size_t{4} << 20;  // written each time: a kernel's worth of work
constexpr int64_t kStartNs = 30'000'000'000, kUseNs = 2'000'000'000;

uint32_t* Low(std::atomic<uint64_t>* word) { return reinterpret_cast<uint32_t*>(word); }

}  // namespace

Result<Interposer> Interposer::Start(const std::string& program) {
  KB_ASSIGN_OR_RETURN(SharedMemory page, SharedMemory::Create("kb-interposer", kPageBytes));
  SpawnOptions options{.argv = {program, std::to_string(page.fd())}, .environment = {}, .inherit = {page.fd()}};
  if (const char* path = std::getenv("LD_LIBRARY_PATH"))
    options.environment.push_back(std::string("LD_LIBRARY_PATH=") + path);
  options.stderr_fd = STDERR_FILENO;
  KB_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Spawn(options));
  return Interposer(std::move(process), std::move(page));
}

bool Interposer::Use() {
  auto* page = reinterpret_cast<Page*>(page_.data());
  page->asked.store(++asked_);
  syscall(SYS_futex, Low(&page->asked), FUTEX_WAKE, 1, nullptr, nullptr, 0);
  const int64_t deadline = NowNs() + (page->ready.load() != 0 ? kUseNs : kStartNs);
  while (page->done.load(std::memory_order_acquire) != asked_) {
    if (NowNs() > deadline || process_.Wait(std::chrono::milliseconds(0))) return false;
  }
  return true;
}

int ServeInterposer(int fd) {
  void* memory = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const auto driver = LoadDriver();
  if (memory == MAP_FAILED || !driver || !UseDevice(**driver)) return 3;
  auto* page = static_cast<Page*>(memory);
  Address buffer = 0;
  if ((*driver)->cuMemAlloc_v2(&buffer, kBytes) != 0) return 3;
  page->ready.store(1);
  for (uint64_t seen = 0;; page->done.store(seen, std::memory_order_release)) {
    while (page->asked.load() == seen) {
      syscall(SYS_futex, Low(&page->asked), FUTEX_WAIT, static_cast<uint32_t>(seen), nullptr, nullptr, 0);
    }
    seen = page->asked.load();
    if ((*driver)->cuMemsetD32Async(buffer, static_cast<unsigned>(seen), kBytes / 4, nullptr) != 0) return 3;
    if ((*driver)->cuStreamSynchronize(nullptr) != 0) return 3;
  }
}

}  // namespace kb::cuda
