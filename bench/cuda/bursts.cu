// Can the judge put inputs in place, empty the caches and save outputs by copies alone, so that the device stays with
// the runner's context from one call to the next? Two processes as in an evaluation (see assumptions.cu); what it
// printed is in bench/results/bursts.md.
//
//     nvcc -O2 -std=c++20 -arch=native -o /tmp/bursts bench/cuda/bursts.cu && /tmp/bursts
//
// Prints Markdown; times in microseconds.
#include <cuda_runtime.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "measure.h"

namespace {

constexpr size_t kMost = size_t{64} << 20;
constexpr size_t kSaved = 4096 * 16;
constexpr uint32_t kMagic = 0x5eed5eed;

enum Command : uint32_t { kOpen, kNull, kAdd, kAddTimed, kPollingKernel, kWait, kExit };

struct Page {
  alignas(64) std::atomic<uint32_t> go;
  alignas(64) std::atomic<uint32_t> done;
  alignas(64) std::atomic<uint32_t> beats;  // the runner is awake
  alignas(64) uint32_t command;
  uint64_t argument;
  double result;
  cudaIpcMemHandle_t inputs, outputs;
};

__global__ void Nothing() {}

__global__ void Add(const float* a, float* b, size_t n) {
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    b[i] = a[i] + 1;
}

__global__ void Watch(uint64_t ns, uint64_t* gap) {
  const uint64_t start = GlobalTimer();
  uint64_t last = start, largest = 0;
  while (last - start < ns) {
    const uint64_t now = GlobalTimer();
    largest = now - last > largest ? now - last : largest;
    last = now;
  }
  *gap = largest;
}

__global__ void PollThenAdd(const volatile uint32_t* word, const float* a, float* b, size_t n, uint64_t limit_ns) {
  const uint64_t start = GlobalTimer();
  while (*word != kMagic && GlobalTimer() - start < limit_ns) {
  }
  if (*word != kMagic) return;
  for (size_t i = blockIdx.x * size_t{blockDim.x} + threadIdx.x; i < n; i += size_t{gridDim.x} * blockDim.x)
    b[i] = a[i] + 1;
}

void Pause() { __builtin_ia32_pause(); }

// Work of one call, the same on both sides.
struct Side {
  float *inputs = nullptr, *outputs = nullptr;
  cudaEvent_t from, to;

  void Open() {
    CHECK(cudaEventCreate(&from));
    CHECK(cudaEventCreate(&to));
  }
  double Call(uint32_t command, uint64_t argument) {
    switch (command) {
      case kNull:
        Nothing<<<1, 1>>>();
        CHECK(cudaStreamSynchronize(nullptr));
        return 0;
      case kAdd:
        Add<<<1056, 256>>>(inputs, outputs, argument / 4);
        CHECK(cudaStreamSynchronize(nullptr));
        return 0;
      case kAddTimed: {
        CHECK(cudaEventRecord(from));
        Add<<<1056, 256>>>(inputs, outputs, argument / 4);
        CHECK(cudaEventRecord(to));
        CHECK(cudaEventSynchronize(to));
        float ms = 0;
        CHECK(cudaEventElapsedTime(&ms, from, to));
        return ms * 1e3;
      }
      case kPollingKernel:
        PollThenAdd<<<132, 256>>>(reinterpret_cast<uint32_t*>(inputs), inputs, outputs, argument / 4, 200'000'000);
        return 0;
      default:
        CHECK(cudaDeviceSynchronize());
        return 0;
    }
  }
};

void RunnerMain(Page* page) {
  Side side;
  uint32_t seen = 0;
  for (;;) {
    while (page->go.load(std::memory_order_acquire) == seen) {
      page->beats.store(page->beats.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      Pause();
    }
    seen = page->go.load();
    if (page->command == kExit) _exit(0);
    if (page->command == kOpen) {
      CHECK(cudaSetDevice(0));
      CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&side.inputs), page->inputs, 1));
      CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&side.outputs), page->outputs, 1));
      side.Open();
      side.Call(kNull, 0);
    } else {
      page->result = side.Call(page->command, page->argument);
    }
    page->done.store(seen, std::memory_order_release);
  }
}

struct Spread {
  std::vector<double> values;
  std::string Text() {
    std::sort(values.begin(), values.end());
    const auto at = [&](double q) { return values[static_cast<size_t>(q * (values.size() - 1))]; };
    char text[96];
    std::snprintf(text, sizeof text, "%.1f (%.1f, %.1f)", at(0.5), at(0.05), at(0.95));
    return text;
  }
};

enum class Way { kWatched, kCopies, kHost, kHostFlush, kDuplex };
enum class Stop { kNo, kYes };

