#include "app/fleet/unit_route.h"

#include <optional>
#include <utility>

#include "app/fleet/owner_answers.h"
#include "base/points.h"
#include "wire/http/target.h"

namespace freshet {
namespace {

struct UnitRouteParts {
  std::unique_ptr<Route> here;
  const UnitKind& kind;
  const std::set<ApiCall> anywhere;
  QueueUnits& units;
  MemberCalls& calls;
};

class UnitExchange final : public Exchange {
 public:
  UnitExchange(HttpRequest request, UnitRouteParts& parts) : request_(std::move(request)), parts_(parts) {}

  Async<void> run() override {
    auto target = parse_target(request_.target);
    if (!target || target->segments.size() < 2) return answer_here();
    const std::string& name = target->segments[1];
    const ApiLine* call = find_api_call(request_.method, target->segments);
    const bool is_for_any = call != nullptr && parts_.anywhere.contains(call->call) && parts_.units.is_accepted();
    const QueueUnits::Place place = parts_.units.place_of(parts_.kind, name);
    if (place.is == QueueUnits::Place::Is::kHere) return answer_here();
    const bool was_passed_on = !header(request_.headers, kForwardedBy).empty();
    const bool is_nowhere = place.is == QueueUnits::Place::Is::kNowhere;
    if (!is_nowhere && !was_passed_on) return pass_on(name, place.url, is_for_any);
    if (is_for_any && is_nowhere) {
      FRESHET_REACHED("a request for a queue that nobody serves is answered");
      return answer_here();
    }
    answer_ = nobody_serves(name);
    return {};
  }
  HttpResponse respond() override { return answer_ ? std::move(*answer_) : inner_->respond(); }

 private:
  Async<void> answer_here() {
    inner_ = parts_.here->accept(request_);
    return inner_->run();
  }
  Async<void> pass_on(std::string name, std::string url, bool is_for_any) {
    auto answer = co_await parts_.calls.pass_on(request_, url, parts_.units.id(), kLongestAnswer);
    if (answer) {
      answer_ = std::move(*answer);
    } else if (is_for_any && was_never_sent(answer.error())) {
      co_await answer_here();
    } else {
      answer_ = owner_gave_no_answer(name, url, answer.error());
    }
  }

  HttpRequest request_;
  UnitRouteParts& parts_;
  std::unique_ptr<Exchange> inner_;
  std::optional<HttpResponse> answer_;
};

class UnitRoute final : public Route {
 public:
  explicit UnitRoute(UnitRouteParts parts) : parts_(std::move(parts)) {}

  bool matches(const HttpRequest& request) const override { return parts_.here->matches(request); }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    return std::make_unique<UnitExchange>(std::move(request), parts_);
  }
  bool changes(const HttpRequest& request) const override { return parts_.here->changes(request); }
  bool is_slow() const override { return parts_.here->is_slow(); }

 private:
  UnitRouteParts parts_;
};

}  // namespace

std::unique_ptr<Route> make_unit_route(std::unique_ptr<Route> here, const UnitKind& kind, std::set<ApiCall> anywhere,
                                       QueueUnits& units, MemberCalls& calls) {
  return std::make_unique<UnitRoute>(UnitRouteParts{std::move(here), kind, std::move(anywhere), units, calls});
}

}  // namespace freshet
