#include "app/lab/real/call_body.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/number_text.h"

namespace freshet::lab {

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
  if (!read_number_in(text, number) || number >= tasks) return std::nullopt;
  return number;
}

}  // namespace freshet::lab
