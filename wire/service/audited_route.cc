#include "wire/service/audited_route.h"

#include <optional>
#include <utility>

#include "wire/auth/actor.h"
#include "wire/http/target.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

class AuditedExchange final : public Exchange {
 public:
  AuditedExchange(std::unique_ptr<Exchange> inner, AuditLog& log, AuditLine line)
      : inner_(std::move(inner)), log_(log), line_(std::move(line)) {}

  Async<void> run() override {
    auto added = co_await log_.add(std::move(line_));
    if (added) {
      co_await inner_->run();
    } else {
      error_ = std::move(added.error());
    }
  }
  HttpResponse respond() override { return error_ ? tasks::error_answer(*error_) : inner_->respond(); }

 private:
  const std::unique_ptr<Exchange> inner_;
  AuditLog& log_;
  AuditLine line_;
  std::optional<Error> error_;
};

class AuditedRoute final : public Route {
 public:
  AuditedRoute(std::unique_ptr<Route> inner, std::string what, AuditLog& log, bool is_signed)
      : inner_(std::move(inner)), what_(std::move(what)), log_(log), is_signed_(is_signed) {}
  bool matches(const HttpRequest& request) const override { return inner_->matches(request); }
  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    if (request.method == "GET" || request.method == "HEAD") return inner_->accept(std::move(request));
    AuditLine line{what_, actor_of(request, is_signed_), {}, request.method + " " + shown_path(request.target), {}, {}};
    auto exchange = inner_->accept(std::move(request));
    return std::make_unique<AuditedExchange>(std::move(exchange), log_, std::move(line));
  }
  bool changes(const HttpRequest& request) const override { return inner_->changes(request); }
  bool is_slow() const override { return inner_->is_slow(); }

 private:
  const std::unique_ptr<Route> inner_;
  const std::string what_;
  AuditLog& log_;
  const bool is_signed_;
};

}  // namespace

std::unique_ptr<Route> make_audited_route(std::unique_ptr<Route> inner, std::string what, AuditLog& log,
                                          bool is_signed) {
  return std::make_unique<AuditedRoute>(std::move(inner), std::move(what), log, is_signed);
}

}  // namespace freshet