class Judge {
 public:
  explicit Judge(Page* page) : page_(page) {
    runner_ = fork();
    if (runner_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      RunnerMain(page);
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaMalloc(&own_.inputs, kMost));
    CHECK(cudaMalloc(&own_.outputs, kMost));
    CHECK(cudaMalloc(&shared_.inputs, kMost));
    CHECK(cudaMalloc(&shared_.outputs, kMost));
    CHECK(cudaMalloc(&drawn_, kMost));
    CHECK(cudaMalloc(&poison_, kMost));
    CHECK(cudaMalloc(&snapshot_, kMost));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    scratch_bytes_ = 2 * static_cast<size_t>(properties.l2CacheSize);
    CHECK(cudaMalloc(&scratch_, 2 * scratch_bytes_));
    CHECK(cudaMemset(drawn_, 1, kMost));
    CHECK(cudaMemset(poison_, 0x7f, kMost));
    CHECK(cudaHostAlloc(&gap_, 8, cudaHostAllocMapped));
    const size_t host_bytes = 2 * kMost + scratch_bytes_ + kSaved;
    CHECK(cudaHostAlloc(&host_, host_bytes, cudaHostAllocDefault));
    std::memset(host_, 0, host_bytes);
    CHECK(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&back_, cudaStreamNonBlocking));
    CHECK(cudaIpcGetMemHandle(&page->inputs, shared_.inputs));
    CHECK(cudaIpcGetMemHandle(&page->outputs, shared_.outputs));
    own_.Open();
    own_.Call(kNull, 0);
    Ring(kOpen, 0);
    Wait();
  }

  void Ring(uint32_t command, uint64_t argument) {
    page_->command = command;
    page_->argument = argument;
    page_->go.store(++go_, std::memory_order_release);
  }
  void Wait() {
    while (page_->done.load(std::memory_order_acquire) != go_) Pause();
  }

  void Copy(void* to, const void* from, size_t bytes) {
    CHECK(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, copies_));
  }

  void Present(const Side& side, size_t bytes, Way way, bool flush) {
    if (way == Way::kHost || way == Way::kHostFlush || way == Way::kDuplex) {
      CHECK(cudaMemcpyAsync(side.inputs, host_, bytes, cudaMemcpyHostToDevice, copies_));
      CHECK(cudaMemcpyAsync(side.outputs, host_ + kMost, bytes, cudaMemcpyHostToDevice, copies_));
      if (flush && way == Way::kHost)
        CHECK(cudaMemcpyAsync(host_ + 2 * kMost, scratch_, scratch_bytes_, cudaMemcpyDeviceToHost, copies_));
      if (flush && way == Way::kHostFlush)
        CHECK(cudaMemcpyAsync(scratch_, host_ + 2 * kMost, scratch_bytes_, cudaMemcpyHostToDevice, copies_));
      if (flush && way == Way::kDuplex) {
        CHECK(cudaStreamSynchronize(copies_));
        CHECK(cudaMemcpyAsync(scratch_, host_ + 2 * kMost, scratch_bytes_ / 2, cudaMemcpyHostToDevice, copies_));
        CHECK(cudaMemcpyAsync(host_ + 2 * kMost + scratch_bytes_ / 2, scratch_ + scratch_bytes_, scratch_bytes_ / 2,
                              cudaMemcpyDeviceToHost, back_));
        CHECK(cudaStreamSynchronize(back_));
      }
    } else {
      Copy(side.inputs, drawn_, bytes);
      Copy(side.outputs, poison_, bytes);
      if (flush && way == Way::kWatched) CHECK(cudaMemsetAsync(scratch_, 0, scratch_bytes_, copies_));
      if (flush && way == Way::kCopies) Copy(scratch_, scratch_ + scratch_bytes_, scratch_bytes_);
    }
    CHECK(cudaStreamSynchronize(copies_));
    if (way == Way::kWatched) {
      Watch<<<1, 1, 0, copies_>>>(3'000'000, gap_);
      CHECK(cudaStreamSynchronize(copies_));
    }
  }

  // A span of the runner; its own word (events) in page->result.
  double Candidate(uint32_t command, size_t bytes, Way way, Stop stop, bool flush = true, double* present_us = nullptr,
                   double* copy_us = nullptr) {
    if (stop == Stop::kYes) kill(runner_, SIGSTOP);
    const int64_t begin = NowNs();
    Present(shared_, bytes, way, flush);
    if (present_us) *present_us = (NowNs() - begin) / 1e3;
    if (stop == Stop::kYes) {
      const uint32_t beats = page_->beats.load();
      kill(runner_, SIGCONT);
      while (page_->beats.load() - beats < 20) Pause();
    }
    const int64_t start = NowNs();
    Ring(command, bytes);
    Wait();
    const int64_t copying = NowNs();
    Save(shared_, bytes, way);
    const int64_t end = NowNs();
    if (copy_us) *copy_us = (end - copying) / 1e3;
    return (end - start) / 1e3;
  }

  double Baseline(uint32_t command, size_t bytes, Way way) {
    Present(own_, bytes, way, true);
    const int64_t start = NowNs();
    own_.Call(command, bytes);
    Save(own_, bytes, way);
    return (NowNs() - start) / 1e3;
  }

  // Some rows of the outputs, to the host, by a copy engine; or the device's own way.
  void Save(const Side& side, size_t bytes, Way way) {
    if (way == Way::kHost || way == Way::kHostFlush || way == Way::kDuplex) {
      const size_t rows = std::min<size_t>(4096, bytes / 64), pitch = bytes / rows / 64 * 64;
      CHECK(
          cudaMemcpy2DAsync(host_ + kMost * 3, 16, side.outputs + 4, pitch, 16, rows, cudaMemcpyDeviceToHost, copies_));
    } else {
      Copy(snapshot_, side.outputs, way == Way::kWatched ? 4096 : bytes);
      if (way == Way::kWatched) Nothing<<<1, 1, 0, copies_>>>();
    }
    CHECK(cudaStreamSynchronize(copies_));
  }

  uint64_t Gap() {
    Watch<<<1, 1>>>(3'000'000, gap_);
    CHECK(cudaDeviceSynchronize());
    return *gap_;
  }

  ~Judge() {
    Ring(kExit, 0);
    waitpid(runner_, nullptr, 0);
  }

  Page* page_;
  pid_t runner_;
  uint32_t go_ = 0;
  Side own_, shared_;
  char *drawn_, *poison_, *snapshot_, *scratch_, *host_;
  size_t scratch_bytes_;
  uint64_t* gap_;
  cudaStream_t copies_, back_;
};

