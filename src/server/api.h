// The HTTP API (docs/reference/api.md): who may ask what, and what a desk says to it. One table describes every route;
// requests are checked by it, and /openapi.json is made of it.
#ifndef SERVER_API_H_
#define SERVER_API_H_

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "prompt/prompt.h"
#include "server/access.h"
#include "server/ask.h"
#include "server/desk.h"
#include "server/faces/openenv.h"
#include "server/fields.h"
#include "server/http_server.h"
#include "server/identity.h"
#include "server/reward.h"
#include "server/timers.h"
#include "server/turns.h"
#include "server/workers.h"

namespace kb {
class Pages;
}

namespace kb::server {

class Api;
class Mcp;
struct PageStream;

extern const Field kFrom;                 // a query: the first event that is wanted
inline constexpr double kMostWait = 600;  // seconds that a request may wait for an end

// One request, found to be for a route, from a client who may.
struct Call {
  Client client;
  HttpHead head;
  std::map<std::string, std::string> path;  // by name: {id}
  nlohmann::json query, body;               // checked
  std::string text;                         // the body, of a raw route
  std::shared_ptr<HttpResponder> responder;
};

struct Route {
  const char* method;
  const char* path;  // "/v1/evaluations/{id}"; {name...} takes what has slashes, too
  const char* operation;
  const char* summary;
  const char* right;  // that a client needs; nullptr: anyone may, without a token
  std::vector<Field> query;
  const Table* body;          // nullptr: none
  const Table* answer;        // nullptr: not JSON
  std::vector<int> statuses;  // besides 200, and those that every route may answer
  std::function<void(Api& api, Call call)> handle;
  bool raw = false;  // `handle` is given the body as it came, in Call::text: it has its own words for one that is wrong
};

struct ApiOptions {
  std::string version;
  std::vector<std::string> devices;
  AccessOptions access;
  std::vector<Reward> rewards;
  Identity identity;
  Installation installation;
  std::function<Result<std::string>(const std::string& run)>
      scores;                              // of a run: JSON of docs/reference/scores.md; on any thread
  std::shared_ptr<Pages> pages = nullptr;  // none: GET /v1/pages/... is 404
  bool pages_show_all = false;             // also to clients who lack the right admin
};

class Api : public HttpServer::Handler {
 public:
  // `desk` and `store` outlive it.
  Api(ApiOptions options, std::shared_ptr<const OrderReader> reader, Desk* desk, Store* store);

  std::variant<size_t, HttpAnswer> Accept(const HttpHead& head) override;
  void Handle(HttpRequest request, std::shared_ptr<HttpResponder> responder) override;
  // As the client of `call` asks its own requests: its token counts, and its rights. For what speaks another protocol
  // (server/faces).
  ApiAsk AskAs(const Call& call);
  // Since the last request, or the start.
  double idle_s() const { return static_cast<double>(NowNs() - last_request_ns_) / 1e9; }
  // Answers what waits with 503, and waits for what is being answered.
  void Stop() {
    stopping_ = true;
    workers_.Stop();
  }

  static const std::vector<Route>& Routes();

 private:
  // The two parts of Routes().
  static std::vector<Route> OwnRoutes();
  static std::vector<Route> FaceRoutes();
  // Who asks, and may; or what is answered to others.
  std::variant<Client, HttpAnswer> Admit(const Route& route, const HttpHead& head);
  void Dispatch(HttpRequest request, const std::shared_ptr<HttpResponder>& responder);

  void GetHealth(Call call);
  void GetMetrics(Call call);
  void GetOpenApi(Call call);
  void PostEvaluation(Call call);
  void GetEvaluation(Call call);
  void GetEvents(Call call);
  void DeleteEvaluation(Call call);
  void PostCompilation(Call call);
  void GetCompilation(Call call);
  void PostProfile(Call call);
  void GetProfile(Call call);
  void PostLease(Call call);
  void GetLease(Call call);
  void DeleteLease(Call call);
  void PostBatch(Call call);
  void GetBatch(Call call);
  void DeleteBatch(Call call);
  void GetRewards(Call call);
  void PostRewards(Call call);
  void GetProblems(Call call);
  void GetProblem(Call call);
  void GetProtocols(Call call);
  void GetRuns(Call call);
  void GetService(Call call);
  void GetPrompts(Call call);
  void GetPrompt(Call call);
  void GetEvaluations(Call call);
  void GetEntries(Call call);
  void GetEntry(Call call);
  void PostMcp(Call call);  // faces/mcp_http.cc
  void GetScores(Call call);
  void AnswerOpenEnv(Call call);
  void GetPageFile(Call call);
  void GetPageDocument(Call call);
  void AnswerPageDocument(const Call& call);
  void GetPageEvents(Call call);
  void TellPages(const std::shared_ptr<PageStream>& stream);
  bool TellChanges(PageStream* stream);

  Result<Prompt> MakePrompt(const Call& call) const;

  Result<Order> ReadOrder(const Call& call, const nlohmann::json& request);
  // The ids of what was accepted, or nothing, and the refusal is sent.
  std::optional<std::vector<std::string>> Take(const Call& call, const nlohmann::json& requests,
                                               const std::string& batch, Order::Kind kind = Order::Kind::kEvaluate);
  void AnswerBatch(const Call& call, double wait_s);
  void Answer(const Call& call, double wait_s, const std::string& id);
  // Of one that is not kept, whose answer `shape` makes of the whole view.
  using Shape = nlohmann::json (*)(const nlohmann::json& view);
  void TakeUnkept(const Call& call, nlohmann::json request, Shape shape, Order::Kind kind);
  void AnswerShaped(const Call& call, double wait_s, const std::string& id, Shape shape);
  // `of_held`: the status, where it is that.
  void AnswerLease(const Call& call, const std::string& id, double wait_s, bool until_held, int of_held);
  // Whether it is one; else the refusal is sent.
  bool Is(Order::Kind kind, const Call& call);
  struct Listening {
    std::string id;
    uint64_t number;  // Desk::Forget()
  };
  // When the client goes away before its answer is whole.
  void ForgetWhenGone(const Call& call, std::vector<Listening> listening);

  const ApiOptions options_;
  const std::shared_ptr<const OrderReader> reader_;
  Desk* const desk_;
  Store* const store_;
  Access access_;
  const std::shared_ptr<Mcp> mcp_;
  std::atomic<int64_t> last_request_ns_ = NowNs();
  std::atomic<bool> stopping_ = false;
  std::atomic<int> scoring_ = 0;     // runs
  std::atomic<int> extracting_ = 0;  // requests with long answers
  // A browser has no more than 6 connections to one service, and few of the workers make documents.
  ClientLimit page_streams_{64, 4};
  Turns page_turns_{6, 2, 16};
  std::atomic<size_t> waiting_bytes_ = 0;  // of bodies that wait for a worker or are being handled
  Workers workers_;
  Timers page_timers_;
  OpenEnv openenv_{[this](std::function<void()> work) { return workers_.Do(std::move(work)); }};
};

// What GET /v1/service answers.
nlohmann::json ServiceJson(const Desk& desk, const Identity& identity);

// The OpenAPI 3.1 document of the routes.
nlohmann::json OpenApi(const std::vector<Route>& routes, const std::string& version);

}  // namespace kb::server

#endif  // SERVER_API_H_
