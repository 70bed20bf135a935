#include "wire/priority/answers.h"

#include <optional>

#include "tables/value/json.h"
#include "wire/http/own_error.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/json_object.h"

namespace freshet::priority {
namespace {

using Object = JsonObject;

void append_redrive(std::string& out, const RedriveRecordsOutput& redrive) {
  Object object(out);
  object.number("moved", redrive.moved);
  object.flag("going_on", redrive.going_on);
  object.raw("refused") += '[';
  for (size_t i = 0; i < redrive.refused.size(); ++i) {
    if (i > 0) out += ',';
    append_result(out, redrive.refused[i], Shape::kResult);
  }
  out += ']';
}

// The error code of a refused call, as in all of Freshet's APIs; empty if it was not refused.
std::optional<ErrorCode> error_of(const PriorityResult& result) {
  switch (result.code) {
    case PriorityCode::kNone:
    case PriorityCode::kSuccess:
    case PriorityCode::kEmptyQueue:  // Nothing is wrong with that.
      return {};
    case PriorityCode::kIdNotProvided:
      return ErrorCode::kValidation;
    case PriorityCode::kIdNotFound:
      return ErrorCode::kNotFound;
    case PriorityCode::kRecordNotConstructed:
    case PriorityCode::kIllegalState:
      return ErrorCode::kConflict;
    case PriorityCode::kOnCondition:
      return ErrorCode::kConditionalCheckFailed;
    case PriorityCode::kStoreError:
      break;
  }
  return result.error.value_or(ErrorCode::kInternal);
}

// {"code", "message"}, and nothing if all is well.
void append_error(Object& object, const PriorityResult& result) {
  const auto code = error_of(result);
  if (!code) return;
  const std::string_view message = result.detail.empty() ? code_message(result.code) : std::string_view(result.detail);
  append_error_object(object.raw("error"), error_name(*code), message);
}

}  // namespace

int status_of(const PriorityResult& result) {
  const auto code = error_of(result);
  return code ? tasks::status_of(*code) : 200;
}

void append_result(std::string& out, const PriorityResult& result, Shape shape) {
  Object object(out);
  object.text("errorMessage", code_message(result.code));
  object.flag("successful", result.ok());
  object.text_if("id", result.id);
  object.text("return_value", code_name(result.code));
  object.text_if("status", result.status);
  object.text_if("last_updated_timestamp", result.last_updated);
  object.number("version", result.version);
  const std::string_view found = result.ok() ? std::string_view(result.id) : "NOT FOUND";
  if (shape == Shape::kPeek) {
    object.number("timestamp_milliseconds_utc", result.peeked_ms);
    object.text("peeked_id", found);
  }
  if (shape == Shape::kDequeue) object.text("dequeue_id", found);
  if (result.ok()) object.text("place", place_name(result.place));
  object.text_if("detail", result.detail);
  append_error(object, result);
  object.text_if("receipt", result.receipt);
  if (result.visible_ms > 0) object.number("visible_at", result.visible_ms);
  if (result.peeks > 0) object.number("peeks", result.peeks);
  if (result.failures > 0) object.number("failures", result.failures);
  if (!result.passed.empty()) object.texts("passed", result.passed);
  const bool with_item = shape == Shape::kPeek || shape == Shape::kDequeue || shape == Shape::kRecord;
  if (with_item && result.item) append_plain_json(object.raw("item"), result.item);
}

std::string peeked_json(const std::vector<PriorityResult>& results) {
  std::string out;
  {
    Object object(out);
    object.raw("records") += '[';
    for (size_t i = 0; i < results.size(); ++i) {
      if (i > 0) out += ',';
      append_result(out, results[i], Shape::kPeek);
    }
    out += ']';
    append_error(object, results.front());
  }
  return out;
}

std::string stats_json(const PriorityStats& stats) {
  std::string out;
  {
    Object object(out);
    if (!stats.first_ids.empty()) object.texts("first_100_IDs_in_queue", stats.first_ids);
    if (!stats.first_in_flight.empty()) object.texts("first_100_selected_IDs_in_queue", stats.first_in_flight);
    object.number("total_records_in_queue", stats.ready + stats.in_flight + stats.delayed);
    object.number("total_records_in_queue_selected_for_processing", stats.in_flight);
    object.number("total_records_in_queue_pending_for_processing", stats.ready + stats.delayed);
    object.number("ready", stats.ready);
    object.number("in_flight", stats.in_flight);
    object.number("delayed", stats.delayed);
    object.number("dead", stats.dead);
    object.flag("exact_counters", stats.counted);
    if (stats.oldest_ms) object.number("head_timestamp_ms", *stats.oldest_ms);
    if (stats.redrive) append_redrive(object.raw("redrive"), *stats.redrive);
  }
  return out;
}

std::string dead_json(const DeadStats& stats) {
  std::string out;
  {
    Object object(out);
    object.texts("first_100_IDs_in_queue", stats.first_ids);
    object.number("total_records_in_DLQ", stats.dead);
  }
  return out;
}

std::string page_json(const RecordPage& page) {
  std::string out = R"({"records":[)";
  for (size_t i = 0; i < page.records.size(); ++i) {
    if (i > 0) out += ',';
    Object record(out);
    record.text("id", page.records[i].id);
    record.text_if("status", page.records[i].status);
  }
  out += ']';
  if (!page.cursor.empty()) {
    out += R"(,"cursor":)";
    append_json_string(out, page.cursor);
  }
  return out += '}';
}

std::string redrive_json(const RedriveRecordsOutput& redrive) {
  std::string out;
  append_redrive(out, redrive);
  return out;
}

}  // namespace freshet::priority
