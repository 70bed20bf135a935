#include "wire/http/simple_route.h"

#include <utility>

#include "wire/http/own_error.h"

namespace freshet {
namespace {

using Answer = std::function<Async<HttpResponse>(const HttpRequest&)>;

class SimpleExchange final : public Exchange {
 public:
  SimpleExchange(const Answer& answer, HttpRequest request) : answer_(answer), request_(std::move(request)) {}
  Async<void> run() override { response_ = co_await answer_(request_); }
  HttpResponse respond() override { return std::move(response_); }

 private:
  const Answer& answer_;
  const HttpRequest request_;
  HttpResponse response_;
};

class SimpleRoute final : public Route {
 public:
  SimpleRoute(std::string method, std::string path, Answer answer, SimpleRouteOptions options)
      : method_(std::move(method)), path_(std::move(path)), answer_(std::move(answer)), options_(options) {}
  bool matches(const HttpRequest& request) const override {
    const std::string_view target = request.target;
    return !(options_.post_elsewhere && request.method == "POST") && target.substr(0, target.find('?')) == path_;
  }
  bool changes(const HttpRequest& request) const override { return options_.get_changes || Route::changes(request); }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    if (request.method != method_) {
      const auto allowed = allowed_methods(method_ == "GET", method_ == "POST" || options_.post_elsewhere);
      return answer_with_response(method_not_allowed(request, allowed));
    }
    return std::make_unique<SimpleExchange>(answer_, std::move(request));
  }

 private:
  const std::string method_;
  const std::string path_;
  const Answer answer_;
  const SimpleRouteOptions options_;
};

}  // namespace

std::unique_ptr<Route> make_simple_route(std::string method, std::string path,
                                         std::function<Async<HttpResponse>(const HttpRequest&)> answer,
                                         SimpleRouteOptions options) {
  return std::make_unique<SimpleRoute>(std::move(method), std::move(path), std::move(answer), options);
}

}  // namespace freshet
