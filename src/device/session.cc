#include "device/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"

namespace kb {
namespace {

using nlohmann::json;

// Inputs of more bytes are put in place before go: a bus brings some 30 MB to the host while the device is held, so it
// cannot have read them by then, if it is not woken sooner.
constexpr size_t kMostLateBytes = size_t{64} << 20;
// So are others, if so many calls in a row have met somebody else on the device.
constexpr int kMostTooEarly = 3;

const char* EndName(SpanEnd end) {
  static constexpr const char* kEnds[] = {"done",       "died",      "timed_out", "malformed",
                                          "ran_frozen", "malformed", "malformed", "too_early"};
  return kEnds[static_cast<int>(end)];
}

// What a runner did that none does; empty if nothing.
const char* ForgeryOf(SpanEnd end) {
  switch (end) {
    case SpanEnd::kMalformed:
      return "the doorbell was rung with a wrong number";
    case SpanEnd::kRanFrozen:
      return "the runner ran between its calls, while it was stopped";
    case SpanEnd::kNotStopped:
      return "the runner could not be stopped after a call";
    case SpanEnd::kMisplaced:
      return "the runner said that its outputs lie where they cannot";
    default:
      return "";
  }
}

json KernelsJson(const Report& report) {
  json kernels = json::array();
  for (const KernelUse& use : report.kernels) {
    kernels.push_back({{"name", use.name},
                       {"calls", use.calls},
                       {"us", static_cast<double>(use.total_ns) / 1e3},
                       {"grid", use.grid},
                       {"block", use.block},
                       {"registers", use.registers},
                       {"static_shared", use.static_shared},
                       {"dynamic_shared", use.dynamic_shared},
                       {"local", use.local}});
  }
  return kernels;
}

}  // namespace

// JSON has no NaN and no infinities.
json Number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

json MapJson(const MismatchMap& map) {
  json shares = json::array();
  for (const double share : map.wrong) shares.push_back(std::stod(fmt::format("{:.3g}", share)));
  return {{"split", map.split}, {"rows", map.rows}, {"columns", map.columns}, {"wrong", std::move(shares)}};
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
          {"map", MapJson(result.map)},
          {"histogram", histogram}};
}

Tolerance ToleranceOf(const json& keys) {
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

Result<std::unique_ptr<DeviceSession>> DeviceSession::Create(Device* device, const ops::Layout& layout) {
  KB_ASSIGN_OR_RETURN(auto doorbell, SharedMemory::Create("kb-doorbell", kDoorbellBytes));
  return std::unique_ptr<DeviceSession>(new DeviceSession(device, layout, std::move(doorbell)));
}

DeviceSession::DeviceSession(Device* device, const ops::Layout& layout, SharedMemory doorbell)
    : device_(device),
      without_(layout.without),
      doorbell_(std::move(doorbell)),
      sizes_{layout.inputs_bytes, layout.outputs_bytes, layout.parameters_bytes},
      holds_(layout.holds) {
  Bell()->version = kDoorbellVersion;
  for (const ops::Tensor& tensor : layout.inputs) input_parts_.push_back({tensor.offset, tensor.bytes});
  for (const ops::Tensor& tensor : layout.parameters) parameter_parts_.push_back({tensor.offset, tensor.bytes});
  for (const ops::Tensor& tensor : layout.outputs) {
    const auto [code, bits, lanes] = tensor.dtype;
    output_items_.push_back({nullptr,
                             {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)},
                             tensor.shape});
    output_offsets_.push_back(tensor.offset);
  }
}

Result<std::shared_ptr<Buffer>> DeviceSession::Shared(const char* name, size_t bytes, std::shared_ptr<Buffer> used) {
  if (!used || used->size() != bytes) {
    used.reset();  // first, for there may be no room for both
    KB_ASSIGN_OR_RETURN(used, device_->Share(name, bytes));
    return used;
  }
  const OutputItem whole{used->data(), {KB_UINT, 8, 1}, {static_cast<int64_t>(used->whole())}};
  device_->Clear({&whole, 1});
  return used;
}

