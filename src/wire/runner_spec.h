// What the engine tells a worker: what it is started for (worker::Run, Probe, Capture), how it is confined, and, if it
// is a runner, what it is to run (RunnerSpec). One JSON object each, which python/kernelbench_torch/runner_spec.py
// reads, and kb-runner. docs/reference/device_operations.md tells the rest.
//
// Sizes are bytes.
#ifndef WIRE_RUNNER_SPEC_H_
#define WIRE_RUNNER_SPEC_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/barriers.h"
#include "wire/ops.h"

namespace kb {

// The powers that a process gives up before it holds what a candidate wrote (runner/confine.h).
struct Confinement {
  uint64_t memory_bytes = 0;          // of private writable memory (RLIMIT_DATA)
  uint64_t file_bytes = 0;            // of one file
  uint64_t tmp_bytes = 0;             // of its /tmp
  std::string scratch = "/tmp";       // becomes the working directory, HOME and TMPDIR
  std::vector<std::string> readable;  // see RestrictByLandlock(); empty: a mount namespace decides
  std::vector<std::string> writable;  // what may be written, device files among it
  Without without;
  bool gpu = false;         // the judge chooses its cores
  bool programs = false;    // may start programs: compilers, in a process that is no runner
  bool namespaces = false;  // it sees no processes, sockets and files of others
  bool judges = false;      // it stops and seats runners: of a client's problem, as a device process
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Confinement, memory_bytes, file_bytes, tmp_bytes, scratch, readable, writable, without,
                                 gpu, programs, namespaces, judges)
};

// What a runner is to run.
struct RunnerSpec {
  std::string device;  // "cpu" or "cuda"
  int threads = 1;
  std::string precision;
  ops::ProblemForm form;
  std::string profiler;       // CUPTI's path, or empty
  bool events = false;        // calls on a GPU are timed by its events, too
  bool waits = false;         // for the GPU to change to this process, so that launches do not hide behind that
  bool reference = false;     // it is the trusted reference: keeps its models; on a GPU its outputs are its own memory
  std::string source;         // of a module; what follows is a module's, too
  bool copy_state = false;    // the reference's values replace those that it was constructed with
  uint64_t arena_bytes = 0;   // of the outputs,
  uint64_t output_turns = 0;  // in so many places and one more in turn
  std::vector<std::pair<std::string, std::string>> extensions;  // key and name of each that was built
  std::vector<std::pair<std::string, std::string>> refused;     // key of each that was not, and the compiler's reason
  bool may_ask = false;   // its report may name an extension that it lacks (ReportStatus::kLacksExtension)
  bool compiled = false;  // its first call compiled something
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(RunnerSpec, device, threads, precision, form, profiler, events, waits, reference,
                                 source, copy_state, arena_bytes, output_turns, extensions, refused, may_ask, compiled)
};

// The same for a process that has no socket to the engine: what came with the spec as descriptors are paths here.
struct SpecFile {
  RunnerSpec spec;
  Confinement confinement;
  std::string kernel;  // of a native candidate
  std::vector<std::string> extensions;
  std::string first_call;  // what a module's compiled; empty: nothing
  bool profiled = false;   // a second call follows, of which a profiler is told
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(SpecFile, spec, confinement, kernel, extensions, first_call, profiled)
};

// What a worker is started for: an object of these fields and "op". `keep`: directories under /tmp that stay visible, a
// line each.
namespace worker {

// A runner, which confines itself, opens its device and waits for a RunnerSpec.
struct Run {
  static constexpr const char* kOp = "run";
  std::string device;
  int threads = 1;
  std::string profiler;
  Confinement confinement;
  std::string keep;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Run, device, threads, profiler, confinement, keep)
};

// A native runner below the zygote: `program` (kb-runner), told the rest as a Run.
struct Native {
  static constexpr const char* kOp = "native";
  std::string program;
  std::string device;
  int threads = 1;
  std::string profiler;
  Confinement confinement;
  std::string keep;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Native, program, device, threads, profiler, confinement, keep)
};

// A device process that confines itself before it holds a problem: it will execute what a client sent. It stays in the
// zygote's PID namespace, below which its runners are.
struct Device {
  static constexpr const char* kOp = "device";
  std::string library;  // libkernelbench_device.so
  std::string device;
  int threads = 1;
  std::string cache;  // the engine's
  Confinement confinement;
  std::string keep;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Device, library, device, threads, cache, confinement, keep)
};

// Tries what a candidate must not be able to do (runner/probes.h), with what the engine has put up to be reached.
struct Probe {
  static constexpr const char* kOp = "probe";
  int pid = 0;                  // the engine's
  std::string secret_file;      // a path
  std::string abstract_socket;  // it listens there,
  int tcp_port = 0;             // and there
  int shm_id = 0;               // System V
  std::string variable;         // in its environment
  std::string hostname;
  int threads = 0;  // the limit; 0: none
  Confinement confinement;
  std::string keep;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Probe, pid, secret_file, abstract_socket, tcp_port, shm_id, variable, hostname,
                                 threads, confinement, keep)
};

// Imports a module, and constructs it with the problem's arguments, to learn which extensions it wants; on other cores
// than what is timed.
struct Capture {
  static constexpr const char* kOp = "capture";
  std::string source;
  std::string problem;  // the text of its file,
  std::string path;     // which the worker does not see
  std::string size;
  std::vector<int> cores;  // empty: those of the zygote
  int nice = 0;
  Confinement confinement;
  std::string keep;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Capture, source, problem, path, size, cores, nice, confinement, keep)
};

// No worker: the zygote imports what compiles a baseline, so that runners that are forked from then on need not. It
// says once more that it is ready.
struct Import {
  static constexpr const char* kOp = "import";
};

}  // namespace worker
}  // namespace kb

#endif  // WIRE_RUNNER_SPEC_H_
