#include "app/fleet/topic_units.h"

#include <optional>
#include <utility>

#include "app/fleet/owner_answers.h"
#include "streams/topic_service.h"
#include "wire/http/request_ids.h"
#include "wire/sns/publish_form.h"

namespace freshet {

namespace {

Error nobody_serves_topic(const std::string& topic) {
  return {ErrorCode::kUnavailable, "no member of the fleet serves topic '" + topic + "' at the moment: try again",
          nullptr};
}

Error topic_owner_gave_no_answer(const std::string& topic, const std::string& url, const Error& error) {
  const std::string where = "the member that serves topic '" + topic + "' (" + url + ") ";
  if (was_never_sent(error)) {
    return {ErrorCode::kUnavailable, where + "cannot be reached: " + error.message, nullptr};
  }
  return {ErrorCode::kUnknownOutcome, where + "did not answer: " + error.message, nullptr};
}

class TopicExchange final : public Exchange {
 public:
  struct Parts {
    std::unique_ptr<Route> here;
    const TopicUnits& topics;
    QueueUnits& units;
    MemberCalls& calls;
    RequestIds ids;
  };
  TopicExchange(HttpRequest request, std::string topic, Parts& parts)
      : request_(std::move(request)), topic_(std::move(topic)), parts_(parts) {}

  Async<void> run() override {
    std::string topic = topic_;
    auto looking = parts_.topics.look_for(std::move(topic));
    return looking.is_ready() ? answer() : look_first(std::move(looking));
  }
  HttpResponse respond() override { return answer_ ? std::move(*answer_) : inner_->respond(); }

 private:
  Async<void> look_first(Async<void> looking) {
    co_await looking;
    co_await answer();
  }
  Async<void> answer() {
    const QueueUnits::Place place = parts_.units.place_of(parts_.topics, topic_);
    if (place.is == QueueUnits::Place::Is::kHere) return answer_here();
    const bool was_passed_on = !header(request_.headers, kForwardedBy).empty();
    if (place.is == QueueUnits::Place::Is::kThere && !was_passed_on) return pass_on(place.url);
    answer_ = query_refusal(nobody_serves_topic(topic_), parts_.ids.next());
    return {};
  }
  Async<void> answer_here() {
    inner_ = parts_.here->accept(request_);
    return inner_->run();
  }
  Async<void> pass_on(std::string url) {
    auto answer = co_await parts_.calls.pass_on(request_, url, parts_.units.id(), kLongestAnswer);
    if (answer) {
      answer_ = std::move(*answer);
    } else {
      answer_ = query_refusal(topic_owner_gave_no_answer(topic_, url, answer.error()), parts_.ids.next());
    }
  }

  HttpRequest request_;
  const std::string topic_;
  Parts& parts_;
  std::unique_ptr<Exchange> inner_;
  std::optional<HttpResponse> answer_;
};

class TopicRoute final : public Route {
 public:
  TopicRoute(std::unique_ptr<Route> here, const TopicUnits& topics, QueueUnits& units, MemberCalls& calls,
             uint64_t seed)
      : parts_{std::move(here), topics, units, calls, RequestIds(seed)} {}

  bool matches(const HttpRequest& request) const override { return parts_.here->matches(request); }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    std::string topic = published_fifo_topic(request);
    if (topic.empty()) return parts_.here->accept(std::move(request));
    return std::make_unique<TopicExchange>(std::move(request), std::move(topic), parts_);
  }
  bool changes(const HttpRequest& request) const override { return parts_.here->changes(request); }
  bool is_slow() const override { return parts_.here->is_slow(); }

 private:
  TopicExchange::Parts parts_;
};

}  // namespace

void TopicUnits::serve(const std::string& topic, bool is_mine) {
  runtime_.topic_service().serve(topic, is_mine);
}

bool TopicUnits::is_busy(const std::string& topic) const {
  return runtime_.topic_service().is_busy(topic);
}

void TopicUnits::topics_changed() {
  units_.set_units(*this, runtime_.topic_service().fifo_topics());
}

bool TopicUnits::may_serve(const std::string& topic) const {
  return units_.has_lease(*this, topic);
}

Async<Result<Published>> TopicUnits::publish(std::string topic, PublishInput input, MessageByProtocol by_protocol) {
  const QueueUnits::Place place = units_.place_of(*this, topic);
  if (place.is != QueueUnits::Place::Is::kThere) co_return fail(nobody_serves_topic(topic));
  HttpRequest request = publish_request(runtime_.account(), topic, input, by_protocol);
  auto answer = co_await calls_.publish(std::move(request), place.url, units_.id(), kLongestAnswer);
  if (!answer) co_return fail(topic_owner_gave_no_answer(topic, place.url, answer.error()));
  co_return published_in(*answer);
}

std::unique_ptr<Route> make_topic_route(std::unique_ptr<Route> here, const TopicUnits& topics, QueueUnits& units,
                                        MemberCalls& calls, uint64_t seed) {
  return std::make_unique<TopicRoute>(std::move(here), topics, units, calls, seed);
}

}  // namespace freshet