Status DeviceSession::Share(DeviceSession* before, DeviceSession* reference, uint64_t arena_bytes, int fds[4]) {
  const auto of = [&](std::shared_ptr<Buffer> DeviceSession::*buffer) {
    return before != nullptr ? std::move(before->*buffer) : nullptr;
  };
  for (auto* buffer : {&inputs_, &outputs_, &parameters_}) buffer->reset();  // of a try that failed
  arena_ = arena_bytes > 0;
  const size_t outputs = arena_ ? arena_bytes : sizes_.outputs;
  auto inputs = reference != nullptr ? reference->inputs_ : of(&DeviceSession::inputs_);
  KB_ASSIGN_OR_RETURN(inputs_, Shared("kb-inputs", sizes_.inputs, std::move(inputs)));
  KB_ASSIGN_OR_RETURN(outputs_, Shared("kb-outputs", outputs, of(&DeviceSession::outputs_)));
  KB_ASSIGN_OR_RETURN(parameters_, Shared("kb-parameters", sizes_.parameters, of(&DeviceSession::parameters_)));
  no_inputs_ = reference != nullptr ? reference->no_inputs_ : nullptr;
  for (size_t i = 0; i < output_items_.size(); ++i) output_items_[i].data = outputs_->data() + output_offsets_[i];
  fds[0] = doorbell_.fd();
  fds[1] = inputs_->fd();
  fds[2] = outputs_->fd();
  fds[3] = parameters_->fd();
  return {};
}

// Nobody but this process reaches the memory that stands for its outputs: the reference keeps its own.
Status DeviceSession::ShareInputs(int fds[4]) {
  reference_ = true;
  KB_ASSIGN_OR_RETURN(inputs_, device_->Share("kb-inputs", sizes_.inputs));
  KB_ASSIGN_OR_RETURN(outputs_, device_->Allocate(sizes_.outputs));
  if (holds_ && sizes_.inputs > 0 && sizes_.inputs <= kMostLateBytes) {
    KB_ASSIGN_OR_RETURN(no_inputs_, device_->Allocate(sizes_.inputs));
    const OutputItem whole{no_inputs_->data(), {KB_UINT, 8, 1}, {static_cast<int64_t>(sizes_.inputs)}};
    device_->Clear({&whole, 1});
  }
  for (size_t i = 0; i < output_items_.size(); ++i) output_items_[i].data = outputs_->data() + output_offsets_[i];
  fds[0] = doorbell_.fd();
  for (int i = 1; i < 4; ++i) fds[i] = inputs_->fd();
  return {};
}

void DeviceSession::Attach(int pid, Fd pidfd) {
  Calling calling{.freezes = With("freeze"), .holds = holds_};
  if (arena_) calling.locate = [this](SecretReader* secrets) { return Locate(secrets); };
  link_ = device_->Attach(pid, std::move(pidfd), Bell(), output_items_, std::move(calling));
}

void DeviceSession::Populate() {
  for (const Buffer* buffer : {inputs_.get(), outputs_.get(), parameters_.get()}) device_->Populate(*buffer);
}

void DeviceSession::SetParameters(const void* const* from) {
  device_->Copy(Copies(parameter_parts_, *parameters_, from));
}

void DeviceSession::Present(const void* const* from, Placing placing) {
  if (!arena_ || secret_ == 0) secret_ = RandomBits();
  const std::vector<CopyItem> copies = Copies(input_parts_, *inputs_, from);
  early_.clear();
  late_.clear();
  if (device_->PlacesInCall()) {
    const bool before_go = placing == Placing::kNow || too_early_ >= kMostTooEarly;
    if (no_inputs_) late_ = copies;
    if (no_inputs_ ? before_go : placing != Placing::kThere) early_ = copies;
  }
  std::vector<std::span<const std::byte>> cold;
  for (const auto& [offset, bytes] : places_) cold.emplace_back(outputs_->data() + offset, bytes);
  device_->Present(device_->PlacesInCall() ? std::span<const CopyItem>() : copies, ToPoison(), secret_, cold);
}

