#include "wire/ordered/ordered_route.h"

#include <utility>

#include "base/there_are.h"
#include "wire/api/calls.h"
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

// Gives an answer that needs no work on a table: an error, or the tables' names.
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
    const ApiLine* line = find_api_call(request.method, target->segments);
    if (line == nullptr) return not_there(request, *target);
    if (line->call == ApiCall::kListOrderedTables) return std::make_unique<FixedAnswer>(tables_);
    // One document for each I/O thread: parsing again reuses its memory.
    thread_local JsonDocument document;
    const auto body = document.parse(request.body.empty() ? std::string_view("{}") : request.body);
    if (!body) return std::make_unique<FixedAnswer>(body.error());
    auto asked = ordered::read_request(line->call, *body);
    if (asked.error) return std::make_unique<FixedAnswer>(std::move(*asked.error));
    return std::make_unique<OrderedExchange>(tables_, std::move(target->segments[1]), std::move(asked));
  }

 private:
  static std::unique_ptr<Exchange> not_there(const HttpRequest& request, const Target& target) {
    const std::string allowed = api_methods(target.segments);
    if (!allowed.empty()) return answer_with_response(method_not_allowed(request, allowed));
    return std::make_unique<FixedAnswer>(Error{ErrorCode::kNotFound,
                                               request.method + " " + shown_path(request.target) +
                                                   " is not part of the API of ordered writes (docs/ordered-writes.md)",
                                               nullptr});
  }

  OrderedDirectory& tables_;
};

}  // namespace

std::unique_ptr<Route> make_ordered_route(OrderedDirectory& tables) {
  return std::make_unique<OrderedRoute>(tables);
}

}  // namespace freshet
