// How much of what one client wants goes on at the same time, so that it shuts out no other.
#ifndef SERVER_TURNS_H_
#define SERVER_TURNS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace kb::server {

// So many of something for all, and so many for each client. Thread-safe.
class ClientLimit {
 public:
  ClientLimit(int most, int most_each) : most_(most), most_each_(most_each) {}
  // False: there are too many. What is taken is given back.
  bool Take(const std::string& client);
  void Give(const std::string& client);

 private:
  const int most_, most_each_;
  std::mutex mutex_;
  int taken_ = 0;
  std::map<std::string, int> of_;
};

// Work of which so much goes on at the same time; the rest waits. Thread-safe.
class Turns {
 public:
  Turns(int most, int most_each, size_t most_waiting) : most_waiting_(most_waiting), limit_(most, most_each) {}
  // Does the work, and then what has waited; or it waits, and whoever is at work does it. False: that client has so
  // much waiting already. Work that throws is said on stderr.
  bool Do(const std::string& client, std::function<void()> work);

 private:
  struct Waiting {
    std::string client;
    std::function<void()> work;
  };
  // Ends a turn of that client. Without work: nothing may go on.
  Waiting Next(const std::string& client);

  const size_t most_waiting_;  // of each client
  std::mutex mutex_;
  ClientLimit limit_;
  std::deque<Waiting> waiting_;
};

}  // namespace kb::server

#endif  // SERVER_TURNS_H_
