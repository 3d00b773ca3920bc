#include "device/c_api.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/barriers.h"
#include "base/clock.h"
#include "base/random.h"
#include "device/compare_kernels.h"
#include "device/device.h"
#include "wire/report.h"

namespace kb {
namespace {

using nlohmann::json;

std::string Dump(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

// JSON has no NaN and no infinities.
json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Tolerance ReadTolerance(const char* text) {
  const json keys = json::parse(text);
  Tolerance tolerance{};
  tolerance.mode = keys.at("mode") == "anchored" ? Tolerance::Mode::kAnchored : Tolerance::Mode::kAllclose;
  tolerance.atol = keys.at("atol");
  tolerance.rtol = keys.at("rtol");
  tolerance.rtol_rms = keys.at("rtol_rms");
  tolerance.rms_factor = keys.at("rms_factor");
  tolerance.max_factor = keys.at("max_factor");
  tolerance.cap = keys.at("cap");
  return tolerance;
}

json MismatchJson(const CompareResult& result, size_t output, const OutputItem& form) {
  json index = nullptr;
  if (result.worst_index >= 0) index = Unravel(result.worst_index, form.shape);
  json histogram = json::array();
  for (size_t i = 0; i < result.histogram.size(); ++i) {
    histogram.push_back({Number(kHistogramBounds[i]), result.histogram[i]});
  }
  return {{"ok", result.ok},
          {"output", output},
          {"shape", form.shape},
          {"worst_index", index},
          {"expected", Number(result.expected)},
          {"got", Number(result.got)},
          {"wrong", result.wrong},
          {"total", result.total},
          {"unwritten", result.unwritten},
          {"non_finite", result.non_finite},
          {"max_abs_error", Number(result.max_abs_error)},
          {"rms_error", Number(result.rms_error)},
          {"worst", Number(result.worst)},
          {"blocks_wrong", result.blocks_wrong},
          {"blocks", result.blocks},
          {"where", result.where},
          {"histogram", histogram}};
}

const char* EndName(SpanEnd end) {
  static constexpr const char* kEnds[] = {"done", "died", "timed_out", "malformed", "malformed", "malformed"};
  return kEnds[static_cast<int>(end)];
}

struct DeviceHandle {
  std::unique_ptr<Device> device;
  std::string text;
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> Create(Device* device, const json& layout) {
    KB_ASSIGN_OR_RETURN(auto doorbell, SharedMemory::Create("kb-doorbell", kDoorbellBytes));
    KB_ASSIGN_OR_RETURN(auto inputs, device->Share("kb-inputs", layout.at("inputs_bytes").get<size_t>()));
    KB_ASSIGN_OR_RETURN(auto outputs, device->Share("kb-outputs", layout.at("outputs_bytes").get<size_t>()));
    KB_ASSIGN_OR_RETURN(auto parameters, device->Share("kb-parameters", layout.at("parameters_bytes").get<size_t>()));
    return std::unique_ptr<Session>(
        new Session(device, layout, std::move(doorbell), std::move(inputs), std::move(outputs), std::move(parameters)));
  }

  void Fds(int fds[4]) const {
    fds[0] = doorbell_.fd();
    fds[1] = inputs_->fd();
    fds[2] = outputs_->fd();
    fds[3] = parameters_->fd();
  }

  void Attach(int pid, Fd pidfd) {
    link_ = device_->Attach(pid, std::move(pidfd), Bell(), output_items_, With("freeze"));
  }

  void SetParameters(const void* const* from) { Copy(parameter_parts_, *parameters_, from); }

  void Present(const void* const* from) {
    secret_ = RandomBits();
    std::vector<CopyItem> copies;
    for (size_t i = 0; i < input_parts_.size(); ++i) {
      copies.push_back({inputs_->data() + input_parts_[i].offset, from[i], input_parts_[i].bytes});
    }
    if (With("poison")) {
      device_->Present(copies, output_items_, secret_);
    } else {
      device_->Present(copies, {}, secret_);
    }
  }

  void PresentBaseline(const void* const* from, void* const* to, void* const* outputs) {
    std::vector<CopyItem> copies;
    for (size_t i = 0; i < input_parts_.size(); ++i) copies.push_back({to[i], from[i], input_parts_[i].bytes});
    std::vector<OutputItem> poisoned;
    for (size_t i = 0; outputs != nullptr && i < output_items_.size(); ++i) {
      poisoned.push_back({outputs[i], output_items_[i].dtype, output_items_[i].shape});
    }
    device_->Present(copies, poisoned, secret_);
    baseline_gap_ns_ = device_->Watch();
  }

  int64_t BaselineGapNs() const { return baseline_gap_ns_; }

  const char* Call(CallKind kind, uint64_t argument, int64_t timeout_ns, bool clocked) {
    const Span span = link_->Call(kind, argument, timeout_ns, clocked);
    json result = {{"end", EndName(span.end)},
                   {"us", static_cast<double>(span.ns) / 1e3},
                   {"waited_us", static_cast<double>(span.waited_ns) / 1e3},
                   {"gap_us", static_cast<double>(span.gap_ns) / 1e3},
                   {"report", nullptr},
                   {"malformed", ForgeryOf(span.end)}};
    if (span.end == SpanEnd::kDone) TakeReport(&result);
    return Keep(result);
  }

  // Not timed and not compared: the inputs are put in place, caches and outputs left as they are.
  const char* ProfileForward(const void* const* from, uint64_t argument, int64_t timeout_ns, const json& settings) {
    static const std::map<std::string, Origin> kAnonymous = {
        {"custom", Origin::kCustom}, {"library", Origin::kLibrary}, {"other", Origin::kOther}};
    const OriginRules rules{settings.at("custom").get<std::map<std::string, std::string>>(),
                            kAnonymous.at(settings.at("anonymous"))};
    Copy(input_parts_, *inputs_, from);
    const auto ns = [&](const char* key) { return static_cast<int64_t>(settings.at(key).get<double>() * 1e3); };
    const Profile profile = link_->ProfileForward(argument, timeout_ns, std::max<int64_t>(ns("interval_us"), 1));
    authorship_.AddCall(profile.samples, profile.ran_ns, ns("tail_us"), rules);
    return Keep({{"end", EndName(profile.end)},
                 {"us", static_cast<double>(profile.ran_ns) / 1e3},
                 {"stops", profile.stops},
                 {"refused", profile.refused},
                 {"authorship", authorship_.ToJson()}});
  }

  void BaselineBegin() {
    if (!baseline_) baseline_ = device_->MakeSecretReader(output_items_);
    baseline_->Draw();
    baseline_start_ = NowNs();
  }

  int64_t BaselineEnd(const void* const* outputs) {
    for (size_t i = 0; i < output_items_.size(); ++i) baseline_->Rebind(i, outputs[i]);
    baseline_->Read();
    return NowNs() - baseline_start_;
  }

  const char* CheckInputs(const void* const* from) {
    json changed = json::array();
    for (size_t i = 0; i < input_parts_.size(); ++i) {
      const Part& part = input_parts_[i];
      if (With("input-check") && !device_->Equal(inputs_->data() + part.offset, from[i], part.bytes))
        changed.push_back(i);
    }
    return Keep({{"inputs_changed", changed}, {"late", With("secret-positions") && !link_->SecretsHold()}});
  }

  const char* CompareOutputs(const void* const* expected, void* const* budgets, const Tolerance& tolerance) {
    static const ErrorBudget kNone;
    json results = json::array();
    for (size_t i = 0; i < output_items_.size(); ++i) {
      const auto* budget = budgets[i] != nullptr ? static_cast<const ErrorBudget*>(budgets[i]) : &kNone;
      const CompareResult result =
          device_->CompareOutput(output_items_[i].data, expected[i], output_items_[i], *budget, tolerance, secret_);
      results.push_back(MismatchJson(result, i, output_items_[i]));
    }
    return Keep({{"outputs", results}});
  }

  Status KeepOutputs() {
    KB_ASSIGN_OR_RETURN(kept_, device_->Allocate(outputs_->size()));
    const CopyItem all{kept_->data(), outputs_->data(), outputs_->size()};
    device_->Copy({&all, 1});
    return {};
  }

  bool OutputsEqualKept() { return kept_ && device_->Equal(kept_->data(), outputs_->data(), outputs_->size()); }

 private:
  struct Part {
    size_t offset, bytes;
  };

  Session(Device* device, const json& layout, SharedMemory doorbell, std::unique_ptr<Buffer> inputs,
          std::unique_ptr<Buffer> outputs, std::unique_ptr<Buffer> parameters)
      : device_(device),
        doorbell_(std::move(doorbell)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        parameters_(std::move(parameters)) {
    Bell()->version = kDoorbellVersion;
    without_ = layout.value("without", Without());
    for (const json& part : layout.at("inputs")) input_parts_.push_back({part.at("offset"), part.at("bytes")});
    for (const json& part : layout.at("parameters")) parameter_parts_.push_back({part.at("offset"), part.at("bytes")});
    for (const json& part : layout.at("outputs")) {
      const auto dtype = part.at("dtype").get<std::vector<int>>();
      output_items_.push_back(
          {outputs_->data() + part.at("offset").get<size_t>(),
           {static_cast<uint8_t>(dtype[0]), static_cast<uint8_t>(dtype[1]), static_cast<uint16_t>(dtype[2])},
           part.at("shape").get<std::vector<int64_t>>()});
    }
  }

  // What a runner did that none does; empty if nothing.
  static const char* ForgeryOf(SpanEnd end) {
    switch (end) {
      case SpanEnd::kMalformed:
        return "the doorbell was rung with a wrong number";
      case SpanEnd::kRanFrozen:
        return "the runner ran between its calls, while it was stopped";
      case SpanEnd::kNotStopped:
        return "the runner could not be stopped after a call";
      default:
        return "";
    }
  }

  bool With(const char* barrier) const { return !without_.contains(barrier); }

  Doorbell* Bell() const { return reinterpret_cast<Doorbell*>(doorbell_.data()); }

  void Copy(const std::vector<Part>& parts, const Buffer& to, const void* const* from) {
    std::vector<CopyItem> copies;
    for (size_t i = 0; i < parts.size(); ++i) copies.push_back({to.data() + parts[i].offset, from[i], parts[i].bytes});
    device_->Copy(copies);
  }

  // The runner is frozen; its report is copied once and decoded from the copy.
  void TakeReport(json* result) const {
    const uint32_t size = Bell()->report_size.load();
    if (size > kReportCapacity) {
      (*result)["end"] = "malformed";
      (*result)["malformed"] = "malformed report: size";
      return;
    }
    const std::string bytes(reinterpret_cast<const char*>(Bell()->report), size);
    const Result<Report> report = DecodeReport(bytes);
    if (!report) {
      (*result)["end"] = "malformed";
      (*result)["malformed"] = report.error().message;
      return;
    }
    json outputs = json::array();
    for (const TensorForm& form : report->outputs) {
      outputs.push_back({{"dtype", {form.dtype.code, form.dtype.bits, form.dtype.lanes}}, {"shape", form.shape}});
    }
    (*result)["report"] = {{"status", static_cast<int>(report->status)},
                           {"state_copied", report->state_copied},
                           {"elapsed_us", static_cast<double>(report->elapsed_ns) / 1e3},
                           {"text", report->text},
                           {"outputs", outputs}};
  }

  const char* Keep(const json& value) {
    text_ = Dump(value);
    return text_.c_str();
  }

  Device* device_;
  Without without_;
  SharedMemory doorbell_;
  std::unique_ptr<Buffer> inputs_, outputs_, parameters_, kept_;
  std::vector<Part> input_parts_, parameter_parts_;
  std::vector<OutputItem> output_items_;
  std::unique_ptr<RunnerLink> link_;
  std::unique_ptr<SecretReader> baseline_;
  Authorship authorship_;
  int64_t baseline_start_ = 0, baseline_gap_ns_ = 0;
  uint64_t secret_ = 0;
  std::string text_;
};

std::string last_error;

}  // namespace
}  // namespace kb

using kb::DeviceHandle;  // NOLINT: this file is the boundary
using kb::ErrorBudget;   // NOLINT
using kb::Session;       // NOLINT

int64_t kbd_now_ns() { return kb::NowNs(); }

void* kbd_open(const char* kind, int threads) {
  if (std::string(kind) == "cpu") return new DeviceHandle{kb::MakeCpuDevice(threads), ""};
  auto device = kb::MakeCudaDevice(threads);
  if (device) return new DeviceHandle{std::move(*device), ""};
  kb::last_error = device.error().message;
  return nullptr;
}

const char* kbd_info(void* device) {
  auto* handle = static_cast<DeviceHandle*>(device);
  handle->text = kb::Dump(handle->device->Info());
  return handle->text.c_str();
}

int64_t kbd_waited_ns(void* device) { return static_cast<DeviceHandle*>(device)->device->WaitedNs(); }
void kbd_fill_uniform(void* device, float* to, int64_t elements, uint64_t seed) {
  static_cast<DeviceHandle*>(device)->device->FillUniform(to, elements, seed);
}

void kbd_evict(void* device, const void* data, int64_t bytes) {
  static_cast<DeviceHandle*>(device)->device->Evict(data, static_cast<size_t>(bytes));
}

void* kbd_budget_new() { return new ErrorBudget; }
void kbd_budget_free(void* budget) { delete static_cast<ErrorBudget*>(budget); }
void kbd_budget_add(void* device, void* budget, int code, int bits, int64_t elements, const void* expected,
                    const double* truth) {
  const kb_dtype dtype{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  static_cast<DeviceHandle*>(device)->device->AddAnchor(static_cast<ErrorBudget*>(budget), expected, dtype, elements,
                                                        truth);
}
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
                                    kb::ReadTolerance(tolerance), kb::RandomBits());
  handle->text = kb::Dump(kb::MismatchJson(result, 0, form));
  return handle->text.c_str();
}

void* kbd_session_new(void* device, const char* layout) {
  auto session = Session::Create(static_cast<DeviceHandle*>(device)->device.get(), nlohmann::json::parse(layout));
  if (session) return session->release();
  kb::last_error = session.error().message;
  return nullptr;
}
const char* kbd_error() { return kb::last_error.c_str(); }
void kbd_session_free(void* session) { delete static_cast<Session*>(session); }
void kbd_session_fds(void* session, int fds[4]) { static_cast<Session*>(session)->Fds(fds); }
void kbd_session_attach(void* session, int pid, int pidfd) {
  static_cast<Session*>(session)->Attach(pid, kb::Fd(pidfd));
}
void kbd_set_parameters(void* session, const void* const* parameters) {
  static_cast<Session*>(session)->SetParameters(parameters);
}
void kbd_present(void* session, const void* const* inputs) { static_cast<Session*>(session)->Present(inputs); }
void kbd_present_baseline(void* session, const void* const* inputs, void* const* to, void* const* outputs) {
  static_cast<Session*>(session)->PresentBaseline(inputs, to, outputs);
}
const char* kbd_call(void* session, int kind, uint64_t argument, int64_t timeout_ns, int clocked) {
  return static_cast<Session*>(session)->Call(static_cast<kb::CallKind>(kind), argument, timeout_ns, clocked != 0);
}
const char* kbd_profile(void* session, const void* const* inputs, uint64_t argument, int64_t timeout_ns,
                        const char* settings) {
  return static_cast<Session*>(session)->ProfileForward(inputs, argument, timeout_ns, nlohmann::json::parse(settings));
}
int64_t kbd_baseline_gap(void* session) { return static_cast<Session*>(session)->BaselineGapNs(); }
void kbd_baseline_begin(void* session) { static_cast<Session*>(session)->BaselineBegin(); }
int64_t kbd_baseline_end(void* session, const void* const* outputs) {
  return static_cast<Session*>(session)->BaselineEnd(outputs);
}
const char* kbd_check_inputs(void* session, const void* const* inputs) {
  return static_cast<Session*>(session)->CheckInputs(inputs);
}
const char* kbd_compare(void* session, const void* const* expected, void* const* budgets, const char* tolerance) {
  return static_cast<Session*>(session)->CompareOutputs(expected, budgets, kb::ReadTolerance(tolerance));
}
int kbd_keep_outputs(void* session) {
  const kb::Status kept = static_cast<Session*>(session)->KeepOutputs();
  if (!kept) kb::last_error = kept.error().message;
  return kept ? 1 : 0;
}
int kbd_outputs_equal_kept(void* session) { return static_cast<Session*>(session)->OutputsEqualKept(); }
