#include "wire/ordered/ordered_route.h"

#include <utility>

#include "base/there_are.h"
#include "wire/http/own_error.h"
#include "wire/http/target.h"
#include "wire/ordered/requests.h"
#include "wire/tasks/answers.h"

namespace freshet {
namespace {

// One request: finds its table, lets the call work on it, answers with what it filled in.
class OrderedExchange final : public Exchange {
 public:
  OrderedExchange(OrderedDirectory& tables, std::string table, ordered::Asked asked)
      : tables_(tables), name_(std::move(table)), asked_(std::move(asked)) {}

  Async<void> run() override {
    OrderedWrites* table = tables_.find(name_);
    if (table != nullptr) return asked_.call(*table, answer_);
    const auto all = tables_.names();
    answer_.what = Error{ErrorCode::kNotFound,
                         "there is no table with ordered writes '" + name_ + "'; " +
                             (all.empty() ? "define one with --ordered-writes FILE" : there_are(all)),
                         nullptr};
    return {};
  }
  HttpResponse respond() override { return ordered::write_answer(answer_); }

 private:
  OrderedDirectory& tables_;
  const std::string name_;
  const ordered::Asked asked_;
  ordered::Answer answer_;
};

// Says the same whatever tables there are: an error, or their names.
class FixedAnswer final : public Exchange {
 public:
  explicit FixedAnswer(Error error) : error_(std::move(error)) {}
  explicit FixedAnswer(OrderedDirectory& tables) : tables_(&tables) {}
  Async<void> run() override {
    if (tables_ != nullptr) names_ = tables_->names();
    return {};
  }
  HttpResponse respond() override {
    return error_ ? tasks::error_answer(*error_) : tasks::json_answer(tasks::names_json(names_, "tables"));
  }

 private:
  std::optional<Error> error_;
  OrderedDirectory* tables_ = nullptr;
  std::vector<std::string> names_;
};

class OrderedRoute final : public Route {
 public:
  explicit OrderedRoute(OrderedDirectory& tables) : tables_(tables) {}

  bool matches(const HttpRequest& request) const override {
    constexpr std::string_view kRoot = "/ordered";
    const std::string_view target = request.target;
    return target.substr(0, kRoot.size()) == kRoot &&
           (target.size() == kRoot.size() || target[kRoot.size()] == '/' || target[kRoot.size()] == '?');
  }

  std::unique_ptr<Exchange> accept(HttpRequest request) override {
    auto target = parse_target(request.target);
    if (!target) return std::make_unique<FixedAnswer>(target.error());
    if (request.method == "GET" && target->segments.size() == 1) return std::make_unique<FixedAnswer>(tables_);
    std::optional<ordered::Asked> asked;
    if (request.method == "POST" && target->segments.size() == 3) {
      // One document for each I/O thread: parsing again reuses its memory.
      thread_local JsonDocument document;
      const auto body = document.parse(request.body.empty() ? std::string_view("{}") : request.body);
      if (!body) return std::make_unique<FixedAnswer>(body.error());
      asked = ordered::read_request(target->segments[2], *body);
    }
    if (!asked) {
      if (const auto allowed = allowed_at(*target); !allowed.empty()) {
        return answer_with_response(method_not_allowed(request, allowed));
      }
      return std::make_unique<FixedAnswer>(
          Error{ErrorCode::kNotFound,
                request.method + " " + shown_path(request.target) +
                    " is not part of the API of ordered writes (docs/ordered-writes.md)",
                nullptr});
    }
    if (asked->error) return std::make_unique<FixedAnswer>(std::move(*asked->error));
    return std::make_unique<OrderedExchange>(tables_, std::move(target->segments[1]), std::move(*asked));
  }

 private:
  // The methods that the target allows, or "".
  static std::string_view allowed_at(const Target& target) {
    JsonDocument document;
    const auto body = document.parse("{}");
    const bool posts = target.segments.size() == 3 && ordered::read_request(target.segments[2], *body).has_value();
    return allowed_methods(target.segments.size() == 1, posts);
  }

  OrderedDirectory& tables_;
};

}  // namespace

std::unique_ptr<Route> make_ordered_route(OrderedDirectory& tables) {
  return std::make_unique<OrderedRoute>(tables);
}

}  // namespace freshet
