#include "runtime/invoke/mapping_position.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "base/limits.h"
#include "streams/system_table.h"

namespace freshet {

namespace {

constexpr std::string_view kPositionKind = "mapping-position";
constexpr std::string_view kStateKind = "mapping-state";
// The state of a window is stored in parts, because an item may not hold all of it.
constexpr size_t kStatePart = 300'000;
// A state that is too large comes from a single response.
constexpr size_t kMaxStateParts = limits::kMaxInvokePayloadBytes / kStatePart + 1;

// The first lane's item has the mapping's own id, as it had before there were lanes.
std::string position_id(const std::string& mapping, size_t lane) {
  return lane == 0 ? mapping : fmt::format("{}#{}", mapping, lane);
}
std::string part_id(const std::string& mapping, size_t lane, size_t part) {
  return fmt::format("{}/{}", position_id(mapping, lane), part);
}

Value numbers(const std::vector<uint64_t>& all) {
  List list;
  for (const uint64_t one : all) list.elements.push_back(Value::number(static_cast<int64_t>(one)));
  return Value(std::move(list));
}

std::vector<uint64_t> numbers_of(const Item& item, std::string_view name) {
  std::vector<uint64_t> all;
  const Value* value = item.find(name);
  const List* list = value ? value->get_if<List>() : nullptr;
  if (!list) return all;
  for (const Value& one : list->elements) {
    bool fits = false;
    const auto* number = one.get_if<Decimal>();
    const int64_t whole = number ? number->to_int64(fits) : 0;
    if (fits) all.push_back(static_cast<uint64_t>(whole));
  }
  return all;
}

struct KeptLane {
  std::string mapping;
  size_t lane = 0;
  size_t lanes = 1;
  MappingPosition place;  // The position of one lane.
};

std::optional<KeptLane> lane_of(const Item& item, const std::map<std::string, std::string>& states) {
  KeptLane kept;
  const std::string id(item.string_or("id"));
  kept.mapping = item.string_or("mapping", id);
  kept.lane = static_cast<size_t>(item.int_or("lane", 0));
  kept.lanes = static_cast<size_t>(item.int_or("lanes", 1));
  const int64_t next = item.int_or("next", 0);
  if (next <= 0 || kept.lanes < 1 || kept.lanes > kMaxLanes || kept.lane >= kept.lanes) return std::nullopt;
  kept.place = position_at(std::string(item.string_or("label")), static_cast<uint64_t>(next), 1);
  kept.place.ended = item.contains("ended");
  kept.place.done = numbers_of(item, "done");
  if (item.contains("windowStart")) {
    TumblingWindow window{item.int_or("windowStart", 0), {}};
    for (int64_t part = 0; part < item.int_or("stateParts", 0); ++part) {
      const auto text = states.find(fmt::format("{}/{}", id, part));
      if (text != states.end()) window.state += text->second;
    }
    kept.place.lanes.front().window = std::move(window);
  }
  return kept;
}

}  // namespace

MappingPosition position_at(std::string label, uint64_t next, size_t lanes) {
  MappingPosition position;
  position.label = std::move(label);
  position.lanes.assign(lanes, LanePosition{next, {}});
  return position;
}

uint64_t lane_hash(const Item& keys) {
  std::string encoded;
  append_encoded(encoded, keys);
  return XXH3_64bits(encoded.data(), encoded.size());
}

uint64_t MappingPosition::next() const {
  return std::min_element(lanes.begin(), lanes.end(), [](const auto& a, const auto& b) { return a.next < b.next; })
      ->next;
}

MappingPosition MappingPosition::with_lanes(size_t count) const {
  MappingPosition changed = *this;
  const uint64_t behind = next();
  // Once all lanes are past it, it has no meaning any more.
  if (!done.empty() && behind >= *std::max_element(done.begin(), done.end())) changed.done.clear();
  if (count == lanes.size()) return changed;
  changed.lanes.assign(count, LanePosition{behind, {}});
  const bool even =
      std::all_of(lanes.begin(), lanes.end(), [&](const LanePosition& lane) { return lane.next == behind; });
  if (even) return changed;
  changed.done.clear();
  for (const LanePosition& lane : lanes) changed.done.push_back(lane.next);
  return changed;
}

size_t state_parts(const LanePosition& lane) {
  return lane.window ? (lane.window->state.size() + kStatePart - 1) / kStatePart : 0;
}

std::vector<WriteInput> lane_writes(const std::string& mapping_id, const MappingPosition& position, size_t lane,
                                    size_t stale_parts) {
  const LanePosition& place = position.lanes[lane];
  Item item = system_item(kPositionKind, position_id(mapping_id, lane));
  item.set("label", Value(position.label));
  item.set("next", Value::number(static_cast<int64_t>(place.next)));
  if (position.lanes.size() > 1) {
    item.set("lane", Value::number(static_cast<int64_t>(lane)));
    item.set("lanes", Value::number(static_cast<int64_t>(position.lanes.size())));
    item.set("mapping", Value(mapping_id));
  }
  if (position.ended) item.set("ended", Value::boolean(true));
  if (!position.done.empty()) item.set("done", numbers(position.done));
  const size_t parts = state_parts(place);
  if (place.window) {
    item.set("windowStart", Value::number(place.window->start));
    item.set("stateParts", Value::number(static_cast<int64_t>(parts)));
  }
  std::vector<WriteInput> writes;
  writes.emplace_back(put_system_item(std::move(item)));
  for (size_t part = 0; part < parts; ++part) {
    Item text = system_item(kStateKind, part_id(mapping_id, lane, part));
    text.set("text", Value(Binary{place.window->state.substr(part * kStatePart, kStatePart)}));
    writes.emplace_back(put_system_item(std::move(text)));
  }
  for (size_t part = parts; part < stale_parts; ++part) {
    writes.emplace_back(delete_system_item(kStateKind, part_id(mapping_id, lane, part)));
  }
  return writes;
}

std::vector<WriteInput> position_writes(const std::string& mapping_id, const MappingPosition& position,
                                        size_t stale_parts) {
  std::vector<WriteInput> writes;
  for (size_t lane = 0; lane < position.lanes.size(); ++lane) {
    for (WriteInput& write : lane_writes(mapping_id, position, lane, lane == 0 ? stale_parts : 0)) {
      writes.push_back(std::move(write));
    }
  }
  for (size_t lane = position.lanes.size(); lane < kMaxLanes; ++lane) {
    writes.emplace_back(delete_system_item(kPositionKind, position_id(mapping_id, lane)));
  }
  return writes;
}

std::vector<WriteInput> position_removals(const std::string& mapping_id) {
  std::vector<WriteInput> writes;
  for (size_t lane = 0; lane < kMaxLanes; ++lane) {
    writes.emplace_back(delete_system_item(kPositionKind, position_id(mapping_id, lane)));
  }
  for (size_t part = 0; part < kMaxStateParts; ++part) {
    writes.emplace_back(delete_system_item(kStateKind, part_id(mapping_id, 0, part)));
  }
  return writes;
}

Async<Result<std::map<std::string, MappingPosition>>> load_positions(Tables& tables) {
  std::string kind(kStateKind);
  auto parts = co_await load_system_items(tables, std::move(kind));
  if (!parts) co_return fail(std::move(parts.error()));
  std::map<std::string, std::string> states;
  for (const ItemRef& ref : *parts) {
    const Item item = ref.decode();
    const Value* text = item.find("text");
    const Binary* bytes = text ? text->get_if<Binary>() : nullptr;
    if (bytes) states.emplace(item.string_or("id"), bytes->bytes);
  }
  kind = kPositionKind;
  auto items = co_await load_system_items(tables, std::move(kind));
  if (!items) co_return fail(std::move(items.error()));
  std::map<std::string, MappingPosition> all;
  for (const ItemRef& ref : *items) {
    auto kept = lane_of(ref.decode(), states);
    if (!kept) continue;
    // Lanes are written together whenever their number changes, so they agree on all but their places.
    auto [place, first] = all.try_emplace(kept->mapping, kept->place);
    if (first) place->second.lanes.resize(kept->lanes);
    if (kept->lane < place->second.lanes.size()) place->second.lanes[kept->lane] = kept->place.lanes.front();
  }
  // A lane without an item has processed only what its neighbours have.
  for (auto& [mapping, position] : all) {
    for (LanePosition& lane : position.lanes) {
      if (lane.next == 0) lane.next = std::max<uint64_t>(1, position.lanes.front().next);
    }
  }
  co_return all;
}

}  // namespace freshet
