// The device process without PyTorch: its only problem is y = max(x, 0) on 64 x 64 numbers, positive ones where they
// are natural, whatever the text of the problem says; and its clock always says the same. All else is what
// device_host.py does with the device library: real runners are called, and what they wrote is compared.
#ifndef TESTS_PIPELINE_FAKE_DEVICE_H_
#define TESTS_PIPELINE_FAKE_DEVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "device/session.h"
#include "script.h"

namespace kb::pipeline {

// What device_host.py answers.
ops::Hello::Reply HelloReply(int threads);
ops::LoadProblem::Reply ProblemReply(const std::vector<uint64_t>& weight_seeds);

class FakeDevice {
 public:
  explicit FakeDevice(int threads);

  // The answer to a request with these descriptors; those of the answer are in shared(), until the next request.
  ops::Json Perform(const ops::Json& request, std::vector<Fd> fds);
  const std::vector<int>& shared() const { return shared_; }

  int evaluations() const { return evaluations_; }                   // begun so far: problems that were asked for
  const std::string& problem() const { return problem_; }            // the file name of the one that is loaded
  const std::string& distribution() const { return distribution_; }  // of the inputs that were drawn last

  ops::Hello::Reply Do(const ops::Hello&);
  ops::LoadProblem::Reply Do(const ops::LoadProblem& request);
  ops::Clocks::Reply Do(const ops::Clocks&);
  ops::MemoryTaken::Reply Do(const ops::MemoryTaken&);
  ops::Anchor::Reply Do(const ops::Anchor&);
  ops::Impostors::Reply Do(const ops::Impostors&);
  ops::Audit::Reply Do(const ops::Audit&);
  ops::BeginSession::Reply Do(const ops::BeginSession& request);
  ops::EndSession::Reply Do(const ops::EndSession&);
  ops::Share::Reply Do(const ops::Share&);
  ops::Attach::Reply Do(const ops::Attach& request);
  ops::ReferenceSource::Reply Do(const ops::ReferenceSource& request);
  ops::ShareReference::Reply Do(const ops::ShareReference&);
  ops::AttachReference::Reply Do(const ops::AttachReference&);
  ops::EndReference::Reply Do(const ops::EndReference&);
  ops::CallReference::Reply Do(const ops::CallReference&);
  ops::Call::Reply Do(const ops::Call& request);
  ops::Observe::Reply Do(const ops::Observe& request);
  ops::SetWeights::Reply Do(const ops::SetWeights& request);
  ops::Draw::Reply Do(const ops::Draw& request);
  ops::Present::Reply Do(const ops::Present&);
  ops::CheckInputs::Reply Do(const ops::CheckInputs&);
  ops::Baseline::Reply Do(const ops::Baseline&);
  ops::Expect::Reply Do(const ops::Expect&);
  ops::Compare::Reply Do(const ops::Compare& request);
  ops::Flush::Reply Do(const ops::Flush&);
  ops::KeepOutputs::Reply Do(const ops::KeepOutputs&);
  ops::OutputsEqualKept::Reply Do(const ops::OutputsEqualKept&);

 private:
  int threads_, evaluations_ = 0;
  std::unique_ptr<Device> device_;
  std::unique_ptr<DeviceSession> session_, reference_;
  std::string problem_, loaded_, distribution_;
  std::vector<uint64_t> weight_seeds_;
  std::vector<float> input_, expected_;
  std::vector<Fd> received_;
  std::vector<int> shared_;
};

}  // namespace kb::pipeline

#endif  // TESTS_PIPELINE_FAKE_DEVICE_H_
