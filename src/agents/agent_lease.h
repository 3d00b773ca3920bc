// A device that the judge's service lends to a command of an agent. Nothing is measured on it meanwhile.
#ifndef AGENTS_AGENT_LEASE_H_
#define AGENTS_AGENT_LEASE_H_

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "server/ask.h"

namespace kb {

class AgentLease {
 public:
  // One that is held. A request waits for its end from now on: when the process ends, that request does, and with it
  // the lease.
  AgentLease(server::ApiAsk ask, const std::string& id, std::string device, std::vector<int> cores);
  AgentLease(AgentLease&&) = default;
  AgentLease(const AgentLease&) = delete;  // one end
  AgentLease& operator=(const AgentLease&) = delete;
  ~AgentLease();  // GiveBack()

  const std::string& device() const { return device_; }     // as FindDevice() takes it
  const std::vector<int>& cores() const { return cores_; }  // its own; empty: it has none
  // Why the service has ended it; empty: it lasts. All that uses the device is to end then. On any thread.
  std::string Over() const;
  // When nothing uses it any more. The seconds for which it was held.
  double GiveBack();

 private:
  struct State;
  server::ApiAsk ask_;
  std::string id_, device_;
  std::vector<int> cores_;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::shared_ptr<State> state_;  // null: it is given back
  server::Forget forget_;
};

}  // namespace kb

#endif  // AGENTS_AGENT_LEASE_H_
