#include "runner/c_api.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "runner/arena.h"
#include "runner/confine.h"
#include "runner/gpu.h"
#include "runner/kernel_trace.h"
#include "runner/mailbox.h"
#include "runner/memory.h"
#include "runner/probes.h"

using namespace kb;          // NOLINT: this file is the boundary
using namespace kb::runner;  // NOLINT

namespace {

std::vector<std::string> Lines(const char* text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::optional<Gpu> gpu;  // of this runner
Arena* arena = nullptr;  // lives as long as the process, for torch frees until its end

std::optional<KernelTrace> trace;  // running
TracedKernels traced;              // for the next report

Without WithoutOf(const char* text) {
  const std::vector<std::string> names = Lines(text);
  return {names.begin(), names.end()};
}

}  // namespace

void kbr_enter(int namespaces, uint64_t tmp_bytes, const char* keep, const char* without) {
  if (namespaces) {
    if (const Status entered = EnterNamespaces(tmp_bytes, keep, WithoutOf(without)); !entered) {
      std::fprintf(stderr, "module runner: %s\n", entered.error().message.c_str());
      _exit(125);
    }
    if (fork() != 0) _exit(0);  // the child is process 1 of the new PID namespace
  } else {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // no namespace ends with the zygote here
  }
}

void kbr_run_worker(int hello_fd, int status_fd, int namespaces, uint64_t tmp_bytes, const char* keep,
                    const char* without, int (*work)()) {
  kbr_enter(namespaces, tmp_bytes, keep, without);
  Supervise(hello_fd, status_fd, [work] { return work(); });
}

const char* kbr_confine(const char* confinement) {
  static std::string message;
  const Status confined = Confine(nlohmann::json::parse(confinement).get<Confinement>());
  if (confined) return nullptr;
  message = confined.error().message;
  return message.c_str();
}

void kbr_probe(const char* probe) { PrintProbes(nlohmann::json::parse(probe).get<worker::Probe>()); }

const char* kbr_open_gpu() {
  static std::string message;
  auto opened = Gpu::Open();
  if (opened) gpu.emplace(*opened);
  message = opened ? "" : opened.error().message;
  return opened ? nullptr : message.c_str();
}

void* kbr_map_gpu(int fd) {
  const auto segment = gpu->Map(fd);
  if (!segment) std::fprintf(stderr, "module runner: %s\n", segment.error().message.c_str());
  return segment ? segment->data() : nullptr;
}

void kbr_arena_open(void* base, uint64_t bytes) { arena = new Arena(reinterpret_cast<uint64_t>(base), bytes); }

void* kbr_arena_alloc(size_t bytes, int, void*) {
  if (const uint64_t address = arena->Take(bytes); address != 0) return reinterpret_cast<void*>(address);
  const auto own = gpu->Allocate(bytes);
  return own ? *own : nullptr;
}

void kbr_arena_free(void* memory, size_t, int, void*) {
  if (!arena->Give(reinterpret_cast<uint64_t>(memory))) gpu->Free(memory);
}

const char* kbr_trace_start(const char* cupti) {
  static std::string message;
  auto started = KernelTrace::Start(cupti);
  if (started) trace.emplace(*started);
  message = started ? "" : started.error().message;
  return started ? nullptr : message.c_str();
}

const char* kbr_trace_stop() {
  static std::string message;
  if (!trace) return nullptr;
  auto stopped = trace->Stop();
  trace.reset();
  if (stopped) traced = std::move(*stopped);
  message = stopped ? "" : stopped.error().message;
  return stopped ? nullptr : message.c_str();
}

void* kbr_map(int fd) {
  const auto segment = Segment::Map(fd);
  return segment ? segment->data() : nullptr;
}

void* kbr_mailbox(void* doorbell) { return new Mailbox(static_cast<Doorbell*>(doorbell), gpu.has_value()); }

uint32_t kbr_wait(void* mailbox, uint64_t* argument) {
  const Command command = static_cast<Mailbox*>(mailbox)->Wait();
  *argument = command.argument;
  return static_cast<uint32_t>(command.kind);
}

void kbr_write_report(void* mailbox, int status, int state_differs, const char* text, uint64_t text_size, int outputs,
                      const int64_t* forms) {
  Report report;
  report.status = static_cast<ReportStatus>(status);
  report.state_differs = state_differs != 0;
  report.text.assign(text, text_size);
  for (int i = 0; i < outputs; ++i) {
    TensorForm form;
    form.dtype = {static_cast<uint8_t>(forms[0]), static_cast<uint8_t>(forms[1]), static_cast<uint16_t>(forms[2])};
    form.offset = static_cast<uint64_t>(forms[4]);
    form.shape.assign(forms + 5, forms + 5 + forms[3]);
    forms += 5 + forms[3];
    report.outputs.push_back(std::move(form));
  }
  report.kernels = std::move(traced.kernels);
  report.kernels_span_ns = traced.span_ns;
  traced = {};
  static_cast<Mailbox*>(mailbox)->Write(report);
}

void kbr_answer(void* mailbox) { static_cast<Mailbox*>(mailbox)->Answer(); }

const char* kbr_finish(void* mailbox, void* start, void* end, uint64_t launched_ns) {
  static std::string message;
  if (const Status done = gpu ? gpu->Synchronize() : Status(); !done) {
    message = done.error().message;
    return message.c_str();
  }
  auto* box = static_cast<Mailbox*>(mailbox);
  box->Answer();
  box->AddTimes(start == nullptr ? 0 : gpu->ElapsedNs(start, end), launched_ns);
  return nullptr;
}
