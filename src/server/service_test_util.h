// A service without an engine: a store, problems, protocols and a judge that does what its test says.
#ifndef SERVER_SERVICE_TEST_UTIL_H_
#define SERVER_SERVICE_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/temp_dir.h"
#include "server/desk.h"

namespace kb::server {

// Judges at once, or as `judge` says.
struct Judging {
  std::function<Result<Evaluation>(const Request&)> judge;
  std::mutex mutex;
  std::map<std::string, int> judged;  // how often, by the candidate's source
  MemoryGauge memory;                 // of the device
};

class FakeJudge : public Judge {
 public:
  explicit FakeJudge(Judging* judging) : judging_(judging) {}
  Result<Prepared> Prepare(const Request& request) override { return Prepared{.request = request}; }
  Evaluation Unjudged(const Prepared&) override {
    Evaluation unjudged;
    unjudged.reason = "not judged";
    return unjudged;
  }
  Status AddLacking(Prepared*) override { return {}; }
  Status MakeReady(const Request&) override { return {}; }
  Result<Evaluation> Evaluate(Prepared* prepared, std::span<const Request* const>) override {
    const Request& request = prepared->request;
    {
      const std::lock_guard lock(judging_->mutex);
      ++judging_->judged[request.candidate.source];
    }
    Result<Evaluation> evaluation = judging_->judge ? judging_->judge(request) : Result<Evaluation>(Evaluation());
    if (!evaluation) return evaluation;
    static std::atomic<int> number = 0;
    evaluation->id = "e" + std::to_string(++number);
    evaluation->created = "2026-01-01T00:00:00Z";
    evaluation->problem = request.problem.name;
    return evaluation;
  }
  Result<Evaluation> Charge(const Request&, const Error& error) override { return tl::make_unexpected(error); }
  Status Lend(const std::function<void(const LentDevice&)>& use) override {
    use({.name = "cpu", .cores = {2, 3}, .memory = judging_->memory});
    return {};
  }

 private:
  Judging* const judging_;
};

inline constexpr char kProblem[] =
    "import torch\n\nSIZES = {\"small\": {}}\n\n\nclass Model(torch.nn.Module):\n    pass\n";

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() : dir_(TempDir::Create("kb-service-test").value()), store_(Store::Open(path("s.db")).value()) {
    WriteProblem("level1/19_ReLU.py", kProblem);
    reader_ = std::make_shared<const OrderReader>(path("problems"), std::string(KB_SOURCE_DIR) + "/protocols", "cpu");
  }
  std::filesystem::path path(const std::string& name) const { return dir_.path() / name; }
  void WriteProblem(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path("problems") / name).parent_path());
    EXPECT_TRUE(WriteFileAtomic(path("problems") / name, text, 0600));
  }
  std::unique_ptr<Desk> Open() {
    DeskOptions options;
    options.make_judge = [this](const std::string&, const Shares&) -> Result<std::shared_ptr<Judge>> {
      return std::make_shared<FakeJudge>(&judging_);
    };
    options.devices = {"cpu"};
    options.reader = reader_;
    auto desk = Desk::Open(std::move(options), &store_);
    EXPECT_TRUE(desk) << desk.error().message;
    return std::move(*desk);
  }
  static nlohmann::json Request(const std::string& source, const nlohmann::json& more = {}) {
    nlohmann::json request = {{"problem", "1/19"}, {"source", source}};
    if (more.is_object()) request.update(more);
    return request;
  }
  Order MakeOrder(const std::string& source, const nlohmann::json& more = {}) const {
    auto order = reader_->Read(Request(source, more), false);
    EXPECT_TRUE(order) << order.error().message;
    return order ? std::move(*order) : Order();
  }
  // Its id.
  std::string Take(Desk* desk, const std::string& source, const nlohmann::json& more = {},
                   const std::string& client = "ann") const {
    auto ids = desk->Take({.name = client}, {MakeOrder(source, more)});
    EXPECT_TRUE(ids) << ids.error().detail;
    return ids ? ids->at(0) : "";
  }

  TempDir dir_;
  Store store_;
  std::shared_ptr<const OrderReader> reader_;
  Judging judging_;
};

}  // namespace kb::server

#endif  // SERVER_SERVICE_TEST_UTIL_H_