struct Named {
  const char* name;
  Way way;
};
constexpr Named kWays[] = {{"kernels and watch", Way::kWatched},
                           {"copies on the device", Way::kCopies},
                           {"from and to the host, flushed by reading", Way::kHost},
                           {"from and to the host, flushed by writing", Way::kHostFlush},
                           {"from and to the host, flushed by both", Way::kDuplex}};

void Spans(Judge* judge) {
  std::printf("\n## One call: median (5%%, 95%%)\n");
  std::printf(
      "| bytes | way | stopped | presented | runner, first of a burst | runner, later | own, first | own, later | save "
      "|\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (const size_t bytes : {size_t{0}, size_t{1} << 20, size_t{16} << 20, size_t{64} << 20}) {
    for (const Named& way : kWays) {
      for (const Stop stop : {Stop::kNo, Stop::kYes}) {
        Spread first, later, own_first, own_later, present, save;
        const bool watched = way.way == Way::kWatched;
        const uint32_t command = bytes == 0 ? kNull : kAdd;
        const size_t moved = bytes == 0 ? size_t{1} << 20 : bytes;
        for (int burst = 0; burst < (watched ? 40 : 20); ++burst) {
          for (int i = 0; i < (watched ? 1 : 20); ++i) {
            double present_us, save_us;
            const double us = judge->Candidate(command, moved, way.way, stop, true, &present_us, &save_us);
            (i == 0 ? first : later).values.push_back(us);
            present.values.push_back(present_us);
            save.values.push_back(save_us);
          }
          for (int i = 0; i < (watched ? 1 : 20); ++i)
            (i == 0 ? own_first : own_later).values.push_back(judge->Baseline(command, moved, way.way));
        }
        if (watched) later = first, own_later = own_first;
        std::printf("| %zu | %s | %s | %s | %s | %s | %s | %s | %s |\n", bytes, way.name,
                    stop == Stop::kYes ? "yes" : "no", present.Text().c_str(), first.Text().c_str(),
                    later.Text().c_str(), own_first.Text().c_str(), own_later.Text().c_str(), save.Text().c_str());
      }
    }
  }
}

void Flushes(Judge* judge) {
  std::printf("\n## 16 MiB read and written by the runner, its own events\n| flushed by | events |\n|---|---|\n");
  for (const Named& way :
       {Named{"nothing", Way::kHost}, Named{"cuMemset of twice the L2, watch", Way::kWatched},
        Named{"a copy of twice the L2", Way::kCopies}, Named{"twice the L2 to the host", Way::kHost},
        Named{"twice the L2 from the host", Way::kHostFlush}, Named{"once from, once to the host", Way::kDuplex}}) {
    Spread events;
    for (int i = 0; i < 40; ++i) {
      judge->Candidate(kAddTimed, size_t{16} << 20, way.way, Stop::kNo, std::string(way.name) != "nothing");
      if (i > 3) events.values.push_back(judge->page_->result);
    }
    std::printf("| %s | %s |\n", way.name, events.Text().c_str());
  }
}

