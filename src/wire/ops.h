// What the engine asks of the device process (python/kernelbench_torch/device_host.py), and what that answers: one JSON
// object each way (channel.h). A request is an object of its fields and "op"; kOp names the operation, Reply is what is
// answered. docs/reference/device_operations.md says what each does.
//
// Times are microseconds, sizes bytes. `Json` stands for what the engine hands on or keeps without a look.
#ifndef WIRE_OPS_H_
#define WIRE_OPS_H_

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nlohmann {

template <typename T>
struct adl_serializer<std::optional<T>> {
  static void to_json(json& to, const std::optional<T>& from) { to = from ? json(*from) : json(); }
  static void from_json(const json& from, std::optional<T>& to) {
    to = from.is_null() ? std::nullopt : std::optional<T>(from.get<T>());
  }
};

}  // namespace nlohmann

namespace kb::ops {

using Json = nlohmann::json;

// A request or a reply without fields.
#define KB_OPS_NO_FIELDS(Type)                                        \
  friend void to_json(Json& to, const Type&) { to = Json::object(); } \
  friend void from_json(const Json&, Type&) {}

struct Nothing {
  KB_OPS_NO_FIELDS(Nothing)
};

// --- The process and its problem ---

// What an extension is compiled against, by its paths.
struct BuildFacts {
  struct Library {
    std::string include;             // folder of its headers
    std::vector<std::string> files;  // what to link; none: it is headers alone
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Library, include, files)
  };
  std::string version, python_include, library_path;
  std::string standard;  // "c++20"
  std::string nvrtc;     // PyTorch's; may be empty
  std::vector<std::string> include_paths;
  std::map<std::string, Library> libraries;  // by name, those that CUDA code may use
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(BuildFacts, version, python_include, library_path, standard, nvrtc, include_paths,
                                 libraries)
};

// What a device is, and what was measured on it (device_info in docs/reference/evaluation.md).
struct DeviceFacts {
  std::string name, flush, torch, python;
  int cores = 0;
  uint64_t last_level_cache = 0;
  double copy_gb_s = 0;                  // GB/s
  Json rates;                            // TFLOP/s, by precision
  std::string compute_capability, cuda;  // "9.0", "12.8"; empty on the CPU
  uint64_t memory = 0;                   // 0 on the CPU
  std::string profiler;                  // CUPTI's path, or empty
  BuildFacts build;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(DeviceFacts, name, flush, torch, python, cores, last_level_cache, copy_gb_s, rates,
                                 compute_capability, cuda, memory, profiler, build)

  // As results hold it: without what is only needed here, or is not known of a CPU.
  Json Info() const {
    Json info = *this;
    for (const char* own : {"build", "profiler"}) info.erase(own);
    if (!compute_capability.empty()) return info;
    for (const char* of_gpus : {"compute_capability", "cuda", "memory"}) info.erase(of_gpus);
    return info;
  }
};

struct Hello {
  static constexpr const char* kOp = "hello";
  using Reply = DeviceFacts;
  KB_OPS_NO_FIELDS(Hello)
};

// One tensor of a segment that is shared.
struct Tensor {
  std::array<int, 3> dtype = {};        // code, bits and lanes (kernelbench/kernel.h)
  std::vector<int64_t> shape, strides;  // in elements
  uint64_t offset = 0, bytes = 0;
  std::string name;  // of a parameter
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Tensor, dtype, shape, strides, offset, bytes, name)
};

// What a problem takes and returns, as its runners are told.
struct ProblemForm {
  std::vector<Tensor> inputs, outputs, parameters;
  Json structure, output_structure, init;  // of arguments, outputs and the constructor's arguments (trees.py)
  Json scalars, init_scalars;              // the numbers in the first and the last
  bool may_alias = false;                  // an output may be an input, or a view of one
  std::string construct_on;                // the device that its model is constructed on
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(ProblemForm, inputs, outputs, parameters, structure, output_structure, init, scalars,
                                 init_scalars, may_alias, construct_on)
};

// What the device library is told of a session (src/device/c_api.h).
struct Layout {
  std::vector<Tensor> inputs, outputs, parameters;                     // each kind in a segment of its own,
  uint64_t inputs_bytes = 0, outputs_bytes = 0, parameters_bytes = 0;  // which has this size
  std::set<std::string> without;                                       // barriers of a round that are taken away
  bool holds = true;                                                   // launches hide (Calling::holds)
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Layout, inputs, outputs, parameters, inputs_bytes, outputs_bytes, parameters_bytes,
                                 without, holds)
};

