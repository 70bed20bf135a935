#include "app/demo/queue_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace freshet::demo {

namespace {

using Json = nlohmann::json;

constexpr seconds kCallPatience{5};

tl::unexpected<Error> unexpected_answer(const HttpResponse& answer) {
  return fail(ErrorCode::kInternal, "the daemon answered " + std::to_string(answer.status) + ": " + answer.body);
}

uint64_t count_of(const Json& count) {
  return count.is_number_unsigned() ? count.get<uint64_t>() : 0;
}

// Empty if there is no such text.
std::string text_of(const Json& object, const char* name) {
  const auto it = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

// Empty if there is no such list.
Json list_of(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name) || !object[name].is_array()) return Json::array();
  return object[name];
}

// Empty if there is no such object.
Json object_of(const Json& object, const char* name) {
  if (!object.is_object() || !object.contains(name) || !object[name].is_object()) return Json::object();
  return object[name];
}

// Counts the tasks of each state by the books of /stats: those that are in it, and those that were removed from it.
std::map<std::string, uint64_t> states_of(const Json& stats) {
  std::map<std::string, uint64_t> out;
  const Json depth = object_of(stats, "depth");
  const Json flow = object_of(stats, "flow");
  for (const auto& [state, count] : depth.items()) out[state] += count_of(count);
  for (const auto& [transition, count] : flow.items()) {
    if (transition.ends_with("->")) out[transition.substr(0, transition.size() - 2)] += count_of(count);
  }
  std::erase_if(out, [](const auto& one) { return one.second == 0; });
  return out;
}

}  // namespace

std::string creation(const std::vector<StoryTask>& tasks, size_t first, size_t end, WallTime origin) {
  std::string body = R"({"tasks":[)";
  for (size_t number = first; number < end; ++number) {
    const StoryTask& task = tasks[number];
    const auto deadline = epoch_ms(origin + std::chrono::floor<milliseconds>(task.deadline()));
    body += fmt::format(R"({}{{"taskId":"{}","deadline":{},"group":"{}"}})", number == first ? "" : ",", number,
                        deadline, task.quiet ? "quiet" : "loud");
  }
  return body + "]}";
}

std::optional<CreationAnswer> creation_answer(const std::string& body) {
  const auto document = Json::parse(body, nullptr, false);
  if (!document.is_object() || !document.contains("results") || !document["results"].is_array()) return std::nullopt;
  CreationAnswer out;
  for (const auto& one : document["results"]) {
    if (!one.is_object()) return std::nullopt;
    if (one.contains("error")) {
      ++out.refused[text_of(one["error"], "code")];
    } else {
      ++out.accepted;
    }
  }
  return out;
}

Async<Result<HttpResponse>> QueueClient::send(std::string method, std::string path, std::string body) {
  HttpRequest request;
  request.method = std::move(method);
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = std::move(body);
  std::string url = base_ + "/queues/" + kQueueName + path;
  auto answer = co_await http_.send(std::move(url), std::move(request), kCallPatience);
  co_return answer;
}

Async<Result<CreationAnswer>> QueueClient::create(std::string body) {
  auto answer = co_await send("POST", "/tasks", std::move(body));
  if (!answer) co_return fail(answer.error());
  auto created = creation_answer(answer->body);
  if (answer->status != 200 || !created) co_return unexpected_answer(*answer);
  co_return std::move(*created);
}

Async<Result<void>> QueueClient::read_books(Run& run) {
  auto answer = co_await send("GET", "/stats", "");
  if (!answer) co_return fail(answer.error());
  const auto stats = Json::parse(answer->body, nullptr, false);
  if (!stats.is_object()) co_return unexpected_answer(*answer);
  run.states = states_of(stats);
  run.has_books = true;
  const Json shed = object_of(stats, "shed");
  for (const auto& [reason, count] : shed.items()) run.shed[reason] = count_of(count);
  answer = co_await send("GET", "/tasks?state=SHED&limit=1", "");
  if (!answer) co_return fail(answer.error());
  const auto page = Json::parse(answer->body, nullptr, false);
  const Json tasks = list_of(page, "tasks");
  if (tasks.empty()) co_return Result<void>();
  answer = co_await send("GET", "/tasks/" + text_of(tasks[0], "taskId") + "/explain", "");
  if (!answer) co_return fail(answer.error());
  const auto explained = Json::parse(answer->body, nullptr, false);
  if (!explained.is_object()) co_return unexpected_answer(*answer);
  for (const char* part : {"life", "reasons"}) {
    const Json sentences = list_of(explained, part);
    for (const auto& one : sentences) {
      std::string text = text_of(one, "message");
      // A reason may say again what the life has said.
      const bool is_known = std::any_of(run.explained.begin(), run.explained.end(),
                                        [&](const std::string& said) { return text.ends_with(said); });
      if (!is_known) run.explained.push_back(std::move(text));
    }
  }
  co_return Result<void>();
}

}  // namespace freshet::demo
