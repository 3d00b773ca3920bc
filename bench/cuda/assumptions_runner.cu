// The runner of assumptions.cu: does what the judge asks for.
#include <sys/mman.h>

#include <thread>

#include "assumptions.h"

namespace {

__global__ void Deep(float* data) {
  float stack[1024];
  for (int i = 0; i < 1024; ++i) stack[(i * 7 + threadIdx.x) % 1024] = data[i];
  data[threadIdx.x] = stack[threadIdx.x] + stack[data[0] > 0 ? 1 : 2];
}

__global__ void PollThenSpin(const volatile uint32_t* word, uint64_t ns, uint64_t limit_ns, uint64_t* began) {
  const uint64_t start = GlobalTimer();
  while (*word != kMagic && GlobalTimer() - start < limit_ns) {
  }
  const uint64_t now = GlobalTimer();
  *began = *word == kMagic ? now : 0;
  while (GlobalTimer() - now < ns) {
  }
}

struct RunnerState {
  uint32_t *inputs = nullptr, *outputs = nullptr;
  uint64_t* began = nullptr;  // host memory that kernels write
  cudaStream_t stream = nullptr, second = nullptr;
  uint32_t* kept = nullptr;
  size_t kept_words = 0;
};

double Open(Page* page, RunnerState* s) {
  CHECK(cudaSetDevice(0));
  CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&s->inputs), page->inputs, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&s->outputs), page->outputs, cudaIpcMemLazyEnablePeerAccess));
  CHECK(cudaHostAlloc(&s->began, sizeof *s->began, cudaHostAllocMapped));
  CHECK(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&s->second, cudaStreamNonBlocking));
  Nothing<<<1, 1, 0, s->stream>>>();
  CHECK(cudaStreamSynchronize(s->stream));
  return 0;
}

double NullKernel(RunnerState* s) {
  Nothing<<<1, 1, 0, s->stream>>>();
  CHECK(cudaStreamSynchronize(s->stream));
  return 0;
}

// What candidates bring: memory, streams, kernels that need a larger stack.
double Load() {
  float* square;
  CHECK(cudaMalloc(&square, size_t{8} << 30));
  CHECK(cudaMemset(square, 0, size_t{8} << 30));
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16 << 10));
  for (int i = 0; i < 32; ++i) {
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    Deep<<<256, 256, 0, stream>>>(square);
  }
  CHECK(cudaDeviceSynchronize());
  return 0;
}

double ArmedWait(Page* page, RunnerState* s) {
  *s->began = 0;
  CHECK(cuStreamWaitValue32(s->stream, reinterpret_cast<CUdeviceptr>(s->inputs), kMagic, CU_STREAM_WAIT_VALUE_EQ));
  Spin<<<1, 1, 0, s->stream>>>(page->argument, s->began);
  return 0;
}

double PollingThread(Page* page, RunnerState* s) {
  *s->began = 0;
  std::thread([s, ns = page->argument] {
    uint32_t* word;
    CHECK(cudaHostAlloc(&word, sizeof *word, 0));
    *word = 0;
    const int64_t until = NowNs() + 2'000'000'000;
    while (*word != kMagic && NowNs() < until) {
      CHECK(cudaMemcpyAsync(word, s->inputs, sizeof *word, cudaMemcpyDeviceToHost, s->second));
      CHECK(cudaStreamSynchronize(s->second));
    }
    if (*word == kMagic) Spin<<<1, 1, 0, s->second>>>(ns, s->began);
  }).detach();
  return 0;
}

double PollingKernel(Page* page, RunnerState* s) {
  *s->began = 0;
  PollThenSpin<<<1, 1, 0, s->stream>>>(s->inputs, page->argument, 1'000'000'000, s->began);
  return 0;
}

double LeftKernel(Page* page, RunnerState* s) {
  Spin<<<1, 1, 0, s->stream>>>(page->argument, nullptr);
  return 0;
}

double CopyDevice(Page* page, RunnerState* s) {
  uint32_t* to;
  CHECK(cudaMalloc(&to, kInputBytes));
  for (uint64_t i = 0; i < page->argument; ++i)
    CHECK(cudaMemcpyAsync(to, s->outputs, kInputBytes, cudaMemcpyDeviceToDevice, s->stream));
  return 0;
}

double CopyHost(Page* page, RunnerState* s) {
  uint32_t *to, *from;
  CHECK(cudaMalloc(&to, kInputBytes));
  CHECK(cudaHostAlloc(&from, kInputBytes, 0));
  for (uint64_t i = 0; i < page->argument; ++i)
    CHECK(cudaMemcpyAsync(to, from, kInputBytes, cudaMemcpyHostToDevice, s->stream));
  return 0;
}

double FiredAt(RunnerState* s) {
  CHECK(cudaDeviceSynchronize());
  return static_cast<double>(*s->began);
}

double FillAndFree(Page* page) {
  uint32_t* data;
  CHECK(cudaMalloc(&data, page->argument));
  Fill<<<1024, 256>>>(data, page->argument / 4, kMagic);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(data));
  return 0;
}