void Polling(Judge* judge) {
  std::printf("\n## A kernel of the runner that polls the inputs\n| | watch's gap us |\n|---|---|\n");
  const size_t bytes = size_t{16} << 20;
  judge->Candidate(kNull, bytes, Way::kCopies, Stop::kNo);
  std::printf("| nothing left behind | %.1f |\n", judge->Gap() / 1e3);
  CHECK(cudaMemset(judge->drawn_, 0, bytes));
  CHECK(cudaDeviceSynchronize());
  judge->Candidate(kNull, bytes, Way::kCopies, Stop::kNo);
  judge->Ring(kPollingKernel, bytes);
  judge->Wait();
  std::printf("| it polls | %.1f |\n", judge->Gap() / 1e3);
  judge->Ring(kWait, 0);
  judge->Wait();
}

// Which copies from the host leave the device to the runner: its next call tells.
void SmallCopies(Judge* judge) {
  std::printf(
      "\n## After a copy of the judge from the host: a null kernel of the runner\n| bytes | plain | 2D | batch, beside "
      "kernels | pageable |\n|---|---|---|---|---|\n");
  for (const size_t bytes :
       {size_t{4}, size_t{4096}, size_t{16384}, size_t{32768}, size_t{65536}, size_t{131072}, size_t{262144}}) {
    std::printf("| %zu |", bytes);
    static std::vector<char> pageable(1 << 20);
    for (int how = 0; how < 4; ++how) {
      Spread spans;
      for (int i = 0; i < 30; ++i) {
        void* to = judge->shared_.inputs;
        if (how == 0) CHECK(cudaMemcpyAsync(to, judge->host_, bytes, cudaMemcpyHostToDevice, judge->copies_));
        if (how == 1)
          CHECK(cudaMemcpy2DAsync(to, bytes / 2, judge->host_, bytes, bytes / 2, 2, cudaMemcpyHostToDevice,
                                  judge->copies_));
        if (how == 2) {
          cudaMemcpyAttributes attributes{};
          attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
          attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
          size_t first = 0, size = bytes;
          const void* sources[] = {judge->host_};
          void* targets[] = {to};
          CHECK(cudaMemcpyBatchAsync(targets, sources, &size, 1, &attributes, &first, 1, judge->copies_));
        }
        if (how == 3) CHECK(cudaMemcpyAsync(to, pageable.data(), bytes, cudaMemcpyHostToDevice, judge->copies_));
        CHECK(cudaStreamSynchronize(judge->copies_));
        const int64_t start = NowNs();
        judge->Ring(kNull, 0);
        judge->Wait();
        if (i > 2) spans.values.push_back((NowNs() - start) / 1e3);
      }
      std::printf(" %s |", spans.Text().c_str());
    }
    std::printf("\n");
  }
}

// The median of the runner's calls over that of the judge's own, less what null calls differ by.
void Ratios(Judge* judge) {
  std::printf(
      "\n## Ratio of medians, 40 bursts of 8 calls each, host copies, stopped\n| bytes | ratio less the null calls | "
      "runner | own |\n|---|---|---|---|\n");
  for (const size_t bytes : {size_t{0}, size_t{1} << 20, size_t{4} << 20, size_t{16} << 20, size_t{64} << 20}) {
    Spread own, runner;
    for (int burst = 0; burst < 40; ++burst) {
      for (int i = 0; i < 9; ++i) {
        const double us =
            judge->Candidate(bytes == 0 ? kNull : kAdd, std::max(bytes, size_t{1} << 20), Way::kDuplex, Stop::kYes);
        if (i > 0) runner.values.push_back(us);
      }
      for (int i = 0; i < 9; ++i) {
        const double us = judge->Baseline(bytes == 0 ? kNull : kAdd, std::max(bytes, size_t{1} << 20), Way::kDuplex);
        if (i > 0) own.values.push_back(us);
      }
    }
    std::string a = runner.Text(), b = own.Text();
    static double null_r = 0, null_o = 0;
    const double r = runner.values[runner.values.size() / 2], o = own.values[own.values.size() / 2];
    if (bytes == 0) null_r = r, null_o = o;
    std::printf("| %zu | %.4f | %s | %s |\n", bytes, (r - (null_r - null_o)) / o, a.c_str(), b.c_str());
  }
}

}  // namespace

int main() {
  void* memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Judge judge(new (memory) Page{});
  Spans(&judge);
  Flushes(&judge);
  Polling(&judge);
  SmallCopies(&judge);
  Ratios(&judge);
  return 0;
}