struct Problem {
  std::string sha256;  // of its file
  ProblemForm form;
  bool fresh = false;                      // it was loaded now, and not before
  bool roomy = false;                      // the device has memory for a second runner
  bool needs_rng = false;                  // the answer depends on torch's generator
  std::vector<uint64_t> weight_seeds;      // one, if it has no weights
  std::vector<std::string> distributions;  // of inputs, beside the natural one
  std::vector<std::string> notes;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Problem, sha256, form, fresh, roomy, needs_rng, weight_seeds, distributions, notes)
};

struct LoadProblem {
  static constexpr const char* kOp = "problem";
  using Reply = Problem;
  std::string path, sha256, size, precision;
  std::vector<uint64_t> weight_seeds;
  uint64_t memory_bytes = 0;        // of the device, to plan with at most; 0: what is free
  Json figures;                     // input_bytes and parameter_bytes, as far as they are known
  std::optional<std::string> text;  // none: the file at `path` holds it
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(LoadProblem, path, sha256, size, precision, weight_seeds, memory_bytes, figures, text)
};

struct Clocks {
  static constexpr const char* kOp = "clocks";
  struct Reply {
    Json clocks;  // null on the CPU
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, clocks)
  };
  KB_OPS_NO_FIELDS(Clocks)
};

struct MemoryTaken {
  static constexpr const char* kOp = "memory_taken";
  struct Reply {
    int64_t taken = 0, planned = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, taken, planned)
  };
  KB_OPS_NO_FIELDS(MemoryTaken)
};

// --- How exact an answer has to be ---

struct Anchor {
  static constexpr const char* kOp = "anchor";
  struct Reply {
    bool judgeable = false;
    std::vector<std::string> notes;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, judgeable, notes)
  };
  std::string distribution;
  int rounds = 0;
  Json tolerance;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Anchor, distribution, rounds, tolerance)
};

struct Impostors {
  static constexpr const char* kOp = "impostors";
  struct Reply {
    std::vector<std::string> passing;  // in words
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, passing)
  };
  std::vector<std::string> distributions;
  Json tolerance;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Impostors, distributions, tolerance)
};

// Of the audit in docs/reference/problems.md.
struct AuditReport {
  std::vector<std::string> failures, notes;
  Json worst;       // error over what is allowed, by impostor and precision
  Json budgets;     // by distribution
  Json peak_bytes;  // null on the CPU
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(AuditReport, failures, notes, worst, budgets, peak_bytes)
};

struct Audit {
  static constexpr const char* kOp = "audit";
  using Reply = AuditReport;
  Json tolerance;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Audit, tolerance)
};

// --- A session: what one candidate shares with the reference ---

struct BeginSession {
  static constexpr const char* kOp = "session";
  using Reply = Nothing;
  bool module = false, holds = true;  // as Layout's
  std::set<std::string> without;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(BeginSession, module, holds, without)
};

struct EndSession {
  static constexpr const char* kOp = "end_session";
  using Reply = Nothing;
  KB_OPS_NO_FIELDS(EndSession)
};

// Answered with four descriptors: doorbell, inputs, outputs, parameters.
struct Share {
  static constexpr const char* kOp = "share";
  struct Reply {
    uint64_t arena_bytes = 0, output_turns = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, arena_bytes, output_turns)
  };
  bool reuse = false, beside = false;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Share, reuse, beside)
};

// Sent with the runner's pidfd.
struct Attach {
  static constexpr const char* kOp = "attach";
  using Reply = Nothing;
  int pid = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Attach, pid)
};

// --- The reference in a process of its own ---

// The problem that is loaded as a module that computes by a baseline.
struct ReferenceSource {
  static constexpr const char* kOp = "reference_source";
  struct Reply {
    std::string source;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, source)
  };
  std::string size, kind;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(ReferenceSource, size, kind)
};

// Answered with four descriptors where there is room.
struct ShareReference {
  static constexpr const char* kOp = "share_reference";
  struct Reply {
    bool room = false;
    uint64_t arena_bytes = 0, output_turns = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(Reply, room, arena_bytes, output_turns)
  };
  bool holds = true;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(ShareReference, holds)
};

struct AttachReference {
  static constexpr const char* kOp = "attach_reference";
  using Reply = Nothing;
  int pid = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(AttachReference, pid)
};

struct EndReference {
  static constexpr const char* kOp = "end_reference";
  using Reply = Nothing;
  KB_OPS_NO_FIELDS(EndReference)
};

// --- Calls ---