double Scan(Page* page) {
  uint32_t* data;
  unsigned long long *found, count = 0;
  CHECK(cudaMalloc(&data, page->argument));
  CHECK(cudaMalloc(&found, sizeof *found));
  CHECK(cudaMemset(found, 0, sizeof *found));
  Count<<<1024, 256>>>(data, page->argument / 4, kMagic, found);
  CHECK(cudaMemcpy(&count, found, sizeof count, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(data));
  return static_cast<double>(count);
}

double Forge(Page* page) {
  void* mapped = nullptr;
  const cudaError_t status = cudaIpcOpenMemHandle(&mapped, page->forged, cudaIpcMemLazyEnablePeerAccess);
  if (status != cudaSuccess) {
    cudaGetLastError();
    return -static_cast<double>(status);
  }
  uint32_t word = 0;
  const cudaError_t read = cudaMemcpy(&word, mapped, sizeof word, cudaMemcpyDeviceToHost);
  if (read != cudaSuccess) return -10000.0 - static_cast<int>(read);  // this context is lost
  cudaIpcCloseMemHandle(mapped);
  return word;
}

// Argument: megabytes kept in L2.
double Persist(Page* page, RunnerState* s) {
  s->kept_words = page->argument << 18;
  if (s->kept == nullptr) CHECK(cudaMalloc(&s->kept, s->kept_words * 4));
  CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, s->kept_words * 4));
  cudaStreamAttrValue attribute{};
  attribute.accessPolicyWindow.base_ptr = s->kept;
  attribute.accessPolicyWindow.num_bytes = s->kept_words * 4;
  attribute.accessPolicyWindow.hitRatio = 1;
  attribute.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
  attribute.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
  CHECK(cudaStreamSetAttribute(s->stream, cudaStreamAttributeAccessPolicyWindow, &attribute));
  return 0;
}

// Reads `kept`; microseconds by events. Argument: megabytes, if there is none yet.
double ReadTimed(Page* page, RunnerState* s) {
  if (s->kept == nullptr) {
    s->kept_words = page->argument << 18;
    CHECK(cudaMalloc(&s->kept, s->kept_words * 4));
  }
  unsigned long long* found;
  CHECK(cudaMalloc(&found, sizeof *found));
  cudaEvent_t from, to;
  CHECK(cudaEventCreate(&from));
  CHECK(cudaEventCreate(&to));
  CHECK(cudaEventRecord(from, s->stream));
  Count<<<528, 512, 0, s->stream>>>(s->kept, s->kept_words, 1, found);
  CHECK(cudaEventRecord(to, s->stream));
  CHECK(cudaStreamSynchronize(s->stream));
  float ms = 0;
  CHECK(cudaEventElapsedTime(&ms, from, to));
  return ms * 1e3;
}

double Serve(Page* page, RunnerState* s) {
  switch (page->command) {
    case kOpen:
      return Open(page, s);
    case kEmpty:
      return 0;
    case kNullKernel:
      return NullKernel(s);
    case kLoad:
      return Load();
    case kArmedWait:
      return ArmedWait(page, s);
    case kPollingThread:
      return PollingThread(page, s);
    case kPollingKernel:
      return PollingKernel(page, s);
    case kLeftKernel:
      return LeftKernel(page, s);
    case kCopyDevice:
      return CopyDevice(page, s);
    case kCopyHost:
      return CopyHost(page, s);
    case kFiredAt:
      return FiredAt(s);
    case kFillAndFree:
      return FillAndFree(page);
    case kScan:
      return Scan(page);
    case kForge:
      return Forge(page);
    case kPersist:
      return Persist(page, s);
    case kReadTimed:
      return ReadTimed(page, s);
  }
  return 0;
}

}  // namespace

int RunnerMain(int fd) {
  auto* page = static_cast<Page*>(mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  RunnerState state;
  for (uint32_t seen = 0;;) {
    uint32_t go;
    while ((go = page->go.load(std::memory_order_acquire)) == seen) {
    }
    seen = go;
    if (page->command == kExit) return 0;
    page->result = Serve(page, &state);
    page->done.store(go, std::memory_order_release);
  }
}
