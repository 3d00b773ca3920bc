// A desk over a judge that its test holds up.
#ifndef SERVER_DESK_TEST_UTIL_H_
#define SERVER_DESK_TEST_UTIL_H_

#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/service_test_util.h"

namespace kb::server {

inline constexpr double kLong = 600;

// The judge waits in it until it is opened.
class Gate {
 public:
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Pass() {
    std::unique_lock lock(mutex_);
    ++came_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  // Until so many have come.
  void Await(int came) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return came_ >= came; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int came_ = 0;
};

class DeskTest : public ServiceTest {
 protected:
  // Every candidate waits in the gate, while it is judged.
  void JudgeBehind(Gate* gate) {
    judging_.judge = [gate](const kb::Request&) -> Result<Evaluation> {
      gate->Pass();
      return Evaluation();
    };
  }
  // What is told of it when it has ended.
  static Result<nlohmann::json> End(Desk* desk, const std::string& id, const std::string& client = "ann",
                                    bool whole = false) {
    std::promise<Result<nlohmann::json>> told;
    desk->Await(client, id, kLong, whole, [&](Result<nlohmann::json> view) { told.set_value(std::move(view)); });
    return told.get_future().get();
  }
  static std::string StateOf(Desk* desk, const std::string& id, const std::string& client = "ann") {
    const auto view = desk->Find(client, id, false);
    return view ? view->at("state").get<std::string>() : view.error().message;
  }
  // Names of the events from number `from` on, with their numbers, until the last.
  static std::vector<std::string> EventsOf(Desk* desk, const std::string& id, size_t from) {
    const auto names = std::make_shared<std::vector<std::string>>();
    const auto ended = std::make_shared<std::promise<void>>();
    const auto watching = desk->Watch("ann", id, from, [names, ended](size_t at, const Event& event) {
      names->push_back(std::to_string(at) + " " + event.name);
      if (event.last) ended->set_value();
      return !event.last;
    });
    EXPECT_TRUE(watching) << watching.error().message;
    ended->get_future().wait();
    return *names;
  }
  int Judged(const std::string& source) {
    const std::lock_guard lock(judging_.mutex);
    return judging_.judged[source];
  }
};

}  // namespace kb::server

#endif  // SERVER_DESK_TEST_UTIL_H_