// What a runner said (report.h): its word.
struct Said {
  int status = 0;  // ReportStatus
  bool state_differs = false;
  std::string text;
  Json kernels = Json::array();
  double kernels_span_us = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE_WITH_DEFAULT(Said, status, state_differs, text, kernels, kernels_span_us)
};

// How a call ended and what it took.
struct Called {
  std::string end;  // done, died, timed_out, ran_frozen, too_early or malformed
  double us = 0, waited_us = 0, surely_waited_us = 0, gap_us = 0;
  double elapsed_us = 0, launched_us = 0;  // of a clocked call on a GPU, the runner's word; 0: nothing
  std::optional<Said> report;              // where it ended as it should
  std::string malformed;                   // what was
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Called, end, us, waited_us, surely_waited_us, gap_us, elapsed_us, launched_us, report,
                                 malformed)
};

struct Call {
  static constexpr const char* kOp = "call";
  using Reply = Called;
  int kind = 0;  // CallKind
  uint64_t argument = 0;
  double timeout_us = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Call, kind, argument, timeout_us)
};

struct CallReference {
  static constexpr const char* kOp = "call_reference";
  using Reply = Called;
  int kind = 0;  // CallKind
  uint64_t argument = 0;
  double timeout_us = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(CallReference, kind, argument, timeout_us)
};

struct Observe {
  static constexpr const char* kOp = "observe";
  struct Reply {
    std::string end;  // as Called's
    double us = 0;    // without the stops
    int64_t stops = 0;
    std::string refused;  // why nothing was seen
    Json authorship;      // of all calls so far (docs/reference/evaluation.md)
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, end, us, stops, refused, authorship)
  };
  double timeout_us = 0;
  Json settings;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Observe, timeout_us, settings)
};

// --- A round ---

struct SetWeights {
  static constexpr const char* kOp = "weights";
  struct Reply {
    uint64_t seed = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, seed)
  };
  int index = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(SetWeights, index)
};

struct Draw {
  static constexpr const char* kOp = "draw";
  struct Reply {
    uint64_t rng_seed = 0;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, rng_seed)
  };
  std::string distribution;
  std::optional<int64_t> seed;  // none: one that nobody knows
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Draw, distribution, seed)
};

struct Present {
  static constexpr const char* kOp = "present";
  using Reply = Nothing;
  bool in_place = false;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Present, in_place)
};

struct CheckInputs {
  static constexpr const char* kOp = "check_inputs";
  struct Reply {
    std::vector<int> inputs_changed;
    bool late = false;  // the secret positions no longer hold what was read
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, inputs_changed, late)
  };
  KB_OPS_NO_FIELDS(CheckInputs)
};

// The reference on this round's inputs, timed in its process.
struct Baseline {
  static constexpr const char* kOp = "baseline";
  struct Reply {
    double us = 0, launch_us = 0, event_us = 0, gap_us = 0, waited_us = 0;
    double clock_mhz = 0;        // of a GPU's cores, right behind the call; 0: not known
    std::string end;             // as Called's,
    std::optional<Said> report;  // as these are
    std::string malformed;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, us, launch_us, event_us, gap_us, waited_us, clock_mhz, end, report, malformed)
  };
  bool alone = false;  // no candidate was called before
  double timeout_us = 0;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Baseline, alone, timeout_us)
};

// What the outputs must be: the reference on this round's inputs, not timed, in the device process.
struct Expect {
  static constexpr const char* kOp = "expect";
  using Reply = Nothing;
  KB_OPS_NO_FIELDS(Expect)
};

struct Compare {
  static constexpr const char* kOp = "compare";
  struct Reply {
    std::vector<Json> outputs;  // one mismatch each (docs/reference/evaluation.md), "ok" besides
    bool late = false, own_anchor = false;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, outputs, late, own_anchor)
  };
  std::string distribution;
  Json tolerance;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Compare, distribution, tolerance)
};

struct Flush {
  static constexpr const char* kOp = "flush";
  using Reply = Nothing;
  KB_OPS_NO_FIELDS(Flush)
};

struct KeepOutputs {
  static constexpr const char* kOp = "keep_outputs";
  using Reply = Nothing;
  KB_OPS_NO_FIELDS(KeepOutputs)
};

struct OutputsEqualKept {
  static constexpr const char* kOp = "outputs_equal_kept";
  struct Reply {
    bool equal = false;
    NLOHMANN_DEFINE_TYPE_INTRUSIVE(Reply, equal)
  };
  KB_OPS_NO_FIELDS(OutputsEqualKept)
};

}  // namespace kb::ops

#endif  // WIRE_OPS_H_
