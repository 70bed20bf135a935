#include "tables/lease/schedule_claims.h"

#include <fmt/format.h>

#include <utility>

#include "base/points.h"

namespace freshet {

namespace {

constexpr std::string_view kScheduleId = "id";
constexpr std::string_view kStart = "start";
constexpr std::string_view kLast = "last";
constexpr std::string_view kClaims = "claims";
constexpr std::string_view kNumber = "number";
constexpr std::string_view kTime = "time";
constexpr std::string_view kAt = "at";

Value time_value(WallTime time) {
  return Value::number(epoch_ms(time));
}
WallTime claim_time(const Map& map, std::string_view name) {
  return WallTime(milliseconds(map.int_or(name, 0)));
}

Item schedule_key(std::string id) {
  Item key;
  key.set(kScheduleId, Value(std::move(id)));
  return key;
}

ScheduleTimes times_in(const Item& item) {
  ScheduleTimes times;
  times.start = claim_time(item, kStart);
  times.last = claim_time(item, kLast);
  const Value* claims = item.find(kClaims);
  const Map* map = claims ? claims->get_if<Map>() : nullptr;
  if (!map) return times;
  for (const auto& [daemon, value] : *map) {
    const Map* claim = value.get_if<Map>();
    if (!claim) continue;
    const auto number = static_cast<uint64_t>(claim->int_or(kNumber, 0));
    times.claims.emplace(daemon, FiringClaim{number, claim_time(*claim, kTime), claim_time(*claim, kAt)});
  }
  return times;
}

}  // namespace

Async<Result<void>> provide_schedules_table(Tables& tables) {
  auto described = co_await tables.describe_table(kSchedulesTable);
  if (!described && described.error().code == ErrorCode::kResourceNotFound) {
    TableDefinition wanted;
    wanted.name = kSchedulesTable;
    wanted.keys = {{std::string(kScheduleId), Type::kString}, {}};
    described = co_await tables.create_table(std::move(wanted));
    // Another daemon may have made it meanwhile.
    if (!described && described.error().code == ErrorCode::kResourceInUse) {
      described = co_await tables.describe_table(kSchedulesTable);
    }
  }
  if (described) co_return Result<void>();
  Error error = std::move(described.error());
  error.message = "table '" + std::string(kSchedulesTable) + "': " + error.message;
  co_return fail(std::move(error));
}

Async<Result<ScheduleTimes>> read_schedule(Tables& tables, std::string id, WallTime start, WallTime last) {
  for (;;) {
    GetItemInput get;
    get.table = kSchedulesTable;
    get.key = schedule_key(id);
    get.consistent = true;
    auto found = co_await tables.get_item(std::move(get));
    if (!found) co_return fail(std::move(found.error()));
    if (*found) co_return times_in(found->decode());
    PutItemInput put;
    put.table = kSchedulesTable;
    put.item = schedule_key(id);
    put.item.set(kStart, time_value(start));
    put.item.set(kLast, time_value(last));
    put.item.set(kClaims, Value(Map()));
    put.condition = "attribute_not_exists(id)";
    auto written = co_await tables.put_item(std::move(put));
    if (written) co_return ScheduleTimes{start, last, {}};
    // Another daemon may have written it meanwhile.
    if (written.error().code != ErrorCode::kConditionalCheckFailed) co_return fail(std::move(written.error()));
  }
}

Async<Result<void>> claim_firing(Tables& tables, std::string id, std::string daemon, ScheduleTimes seen,
                                 FiringClaim claim) {
  UpdateItemInput update;
  update.table = kSchedulesTable;
  update.key = schedule_key(std::move(id));
  update.update = "SET #last = :at, claims.#me = :claim";
  update.condition = "#last = :seen";
  int number = 0;
  for (const auto& [other, claimed] : seen.claims) {
    if (other == daemon || claimed.at > claim.at - kClaimsKept) continue;
    const std::string name = fmt::format("#gone{}", number++);
    update.update += (number == 1 ? " REMOVE claims." : ", claims.") + name;
    update.placeholders.names.emplace_back(name, other);
  }
  update.placeholders.names.emplace_back("#last", kLast);
  update.placeholders.names.emplace_back("#me", std::move(daemon));
  update.placeholders.values.set(":at", time_value(claim.at));
  update.placeholders.values.set(":seen", time_value(seen.last));
  Map value;
  value.set(kNumber, Value::number(static_cast<int64_t>(claim.number)));
  value.set(kTime, time_value(claim.time));
  value.set(kAt, time_value(claim.at));
  update.placeholders.values.set(":claim", Value(std::move(value)));
  if (FRESHET_PLANTED("fleet-schedule-claim-unconditional")) {
    update.condition = "attribute_exists(id)";
    update.placeholders.values.erase(":seen");
  }
  auto written = co_await tables.update_item(std::move(update));
  if (!written) co_return fail(std::move(written.error()));
  co_return Result<void>();
}

}  // namespace freshet
