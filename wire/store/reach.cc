#include "wire/store/reach.h"

#include <utility>

namespace freshet::remote {

namespace {

constexpr milliseconds kAnswersWithin{2'000};

struct Question {
  Question(Scheduler& scheduler, size_t endpoints) : answered(scheduler), open(endpoints) {}
  Promise<bool> answered;  // By one of the endpoints, or by none.
  size_t open;             // Endpoints that may still answer.
  std::string why;
};

Async<void> ask(HttpClient& http, std::string endpoint, Question& question) {
  HttpRequest request;
  request.method = "GET";
  std::string url = endpoint + "/";
  auto answer = co_await http.send(std::move(url), std::move(request), kAnswersWithin);
  if (answer || (answer.error().code != ErrorCode::kTimeout && !was_never_sent(answer.error()))) {
    question.answered.set(true);
    co_return;
  }
  const std::string place = endpoint + ": ";
  const std::string& said = answer.error().message;
  question.why += (question.why.empty() ? "" : "; ") + (said.starts_with(place) ? said : place + said);
  if (--question.open == 0) question.answered.set(false);
}

}  // namespace

Async<Result<void>> reach(HttpClient& http, Scheduler& scheduler, std::vector<std::string> endpoints) {
  Question question(scheduler, endpoints.size());
  Scope asking;
  for (const std::string& endpoint : endpoints) asking.spawn(ask(http, endpoint, question));
  if (co_await question.answered.future()) co_return Result<void>();
  co_return fail(ErrorCode::kUnavailable, question.why);
}

}  // namespace freshet::remote
