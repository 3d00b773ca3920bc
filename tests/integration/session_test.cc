// When inputs are put in place, on a device that is held after go: the link and the device are made up, the session and
// its memory are real.

#include "device/session.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/report.h"

namespace kb {
namespace {

constexpr kb_dtype kFloat{KB_FLOAT, 32, 1};

// What the calls of a test end with, in order, and what they were given.
struct Script {
  std::vector<SpanEnd> ends;
  std::vector<std::string> late;  // of each call: had it inputs to put in place?
  std::vector<size_t> poisoned;   // outputs, each time inputs were presented
  std::vector<size_t> cold;       // and places that are to be as cold
};

class ScriptedLink : public RunnerLink {
 public:
  ScriptedLink(Script* script, Calling calling, std::unique_ptr<SecretReader> secrets)
      : script_(script), calling_(std::move(calling)), secrets_(std::move(secrets)) {}
  CallSpan Call(CallKind, uint64_t, int64_t, bool, const CallInputs& inputs) override {
    for (const auto& copies : {inputs.early, inputs.late}) {
      for (const CopyItem& item : copies) std::memcpy(item.to, item.from, item.bytes);
    }
    const bool early = !inputs.early.empty(), late = !inputs.late.empty();
    script_->late.push_back(early && late ? "both" : early ? "early" : late ? "late" : "nothing");
    if (calling_.locate) calling_.locate(secrets_.get());
    const size_t call = script_->late.size() - 1;
    return {.end = call < script_->ends.size() ? script_->ends[call] : SpanEnd::kDone};
  }
  bool SecretsHold() override { return true; }
  ObservedCall ObserveForward(uint64_t, int64_t, int64_t) override { return {}; }

 private:
  Script* script_;
  Calling calling_;
  std::unique_ptr<SecretReader> secrets_;
};

// A CPU whose runners are made up.
class ScriptedDevice : public Device {
 public:
  explicit ScriptedDevice(Script* script) : cpu_(MakeCpuDevice(1)), script_(script) {}
  nlohmann::json Info() override { return cpu_->Info(); }
  Result<std::unique_ptr<Buffer>> Share(const char* name, size_t bytes) override { return cpu_->Share(name, bytes); }
  Result<std::unique_ptr<Buffer>> Allocate(size_t bytes) override { return cpu_->Allocate(bytes); }
  void Populate(const Buffer& buffer) override { cpu_->Populate(buffer); }
  void Copy(std::span<const CopyItem> copies) override { cpu_->Copy(copies); }
  void Present(std::span<const CopyItem> copies, std::span<const OutputItem> outputs, uint64_t secret,
               std::span<const std::span<const std::byte>> cold) override {
    script_->poisoned.push_back(outputs.size());
    script_->cold.push_back(cold.size());
    cpu_->Present(copies, outputs, secret, cold);
  }
  void Flush() override {}
  bool PlacesInCall() const override { return true; }
  void Clear(std::span<const OutputItem> outputs) override {
    for (const OutputItem& output : outputs) std::memset(output.data, 0, output.bytes());
  }
  void FillUniform(float*, int64_t, uint64_t) override {}
  bool Equal(const void* a, const void* b, size_t bytes) override { return cpu_->Equal(a, b, bytes); }
  CompareResult CompareOutput(const void*, const void*, const OutputItem&, const ErrorBudget&, const Tolerance&,
                              uint64_t, bool) override {
    return {};
  }
  void AddAnchor(ErrorBudget*, const void*, kb_dtype, int64_t, const double*) override {}
  std::unique_ptr<RunnerLink> Attach(int, Fd, Doorbell*, std::span<const OutputItem> outputs,
                                     Calling calling) override {
    return std::make_unique<ScriptedLink>(script_, std::move(calling), MakeSecretReader(outputs));
  }
  std::unique_ptr<SecretReader> MakeSecretReader(std::span<const OutputItem> outputs) override {
    return cpu_->MakeSecretReader(outputs);
  }

