// A kind of device, as the judge knows it before one is opened. What is one kind's own stands in its implementation
// (cpu.cc, cuda/cuda.cc): who asks here names none. Another kind is another implementation, and a line in
// device_kind.cc. What a process does with an open device is in src/device and src/runner.
#ifndef JUDGE_DEVICES_DEVICE_KIND_H_
#define JUDGE_DEVICES_DEVICE_KIND_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "judge/rule/calibration.h"
#include "judge/sandbox/sandbox.h"
#include "wire/ops.h"

namespace kb {

class Builder;
struct BuildResult;
struct Candidate;
struct CompileLimits;
struct DevicePart;
struct FoundDevice;
struct TorchBuildFacts;

// Bytes of a device's memory, of all processes together.
struct DeviceMemory {
  uint64_t used = 0, total = 0;
};
using MemoryGauge = std::function<std::optional<DeviceMemory>()>;  // nothing: it cannot be read now

struct DeviceKind {
  std::string name;                     // "cuda": of its first device, and before the number of others ("cuda:1")
  std::string writes;                   // whose candidates they are that are written for it, as "a CUDA candidate"
  std::vector<std::string> extensions;  // of native ones' files
  size_t runners_ahead = 1;             // so many are worth starting before they are needed
  Calibration calibration;
  // Its device `number`, from 0, of those that this process may use.
  Result<FoundDevice> (*find)(int number) = nullptr;
  // What its driver calls each of them, in that order, without opening one; null: its devices have no such names.
  std::vector<std::string> (*names)() = nullptr;
  // Of its device `number`; null: its devices have no memory of their own.
  Result<MemoryGauge> (*memory)(int number) = nullptr;
  // Compiles a native candidate. `facts`: of the open device; not asked for where the device is the host.
  Result<BuildResult> (*build)(const Builder& builder, const Candidate& candidate, const ops::DeviceFacts& facts,
                               const CompileLimits& limits) = nullptr;
  // What the device part of an extension is compiled with; null: extensions have none.
  Result<DevicePart> (*extension_part)(const nlohmann::json& wanted, const TorchBuildFacts& torch,
                                       const std::string& host_compiler) = nullptr;

  bool on_host() const { return calibration.on_host; }
};

struct FoundDevice {
  const DeviceKind* kind = nullptr;
  std::vector<std::string> environment;  // of every process that may use it
  DeviceAccess access;                   // what it reaches of the machine
  std::string absent;                    // why there is surely no such device; empty: opening it will tell
  int number = 0;                        // of the devices of its kind
  std::vector<int> near;                 // hardware threads; empty: all are alike
  Seat seat;                             // of every process that judges it or is judged on it
};

// All of them, the host first.
const std::vector<const DeviceKind*>& DeviceKinds();
// Of a device's name ("cuda", "cuda:1"); null: there is no such kind.
const DeviceKind* KindOfDevice(const std::string& device);
// The kind that a native candidate in such a file is written for; null: none.
const DeviceKind* KindOfSource(const std::filesystem::path& file);

// What a device's name means on this machine. A name that means nothing is a usage error.
Result<FoundDevice> FindDevice(const std::string& device);
FoundDevice Host();
// Before work waits for a device: an error if its name means nothing, or if it is surely not there.
Status CheckDevice(const std::string& device);

}  // namespace kb

#endif  // JUDGE_DEVICES_DEVICE_KIND_H_
