#include "runtime/invoke/event_source_mappings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/invoke/codec.h"
#include "streams/system_table.h"
#include "tables/lease/positions_table.h"
#include "tables/traits.h"

namespace freshet {

EventSourceMappings::EventSourceMappings(MappingParts parts, const FunctionRegistry& functions, Random& random,
                                         EngineStreams* engine)
    : parts_(std::move(parts)), functions_(functions), random_(random), engine_(engine), changes_(parts_.scheduler) {
  if (!engine_) return;
  shards_.emplace(ShardedParts{*engine_, parts_.tables, parts_.scheduler, parts_.log});
  parts_.shards = &*shards_;
}

void EventSourceMappings::share() {
  if (!engine_) return;
  shards_.emplace(ShardedParts{*engine_, parts_.tables, parts_.scheduler, parts_.log, kPositionsTable});
}

void EventSourceMappings::serve(const std::string& id, bool is_mine) {
  if (is_mine) {
    served_.insert(id);
  } else {
    served_.erase(id);
  }
  const auto found = mappings_.find(id);
  if (found == mappings_.end()) return;
  if (is_mine) {
    found->second->resume();
  } else {
    found->second->hold();
  }
}

bool EventSourceMappings::is_busy(const std::string& id) const {
  const auto found = mappings_.find(id);
  return found != mappings_.end() && found->second->runs();
}

EventSourceMapping& EventSourceMappings::add(MappingDefinition definition, std::optional<MappingPosition> position) {
  std::unique_ptr<EventSourceMapping>& place = mappings_[definition.id];
  place = std::make_unique<EventSourceMapping>(parts_, std::move(definition), std::move(position));
  if (is_shared() && !served_.contains(place->definition().id)) place->hold();
  return *place;
}

// One stream in the order of the writes, with whole images; or shards, which their reader puts in order.
Result<void> EventSourceMappings::can_be_read(const MappingDefinition& mapping) const {
  if (shards_) return {};
  const std::string who = "the event source mapping of table '" + mapping.table + "'";
  return require_traits(parts_.tables.traits(), who, {Trait::kSingleStream, Trait::kFullImages});
}

Result<void> EventSourceMappings::fits_engine(const MappingDefinition& mapping,
                                              const FunctionDefinition& function) const {
  if (!shards_) return {};
  const auto others = std::count_if(mappings_.begin(), mappings_.end(), [&](const auto& one) {
    return one.first != mapping.id && one.second->definition().table == mapping.table;
  });
  return EventSourceMapping::check_on_engine(mapping, function, static_cast<size_t>(others));
}

Async<Result<void>> EventSourceMappings::load() {
  if (shards_) {
    auto loaded = co_await shards_->load();
    if (!loaded) co_return loaded;
  }
  auto positions = co_await load_positions(parts_.tables);
  if (!positions) co_return fail(std::move(positions.error()));
  auto items = co_await load_system_items(parts_.tables, std::string(kMappingKind));
  if (!items) co_return fail(std::move(items.error()));
  for (const ItemRef& ref : *items) {
    MappingDefinition definition = mapping_of(ref.decode());
    if (auto fits = can_be_read(definition); !fits) co_return fits;
    const auto position = positions->find(definition.id);
    const bool is_known = position != positions->end() && !is_shared();
    auto known = is_known ? std::optional(position->second) : std::nullopt;
    add(std::move(definition), std::move(known));
  }
  co_return Result<void>();
}

void EventSourceMappings::start() {
  for (auto& [id, mapping] : mappings_) mapping->start();
}

// Where a new mapping, or one that changes to another table, begins; without a position if it continues, or if it is a
// fleet's: there, it begins when a daemon first runs it.
Async<Result<EventSourceMappings::FirstPlace>> EventSourceMappings::first_place(MappingDefinition mapping) {
  const auto known = mappings_.find(mapping.id);
  if (known != mappings_.end() && known->second->definition().table == mapping.table) co_return FirstPlace();
  if (auto fits = can_be_read(mapping); !fits) co_return fail(std::move(fits.error()));
  if (shards_) {
    auto first = co_await first_place_in_shards(std::move(mapping));
    co_return first;
  }
  const bool latest = mapping.starting_position == StartingPosition::kLatest;
  auto stream = co_await parts_.streams.stream_of(mapping.table);
  if (!stream) co_return fail(std::move(stream.error()));
  const uint64_t next = latest ? stream->bounds.next : stream->bounds.oldest;
  co_return FirstPlace{position_at(stream->label, next, mapping.parallelization_factor)};
}

Async<Result<EventSourceMappings::FirstPlace>> EventSourceMappings::first_place_in_shards(MappingDefinition mapping) {
  if (is_shared()) {
    std::string table = mapping.table;
    auto stream = co_await engine_->stream_of(std::move(table));
    if (!stream) co_return fail(std::move(stream.error()));
    co_return FirstPlace();
  }
  ShardReader reader{mapping.id, mapping.table};
  auto opened = co_await shards_->open_new(std::move(reader), mapping.starting_position == StartingPosition::kLatest);
  if (!opened) co_return fail(std::move(opened.error()));
  const MappingPosition at =
      position_at((*opened)->stream().label, (*opened)->oldest(), mapping.parallelization_factor);
  co_return FirstPlace{at, *opened};
}

Async<Result<std::string>> EventSourceMappings::put(MappingDefinition mapping) {
  return changes_.run<Result<std::string>>([this, mapping = std::move(mapping)] { return put_now(mapping); });
}

Async<Result<std::string>> EventSourceMappings::put_now(MappingDefinition mapping) {
  if (auto good = EventSourceMapping::check(mapping); !good) co_return fail(std::move(good.error()));
  mapping.table = table_name(mapping.table);
  const FunctionPtr function = functions_.find(mapping.function);
  if (!function) co_return fail(ErrorCode::kNotFound, fmt::format("There is no function \"{}\"", mapping.function));
  mapping.function = function->name;
  if (mapping.id.empty()) mapping.id = random_.uuid();
  if (auto fits = fits_engine(mapping, *function); !fits) co_return fail(std::move(fits.error()));
  const std::string id = mapping.id;
  mapping.modified_ms = 0;
  if (const auto known = mappings_.find(id); known != mappings_.end()) {
    mapping.modified_ms = known->second->definition().modified_ms;
    if (known->second->definition() == mapping) co_return id;
  }
  mapping.modified_ms = std::max(epoch_ms(parts_.scheduler.clock().wall()), mapping.modified_ms);
  MappingDefinition asked = mapping;
  auto first = co_await first_place(std::move(asked));
  if (!first) co_return fail(std::move(first.error()));
  auto stored = co_await store(std::move(mapping), std::move(*first));
  if (!stored) co_return fail(std::move(stored.error()));
  co_return id;
}

Async<Result<void>> EventSourceMappings::store(MappingDefinition mapping, FirstPlace first) {
  const std::string id = mapping.id;
  std::vector<WriteInput> writes;
  if (first.position) writes = position_writes(id, *first.position, 0);
  writes.emplace_back(put_system_item(to_item(mapping)));
  if (first.stream) {
    for (WriteInput& write : shards_->start_writes(*first.stream)) writes.push_back(std::move(write));
  }
  auto written = co_await write_together(parts_.tables, std::move(writes));
  if (!written) co_return written;
  if (first.stream) shards_->started(first.stream);
  if (const auto known = mappings_.find(id); known != mappings_.end()) {
    known->second->change(std::move(mapping), std::move(first.position));
  } else {
    add(std::move(mapping), std::move(first.position)).start();
  }
  co_return Result<void>();
}

Async<Result<void>> EventSourceMappings::remove(std::string id) {
  return changes_.run<Result<void>>([this, id = std::move(id)] { return remove_now(id); });
}

Async<Result<void>> EventSourceMappings::remove_now(std::string id) {
  if (!mappings_.contains(id)) {
    co_return fail(ErrorCode::kNotFound, fmt::format("There is no event source mapping \"{}\"", id));
  }
  std::vector<WriteInput> writes = position_removals(id);
  writes.emplace_back(delete_system_item(kMappingKind, id));
  if (shards_ && !is_shared()) {
    for (WriteInput& write : shards_->removals(id)) writes.push_back(std::move(write));
  }
  auto written = co_await write_together(parts_.tables, std::move(writes));
  if (written) mappings_.erase(id);
  if (written && shards_) shards_->forget(id);
  co_return written;
}

std::vector<MappingState> EventSourceMappings::list() const {
  std::vector<MappingState> all;
  for (const auto& [id, mapping] : mappings_) {
    all.push_back(
        {mapping->definition(), mapping->position(), mapping->last_error(), mapping->state(), mapping->last_result()});
  }
  return all;
}

void EventSourceMappings::pause() {
  for (auto& [id, mapping] : mappings_) mapping->pause();
}

bool EventSourceMappings::busy() const {
  return std::any_of(mappings_.begin(), mappings_.end(), [](const auto& one) { return one.second->busy(); });
}

// In its turn, because a client may still change or remove one of them.
Async<Result<void>> EventSourceMappings::save() {
  return changes_.run<Result<void>>([this] { return save_now(); });
}

Async<Result<void>> EventSourceMappings::save_now() {
  for (auto& [id, mapping] : mappings_) co_await mapping->save();
  co_return Result<void>();
}

void EventSourceMappings::end_all() {
  mappings_.clear();
  if (shards_) shards_->clear();
}

}  // namespace freshet
