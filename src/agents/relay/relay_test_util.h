// A relay on a socket of its own, and an owner that keeps what it is told.
#ifndef AGENTS_RELAY_RELAY_TEST_UTIL_H_
#define AGENTS_RELAY_RELAY_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agents/relay/relay.h"
#include "base/temp_dir.h"
#include "model/test_server.h"
#include "model/test_streams.h"

namespace kb {

inline constexpr char kRelayKey[] = "sk-test-0123456789abcdef";

class TestOwner : public RelayOwner {
 public:
  std::optional<std::string> Admit(const RelayCall& call) override {
    if (wait_) wait_(call);
    const std::lock_guard lock(mutex_);
    admitted_.push_back(call);
    return over_;
  }
  void Told(RelayCall call) override {
    const std::lock_guard lock(mutex_);
    told_.push_back(std::move(call));
  }
  std::vector<RelayCall> admitted() const {
    const std::lock_guard lock(mutex_);
    return admitted_;
  }
  std::vector<RelayCall> told() const {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  // What Admit() does first; before there are calls.
  void Wait(std::function<void(const RelayCall&)> wait) { wait_ = std::move(wait); }
  void End(std::string why) {
    const std::lock_guard lock(mutex_);
    over_ = std::move(why);
  }

 private:
  std::function<void(const RelayCall&)> wait_;
  mutable std::mutex mutex_;
  std::vector<RelayCall> admitted_, told_;
  std::optional<std::string> over_;
};

class RelayTest : public testing::Test {
 protected:
  RelayTest() {
    for (const char* name : {"http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY"}) unsetenv(name);
    setenv("KB_TEST_KEY", kRelayKey, 1);
  }
  // Ends relay and provider at the end of a test's scope: before what its handler refers to goes.
  struct Running {
    explicit Running(RelayTest* of) : test(of) {}
    Running(const Running&) = delete;  // one end
    Running& operator=(const Running&) = delete;
    ~Running() {
      test->relay_.reset();
      test->provider_.reset();
    }
    RelayTest* test;
  };
  // In front of a provider that answers so.
  [[nodiscard]] Running Start(Wire wire, TestServer::Handler handler,
                              const std::function<void(RelayOptions*)>& change = {}) {
    provider_.emplace(std::move(handler));
    owner_.emplace();
    RelayOptions options{.settings = QuickSettings(wire, provider_->url()), .socket = socket()};
    if (change) change(&options);
    auto relay = Relay::Start(std::move(options), &*owner_);
    KB_CHECK(relay);
    relay_ = std::move(*relay);
    return Running(this);
  }
  std::filesystem::path socket() const { return folder_->path() / "model.sock"; }

  const Result<TempDir> folder_ = TempDir::Create("kernelbench-relay");
  std::optional<TestServer> provider_;
  std::optional<TestOwner> owner_;
  std::unique_ptr<Relay> relay_;
};

}  // namespace kb

#endif  // AGENTS_RELAY_RELAY_TEST_UTIL_H_
