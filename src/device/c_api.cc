#include "device/c_api.h"

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "device/device.h"
#include "device/session.h"

namespace kb {
namespace {

using nlohmann::json;

Tolerance ReadTolerance(const char* text) { return ToleranceOf(json::parse(text)); }

struct DeviceHandle {
  std::unique_ptr<Device> device;
  std::string text;
};

std::string last_error;

}  // namespace
}  // namespace kb

using kb::DeviceHandle;   // NOLINT: this file is the boundary
using kb::DeviceSession;  // NOLINT
using kb::ErrorBudget;    // NOLINT

int64_t kbd_now_ns() { return kb::NowNs(); }

void* kbd_open(const char* kind, int threads) {
  const std::string name = kind;
  if (name == "cpu") return new DeviceHandle{kb::MakeCpuDevice(threads), ""};
  kb::Result<std::unique_ptr<kb::Device>> device =
      kb::Fail(kb::ErrorCode::kUsage, "the device library knows no device \"" + name + "\"");
  if (name == "cuda") device = kb::MakeCudaDevice(threads);
  if (device) return new DeviceHandle{std::move(*device), ""};
  kb::last_error = device.error().message;
  return nullptr;
}

const char* kbd_info(void* device) {
  auto* handle = static_cast<DeviceHandle*>(device);
  handle->text = kb::Dump(handle->device->Info());
  return handle->text.c_str();
}

void kbd_fill_uniform(void* device, float* to, int64_t elements, uint64_t seed) {
  static_cast<DeviceHandle*>(device)->device->FillUniform(to, elements, seed);
}

void kbd_flush(void* device) { static_cast<DeviceHandle*>(device)->device->Flush(); }
void kbd_flush_last_level(void* device) { static_cast<DeviceHandle*>(device)->device->FlushLastLevel(); }

void* kbd_budget_new() { return new ErrorBudget; }
void kbd_budget_free(void* budget) { delete static_cast<ErrorBudget*>(budget); }
void* kbd_budget_copy(void* device, const void* budget) {
  const auto& known = *static_cast<const ErrorBudget*>(budget);
  const auto& there = known.blocks_there();
  if (there == nullptr) return new ErrorBudget(known);
  auto& on = *static_cast<DeviceHandle*>(device)->device;
  auto room = on.Allocate(there->size());
  if (!room) return nullptr;
  const kb::CopyItem copy{(*room)->data(), there->data(), there->size()};
  on.Copy({&copy, 1});
  return new ErrorBudget(known.WithBlocksThere(std::move(*room)));
}
void kbd_budget_add(void* device, void* budget, int code, int bits, int64_t elements, const void* expected,
                    const double* truth) {
  const kb_dtype dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  static_cast<DeviceHandle*>(device)->device->AddAnchor(static_cast<ErrorBudget*>(budget), expected, dtype, elements,
                                                        truth);
}
void kbd_budget_pool(void* budget) { static_cast<ErrorBudget*>(budget)->Pool(); }
int kbd_budget_judgeable(void* budget, const char* tolerance) {
  return static_cast<ErrorBudget*>(budget)->Judgeable(kb::ReadTolerance(tolerance));
}

const char* kbd_budget_info(void* device, void* budget) {
  auto* handle = static_cast<DeviceHandle*>(device);
  const auto& known = *static_cast<kb::ErrorBudget*>(budget);
  handle->text = kb::Dump({{"anchors", known.anchors()},
                           {"reference_rms", kb::Number(known.ReferenceRms())},
                           {"output_rms", kb::Number(known.OutputRms())},
                           {"output_std", kb::Number(known.OutputStd())}});
  return handle->text.c_str();
}

const char* kbd_judge(void* device, void* budget, int code, int bits, int dimensions, const int64_t* shape,
                      const void* got, const void* expected, const char* tolerance) {
  static const kb::ErrorBudget kNoBudget;
  auto* handle = static_cast<DeviceHandle*>(device);
  const kb::OutputItem form{nullptr,
                            {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1},
                            std::vector<int64_t>(shape, shape + dimensions)};
  const kb::CompareResult result =
      handle->device->CompareOutput(got, expected, form, budget ? *static_cast<kb::ErrorBudget*>(budget) : kNoBudget,
                                    kb::ReadTolerance(tolerance), kb::RandomBits(), false);
  handle->text = kb::Dump(kb::MismatchJson(result, 0, form));
  return handle->text.c_str();
}

void* kbd_session_new(void* device, const char* layout) {
  auto session = DeviceSession::Create(static_cast<DeviceHandle*>(device)->device.get(),
                                       nlohmann::json::parse(layout).get<kb::ops::Layout>());
  if (session) return session->release();
  kb::last_error = session.error().message;
  return nullptr;
}
const char* kbd_error() { return kb::last_error.c_str(); }
void kbd_session_free(void* session) { delete static_cast<DeviceSession*>(session); }
int kbd_session_share_inputs(void* session, int fds[4]) {
  const kb::Status shared = static_cast<DeviceSession*>(session)->ShareInputs(fds);
  if (!shared) kb::last_error = shared.error().message;
  return shared ? 1 : 0;
}
int kbd_session_share(void* session, void* before, void* reference, uint64_t arena_bytes, int fds[4]) {
  const kb::Status shared = static_cast<DeviceSession*>(session)->Share(
      static_cast<DeviceSession*>(before), static_cast<DeviceSession*>(reference), arena_bytes, fds);
  if (!shared) kb::last_error = shared.error().message;
  return shared ? 1 : 0;
}
void kbd_session_attach(void* session, int pid, int pidfd) {
  static_cast<DeviceSession*>(session)->Attach(pid, kb::Fd(pidfd));
}
void kbd_session_populate(void* session) { static_cast<DeviceSession*>(session)->Populate(); }
void kbd_set_parameters(void* session, const void* const* parameters) {
  static_cast<DeviceSession*>(session)->SetParameters(parameters);
}
void kbd_present(void* session, const void* const* inputs, int placing) {
  static_cast<DeviceSession*>(session)->Present(inputs, static_cast<kb::Placing>(placing));
}
const char* kbd_call(void* session, int kind, uint64_t argument, int64_t timeout_ns, int clocked) {
  return static_cast<DeviceSession*>(session)->Call(static_cast<kb::CallKind>(kind), argument, timeout_ns,
                                                    clocked != 0);
}
const char* kbd_observe(void* session, const void* const* inputs, uint64_t argument, int64_t timeout_ns,
                        const char* settings) {
  return static_cast<DeviceSession*>(session)->ObserveForward(inputs, argument, timeout_ns,
                                                              nlohmann::json::parse(settings));
}
const char* kbd_check_inputs(void* session, const void* const* inputs) {
  return static_cast<DeviceSession*>(session)->CheckInputs(inputs);
}
int kbd_secrets_hold(void* session) { return static_cast<DeviceSession*>(session)->SecretsHold(); }
const char* kbd_compare(void* session, const void* const* expected, void* const* budgets, const char* tolerance) {
  return static_cast<DeviceSession*>(session)->CompareOutputs(expected, budgets, kb::ReadTolerance(tolerance));
}
int kbd_keep_outputs(void* session) {
  const kb::Status kept = static_cast<DeviceSession*>(session)->KeepOutputs();
  if (!kept) kb::last_error = kept.error().message;
  return kept ? 1 : 0;
}
int kbd_outputs_equal_kept(void* session) { return static_cast<DeviceSession*>(session)->OutputsEqualKept(); }
