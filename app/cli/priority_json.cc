#include "app/cli/priority_json.h"

#include <initializer_list>
#include <utility>

#include "app/cli/exact_json.h"

namespace freshet::cli {
namespace {

void append(std::string& out, const Json& json, size_t level) {
  if (json.is_array()) {
    out += "[ ";
    for (size_t i = 0; i < json.size(); ++i) {
      if (i > 0) out += ", ";
      append(out, json[i], level);
    }
    out += json.empty() ? "]" : " ]";
  } else if (json.is_object()) {
    out += "{";
    bool first = true;
    for (const auto& [name, value] : json.items()) {
      out += (first ? "\n" : ",\n") + std::string(2 * (level + 1), ' ') + text_of(Json(name)) + " : ";
      first = false;
      append(out, value, level + 1);
    }
    out += first ? " }" : "\n" + std::string(2 * level, ' ') + "}";
  } else {
    out += text_of(json);
  }
}

// Those members that are there, under these names.
Json select(const Json& from, std::initializer_list<std::pair<const char*, const char*>> names) {
  Json out = Json::object();
  for (const auto& [name, as] : names) {
    if (from.contains(name) && !from[name].is_null()) out[as] = from[name];
  }
  return out;
}

Json select(const Json& from, std::initializer_list<const char*> names) {
  Json out = Json::object();
  for (const char* name : names) {
    if (from.contains(name) && !from[name].is_null()) out[name] = from[name];
  }
  return out;
}

}  // namespace

std::string sample_pretty(const Json& json) {
  std::string out;
  append(out, json, 0);
  return out;
}

Json sample_data(const Json& item) {
  if (!item.is_object() || !item.contains("data")) return nullptr;
  const Json& data = item["data"];
  if (!data.is_object()) return data;
  return select(data, {{"id", "id"},
                       {"items", "items"},
                       {"data_1", "data_element_1"},
                       {"data_2", "data_element_2"},
                       {"data_3", "data_element_3"}});
}

Json sample_system_info(const Json& item) {
  if (!item.is_object() || !item.contains("system_info")) return nullptr;
  Json info = select(item["system_info"], {"id", "creation_timestamp", "last_updated_timestamp", "status", "version",
                                           "queued", "queue_selected", "queue_add_timestamp", "dlq_add_timestamp",
                                           "queue_peek_timestamp", "queue_remove_timestamp"});
  // The mapper of the sample keeps this one as a number.
  if (info.contains("queued") && info["queued"].is_number()) info["queued"] = info["queued"] != 0;
  return info;
}

Json sample_record(const Json& item) {
  if (!item.is_object()) return nullptr;
  Json record = select(item, {"id"});
  if (Json data = sample_data(item); !data.is_null()) record["data"] = std::move(data);
  if (Json info = sample_system_info(item); !info.is_null()) record["system_info"] = std::move(info);
  return record;
}

Json sample_result(const Json& result, bool peeked) {
  Json out = select(
      result, {"errorMessage", "successful", "id", "return_value", "status", "last_updated_timestamp", "version"});
  if (!peeked) return out;
  out["timestamp_milliseconds_utc"] = result.value("timestamp_milliseconds_utc", Json(0));
  out["peeked_id"] = result.value("peeked_id", Json("NOT FOUND"));
  return out;
}

Json sample_stats(const Json& stats) {
  return select(stats,
                {"first_100_IDs_in_queue", "first_100_selected_IDs_in_queue", "total_records_in_queue",
                 "total_records_in_queue_selected_for_processing", "total_records_in_queue_pending_for_processing"});
}

Json sample_dead(const Json& dead) {
  return select(dead, {"first_100_IDs_in_queue", "total_records_in_DLQ"});
}

}  // namespace freshet::cli
