#include "tables/lease/schedule_claims.h"

#include <fmt/format.h>

#include <utility>

#include "base/points.h"
#include "tables/lease/shared_table.h"

namespace freshet {

namespace {

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
  return provide_id_table(tables, kSchedulesTable, "schedules of a fleet");
}

Async<Result<ScheduleTimes>> read_schedule(Tables& tables, std::string id, WallTime start, WallTime last) {
  for (;;) {
    GetItemInput get;
    get.table = kSchedulesTable;
    get.key = id_key(id);
    get.consistent = true;
    auto found = co_await tables.get_item(std::move(get));
    if (!found) co_return fail(std::move(found.error()));
    if (*found) co_return times_in(found->decode());
    PutItemInput put;
    put.table = kSchedulesTable;
    put.item = id_key(id);
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
  update.key = id_key(std::move(id));
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
