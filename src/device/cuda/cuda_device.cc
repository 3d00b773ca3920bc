// An NVIDIA GPU as a device. The device process shares its primary context with PyTorch; everything here runs on the
// legacy stream, in order with what PyTorch does.
//
// Only the inputs, outputs and parameters of one runner are ever exported, each an allocation of its own: who knows one
// IPC handle of a process can make the others (bench/results/cuda_assumptions.md). What stays private is never
// exported. The runner is a stopped process while inputs are put in place, or what it launches waits for that (Hold()),
// but a wait armed on the device could still fire: so the device is watched for longer than a time slice before each
// call, and a step in the watch's timer tells.

#include <fmt/format.h>

#include <random>

#include "base/clock.h"
#include "base/random.h"
#include "cuda/driver.h"
#include "device/cuda/compare.h"
#include "device/cuda/hold_times.h"
#include "device/device.h"
#include "device/memory_ops.h"
#include "device/process_link.h"
#include "device/thread_pool.h"

namespace kb {
namespace {

using cuda::At;
using cuda::DeviceBuffer;
using cuda::Functions;
using cuda::HoldTimes;
using cuda::kHoldNs;
using cuda::kSuspiciousNs;
using cuda::Launcher;
using cuda::Must;
using cuda::Pinned;

constexpr int64_t kPositions = 4096;
// Work of another process waits for at most a time slice, 2.2 ms where it was measured.
constexpr uint64_t kWatchNs = 3'000'000;

class CudaSecretReader : public SecretReader {
 public:
  CudaSecretReader(const Functions& driver, Launcher* kernels, std::span<const OutputItem> outputs)
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
  Launcher* kernels_;
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
    KB_ASSIGN_OR_RETURN(Launcher kernels, Launcher::Create(*driver, major, minor, multiprocessors));
    KB_ASSIGN_OR_RETURN(auto scratch,
                        DeviceBuffer::Create(*driver, 2 * static_cast<size_t>(std::max(l2, 1 << 20)), nullptr));
    KB_ASSIGN_OR_RETURN(auto copied, DeviceBuffer::Create(*driver, sizeof(uint32_t), nullptr));
    std::unique_ptr<CudaDevice> device(
        new CudaDevice(*driver, std::move(kernels), std::move(scratch), std::move(copied), threads));
    int version = 0;
    driver->cuDriverGetVersion(&version);
    device->info_ = {{"name", name},
                     {"cores", multiprocessors},
                     {"last_level_cache", l2},
                     {"flush", "all caches"},
                     {"compute_capability", fmt::format("{}.{}", major, minor)},
                     {"cuda", fmt::format("{}.{}", version / 1000, version % 1000 / 10)}};
    device->copy_rate_ = device->CopyRate();
    device->info_["copy_gb_s"] = device->copy_rate_ / 1e9;
    return device;
  }

  nlohmann::json Info() override {
    size_t free = 0, total = 0;
    Must(driver_, driver_.cuMemGetInfo_v2(&free, &total), "asking for free memory");
    info_["memory"] = total;
    return info_;
  }

  Result<std::unique_ptr<Buffer>> Share(const char* name, size_t bytes) override {
    return DeviceBuffer::Create(driver_, bytes, name);
  }
  Result<std::unique_ptr<Buffer>> Allocate(size_t bytes) override {
    return DeviceBuffer::Create(driver_, bytes, nullptr);
  }

  void Populate(const Buffer&) override {}

  void Copy(std::span<const CopyItem> copies) override {
    for (const CopyItem& item : copies) {
      Must(driver_, driver_.cuMemcpyDtoDAsync_v2(At(item.to), At(item.from), item.bytes, nullptr), "copying inputs");
    }
    Must(driver_, driver_.cuStreamSynchronize(nullptr), "copying inputs");
  }

  void Present(std::span<const CopyItem> copies, std::span<const OutputItem> outputs, uint64_t secret,
               std::span<const std::span<const std::byte>>) override {  // Flush() empties the L2
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

  bool PlacesInCall() const override { return true; }

  void Clear(std::span<const OutputItem> outputs) override {
    for (const OutputItem& output : outputs) {
      if (output.bytes() > 0)
        Must(driver_, driver_.cuMemsetD8Async(At(output.data), 0, output.bytes(), nullptr), "clearing");
    }
    Must(driver_, driver_.cuStreamSynchronize(nullptr), "clearing");
  }

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
                              const Tolerance& tolerance, uint64_t secret, bool examine) override {
    return comparer_.Compare(got, expected, form, budget, tolerance, PoisonPattern(form.dtype, secret), examine);
  }

  void AddAnchor(ErrorBudget* budget, const void* expected, kb_dtype dtype, int64_t elements,
                 const double* truth) override {
    comparer_.AddAnchor(budget, expected, dtype, elements, truth);
  }

