// One runner and the memory shared with it, and the steps of a round that touch them.
#ifndef DEVICE_SESSION_H_
#define DEVICE_SESSION_H_

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/barriers.h"
#include "device/device.h"
#include "wire/ops.h"
#include "wire/report.h"

namespace kb {

// JSON as c_api.h hands it out.
nlohmann::json Number(double value);  // JSON has no NaN and no infinities
nlohmann::json MismatchJson(const CompareResult& result, size_t output, const OutputItem& form);

// How inputs come to where a runner finds them, as kbd_present() is told. Where Device::PlacesInCall() says so they
// come in the next call, else now, however they are to be placed.
enum class Placing {
  kLate,   // small ones behind go, large ones before
  kNow,    // before go
  kThere,  // as kLate, but large ones are there already
};

// Of the keys that a protocol decides by (Protocol::ToleranceJson()).
Tolerance ToleranceOf(const nlohmann::json& keys);

// What c_api.h says of the functions with these names. Texts live until the next call.
//
// Outputs lie at fixed places, or, in an arena, wherever the runner's allocator has put them: then each report says
// where, and that is checked before anything is read. What lay in the last outputs is poisoned before the next call,
// and the whole arena until there were any; always alike, for outputs take turns in many places (output_arena.py).
class DeviceSession {
 public:
  static Result<std::unique_ptr<DeviceSession>> Create(Device* device, const ops::Layout& layout);

  Status Share(DeviceSession* before, DeviceSession* reference, uint64_t arena_bytes, int fds[4]);
  Status ShareInputs(int fds[4]);
  void Attach(int pid, Fd pidfd);
  void Populate();
  void SetParameters(const void* const* from);
  void Present(const void* const* from, Placing placing = Placing::kLate);
  const char* Call(CallKind kind, uint64_t argument, int64_t timeout_ns, bool clocked);
  const char* ObserveForward(const void* const* from, uint64_t argument, int64_t timeout_ns,
                             const nlohmann::json& settings);
  const char* CheckInputs(const void* const* from);
  bool SecretsHold() { return !With("secret-positions") || link_->SecretsHold(); }
  const char* CompareOutputs(const void* const* expected, void* const* budgets, const Tolerance& tolerance);
  Status KeepOutputs();
  bool OutputsEqualKept();

 private:
  struct Part {
    size_t offset, bytes;
  };
  struct Sizes {
    size_t inputs, outputs, parameters;
  };

  DeviceSession(Device* device, const ops::Layout& layout, SharedMemory doorbell);

  // Memory to be shared: `used` if it is as large, emptied, else made.
  Result<std::shared_ptr<Buffer>> Shared(const char* name, size_t bytes, std::shared_ptr<Buffer> used);
  bool With(const char* barrier) const { return !without_.contains(barrier); }
  Doorbell* Bell() const { return reinterpret_cast<Doorbell*>(doorbell_.data()); }
  static std::vector<CopyItem> Copies(const std::vector<Part>& parts, const Buffer& to, const void* const* from);
  struct Placed {
    std::vector<CopyItem> early, late;  // as CallInputs
  };
  Placed TakeInputs(CallKind kind);
  std::vector<OutputItem> ToPoison() const;
  Result<Report> ReadReport() const;
  bool Locate(SecretReader* secrets);
  void TakeReport(ops::Called* called);
  const char* Keep(const nlohmann::json& value);

  Device* device_;
  Without without_;
  SharedMemory doorbell_;
  Sizes sizes_;
  std::shared_ptr<Buffer> inputs_, outputs_, parameters_;  // null until Share(); the first may serve two sessions
  std::shared_ptr<Buffer> no_inputs_;                      // what an empty call copies if inputs come late, else null
  std::vector<CopyItem> early_, late_;                     // what the next call is to put in place
  int too_early_ = 0;                                      // calls in a row that ended so
  std::vector<Part> input_parts_, parameter_parts_;
  std::vector<OutputItem> output_items_;  // without addresses until Share()
  std::vector<size_t> output_offsets_;
  bool holds_;                            // launches hide behind the device's being held
  bool reference_ = false;                // of the reference's own process
  bool arena_ = false;                    // the runner places its outputs itself
  bool placed_ = false;                   // the call in progress has said where
  bool located_ = false;                  // a call of the candidate has: what else it keeps there stays whole
  std::map<uint64_t, size_t> places_;     // that it has named: bytes by offset
  std::optional<Result<Report>> report_;  // of the call in progress, if it was read already
  std::vector<std::unique_ptr<Buffer>> kept_;
  std::unique_ptr<RunnerLink> link_;
  Authorship authorship_;
  uint64_t secret_ = 0;
  std::string text_;
};

}  // namespace kb

#endif  // DEVICE_SESSION_H_