// What Present() has left to the call. An empty one copies as much behind the hold, so that an offset holds it. One
// that is traced, and not timed, is to find its caches cold: its inputs are in place before.
DeviceSession::Placed DeviceSession::TakeInputs(CallKind kind) {
  Placed inputs{std::exchange(early_, {}), std::exchange(late_, {})};
  if (kind == CallKind::kEmpty && no_inputs_) {
    for (const Part& part : input_parts_) {
      inputs.late.push_back({inputs_->data() + part.offset, no_inputs_->data() + part.offset, part.bytes});
    }
    if (too_early_ >= kMostTooEarly) inputs.early = inputs.late;
  }
  if (kind == CallKind::kTrace && !inputs.late.empty()) inputs.early = std::exchange(inputs.late, {});
  return inputs;
}

std::vector<OutputItem> DeviceSession::ToPoison() const {
  if (reference_ || !With("poison")) return {};  // nobody looks at the reference's
  if (!arena_ || located_ || output_items_.empty()) return output_items_;
  const kb_dtype dtype = output_items_.front().dtype;
  const auto elements = static_cast<int64_t>(outputs_->size() / (dtype.bits / 8));
  return {{outputs_->data(), dtype, {elements}}};
}

const char* DeviceSession::Call(CallKind kind, uint64_t argument, int64_t timeout_ns, bool clocked) {
  report_.reset();
  placed_ = false;
  const Placed inputs = TakeInputs(kind);
  const CallSpan span = link_->Call(kind, argument, timeout_ns, clocked, {inputs.early, inputs.late});
  if (span.end == SpanEnd::kTooEarly) ++too_early_;
  if (span.end == SpanEnd::kDone) too_early_ = 0;
  ops::Called called{.end = EndName(span.end),
                     .us = static_cast<double>(span.ns) / 1e3,
                     .waited_us = static_cast<double>(span.waits.longest_ns) / 1e3,
                     .surely_waited_us = static_cast<double>(span.waits.surely_ns) / 1e3,
                     .gap_us = static_cast<double>(span.gap_ns) / 1e3,
                     .elapsed_us = static_cast<double>(span.elapsed_ns) / 1e3,
                     .launched_us = static_cast<double>(span.launched_ns) / 1e3,
                     .report = {},
                     .malformed = ForgeryOf(span.end)};
  if (span.end == SpanEnd::kDone) TakeReport(&called);
  located_ |= kind == CallKind::kForward && placed_;  // also of one that came too early
  return Keep(called);
}

// Not timed and not compared: the inputs are put in place, caches and outputs left as they are.
const char* DeviceSession::ObserveForward(const void* const* from, uint64_t argument, int64_t timeout_ns,
                                          const json& settings) {
  static const std::map<std::string, Origin> kAnonymous = {
      {"custom", Origin::kCustom}, {"library", Origin::kLibrary}, {"other", Origin::kOther}};
  const OriginRules rules{settings.at("custom").get<std::map<std::string, std::string>>(),
                          kAnonymous.at(settings.at("anonymous"))};
  device_->Copy(Copies(input_parts_, *inputs_, from));
  const auto interval_ns = static_cast<int64_t>(settings.at("interval_us").get<double>() * 1e3);
  const ObservedCall call = link_->ObserveForward(argument, timeout_ns, std::max<int64_t>(interval_ns, 1));
  authorship_.AddCall(call.samples, rules);
  return Keep(ops::Observe::Reply{.end = EndName(call.end),
                                  .us = static_cast<double>(call.ran_ns) / 1e3,
                                  .stops = call.stops,
                                  .refused = call.refused,
                                  .authorship = authorship_.ToJson()});
}

const char* DeviceSession::CheckInputs(const void* const* from) {
  ops::CheckInputs::Reply checked;
  for (size_t i = 0; i < input_parts_.size(); ++i) {
    const Part& part = input_parts_[i];
    if (With("input-check") && !device_->Equal(inputs_->data() + part.offset, from[i], part.bytes))
      checked.inputs_changed.push_back(static_cast<int>(i));
  }
  checked.late = !SecretsHold();
  return Keep(checked);
}

