#include "app/lab/real/daemon_api.h"

#include <nlohmann/json.hpp>

namespace freshet::lab {

namespace {

using Json = nlohmann::json;

constexpr seconds kCallPatience{30};
constexpr const char* kQueue = "/queues/QueueTable";

std::map<std::string, uint64_t> counts_of(const Json& document, const char* name) {
  std::map<std::string, uint64_t> out;
  const auto counts = document.find(name);
  if (counts == document.end() || !counts->is_object()) return out;
  for (const auto& [key, count] : counts->items()) out[key] = count.is_number_unsigned() ? count.get<uint64_t>() : 0;
  return out;
}

tl::unexpected<Error> unexpected_answer(const HttpResponse& answer) {
  return fail(ErrorCode::kInternal, "the daemon answered " + std::to_string(answer.status) + ": " + answer.body);
}

}  // namespace

Async<Result<HttpResponse>> DaemonApi::get(std::string target) {
  HttpRequest request;
  request.method = "GET";
  std::string url = base_ + target;
  auto answer = co_await http_.send(std::move(url), std::move(request), kCallPatience);
  if (!answer) co_return fail(answer.error());
  if (answer->status != 200) co_return unexpected_answer(*answer);
  co_return answer;
}

Async<Result<QueueStats>> DaemonApi::stats() {
  std::string target = std::string(kQueue) + "/stats";
  auto answer = co_await get(std::move(target));
  if (!answer) co_return fail(answer.error());
  const auto document = Json::parse(answer->body, nullptr, false);
  if (!document.is_object()) co_return unexpected_answer(*answer);
  co_return QueueStats{counts_of(document, "depth"), counts_of(document, "flow"), counts_of(document, "shed"),
                       answer->body};
}

Async<Result<std::vector<ShedTask>>> DaemonApi::sheds() {
  std::vector<ShedTask> out;
  std::string cursor;
  do {
    std::string target = std::string(kQueue) + "/tasks?state=SHED&limit=1000";
    if (!cursor.empty()) target += "&cursor=" + cursor;
    auto answer = co_await get(std::move(target));
    if (!answer) co_return fail(answer.error());
    const auto page = Json::parse(answer->body, nullptr, false);
    if (!page.is_object() || !page.contains("tasks")) co_return unexpected_answer(*answer);
    for (const auto& task : page["tasks"]) {
      out.push_back({task.value("taskId", ""), WallTime(milliseconds(task.value("taskUpdated", int64_t{0})))});
    }
    cursor = page.value("cursor", "");
  } while (!cursor.empty());
  co_return out;
}

Async<Result<HttpResponse>> DaemonApi::create(std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = std::move(body);
  std::string url = base_ + kQueue + "/tasks";
  auto answer = co_await http_.send(std::move(url), std::move(request), kCallPatience);
  co_return answer;
}

Async<Result<void>> DaemonApi::record(std::string& lines, milliseconds wait) {
  std::string target = "/record?table=QueueTable";
  if (!next_.empty()) target += "&waitMs=" + std::to_string(wait.count()) + "&from=" + next_;
  auto answer = co_await get(std::move(target));
  if (!answer) co_return fail(answer.error());
  next_ = header(answer->headers, "X-Freshet-Next");
  lines += answer->body;
  co_return Result<void>();
}

}  // namespace freshet::lab
