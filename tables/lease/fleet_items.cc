#include "tables/lease/fleet_items.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/points.h"
#include "tables/lease/shared_table.h"

namespace freshet {

namespace {

constexpr std::string_view kBeatPrefix = "member#";
constexpr std::string_view kUnitsPrefix = "units#";
constexpr std::string_view kPlanId = "plan";
constexpr std::string_view kNameId = "name";
constexpr int kMostReads = 3;

std::string beat_id(std::string_view member) {
  return std::string(kBeatPrefix).append(member);
}
std::string units_id(std::string_view member) {
  return std::string(kUnitsPrefix).append(member);
}
Value number(uint64_t n) {
  return Value::number(static_cast<int64_t>(n));
}
uint64_t number_in(const Item& item, std::string_view name) {
  return static_cast<uint64_t>(item.int_or(name, 0));
}

Value list_of(const std::vector<std::string>& texts) {
  List list;
  for (const auto& text : texts) list.elements.emplace_back(text);
  return Value(std::move(list));
}
std::vector<std::string> list_in(const Item& item, std::string_view name) {
  std::vector<std::string> out;
  const Value* value = item.find(name);
  const List* list = value ? value->get_if<List>() : nullptr;
  if (!list) return out;
  for (const Value& element : list->elements) {
    if (const auto* text = element.get_if<std::string>()) out.push_back(*text);
  }
  return out;
}

Item item_of(const MemberBeat& beat) {
  Item item = id_key(beat_id(beat.id));
  item.set("epoch", number(beat.epoch));
  item.set("beat", number(beat.beat));
  item.set("life", Value(beat.life));
  item.set("url", Value(beat.url));
  item.set("leaseMs", Value::number(beat.lease.count()));
  item.set("wall", Value::number(epoch_ms(beat.wall)));
  item.set("load", Value::number(static_cast<int64_t>(beat.load)));
  if (beat.leaving) item.set("leaving", Value::boolean(true));
  return item;
}
MemberBeat beat_in(const Item& item) {
  MemberBeat beat;
  beat.id = item.string_or(kIdAttribute).substr(kBeatPrefix.size());
  beat.epoch = number_in(item, "epoch");
  beat.beat = number_in(item, "beat");
  beat.life = item.string_or("life");
  beat.url = item.string_or("url");
  beat.lease = milliseconds(item.int_or("leaseMs", 0));
  beat.leaving = item.contains("leaving");
  beat.load = static_cast<int>(std::clamp<int64_t>(item.int_or("load", 0), 0, 100));
  beat.wall = WallTime(milliseconds(item.int_or("wall", 0)));
  return beat;
}

MemberUnits units_in(const Item& item) {
  MemberUnits units;
  units.id = item.string_or(kIdAttribute).substr(kUnitsPrefix.size());
  units.epoch = number_in(item, "epoch");
  units.rev = number_in(item, "rev");
  units.serves = list_in(item, "serves");
  units.holds = list_in(item, "holds");
  const Value* left = item.find("left");
  const Map* counts = left != nullptr ? left->get_if<Map>() : nullptr;
  if (counts == nullptr) return units;
  for (const auto& [unit, count] : *counts) {
    const auto* value = count.get_if<Decimal>();
    if (value != nullptr) units.left.emplace(unit, static_cast<uint64_t>(std::max<int64_t>(value->floor_int64(), 0)));
  }
  return units;
}

FleetPlan plan_in(const Item& item) {
  FleetPlan plan;
  plan.leader = item.string_or("leader");
  plan.leader_epoch = number_in(item, "leaderEpoch");
  plan.term = number_in(item, "term");
  plan.version = number_in(item, "version");
  const Value* owners = item.find("owners");
  const Map* map = owners ? owners->get_if<Map>() : nullptr;
  if (!map) return plan;
  for (const auto& [unit, owner] : *map) {
    if (const auto* text = owner.get_if<std::string>()) plan.owners.emplace(unit, *text);
  }
  return plan;
}

Item item_of(const MemberUnits& units) {
  Item item = id_key(units_id(units.id));
  item.set("epoch", number(units.epoch));
  item.set("rev", number(units.rev));
  item.set("serves", list_of(units.serves));
  item.set("holds", list_of(units.holds));
  if (units.left.empty()) return item;
  Map left;
  for (const auto& [unit, count] : units.left) left.set(unit, number(count));
  item.set("left", Value(std::move(left)));
  return item;
}

PutItemInput put_of(Item item) {
  PutItemInput put;
  put.table = kFleetTable;
  put.item = std::move(item);
  return put;
}

Async<Result<void>> put(Tables& tables, PutItemInput input) {
  auto answer = co_await tables.put_item(std::move(input));
  if (!answer) co_return fail(std::move(answer.error()));
  co_return Result<void>();
}

Async<Result<void>> remove(Tables& tables, std::string id, uint64_t epoch, std::optional<uint64_t> beat) {
  DeleteItemInput gone;
  gone.table = kFleetTable;
  gone.key = id_key(std::move(id));
  gone.condition = beat ? "epoch = :e AND beat = :b" : "epoch <= :e";
  gone.placeholders.values.set(":e", number(epoch));
  if (beat) gone.placeholders.values.set(":b", number(*beat));
  auto answer = co_await tables.delete_item(std::move(gone));
  if (!answer) co_return fail(std::move(answer.error()));
  co_return Result<void>();
}

Async<Result<Item>> read_item(Tables& tables, std::string id) {
  GetItemInput get;
  get.table = kFleetTable;
  get.key = id_key(std::move(id));
  auto item = co_await tables.get_item(std::move(get));
  if (!item) co_return fail(std::move(item.error()));
  co_return *item ? item->decode() : Item();
}

}  // namespace

Async<Result<void>> provide_fleet_table(Tables& tables) {
  return provide_id_table(tables, kFleetTable, "a fleet");
}

namespace {

tl::unexpected<Error> other_name(const std::string& there, const std::string& asked) {
  const std::string fleet = there.empty() ? "a fleet without a name" : "the fleet '" + there + "'";
  const std::string mine = asked.empty() ? "without --fleet-name" : "with --fleet-name " + asked;
  return fail(ErrorCode::kConflict, "these tables are those of " + fleet + ", and this daemon was started " + mine +
                                        ": two fleets cannot share tables");
}

// Waits for the heartbeats of members that there are, for their leases.
Async<Result<bool>> any_lives(Tables& tables, Scheduler& scheduler) {
  auto before = co_await read_fleet(tables);
  if (!before) co_return fail(std::move(before.error()));
  milliseconds longest{0};
  for (const auto& [id, beat] : before->members) longest = std::max(longest, beat.lease);
  if (before->members.empty()) co_return false;
  co_await sleep_for(scheduler, longest);
  auto now = co_await read_fleet(tables);
  if (!now) co_return fail(std::move(now.error()));
  co_return std::any_of(now->members.begin(), now->members.end(), [&](const auto& member) {
    const auto known = before->members.find(member.first);
    return known == before->members.end() || !(known->second == member.second);
  });
}

}  // namespace

Async<Result<void>> name_fleet(Tables& tables, Scheduler& scheduler, std::string name) {
  for (int reads = 0; reads < kMostReads; ++reads) {
    auto stored = co_await read_item(tables, std::string(kNameId));
    if (!stored) co_return fail(std::move(stored.error()));
    const std::string there(stored->string_or("name"));
    if (there == name) co_return Result<void>();
    if (!there.empty() || name.empty()) co_return other_name(there, name);
    auto living = co_await any_lives(tables, scheduler);
    if (!living) co_return fail(std::move(living.error()));
    if (*living) co_return other_name(there, name);
    Item item = id_key(std::string(kNameId));
    item.set("name", Value(name));
    PutItemInput input = put_of(std::move(item));
    input.condition = "attribute_not_exists(id)";
    auto written = co_await put(tables, std::move(input));
    const ErrorCode code = written ? ErrorCode::kConditionalCheckFailed : written.error().code;
    if (code != ErrorCode::kUnknownOutcome && code != ErrorCode::kConditionalCheckFailed) co_return written;
  }
  co_return fail(ErrorCode::kUnavailable, "the name of the fleet cannot be read or written");
}

Async<Result<MemberBeat>> begin_life(Tables& tables, MemberBeat beat) {
  for (int reads = 0; reads < kMostReads; ++reads) {
    auto before = co_await read_item(tables, beat_id(beat.id));
    if (!before) co_return fail(std::move(before.error()));
    if (before->string_or("life") == beat.life) co_return beat_in(*before);
    // Its heartbeat may have been removed, and its units not yet.
    auto units = co_await read_item(tables, units_id(beat.id));
    if (!units) co_return fail(std::move(units.error()));
    const uint64_t seen = number_in(*before, "epoch");
    beat.epoch = std::max(seen, number_in(*units, "epoch")) + 1;
    if (seen != 0 && FRESHET_PLANTED("fleet-epoch-kept")) beat.epoch = seen;
    beat.beat = 1;
    PutItemInput input = put_of(item_of(beat));
    input.condition = seen == 0 ? "attribute_not_exists(id)" : "epoch = :seen";
    if (seen != 0) input.placeholders.values.set(":seen", number(seen));
    auto written = co_await put(tables, std::move(input));
    if (written) co_return beat;
    const ErrorCode code = written.error().code;
    if (code != ErrorCode::kUnknownOutcome && code != ErrorCode::kConditionalCheckFailed) {
      co_return fail(std::move(written.error()));
    }
  }
  co_return fail(ErrorCode::kUnavailable,
                 "member '" + beat.id + "' cannot join: other daemons with the same name begin");
}

// The same heartbeat may be written again, because a client sends a request again whose answer got lost.
Async<Result<void>> write_beat(Tables& tables, MemberBeat beat) {
  PutItemInput input = put_of(item_of(beat));
  input.condition = "epoch = :e AND beat <= :b AND life = :l";
  input.placeholders.values.set(":e", number(beat.epoch));
  input.placeholders.values.set(":b", number(beat.beat));
  input.placeholders.values.set(":l", Value(beat.life));
  if (FRESHET_PLANTED("fleet-beat-unconditional")) {
    input.condition.clear();
    input.placeholders = {};
  }
  return put(tables, std::move(input));
}

Async<Result<void>> write_units(Tables& tables, MemberUnits units) {
  PutItemInput input = put_of(item_of(units));
  input.condition = "attribute_not_exists(id) OR epoch < :e OR (epoch = :e AND rev < :r)";
  input.placeholders.values.set(":e", number(units.epoch));
  input.placeholders.values.set(":r", number(units.rev));
  if (FRESHET_PLANTED("fleet-units-unconditional")) {
    input.condition.clear();
    input.placeholders = {};
  }
  return put(tables, std::move(input));
}

Async<Result<void>> release_units(Tables& tables, MemberUnits units) {
  units.holds.clear();
  PutItemInput input = put_of(item_of(units));
  input.condition = "epoch = :e AND rev = :r";
  input.placeholders.values.set(":e", number(units.epoch));
  input.placeholders.values.set(":r", number(units.rev));
  return put(tables, std::move(input));
}

Async<Result<void>> write_plan(Tables& tables, FleetPlan plan, uint64_t seen) {
  Item item = id_key(std::string(kPlanId));
  item.set("leader", Value(plan.leader));
  item.set("leaderEpoch", number(plan.leader_epoch));
  item.set("term", number(plan.term));
  item.set("version", number(plan.version));
  Map owners;
  for (const auto& [unit, owner] : plan.owners) owners.set(unit, Value(owner));
  item.set("owners", Value(std::move(owners)));
  PutItemInput input = put_of(std::move(item));
  input.condition = seen == 0 ? "attribute_not_exists(id)" : "version = :seen";
  if (seen != 0) input.placeholders.values.set(":seen", number(seen));
  if (FRESHET_PLANTED("fleet-plan-unconditional")) {
    input.condition.clear();
    input.placeholders = {};
  }
  return put(tables, std::move(input));
}

Async<Result<void>> forget_member(Tables& tables, MemberBeat beat) {
  auto member = co_await remove(tables, beat_id(beat.id), beat.epoch, beat.beat);
  if (!member) co_return member;
  auto units = remove(tables, units_id(beat.id), beat.epoch, std::nullopt);
  co_return co_await units;
}

Async<Result<FleetView>> read_fleet(Tables& tables) {
  FleetView view;
  Item from;
  do {
    ScanInput scan;
    scan.table = kFleetTable;
    scan.consistent = true;
    scan.exclusive_start_key = std::move(from);
    auto page = co_await tables.scan(std::move(scan));
    if (!page) co_return fail(std::move(page.error()));
    for (const ItemRef& stored : page->items) {
      const Item item = stored.decode();
      const std::string_view id = item.string_or(kIdAttribute);
      if (id.starts_with(kBeatPrefix)) {
        MemberBeat beat = beat_in(item);
        view.members.emplace(beat.id, std::move(beat));
      } else if (id.starts_with(kUnitsPrefix)) {
        MemberUnits units = units_in(item);
        view.units.emplace(units.id, std::move(units));
      } else if (id == kPlanId) {
        view.plan = plan_in(item);
      } else if (id == kDefinitionsId) {
        view.definitions = number_in(item, "version");
      }
    }
    from = std::move(page->last_evaluated_key);
  } while (!from.empty());
  co_return view;
}

}  // namespace freshet
