#include "app/cli/play_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/cli/remote.h"
#include "functions/queue/attributes.h"
#include "tables/value/json.h"

namespace freshet::cli {
namespace {

constexpr int64_t kLongestMs = int64_t{366} * 24 * 3600 * 1000;  // The task API's limit for a task's TTL and delay.
constexpr int64_t kLatestMs = 253'402'300'799'999;               // The latest deadline: the end of the year 9999.

class Planner {
 public:
  Planner(const Fixture& fixture, bool is_queue) : fixture_(fixture), is_queue_(is_queue) {}

  PlayPlan plan() {
    const WallTime start = fixture_.header.start;
    for (size_t i = 0; i < fixture_.snapshot.size(); ++i) {
      const auto item = ItemRef::encode(fixture_.snapshot[i]);
      const auto place = fixture_.place_of_item(i);
      if (is_queue_) {
        create(item, start, place, "ended before the start");
      } else {
        add({PlayedCall::Kind::kPut, {}, start, item, place, key_text(item.decode())});
      }
    }
    for (size_t i = 0; i < fixture_.records.size(); ++i) {
      const auto& record = fixture_.records[i];
      const auto place = fixture_.place_of_record(i);
      if (is_queue_) {
        creation(record, place);
      } else if (record.kind == ChangeRecord::Kind::kRemove) {
        add({PlayedCall::Kind::kDelete, {}, record.at, ItemRef::encode(record.keys), place, key_text(record.keys)});
      } else {
        add({PlayedCall::Kind::kPut, {}, record.at, record.after, place, key_text(record.keys)});
      }
    }
    return std::move(plan_);
  }

 private:
  void creation(const ChangeRecord& record, const std::string& place) {
    if (record.kind == ChangeRecord::Kind::kInsert) return create(record.after, record.at, place, "came as ended");
    leave_out(record.by_ttl                                ? "removed by TTL"
              : record.kind == ChangeRecord::Kind::kRemove ? "removed"
                                                           : "changed after their creation");
  }

  void create(const ItemRef& task, WallTime at, const std::string& place, const char* ended) {
    const auto id = text_of(task, attribute::kId);
    if (id.empty() || text_of(task, attribute::kStatus).empty()) return leave_out("no tasks");
    if (!is_live(text_of(task, attribute::kStatus))) return leave_out(ended);
    const int64_t ttl = ttl_of(task);
    if (ttl > 0 && WallTime(seconds(std::min(ttl, kLatestMs / 1000))) <= at) return leave_out("TTL had passed");
    const auto key = key_of(task);
    add({PlayedCall::Kind::kCreate,
         {},
         at,
         task,
         place,
         key.empty() ? "id " + std::string(id) : "key " + std::string(key)});
  }

  void add(PlayedCall call) {
    latest_ = std::max(latest_, std::chrono::duration_cast<milliseconds>(call.recorded - fixture_.header.start));
    call.at = latest_;
    plan_.calls.push_back(std::move(call));
  }
  void leave_out(const char* why) { ++plan_.left_out[why]; }

  std::string key_text(const Item& item) const {
    std::string out;
    const auto& keys = fixture_.header.keys;
    if (const Value* value = item.find(keys.partition.name)) append_attribute_json(out, *value);
    if (!keys.sort) return out;
    if (const Value* value = item.find(keys.sort->name)) append_attribute_json(out, *value);
    return out;
  }

  const Fixture& fixture_;
  const bool is_queue_;
  milliseconds latest_{0};
  PlayPlan plan_;
};

void add_member(std::string& out, std::string_view name, std::string_view json) {
  out += out.size() > 1 ? "," : "";
  append_json_string(out, name);
  out.append(":").append(json);
}

std::string create_body(const ItemRef& task, WallTime recorded, WallTime now) {
  std::string out = "{", rest = "{";
  const Item item = task.decode();
  const auto copy = [&](std::string_view from) {
    const Value* value = item.find(std::string(from));
    if (value == nullptr) return;
    std::string json;
    append_plain_json(json, *value);
    add_member(out, from, json);
  };
  for (const auto name : {attribute::kId, attribute::kPayload, attribute::kKey, attribute::kGroup, attribute::kPriority,
                          attribute::kMaxAttempts}) {
    copy(name);
  }
  if (comes_to_replace(task)) add_member(out, attribute::kReplace, "true");
  const int64_t at = epoch_ms(recorded);
  if (const int64_t ttl = ttl_of(task); ttl > 0) {
    const int64_t left = std::min(std::min(ttl, kLatestMs / 1000) * 1000 - at, kLongestMs);
    add_member(out, "ttlSeconds", fmt::format("{}.{:03}", left / 1000, left % 1000));
  }
  if (const int64_t deadline = int_of(task, attribute::kDeadline, 0); deadline > 0) {
    const int64_t moved = epoch_ms(now) + std::min(deadline, kLatestMs) - at;
    add_member(out, attribute::kDeadline, std::to_string(std::clamp<int64_t>(moved, 1, kLatestMs)));
  }
  const int64_t not_before = std::clamp<int64_t>(int_of(task, attribute::kNotBefore, 0), 0, kLatestMs);
  if (const int64_t delay = not_before - at; delay > 0) {
    add_member(out, "delayMs", std::to_string(std::min(delay, kLongestMs)));
  }
  const bool is_of_an_engine =
      has(task, attribute::kBorn) || has(task, attribute::kLastWrite) || has(task, attribute::kRank);
  for (const auto& [name, value] : item) {
    if (is_reserved(name) || (is_of_an_engine && is_own_mark(name))) continue;
    std::string json;
    append_plain_json(json, value);
    add_member(rest, name, json);
  }
  if (rest.size() > 1) add_member(out, "attributes", rest + "}");
  return out + "}";
}

PlayedRequest store_request(const char* operation, const std::string& table, const char* member, const ItemRef& item) {
  PlayedRequest out{"/",
                    "{\"TableName\":",
                    {{"X-Amz-Target", std::string("DynamoDB_20120810.") + operation},
                     {"Content-Type", "application/x-amz-json-1.0"}}};
  append_json_string(out.body, table);
  out.body.append(",\"").append(member).append("\":");
  append_item_json(out.body, item);
  out.body += '}';
  return out;
}

}  // namespace

PlayPlan play_plan(const Fixture& fixture, bool is_queue) {
  return Planner(fixture, is_queue).plan();
}

PlayedRequest played_request(const PlayedCall& call, const std::string& table, WallTime now) {
  switch (call.kind) {
    case PlayedCall::Kind::kPut:
      return store_request("PutItem", table, "Item", call.item);
    case PlayedCall::Kind::kDelete:
      return store_request("DeleteItem", table, "Key", call.item);
    case PlayedCall::Kind::kCreate:
      break;
  }
  return {"/queues/" + path_segment(table) + "/tasks", create_body(call.item, call.recorded, now), {}};
}

}  // namespace freshet::cli
