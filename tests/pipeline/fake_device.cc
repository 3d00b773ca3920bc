#include "fake_device.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <utility>

#include "base/random.h"
#include "device/authorship.h"
#include "kernelbench/kernel.h"
#include "wire/doorbell.h"

namespace kb::pipeline {
namespace {

using ops::Json;

constexpr int64_t kSide = 64, kElements = kSide * kSide, kPage = 4096;
constexpr int64_t kBytes = kElements * sizeof(float);

Json Parsed(const char* text) { return Json::parse(text); }

using Operation = std::function<Json(FakeDevice*, const Json&)>;

template <typename Op>
std::pair<const std::string, Operation> Performs() {
  return {Op::kOp, [](FakeDevice* device, const Json& request) { return Json(device->Do(request.get<Op>())); }};
}

const std::map<std::string, Operation>& Operations() {
  using namespace ops;
  static const std::map<std::string, Operation> operations = {
      Performs<Hello>(),          Performs<LoadProblem>(),     Performs<Clocks>(),       Performs<MemoryTaken>(),
      Performs<Anchor>(),         Performs<Impostors>(),       Performs<Audit>(),        Performs<BeginSession>(),
      Performs<EndSession>(),     Performs<Share>(),           Performs<Attach>(),       Performs<ReferenceSource>(),
      Performs<ShareReference>(), Performs<AttachReference>(), Performs<EndReference>(), Performs<CallReference>(),
      Performs<Call>(),           Performs<ops::Observe>(),    Performs<SetWeights>(),   Performs<Draw>(),
      Performs<Present>(),        Performs<CheckInputs>(),     Performs<Baseline>(),     Performs<Expect>(),
      Performs<ops::Compare>(),   Performs<Flush>(),           Performs<KeepOutputs>(),  Performs<OutputsEqualKept>()};
  return operations;
}

}  // namespace

ops::Hello::Reply HelloReply(int threads) {
  ops::DeviceFacts facts;
  facts.name = "a fake CPU";
  facts.flush = "all caches";
  facts.torch = facts.build.version = "2.9.0";
  facts.python = "3.12.0";
  facts.cores = threads;
  facts.last_level_cache = 1 << 20;
  facts.copy_gb_s = 10;
  facts.rates = {{"fp32", 0.1}};
  facts.build.standard = "c++20";
  return facts;
}

ops::LoadProblem::Reply ProblemReply(const std::vector<uint64_t>& weight_seeds) {
  const ops::Tensor tensor{.dtype = {KB_FLOAT, 32, 1},
                           .shape = {kSide, kSide},
                           .strides = {kSide, 1},
                           .offset = 0,
                           .bytes = kBytes,
                           .name = ""};
  const Json none = Json::array(), keywords = {{"dict", none}};
  ops::Problem problem;
  problem.form.inputs = problem.form.outputs = {tensor};
  problem.form.structure = {{"tuple", {{{"list", {{{"tensor", 0}}}}}, keywords}}};
  problem.form.init = {{"tuple", {{{"list", none}}, keywords}}};
  problem.form.output_structure = {{"tensor", 0}};
  problem.form.scalars = problem.form.init_scalars = none;
  problem.form.construct_on = "cpu";
  problem.fresh = problem.roomy = true;
  problem.weight_seeds = weight_seeds;
  problem.distributions = {"centred", "scaled", "sparse", "structured"};
  return problem;
}

FakeDevice::FakeDevice(int threads) : threads_(threads), device_(MakeCpuDevice(threads)) {}

Json FakeDevice::Perform(const Json& request, std::vector<Fd> fds) {
  received_ = std::move(fds);
  shared_.clear();
  return Operations().at(request.at("op"))(this, request);
}

ops::Hello::Reply FakeDevice::Do(const ops::Hello&) { return HelloReply(threads_); }

ops::LoadProblem::Reply FakeDevice::Do(const ops::LoadProblem& request) {
  ++evaluations_;
  session_.reset();
  problem_ = std::filesystem::path(request.path).filename();
  weight_seeds_ = request.weight_seeds;
  ops::LoadProblem::Reply reply = ProblemReply(weight_seeds_);
  reply.fresh = std::exchange(loaded_, Json(request).dump()) != loaded_;
  reply.sha256 = request.sha256;
  return reply;
}

ops::Clocks::Reply FakeDevice::Do(const ops::Clocks&) { return {}; }
ops::MemoryTaken::Reply FakeDevice::Do(const ops::MemoryTaken&) { return {}; }
ops::Anchor::Reply FakeDevice::Do(const ops::Anchor&) { return {.judgeable = true, .notes = {}}; }
ops::Impostors::Reply FakeDevice::Do(const ops::Impostors&) { return {}; }
ops::Audit::Reply FakeDevice::Do(const ops::Audit&) {
  return {.failures = {}, .notes = {}, .worst = Json::object(), .budgets = Json::object(), .peak_bytes = {}};
}
// Nothing is frozen: a runner that a busy machine does not stop in time must not end a test.
static std::unique_ptr<DeviceSession> SessionWithout(std::set<std::string> without, Device* device) {
  const ops::ProblemForm form = ProblemReply({}).form;
  ops::Layout layout{.inputs = form.inputs, .outputs = form.outputs, .parameters = {}};
  layout.inputs_bytes = layout.outputs_bytes = kBytes + kPage;
  layout.without = std::move(without);
  layout.without.insert("freeze");
  auto session = DeviceSession::Create(device, layout);
  KB_CHECK(session.has_value());
  return std::move(*session);
}

ops::BeginSession::Reply FakeDevice::Do(const ops::BeginSession& request) {
  session_ = SessionWithout(request.without, device_.get());
  return {};
}

ops::EndSession::Reply FakeDevice::Do(const ops::EndSession&) {
  session_.reset();
  return {};
}

ops::Share::Reply FakeDevice::Do(const ops::Share&) {
  shared_.resize(4);
  KB_CHECK(session_->Share(nullptr, nullptr, 0, shared_.data()).has_value());
  return {};
}

ops::Attach::Reply FakeDevice::Do(const ops::Attach& request) {
  session_->Attach(request.pid, std::move(received_.at(0)));
  return {};
}

// The reference's process is there, and nobody calls it: the clock says what it would.
ops::ShareReference::Reply FakeDevice::Do(const ops::ShareReference&) {
  reference_ = SessionWithout({}, device_.get());
  shared_.resize(4);
  KB_CHECK(reference_->Share(nullptr, nullptr, 0, shared_.data()).has_value());
  return {.room = true};
}

ops::ReferenceSource::Reply FakeDevice::Do(const ops::ReferenceSource& request) {
  return {.source = problem_ + " " + request.kind};
}

ops::AttachReference::Reply FakeDevice::Do(const ops::AttachReference&) { return {}; }

ops::EndReference::Reply FakeDevice::Do(const ops::EndReference&) {
  reference_.reset();
  return {};
}

ops::CallReference::Reply FakeDevice::Do(const ops::CallReference&) {
  return {.end = "done", .us = kEmptyUs, .report = ops::Said()};
}

ops::Call::Reply FakeDevice::Do(const ops::Call& request) {
  const auto kind = static_cast<CallKind>(request.kind);
  const auto timeout_ns = static_cast<int64_t>(request.timeout_us * 1e3);
  const bool clocked = kind == CallKind::kForward;
  auto called = Parsed(session_->Call(kind, request.argument, timeout_ns, clocked)).get<ops::Called>();
  called.us = clocked ? kEmptyUs + kCandidateUs : kind == CallKind::kEmpty ? kEmptyUs : kLoadUs;
  called.waited_us = called.surely_waited_us = 0;
  return called;
}

// Two hundred samples of the candidate's own code.
ops::Observe::Reply FakeDevice::Do(const ops::Observe& request) {
  const Json custom = request.settings.at("custom");
  const OriginRules rules{custom.get<std::map<std::string, std::string>>()};
  Authorship authorship;
  const std::string file = custom.empty() ? "" : custom.begin().key();
  authorship.AddCall(std::vector<CodeSample>(200, {.stop = 1, .ran_ns = 1000, .path = file}), rules);
  return {.end = "done", .us = kCandidateUs, .stops = 200, .refused = "", .authorship = authorship.ToJson()};
}

ops::SetWeights::Reply FakeDevice::Do(const ops::SetWeights& request) {
  return {.seed = weight_seeds_.at(static_cast<size_t>(request.index) % weight_seeds_.size())};
}

ops::Draw::Reply FakeDevice::Do(const ops::Draw& request) {
  std::mt19937_64 random(request.seed ? static_cast<uint64_t>(*request.seed) : RandomBits());
  distribution_ = request.distribution;
  std::uniform_real_distribution<float> values(distribution_ == "natural" ? 0.0F : -1.0F, 1.0F);
  input_.resize(kElements);
  for (float& value : input_) value = values(random);
  return {.rng_seed = RandomBits() >> 8};
}

ops::Present::Reply FakeDevice::Do(const ops::Present&) {
  const void* from = input_.data();
  session_->Present(&from);
  return {};
}

ops::CheckInputs::Reply FakeDevice::Do(const ops::CheckInputs&) {
  const void* from = input_.data();
  return Parsed(session_->CheckInputs(&from)).get<ops::CheckInputs::Reply>();
}

ops::Baseline::Reply FakeDevice::Do(const ops::Baseline&) {
  return {.us = kEmptyUs + kBaselineUs, .end = "done", .report = ops::Said()};
}

ops::Expect::Reply FakeDevice::Do(const ops::Expect&) {
  expected_ = input_;
  for (float& value : expected_) value = std::max(value, 0.0F);
  return {};
}

ops::Compare::Reply FakeDevice::Do(const ops::Compare& request) {
  const void* expected = expected_.data();
  void* budget = nullptr;
  Json compared = Parsed(session_->CompareOutputs(&expected, &budget, ToleranceOf(request.tolerance)));
  compared.at(0)["dtype"] = "float32";
  return {.outputs = compared, .late = !session_->SecretsHold()};
}

ops::Flush::Reply FakeDevice::Do(const ops::Flush&) { return {}; }

ops::KeepOutputs::Reply FakeDevice::Do(const ops::KeepOutputs&) {
  KB_CHECK(session_->KeepOutputs().has_value());
  return {};
}

ops::OutputsEqualKept::Reply FakeDevice::Do(const ops::OutputsEqualKept&) {
  return {.equal = session_->OutputsEqualKept()};
}

}  // namespace kb::pipeline