const char* DeviceSession::CompareOutputs(const void* const* expected, void* const* budgets,
                                          const Tolerance& tolerance) {
  static const ErrorBudget kNone;
  json results = json::array();
  for (size_t i = 0; i < output_items_.size(); ++i) {
    const auto* budget = budgets[i] != nullptr ? static_cast<const ErrorBudget*>(budgets[i]) : &kNone;
    const CompareResult result =
        device_->CompareOutput(output_items_[i].data, expected[i], output_items_[i], *budget, tolerance, secret_);
    results.push_back(MismatchJson(result, i, output_items_[i]));
  }
  return Keep(results);
}

Status DeviceSession::KeepOutputs() {
  kept_.clear();
  std::vector<CopyItem> copies;
  for (const OutputItem& item : output_items_) {
    KB_ASSIGN_OR_RETURN(auto buffer, device_->Allocate(item.bytes()));
    copies.push_back({buffer->data(), item.data, item.bytes()});
    kept_.push_back(std::move(buffer));
  }
  device_->Copy(copies);
  return {};
}

bool DeviceSession::OutputsEqualKept() {
  if (kept_.size() != output_items_.size()) return false;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (!device_->Equal(kept_[i]->data(), output_items_[i].data, output_items_[i].bytes())) return false;
  }
  return true;
}

std::vector<CopyItem> DeviceSession::Copies(const std::vector<Part>& parts, const Buffer& to, const void* const* from) {
  std::vector<CopyItem> copies;
  for (size_t i = 0; i < parts.size(); ++i) copies.push_back({to.data() + parts[i].offset, from[i], parts[i].bytes});
  return copies;
}

// The report is copied once and decoded from the copy.
Result<Report> DeviceSession::ReadReport() const {
  const uint32_t size = Bell()->report_size.load();
  if (size > kReportCapacity) return Fail(ErrorCode::kEngine, "malformed report: size");
  const std::string bytes(reinterpret_cast<const char*>(Bell()->report), size);
  return DecodeReport(bytes);
}

// Believes where the outputs lie, once that is inside the arena, and nothing else: what lies there is compared.
bool DeviceSession::Locate(SecretReader* secrets) {
  report_ = ReadReport();
  if (!*report_) return true;  // TakeReport() says what is wrong
  const Report& report = **report_;
  if (report.status != ReportStatus::kOk) return true;
  if (report.outputs.size() != output_items_.size()) return false;
  for (size_t i = 0; i < output_items_.size(); ++i) {
    OutputItem& item = output_items_[i];
    const TensorForm& form = report.outputs[i];
    const bool same = form.shape == item.shape && form.dtype.code == item.dtype.code &&
                      form.dtype.bits == item.dtype.bits && form.dtype.lanes == item.dtype.lanes;
    const size_t bytes = item.bytes(), element = std::max<size_t>(item.dtype.bits / 8, 1);
    if (!same || bytes > outputs_->size() || form.offset > outputs_->size() - bytes || form.offset % element != 0) {
      return false;
    }
    item.data = outputs_->data() + form.offset;
    size_t& place = places_[form.offset];
    place = std::max(place, bytes);
    secrets->Rebind(i, item.data);
  }
  placed_ = true;
  return true;
}

void DeviceSession::TakeReport(ops::Called* called) {
  const Result<Report> report = report_ ? *report_ : ReadReport();
  if (!report) {
    called->end = EndName(SpanEnd::kMalformed);
    called->malformed = report.error().message;
    return;
  }
  called->report = ops::Said{.status = static_cast<int>(report->status),
                             .state_differs = report->state_differs,
                             .text = report->text,
                             .kernels = KernelsJson(*report),
                             .kernels_span_us = 0};
  if (!report->kernels.empty()) called->report->kernels_span_us = static_cast<double>(report->kernels_span_ns) / 1e3;
}

const char* DeviceSession::Keep(const json& value) {
  text_ = Dump(value);
  return text_.c_str();
}

}  // namespace kb
