// A few threads that do what the io thread must not wait for.
#ifndef SERVER_WORKERS_H_
#define SERVER_WORKERS_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace kb::server {

class Workers {
 public:
  explicit Workers(int threads, size_t most_waiting);
  Workers(const Workers&) = delete;  // owns threads
  Workers& operator=(const Workers&) = delete;
  ~Workers() { Stop(); }

  // False: too much waits already, or it has stopped. Work that throws is said on stderr.
  bool Do(std::function<void()> work);
  void Stop();  // when all that waits is done

 private:
  void Run();

  const size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace kb::server

#endif  // SERVER_WORKERS_H_
