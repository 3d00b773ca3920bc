// Has tasks judged by a service of the same user, over its Unix socket. Nothing is kept there: results come back here.
#ifndef SERVER_REMOTE_EXECUTOR_H_
#define SERVER_REMOTE_EXECUTOR_H_

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "base/interrupt.h"
#include "jobs/executor.h"
#include "server/http_client.h"

namespace kb::server {

class RemoteExecutor : public Executor {
 public:
  RemoteExecutor(std::filesystem::path socket, ExecutorCalls calls);
  RemoteExecutor(const RemoteExecutor&) = delete;  // threads refer to it
  RemoteExecutor& operator=(const RemoteExecutor&) = delete;
  ~RemoteExecutor() override { Stop(); }

  void Submit(Task task) override;
  bool Cancel(int64_t id) override;
  void Drain() override;
  void Interrupt() override;
  bool interrupted() const override { return interrupted_ || Interrupted(); }
  // What the service has not begun is taken back; what it judges is lost.
  void Stop() override;
  std::vector<DeviceTime> Times() const override { return {}; }

 private:
  void Work();
  void Judge(const Task& task, HttpClient* client);

  const std::filesystem::path socket_;
  const ExecutorCalls calls_;
  std::atomic<bool> interrupted_ = false;  // by Interrupt()
  std::atomic<bool> ending_ = false;       // that, or by Stop()
  std::mutex mutex_;
  std::condition_variable changed_;
  TaskQueue queue_;
  size_t open_ = 0, idle_ = 0;
  std::mutex telling_;  // held while the caller's functions are called
  std::vector<std::thread> threads_;
};

}  // namespace kb::server

#endif  // SERVER_REMOTE_EXECUTOR_H_