 private:
  std::unique_ptr<Device> cpu_;
  Script* script_;
};

// Of one input of `elements` numbers, and the same output.
ops::Layout Layout(int64_t elements) {
  const auto bytes = static_cast<uint64_t>(4 * elements);
  const ops::Tensor tensor{.dtype = {KB_FLOAT, 32, 1}, .shape = {elements}, .bytes = bytes};
  return {.inputs = {tensor}, .outputs = {tensor}, .inputs_bytes = bytes, .outputs_bytes = bytes};
}

// A session as a reference's process has it: one input of `elements` numbers, the same output.
class Held {
 public:
  Held(Script* script, int64_t elements, bool holds = true) : device_(script), numbers_(static_cast<size_t>(elements)) {
    ops::Layout layout = Layout(elements);
    layout.holds = holds;
    session_ = *DeviceSession::Create(&device_, layout);
    int fds[4];
    EXPECT_TRUE(session_->ShareInputs(fds));
    session_->Attach(0, Fd());
  }
  void Present(float value, Placing placing = Placing::kLate) {
    std::fill(numbers_.begin(), numbers_.end(), value);
    const void* from = numbers_.data();
    session_->Present(&from, placing);
  }
  std::string Call(CallKind kind = CallKind::kForward) {
    return nlohmann::json::parse(session_->Call(kind, 0, 0, true)).at("end");
  }
  // Whether the shared inputs are what was presented last.
  bool InPlace() {
    const void* from = numbers_.data();
    return nlohmann::json::parse(session_->CheckInputs(&from)).at("inputs_changed").empty();
  }