  std::unique_ptr<RunnerLink> Attach(int pid, Fd pidfd, Doorbell* doorbell, std::span<const OutputItem> outputs,
                                     Calling calling) override {
    LinkOptions options{.watch = [this](std::span<const CopyItem> early) { return Watch(early); }};
    if (calling.holds) {
      options.hold = [this](std::span<const CopyItem> late) { Hold(late); };
      options.taken = [this] { return TakenFromHold(); };
    }
    options.calling = std::move(calling);
    return MakeProcessLink(pid, std::move(pidfd), doorbell, MakeSecretReader(outputs), std::move(options));
  }

  std::unique_ptr<SecretReader> MakeSecretReader(std::span<const OutputItem> outputs) override {
    return std::make_unique<CudaSecretReader>(driver_, &kernels_, outputs);
  }

 private:
  CudaDevice(const Functions& driver, Launcher kernels, std::unique_ptr<Buffer> scratch, std::unique_ptr<Buffer> copied,
             int threads)
      : driver_(driver),
        kernels_(std::move(kernels)),
        scratch_(std::move(scratch)),
        pool_(threads),
        comparer_(driver, &kernels_, &pool_),
        flag_(driver, sizeof(uint32_t)),
        times_(driver, sizeof(HoldTimes)),
        items_(std::make_unique<Pinned>(driver, 64 * sizeof(CopyItem))),
        copied_(std::move(copied)) {
    Must(driver_, driver_.cuMemsetD8Async(At(copied_->data()), 0, copied_->size(), nullptr), "clearing");
  }

  template <typename Member>
  cuda::Address Time(Member HoldTimes::*member) {
    return At(&(times_.as<HoldTimes>()->*member));
  }

  // The first block watches, the others copy.
  template <typename Member>
  void LaunchWatch(uint64_t ns, std::span<const CopyItem> copies, Member HoldTimes::*member) {
    uint64_t threads = copies.empty() ? 1 : Launcher::kThreads;
    for (const CopyItem& item : copies) threads += item.bytes / 16 + 1;
    if (copies.size_bytes() > items_->size()) items_ = std::make_unique<Pinned>(driver_, copies.size_bytes());
    std::copy(copies.begin(), copies.end(), items_->as<CopyItem>());
    kernels_.Launch("kb_watch", threads, ns, items_->address(), static_cast<uint32_t>(copies.size()),
                    At(copied_->data()), Time(member));
  }

  // Holds the device while it copies, and then for longer than another process's work can be put off; flushes the
  // caches if it has copied. Returns the longest time in ns that it was taken away meanwhile.
  int64_t Watch(std::span<const CopyItem> copies) {
    LaunchWatch(kWatchNs, copies, &HoldTimes::watch);
    if (!copies.empty()) Flush();
    Must(driver_, driver_.cuStreamSynchronize(nullptr), "watching the device");
    watched_ns_ = NowNs();
    const uint64_t gap = times_.as<HoldTimes>()->watch.largest;
    return gap > kSuspiciousNs ? static_cast<int64_t>(gap) : 0;
  }

  // All by kernels: while a copy engine works the multiprocessors would be idle, and contexts change.
  void Hold(std::span<const CopyItem> late) {
    LaunchWatch(kHoldNs, {}, &HoldTimes::hold);
    launch_.hold_ns = NowNs() - watched_ns_;
    late_bytes_ = 0;
    for (const CopyItem& item : late) {
      if (item.bytes == 0) continue;
      kernels_.Launch("kb_copy", item.bytes / 16 + 1, At(item.to), At(item.from), static_cast<uint64_t>(item.bytes));
      late_bytes_ += item.bytes;
    }
    kernels_.Launch("kb_stamp", 1, Time(&HoldTimes::filled));
    launch_.all_ns = NowNs() - watched_ns_;
    if (!late.empty()) Flush();
  }

  int64_t TakenFromHold() {
    constexpr double kLeastRate = 1e11;  // below that of any GPU, should it not be known
    const double copy_ns = 2.0 * static_cast<double>(late_bytes_) / std::max(copy_rate_, kLeastRate) * 1e9;
    return cuda::TakenFromHold(*times_.as<HoldTimes>(), launch_, static_cast<int64_t>(copy_ns));
  }

  // Bytes a second that a copy touches (read and written both count), the best of a few.
  double CopyRate() {
    constexpr size_t kBytes = size_t{256} << 20;
    auto a = DeviceBuffer::Create(driver_, kBytes, nullptr), b = DeviceBuffer::Create(driver_, kBytes, nullptr);
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
  Launcher kernels_;
  std::unique_ptr<Buffer> scratch_;
  ThreadPool pool_;
  cuda::Comparer comparer_;
  Pinned flag_, times_;
  std::unique_ptr<Pinned> items_;   // what the watch copies,
  std::unique_ptr<Buffer> copied_;  // and how many of its blocks have
  double copy_rate_ = 0;            // bytes a second, read and written both
  size_t late_bytes_ = 0;
  int64_t watched_ns_ = 0;  // when the watch was over, as the host saw it
  cuda::HoldLaunch launch_{};
  nlohmann::json info_;
};

}  // namespace

Result<std::unique_ptr<Device>> MakeCudaDevice(int threads) { return CudaDevice::Create(threads); }

}  // namespace kb
