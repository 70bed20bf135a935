#include "wire/ordered/answers.h"

#include <optional>

#include "tables/value/json.h"
#include "wire/http/own_error.h"
#include "wire/tasks/answers.h"

namespace freshet::ordered {
namespace {

// The error code of a refused write, as in all of Freshet's APIs; empty if it was not refused.
std::optional<ErrorCode> error_of(const OrderedResult& result) {
  switch (result.code) {
    case OrderedCode::kApplied:
    case OrderedCode::kOlder:  // This is not an error.
      return {};
    case OrderedCode::kTooOld:
    case OrderedCode::kTooFarAhead:
    case OrderedCode::kInvalid:
      return ErrorCode::kValidation;
    case OrderedCode::kForeignItem:
      return ErrorCode::kConflict;
    case OrderedCode::kStoreError:
      break;
  }
  return result.error.value_or(ErrorCode::kInternal);
}

void append_text(std::string& out, std::string_view name, std::string_view value) {
  out += ",\"";
  out += name;
  out += "\":";
  append_json_string(out, value);
}

void append_item(std::string& out, const ItemRef& item, bool typed) {
  if (!item) {
    out += "null";
  } else if (typed) {
    append_item_json(out, item);
  } else {
    append_plain_json(out, item);
  }
}

std::string body_of(const OrderedResult& result, bool typed) {
  std::string out = R"({"applied":)";
  out += result.ok() ? "true" : "false";
  append_text(out, "outcome", code_name(result.code));
  if (result.timestamp) {
    out += R"(,"timestamp":)";
    append_plain_json(out, *result.timestamp);
  }
  if (!result.detail.empty()) append_text(out, "detail", result.detail);
  if (const auto code = error_of(result)) {
    out += R"(,"error":)";
    const std::string_view why = result.detail.empty() ? code_name(result.code) : std::string_view(result.detail);
    append_error_object(out, error_name(*code), why);
  }
  if (result.found) {
    out += R"(,"found":)";
    append_item(out, result.found, typed);
  }
  return out += '}';
}

std::string body_of(const ItemRef& item, bool typed) {
  std::string out = R"({"item":)";
  append_item(out, item, typed);
  return out += '}';
}

std::string body_of(const std::vector<Result<ItemRef>>& items, bool typed) {
  std::string out = R"({"items":[)";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    append_item(out, *items[i], typed);
  }
  return out += "]}";
}

std::string body_of(const Page& page, bool typed) {
  std::string out = R"({"items":[)";
  for (size_t i = 0; i < page.items.size(); ++i) {
    if (i > 0) out += ',';
    append_item(out, page.items[i], typed);
  }
  out += R"(],"count":)" + std::to_string(page.count) + R"(,"scanned":)" + std::to_string(page.scanned);
  if (!page.last_evaluated_key.empty()) {
    std::string cursor;
    append_item_json(cursor, page.last_evaluated_key);
    append_text(out, "cursor", cursor);
  }
  return out += '}';
}

}  // namespace

HttpResponse write_answer(const Answer& answer) {
  if (const auto* error = std::get_if<Error>(&answer.what)) return tasks::error_answer(*error);
  if (const auto* items = std::get_if<std::vector<Result<ItemRef>>>(&answer.what)) {
    for (const auto& item : *items) {
      if (!item) return tasks::error_answer(item.error());
    }
    return tasks::json_answer(body_of(*items, answer.typed));
  }
  if (const auto* item = std::get_if<ItemRef>(&answer.what)) return tasks::json_answer(body_of(*item, answer.typed));
  if (const auto* page = std::get_if<Page>(&answer.what)) return tasks::json_answer(body_of(*page, answer.typed));
  const auto* result = std::get_if<OrderedResult>(&answer.what);
  if (result == nullptr) return tasks::error_answer({ErrorCode::kInternal, "there is no answer", nullptr});
  HttpResponse response = tasks::json_answer(body_of(*result, answer.typed));
  if (const auto code = error_of(*result)) response.status = tasks::status_of(*code);
  if (response.status == 429 || response.status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace freshet::ordered