 private:
  ScriptedDevice device_;
  std::vector<float> numbers_;
  std::unique_ptr<DeviceSession> session_;
};

// What waits on the device for a runner's outputs to be poisoned finds no inputs yet.
TEST(Session, InputsComeInTheCallSmallOnesBehindGo) {
  Script script;
  Held small(&script, 1000);
  small.Present(3);
  EXPECT_FALSE(small.InPlace());
  small.Call();
  EXPECT_TRUE(small.InPlace());
  small.Call(CallKind::kEmpty);
  EXPECT_FALSE(small.InPlace()) << "an empty call copies as much, and from elsewhere";
  small.Present(4);
  small.Call(CallKind::kTrace);
  EXPECT_TRUE(small.InPlace());
  small.Present(5, Placing::kNow);
  EXPECT_FALSE(small.InPlace());
  small.Call();
  EXPECT_TRUE(small.InPlace());
  small.Call(CallKind::kEmpty);
  EXPECT_EQ(script.late, std::vector<std::string>({"late", "late", "early", "both", "late"}));

  script.late.clear();
  Held large(&script, (int64_t{64} << 20) / 4 + 1);
  large.Call(CallKind::kEmpty);
  large.Present(3);
  EXPECT_FALSE(large.InPlace());
  large.Call();
  EXPECT_TRUE(large.InPlace());
  EXPECT_EQ(script.late, std::vector<std::string>({"nothing", "early"}));
}

TEST(Session, WhereTheDeviceIsNotHeldAllInputsComeBeforeGo) {
  Script script;
  Held small(&script, 1000, false);
  small.Call(CallKind::kEmpty);
  small.Present(3);
  small.Call();
  EXPECT_TRUE(small.InPlace());
  EXPECT_EQ(script.late, std::vector<std::string>({"nothing", "early"}));
}

// The reference gets what the candidate's call has found in the memory that both share.
TEST(Session, LargeInputsThatAreThereAreNotCopiedAgainAndSmallOnesComeInTheCallAllTheSame) {
  Script script;
  Held small(&script, 1000), large(&script, (int64_t{64} << 20) / 4 + 1);
  for (Held* held : {&small, &large}) {
    held->Present(3);
    held->Call();
    EXPECT_TRUE(held->InPlace());
    held->Present(4, Placing::kThere);
    EXPECT_FALSE(held->InPlace()) << "they were not there";
    held->Call();
  }
  EXPECT_TRUE(small.InPlace());
  EXPECT_FALSE(large.InPlace());
  large.Present(4, Placing::kNow);
  large.Call();
  EXPECT_TRUE(large.InPlace());
  EXPECT_EQ(script.late, std::vector<std::string>({"late", "late", "early", "nothing", "early"}));
}

// Nobody looks at what it writes.
TEST(Session, OutputsOfTheReferencesOwnProcessAreNotPoisoned) {
  Script script;
  Held(&script, 1000).Present(3);
  ScriptedDevice device(&script);
  const auto candidate = *DeviceSession::Create(&device, Layout(1000));
  int fds[4];
  ASSERT_TRUE(candidate->Share(nullptr, nullptr, 0, fds));
  const std::vector<float> numbers(1000);
  const void* from = numbers.data();
  candidate->Present(&from);
  EXPECT_EQ(script.poisoned, std::vector<size_t>({0, 1}));
}

TEST(Session, WhereOthersHaveTheDeviceAgainAndAgainInputsComeBefore) {
  Script script{.ends = {SpanEnd::kTooEarly, SpanEnd::kTooEarly, SpanEnd::kDone, SpanEnd::kTooEarly, SpanEnd::kTooEarly,
                         SpanEnd::kTooEarly, SpanEnd::kDone, SpanEnd::kDone}};
  Held held(&script, 1000);
  for (const SpanEnd end : script.ends) {
    held.Present(static_cast<float>(script.late.size() + 1));
    EXPECT_FALSE(held.InPlace());
    EXPECT_EQ(held.Call() == "too_early", end == SpanEnd::kTooEarly);
    EXPECT_TRUE(held.InPlace());
  }
  EXPECT_EQ(script.late, std::vector<std::string>({"late", "late", "late", "late", "late", "late", "both", "late"}))
      << "both after three in a row";
}

// A module's first call may make what later ones need, a workspace or packed weights, in the memory that it shares.
TEST(Session, WhatTheFirstCallKeepsInTheArenaIsLeftAloneEvenIfTheCallIsMadeAgain) {
  Script script{.ends = {SpanEnd::kTooEarly, SpanEnd::kTooEarly}};
  ScriptedDevice device(&script);
  constexpr int64_t kElements = 1000;
  constexpr size_t kArena = size_t{1} << 20, kPlace = 4096, kKept = kArena / 2;
  const auto session = *DeviceSession::Create(&device, Layout(kElements));
  int fds[4];
  ASSERT_TRUE(session->Share(nullptr, nullptr, kArena, fds));
  session->Attach(0, Fd());
  const auto map = [](int fd, size_t bytes) {
    void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    KB_CHECK(mapped != MAP_FAILED);
    return mapped;
  };
  auto* bell = static_cast<Doorbell*>(map(fds[0], kDoorbellBytes));
  auto* arena = static_cast<volatile uint32_t*>(map(fds[2], kArena));
  const std::vector<float> numbers(kElements);
  const void* from = numbers.data();
  const size_t output = kPlace / sizeof *arena, kept = kKept / sizeof *arena;
  const auto call = [&](ReportStatus status) {
    Report report{.status = status};
    if (status == ReportStatus::kOk) report.outputs = {{kFloat, {kElements}, kPlace}};
    const std::string bytes = EncodeReport(report);
    std::memcpy(bell->report, bytes.data(), bytes.size());
    bell->report_size = static_cast<uint32_t>(bytes.size());
    EXPECT_EQ(nlohmann::json::parse(session->Call(CallKind::kForward, 0, 0, true)).at("end"), "too_early");
    arena[output] = 7;
    arena[kept] = 7;
    session->Present(&from);
  };

  session->Present(&from);
  EXPECT_NE(arena[output], 0u);
  const uint32_t poison = arena[output];
  EXPECT_EQ(arena[kept], poison) << "before the first call all of it is poisoned";
  call(ReportStatus::kRaised);
  EXPECT_EQ(arena[kept], poison) << "where the outputs will be is not known yet";
  call(ReportStatus::kOk);
  EXPECT_EQ(arena[output], poison) << "they are poisoned anew, and alike: outputs come back to places";
  EXPECT_EQ(arena[kept], 7u) << "and nothing else";
  EXPECT_EQ(script.cold, std::vector<size_t>({0, 0, 1})) << "every place that was named";
  munmap(bell, kDoorbellBytes);
  munmap(const_cast<uint32_t*>(arena), kArena);
}

}  // namespace
}  // namespace kb
