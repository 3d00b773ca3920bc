// Leases: devices of this machine that clients use without the judge. And what the service says of itself.
#include <unistd.h>

#include <algorithm>

#include "server/api.h"
#include "server/evaluation_view.h"

namespace kb::server {

using nlohmann::json;

namespace {

json LeaseOf(const json& view) {
  const json& lent = view.at("lent");
  const json& asked = view.at("client_data");
  const bool held = lent.is_object() && !HasEnded(view);
  return {{"id", view.at("id")},
          {"state", HasEnded(view) ? "over"
                    : held         ? "held"
                                   : "queued"},
          {"device", lent.is_object() ? lent.at("device") : json()},
          {"cores", lent.is_object() ? lent.at("cores") : json::array()},
          {"holder", asked.at("holder")},
          {"seconds", asked.at("seconds")},
          {"memory_share", asked.at("memory_share")},
          {"error", view.at("error")}};
}

}  // namespace

// It is nobody's candidate: all that makes it an order is a place in the queue.
void Api::PostLease(Call call) {
  Order order{.kind = Order::Kind::kLend, .lease = LeaseTerms()};
  order.size = "standard";
  order.protocol = std::make_shared<const Protocol>();
  order.keep = false;
  LeaseTerms& terms = *order.lease;
  terms.seconds = call.body.value("seconds", terms.seconds);
  terms.memory_share = call.body.value("memory_share", terms.memory_share);
  order.request["client_data"] = {
      {"holder", call.body.value("holder", "")}, {"seconds", terms.seconds}, {"memory_share", terms.memory_share}};
  std::vector<Order> orders;
  orders.push_back(std::move(order));
  const auto ids = desk_->Take(call.client, std::move(orders));
  if (!ids) return call.responder->Send(AnswerOf(ids.error()));
  AnswerLease(call, ids->front(), call.query.value("wait", kMostWait), true, 201);
}

void Api::AnswerLease(const Call& call, const std::string& id, double wait_s, bool until_held, int of_held) {
  const auto answer = [responder = call.responder, of_held](const Result<json>& view) {
    if (!view) return responder->Send(AnswerOf(RefusalOf(view.error(), 404)));
    const json lease = LeaseOf(*view);
    const std::string state = lease["state"];
    responder->Send(JsonAnswer(lease, state == "queued" ? 202 : state == "held" ? of_held : 200));
  };
  ForgetWhenGone(call, {{id, desk_->Await(call.client.name, id, wait_s, false, answer, until_held)}});
}

void Api::GetLease(Call call) {
  if (!Is(Order::Kind::kLend, call)) return;
  const bool until_held = call.query.value("until", "over") == "held";
  AnswerLease(call, call.path["id"], call.query.value("wait", 0.0), until_held, 202);
}

json ServiceJson(const Desk& desk, const Identity& identity) {
  json leases = json::array();
  for (const json& view : desk.Leases()) leases.push_back(LeaseOf(view));
  return {{"pid", ::getpid()}, {"identity", identity}, {"open", desk.counts().Open()}, {"leases", std::move(leases)}};
}

void Api::GetService(Call call) { call.responder->Send(JsonAnswer(ServiceJson(*desk_, options_.identity))); }

void Api::DeleteLease(Call call) {
  if (!Is(Order::Kind::kLend, call)) return;
  (void)desk_->Cancel(call.client.name, call.path["id"], "its holder gave it back");
  AnswerLease(call, call.path["id"], 0, false, 202);
}

}  // namespace kb::server
