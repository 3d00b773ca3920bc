// An NVIDIA GPU as a device. The device process shares its primary context with PyTorch; everything here runs on the
// legacy stream, in order with what PyTorch does.
//
// Only the inputs, outputs and parameters of one runner are ever exported, each an allocation of its own: who knows one
// IPC handle of a process can make the others (bench/results/cuda_assumptions.md). What stays private is never
// exported. The runner is a stopped process while inputs are put in place, but a wait armed on the device could still
// fire: so the device is watched for longer than a time slice before each call, and a step in the watch's timer tells.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>

#include "base/clock.h"
#include "base/random.h"
#include "cuda/driver.h"
#include "cuda/nvrtc.h"
#include "device/cuda/kernels.h"
#include "device/device.h"
#include "device/memory_ops.h"
#include "device/process_link.h"
#include "device/process_watch.h"
#include "device/thread_pool.h"

namespace kb {
namespace {

using cuda::Address;
using cuda::Functions;

constexpr size_t kAllocationUnit = size_t{2} << 20;
constexpr int64_t kPositions = 4096;
constexpr unsigned kThreads = 256;
// Work of another process waits for at most a time slice, 2.2 ms where it was measured; a step of the timer without any
// is 0.1 us, and changing contexts takes 300.
constexpr uint64_t kWatchNs = 3'000'000, kSuspiciousNs = 20'000;

Address At(const void* pointer) { return reinterpret_cast<Address>(pointer); }

// A context that failed is lost, and with it this process.
void Must(const Functions& driver, int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "device process: %s\n", cuda::Check(driver, code, what).error().message.c_str());
  std::_Exit(3);
}

class CudaBuffer : public Buffer {
 public:
  // Rounded up to 2 MiB: what is exported with it must be its own.
  static Result<std::unique_ptr<Buffer>> Create(const Functions& driver, size_t bytes, const char* exported_as) {
    std::unique_ptr<CudaBuffer> buffer(new CudaBuffer(driver));
    buffer->size_ = bytes;
    const size_t whole = (bytes + kAllocationUnit) / kAllocationUnit * kAllocationUnit;  // always guard bytes behind it
    KB_RETURN_IF_ERROR(cuda::Check(driver, driver.cuMemAlloc_v2(&buffer->address_, whole),
                                   fmt::format("allocating {:.1f} MB", static_cast<double>(whole) / 1e6).c_str()));
    if (exported_as == nullptr) return buffer;
    cuda::IpcHandle handle{};
    KB_RETURN_IF_ERROR(
        cuda::Check(driver, driver.cuIpcGetMemHandle(&handle, buffer->address_), "exporting device memory"));
    buffer->fd_ = Fd(memfd_create(exported_as, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    const bool written = buffer->fd_.valid() && write(buffer->fd_.get(), handle.data(), handle.size()) == 64;
    if (!written ||
        fcntl(buffer->fd_.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
      return Fail(ErrorCode::kUnavailable, "cannot make a memory file for a device handle");
    }
    return buffer;
  }
  ~CudaBuffer() override {
    if (address_ != 0) driver_.cuMemFree_v2(address_);
  }
  CudaBuffer(const CudaBuffer&) = delete;
  CudaBuffer& operator=(const CudaBuffer&) = delete;

  std::byte* data() const override { return reinterpret_cast<std::byte*>(address_); }
  size_t size() const override { return size_; }
  int fd() const override { return fd_.get(); }

 private:
  explicit CudaBuffer(const Functions& driver) : driver_(driver) {}
  const Functions& driver_;
  Address address_ = 0;
  size_t size_ = 0;
  Fd fd_;
};

// The module of kernels.cu and how to launch from it.
class Kernels {
 public:
  static Result<Kernels> Load(const Functions& driver, int major, int minor, int multiprocessors) {
    const char* nvrtc = std::getenv("KERNELBENCH_NVRTC");
    KB_ASSIGN_OR_RETURN(const std::string image,
                        cuda::CompileAtRunTime(cuda::kKernelSource, major, minor, nvrtc != nullptr ? nvrtc : ""));
    Kernels kernels(driver, multiprocessors);
    KB_RETURN_IF_ERROR(
        cuda::Check(driver, driver.cuModuleLoadData(&kernels.module_, image.data()), "loading the device's kernels"));
    return kernels;
  }

  // Enough threads for `items`, or all that run at once.
  template <typename... Arguments>
  void Launch(const std::string& name, uint64_t items, Arguments... arguments) {
    void*& function = functions_[name];
    if (function == nullptr)
      Must(*driver_, driver_->cuModuleGetFunction(&function, module_, name.c_str()), name.c_str());
    const uint64_t most = static_cast<uint64_t>(multiprocessors_) * 8;
    const auto blocks = static_cast<unsigned>(std::clamp<uint64_t>((items + kThreads - 1) / kThreads, 1, most));
    void* pointers[] = {&arguments...};
    Must(
        *driver_,
        driver_->cuLaunchKernel(function, blocks, 1, 1, items == 1 ? 1 : kThreads, 1, 1, 0, nullptr, pointers, nullptr),
        name.c_str());
  }

 private:
  Kernels(const Functions& driver, int multiprocessors) : driver_(&driver), multiprocessors_(multiprocessors) {}
  const Functions* driver_;
  int multiprocessors_;
  void* module_ = nullptr;
  std::map<std::string, void*> functions_;
};

// Host memory that the device reads and writes.
class Pinned {
 public:
  Pinned(const Functions& driver, size_t bytes) : driver_(driver), size_(bytes) {
    Must(driver, driver.cuMemHostAlloc(&memory_, std::max<size_t>(bytes, 16), 0), "allocating pinned memory");
  }
  ~Pinned() { driver_.cuMemFreeHost(memory_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  template <typename T>
  T* as() const {
    return static_cast<T*>(memory_);
  }
  size_t size() const { return size_; }
  Address address() const { return At(memory_); }  // unified addressing: the same on the device

 private:
  const Functions& driver_;
  void* memory_ = nullptr;
  size_t size_;
};

class CudaSecretReader : public SecretReader {
 public:
  CudaSecretReader(const Functions& driver, Kernels* kernels, std::span<const OutputItem> outputs)
      : driver_(driver), kernels_(kernels) {
    for (const OutputItem& output : outputs) {
      const int64_t elements = output.elements();
      const size_t element = elements == 0 ? 1 : output.bytes() / static_cast<size_t>(elements);
      const int64_t count = std::min(kPositions, elements);
      parts_.push_back({output.data,
                        elements,
                        element,
                        count,
                        std::make_unique<Pinned>(driver, 8 * kPositions),
                        std::make_unique<Pinned>(driver, 16 * kPositions),
                        {}});
    }
  }

  void Draw() override {
    std::mt19937_64 random(RandomBits());
    for (Part& part : parts_) {
      for (int64_t i = 0; i < part.count; ++i) {
        part.positions->as<int64_t>()[i] =
            part.count == part.elements ? i : static_cast<int64_t>(random() % static_cast<uint64_t>(part.elements));
      }
    }
  }

  void Read() override {
    Gather();
    for (Part& part : parts_) {
      const auto* values = part.values->as<std::byte>();
      part.seen.assign(values, values + static_cast<size_t>(part.count) * part.element);
    }
  }

  bool Hold() override {
    Gather();
    for (const Part& part : parts_) {
      if (!std::equal(part.seen.begin(), part.seen.end(), part.values->as<std::byte>())) return false;
    }
    return true;
  }

  void Rebind(size_t output, const void* data) override { parts_.at(output).data = data; }

 private:
  struct Part {
    const void* data;
    int64_t elements;
    size_t element;
    int64_t count;
    std::unique_ptr<Pinned> positions, values;
    std::vector<std::byte> seen;
  };

  void Gather() {
    for (Part& part : parts_) {
      if (part.count == 0) continue;
      kernels_->Launch("kb_gather", static_cast<uint64_t>(part.count), At(part.data),
                       static_cast<uint32_t>(part.element), part.positions->address(),
                       static_cast<uint32_t>(part.count), part.values->address());
    }
    Must(driver_, driver_.cuStreamSynchronize(nullptr), "reading secret positions");
  }

  const Functions& driver_;
  Kernels* kernels_;
  std::vector<Part> parts_;
};

class CudaDevice : public Device {
 public:
  static Result<std::unique_ptr<Device>> Create(int threads) {
    KB_ASSIGN_OR_RETURN(const Functions* driver, cuda::LoadDriver());
    KB_RETURN_IF_ERROR(cuda::UseDevice(*driver));
    char name[128] = "";
    driver->cuDeviceGetName(name, sizeof name, 0);
    const auto attribute = [&](cuda::Attribute which) {
      int value = 0;
      driver->cuDeviceGetAttribute(&value, which, 0);
      return value;
    };
    const int multiprocessors = attribute(cuda::kMultiprocessors), l2 = attribute(cuda::kL2Bytes);
    const int major = attribute(cuda::kMajor), minor = attribute(cuda::kMinor);
    KB_ASSIGN_OR_RETURN(Kernels kernels, Kernels::Load(*driver, major, minor, multiprocessors));
    KB_ASSIGN_OR_RETURN(auto scratch,
                        CudaBuffer::Create(*driver, 2 * static_cast<size_t>(std::max(l2, 1 << 20)), nullptr));
    std::unique_ptr<CudaDevice> device(new CudaDevice(*driver, std::move(kernels), std::move(scratch), threads));
    int version = 0;
    driver->cuDriverGetVersion(&version);
    device->info_ = {{"name", name},
                     {"cores", multiprocessors},
                     {"last_level_cache", l2},
                     {"flush", "all caches"},
                     {"compute_capability", fmt::format("{}.{}", major, minor)},
                     {"cuda", fmt::format("{}.{}", version / 1000, version % 1000 / 10)}};
    device->info_["copy_gb_s"] = device->CopyRate() / 1e9;
    return device;
  }

  nlohmann::json Info() override {
    size_t free = 0, total = 0;
    Must(driver_, driver_.cuMemGetInfo_v2(&free, &total), "asking for free memory");
    info_["memory"] = total;
    return info_;
  }

  Result<std::unique_ptr<Buffer>> Share(const char* name, size_t bytes) override {
    return CudaBuffer::Create(driver_, bytes, name);
  }
  Result<std::unique_ptr<Buffer>> Allocate(size_t bytes) override {
    return CudaBuffer::Create(driver_, bytes, nullptr);
  }

  void Copy(std::span<const CopyItem> copies) override {
    for (const CopyItem& item : copies) {
      Must(driver_, driver_.cuMemcpyDtoDAsync_v2(At(item.to), At(item.from), item.bytes, nullptr), "copying inputs");
    }
    Must(driver_, driver_.cuStreamSynchronize(nullptr), "copying inputs");
  }

  void Present(std::span<const CopyItem> copies, std::span<const OutputItem> outputs, uint64_t secret) override {
    for (const CopyItem& item : copies) {
      Must(driver_, driver_.cuMemcpyDtoDAsync_v2(At(item.to), At(item.from), item.bytes, nullptr), "copying inputs");
    }
    for (const OutputItem& output : outputs) {
      if (output.bytes() == 0) continue;
      kernels_.Launch("kb_fill", output.bytes() / 16 + 1, At(output.data), static_cast<uint64_t>(output.bytes()),
                      PoisonPattern(output.dtype, secret));
    }
    Flush();
    Must(driver_, driver_.cuStreamSynchronize(nullptr), "presenting");
  }

  void Flush() override {
    Must(driver_, driver_.cuMemsetD32Async(At(scratch_->data()), 0, scratch_->size() / 4, nullptr), "flushing");
  }

  int64_t Watch() override {
    auto* gaps = flag_.as<uint64_t>();
    kernels_.Launch("kb_watch", 1, kWatchNs, kSuspiciousNs, flag_.address());
    Must(driver_, driver_.cuStreamSynchronize(nullptr), "watching the device");
    return gaps[0] > kSuspiciousNs ? static_cast<int64_t>(gaps[0]) : 0;
  }

  void Evict(const void*, size_t) override {}  // Flush() empties the L2

  // Inputs are drawn on the device by PyTorch.
  void FillUniform(float*, int64_t, uint64_t) override { KB_CHECK(false && "only the CPU fills"); }

  bool Equal(const void* a, const void* b, size_t bytes) override {
    auto* different = flag_.as<uint32_t>();
    *different = 0;
    kernels_.Launch("kb_equal", bytes / 16 + 1, At(a), At(b), static_cast<uint64_t>(bytes), flag_.address());
    Must(driver_, driver_.cuStreamSynchronize(nullptr), "comparing inputs");
    return *different == 0;
  }

  CompareResult CompareOutput(const void* got, const void* expected, const OutputItem& form, const ErrorBudget& budget,
                              const Tolerance& tolerance, uint64_t secret) override {
    const uint64_t poison = PoisonPattern(form.dtype, secret);
    const bool allclose = tolerance.mode == Tolerance::Mode::kAllclose;
    std::vector<BlockStats> stats = StatsOf("kb_stats_", got, expected, form.dtype, form.elements(),
                                            allclose ? tolerance.atol : 0, allclose ? tolerance.rtol : 0, poison);
    std::vector<std::byte> got_here, expected_here;
    const auto fetch = [&]() -> std::pair<const void*, const void*> {
      for (auto [to, from] : {std::pair(&got_here, got), {&expected_here, expected}}) {
        to->resize(form.bytes());
        Must(driver_, driver_.cuMemcpyDtoHAsync_v2(to->data(), At(from), to->size(), nullptr), "fetching an output");
      }
      Must(driver_, driver_.cuStreamSynchronize(nullptr), "fetching an output");
      return {got_here.data(), expected_here.data()};
    };
    return CompareFromStats(pool_, std::move(stats), fetch, form.dtype, form.shape, budget, tolerance, poison);
  }

  void AddAnchor(ErrorBudget* budget, const void* expected, kb_dtype dtype, int64_t elements,
                 const double* truth) override {
    budget->AddAnchorStats(dtype, elements, StatsOf("kb_anchor_", expected, truth, dtype, elements, 0, 0, 0));
  }

  std::unique_ptr<RunnerLink> Attach(int pid, Fd pidfd, Doorbell* doorbell, std::span<const OutputItem> outputs,
                                     bool freezes) override {
    LinkOptions options{.freezes = freezes, .watch = [this] { return Watch(); }};
    return MakeProcessLink(pid, std::move(pidfd), doorbell, MakeSecretReader(outputs), options);
  }

  std::unique_ptr<SecretReader> MakeSecretReader(std::span<const OutputItem> outputs) override {
    return std::make_unique<CudaSecretReader>(driver_, &kernels_, outputs);
  }

  int64_t WaitedNs() override { return RunDelayNs(0); }

 private:
  CudaDevice(const Functions& driver, Kernels kernels, std::unique_ptr<Buffer> scratch, int threads)
      : driver_(driver),
        kernels_(std::move(kernels)),
        scratch_(std::move(scratch)),
        pool_(threads),
        flag_(driver, 16) {}

  // Sums of every block of kBlockElements elements, as compare_kernels.h defines them, taken on the device.
  std::vector<BlockStats> StatsOf(const char* kind, const void* got, const void* expected, kb_dtype dtype,
                                  int64_t elements, double atol, double rtol, uint64_t poison) {
    static_assert(sizeof(BlockStats) == 56);  // as in kernels.cu
    const CompareKernels* form = FindCompareKernels(dtype);
    KB_CHECK(form != nullptr);
    const int64_t blocks = (elements + kBlockElements - 1) / kBlockElements;
    std::vector<BlockStats> stats(static_cast<size_t>(blocks));
    if (blocks == 0 || (!form->floating && std::string(kind) == "kb_anchor_")) return stats;
    const bool bfloat = dtype.code == KB_BFLOAT;
    const std::string type =
        !form->floating ? "bits" : fmt::format("{}{}", bfloat ? "bf" : "f", 8 * form->component_size);
    // Integers count bytes.
    const int parts = form->floating ? form->components : form->components * form->component_size;
    const size_t bytes = stats.size() * sizeof(BlockStats);
    ReserveStats(bytes);
    kernels_.Launch(kind + type, static_cast<uint64_t>(blocks) * 32, At(got), At(expected), elements * parts,
                    static_cast<int32_t>(kBlockElements * parts), atol, rtol, poison, At(stats_there_->data()));
    Must(driver_, driver_.cuMemcpyDtoHAsync_v2(stats_here_->as<void>(), At(stats_there_->data()), bytes, nullptr),
         "comparing");
    Must(driver_, driver_.cuStreamSynchronize(nullptr), "comparing");
    ParallelCopy(pool_, stats.data(), stats_here_->as<void>(), bytes);
    return stats;
  }

  // Makes room for the sums of one output, here (pinned, or the copy would take longer than the sums) and there.
  void ReserveStats(size_t bytes) {
    if (stats_here_ && stats_here_->size() >= bytes) return;
    stats_here_ = std::make_unique<Pinned>(driver_, bytes);
    stats_there_.reset();
    auto there = CudaBuffer::Create(driver_, bytes, nullptr);
    if (!there) {
      std::fprintf(stderr, "device process: %s\n", there.error().message.c_str());
      std::_Exit(3);
    }
    stats_there_ = std::move(*there);
  }

  // Bytes a second that a copy touches (read and written both count), the best of a few.
  double CopyRate() {
    constexpr size_t kBytes = size_t{256} << 20;
    auto a = CudaBuffer::Create(driver_, kBytes, nullptr), b = CudaBuffer::Create(driver_, kBytes, nullptr);
    if (!a || !b) return 0;
    const CopyItem item{(*a)->data(), (*b)->data(), kBytes};
    constexpr int kCopies = 10;
    int64_t best = INT64_MAX;
    for (int i = 0; i < 4; ++i) {
      const int64_t start = NowNs();
      for (int n = 0; n < kCopies; ++n) driver_.cuMemcpyDtoDAsync_v2(At(item.to), At(item.from), kBytes, nullptr);
      Must(driver_, driver_.cuStreamSynchronize(nullptr), "measuring the copy rate");
      best = std::min(best, NowNs() - start);
    }
    return 2.0 * kBytes * kCopies / (static_cast<double>(best) * 1e-9);
  }

  const Functions& driver_;
  Kernels kernels_;
  std::unique_ptr<Buffer> scratch_;
  ThreadPool pool_;
  Pinned flag_;
  std::unique_ptr<Pinned> stats_here_;
  std::unique_ptr<Buffer> stats_there_;
  nlohmann::json info_;
};

}  // namespace

Result<std::unique_ptr<Device>> MakeCudaDevice(int threads) { return CudaDevice::Create(threads); }

}  // namespace kb
