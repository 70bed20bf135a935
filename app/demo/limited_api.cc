#include "app/demo/limited_api.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace freshet::demo {

namespace {

HttpResponse answer_of(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

std::optional<size_t> number_of(const std::string& body, size_t tasks) {
  const auto document = nlohmann::json::parse(body, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  const auto id = document.find("taskId");
  if (id == document.end() || !id->is_string()) return std::nullopt;
  const auto& text = id->get_ref<const std::string&>();
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number >= tasks) return std::nullopt;
  return number;
}

}  // namespace

Async<HttpResponse> LimitedApi::answer(std::string body) {
  const auto number = number_of(body, tasks_.size());
  if (!number) co_return answer_of(400, R"({"error":"taskId must be the number of a task of this run"})");
  const nanoseconds began = now();
  const auto asked = limiter_->ask(began);
  const size_t place = calls_.size();
  calls_.push_back({*number, began, asked.granted, nanoseconds(0)});
  if (!asked.granted) co_return answer_of(429, R"({"error":"too many requests"})");
  co_await sleep_until(scheduler_, origin_ + began + service_);
  calls_[place].end = now();
  limiter_->ended(now());
  co_return answer_of(200, R"({"done":true})");
}

}  // namespace freshet::demo
