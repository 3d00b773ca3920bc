// What an evaluator is made of, and never changes: read on any thread.
#ifndef JUDGE_SETUP_H_
#define JUDGE_SETUP_H_

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/barriers.h"
#include "base/file.h"
#include "base/slots.h"
#include "judge/devices/device_kind.h"
#include "judge/sandbox/sandbox.h"
#include "judge/seating.h"
#include "wire/ops.h"

namespace kb {

struct EvaluatorOptions {
  std::string device = "cpu";  // or cuda, or cuda:N, the Nth GPU from 0
  Isolation isolation = Isolation::kNamespaces;
  Without without;                      // barriers taken away, to prove what they hold
  int threads = 0;                      // cores for either side; 0: all that this process may use
  std::shared_ptr<Slots> compilations;  // one for each that may run at the same time; null: any number
  std::shared_ptr<Seating> seating;     // of all devices of this engine; null: this is the only one
  double device_memory_gb = 0;          // plan with at most this much of the device's; 0: what is free
  // What all programs of a build may take together. One compiler of PyTorch's or CUTLASS's headers takes 2 to 4 GB, and
  // of an extension two run at the same time.
  double build_memory_gb = 8;
  // What the build cache may take: a hundred thousand native kernels, or twenty precompiled headers of PyTorch. 0: no
  // limit.
  double cache_gb = 10;
  bool own_floors = true;  // false: those that are shipped, though this machine has some (floors.h)
  std::function<void(const std::string&)> progress;  // one line for people, or empty; called on any thread
};

// In bytes.
inline uint64_t Gigabytes(double gigabytes) { return static_cast<uint64_t>(gigabytes * (uint64_t{1} << 30)); }

inline std::chrono::milliseconds Seconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1e3));
}

// What judges the problem of one client, once: in processes of its own.
struct Apart {
  ops::DeviceFacts facts;  // of the device, as the process says that no client's code has been in
  double memory_gb = 0;    // that its device process may take; its reference's process half of that
  double seconds = 0;      // in which its device process must have answered all
};

struct Setup {
  EvaluatorOptions options;  // device without its number; threads as they are
  FoundDevice device;
  Installation installation;
  Sandbox sandbox;
  std::optional<Apart> apart;          // it judges a client's problem, and no other; else never one
  std::vector<uint64_t> weight_seeds;  // random ones, drawn once, so that the loaded problem serves every candidate

  const Calibration& calibration() const { return device.kind->calibration; }
  bool on_host() const { return device.kind->on_host(); }
  void Say(const std::string& line) const {
    if (options.progress) options.progress(line);
  }
};

}  // namespace kb

#endif  // JUDGE_SETUP_H_
