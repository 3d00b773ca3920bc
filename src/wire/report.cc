#include "wire/report.h"

#include <cstring>

#include "wire/doorbell.h"

namespace kb {
namespace {

constexpr uint32_t kMagic = 0x3552424B;  // "KBR5"

template <typename T>
void Put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  bool Get(T* value) {
    if (bytes_.size() < sizeof *value) return false;
    std::memcpy(value, bytes_.data(), sizeof *value);
    bytes_.remove_prefix(sizeof *value);
    return true;
  }
  bool Get(std::string* text, size_t size) {
    if (bytes_.size() < size) return false;
    text->assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return true;
  }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

tl::unexpected<Error> Malformed(const char* field) {
  return Fail(ErrorCode::kEngine, std::string("malformed report: ") + field);
}

bool GetForm(Reader* reader, TensorForm* form) {
  uint8_t dims = 0;
  if (!reader->Get(&form->dtype.code) || !reader->Get(&form->dtype.bits) || !reader->Get(&form->dtype.lanes) ||
      !reader->Get(&dims) || dims > kMaxDims) {
    return false;
  }
  form->shape.resize(dims);
  for (int64_t& extent : form->shape) {
    if (!reader->Get(&extent) || extent < 0) return false;
  }
  return reader->Get(&form->offset);
}

void PutKernel(std::string* out, const KernelUse& kernel) {
  KB_CHECK(kernel.name.size() <= kMaxKernelName);
  Put(out, static_cast<uint8_t>(kernel.name.size()));
  out->append(kernel.name);
  Put(out, kernel.calls);
  Put(out, kernel.total_ns);
  for (const uint32_t extent : kernel.grid) Put(out, extent);
  for (const uint32_t extent : kernel.block) Put(out, extent);
  for (const uint32_t number : {kernel.registers, kernel.static_shared, kernel.dynamic_shared, kernel.local}) {
    Put(out, number);
  }
}

bool GetKernel(Reader* reader, KernelUse* kernel) {
  uint8_t size = 0;
  if (!reader->Get(&size) || size > kMaxKernelName || !reader->Get(&kernel->name, size)) return false;
  if (!reader->Get(&kernel->calls) || !reader->Get(&kernel->total_ns)) return false;
  for (uint32_t& extent : kernel->grid) {
    if (!reader->Get(&extent)) return false;
  }
  for (uint32_t& extent : kernel->block) {
    if (!reader->Get(&extent)) return false;
  }
  return reader->Get(&kernel->registers) && reader->Get(&kernel->static_shared) &&
         reader->Get(&kernel->dynamic_shared) && reader->Get(&kernel->local);
}

}  // namespace

std::string EncodeReport(const Report& report) {
  std::string tail;
  KB_CHECK(report.outputs.size() <= kMaxOutputs);
  Put(&tail, static_cast<uint16_t>(report.outputs.size()));
  for (const TensorForm& form : report.outputs) {
    KB_CHECK(form.shape.size() <= kMaxDims);
    Put(&tail, form.dtype.code);
    Put(&tail, form.dtype.bits);
    Put(&tail, form.dtype.lanes);
    Put(&tail, static_cast<uint8_t>(form.shape.size()));
    for (const int64_t extent : form.shape) Put(&tail, extent);
    Put(&tail, form.offset);
  }
  KB_CHECK(report.kernels.size() <= kMaxKernels);
  Put(&tail, static_cast<uint16_t>(report.kernels.size()));
  for (const KernelUse& kernel : report.kernels) PutKernel(&tail, kernel);
  Put(&tail, report.kernels_span_ns);
  std::string out;
  Put(&out, kMagic);
  Put(&out, static_cast<uint8_t>(report.status));
  Put(&out, static_cast<uint8_t>(report.state_differs));
  const size_t room = kReportCapacity - out.size() - sizeof(uint32_t) - tail.size();
  std::string_view text = report.text;
  if (text.size() > room) text.remove_prefix(text.size() - room);
  Put(&out, static_cast<uint32_t>(text.size()));
  out.append(text);
  return out + tail;
}

Result<Report> DecodeReport(std::string_view bytes) {
  if (bytes.size() > kReportCapacity) return Malformed("size");
  Reader reader(bytes);
  Report report;
  uint32_t magic = 0, text_size = 0;
  uint8_t status = 0, differs = 0;
  uint16_t outputs = 0, kernels = 0;
  if (!reader.Get(&magic) || magic != kMagic) return Malformed("magic");
  if (!reader.Get(&status) || status > static_cast<uint8_t>(ReportStatus::kLacksExtension)) return Malformed("status");
  if (!reader.Get(&differs) || differs > 1) return Malformed("state_differs");
  if (!reader.Get(&text_size) || !reader.Get(&report.text, text_size)) return Malformed("text");
  if (!reader.Get(&outputs) || outputs > kMaxOutputs) return Malformed("number of outputs");
  report.status = static_cast<ReportStatus>(status);
  report.state_differs = differs == 1;
  report.outputs.resize(outputs);
  for (TensorForm& form : report.outputs) {
    if (!GetForm(&reader, &form)) return Malformed("output");
  }
  if (!reader.Get(&kernels) || kernels > kMaxKernels) return Malformed("number of kernels");
  report.kernels.resize(kernels);
  for (KernelUse& kernel : report.kernels) {
    if (!GetKernel(&reader, &kernel)) return Malformed("kernel");
  }
  if (!reader.Get(&report.kernels_span_ns)) return Malformed("span of the kernels");
  if (!reader.empty()) return Malformed("length");
  return report;
}

}  // namespace kb
