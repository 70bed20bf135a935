#include "runtime/invoke/event_source_mappings.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/invoke/codec.h"
#include "streams/system_table.h"
#include "tables/lease/definition_log.h"
#include "tables/lease/positions_table.h"
#include "tables/traits.h"

namespace freshet {

namespace {

constexpr seconds kRemovedEverywhere{60};  // Longer than a daemon serves anything without having reached the engine.

}  // namespace

EventSourceMappings::EventSourceMappings(MappingParts parts, const FunctionRegistry& functions, Random& random,
                                         EngineStreams* engine)
    : parts_(std::move(parts)), functions_(functions), random_(random), engine_(engine), changes_(parts_.scheduler) {
  if (!engine_) return;
  shards_.emplace(ShardedParts{*engine_, parts_.tables, parts_.scheduler, parts_.log});
  parts_.shards = &*shards_;
}

void EventSourceMappings::share(std::function<void()> changed) {
  if (!engine_) return;
  changed_ = std::move(changed);
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

void EventSourceMappings::report_change() const {
  if (changed_) changed_();
}

// In its turn, because the position of the mapping may be about to be stored.
void EventSourceMappings::accept(MappingDefinition mapping) {
  static_cast<void>(changes_.run<bool>([this, mapping = std::move(mapping)] {
    accept_now(mapping);
    return Async<bool>(true);
  }));
}

void EventSourceMappings::forget(std::string id) {
  static_cast<void>(changes_.run<bool>([this, id = std::move(id)] { return forget_now(id); }));
}

void EventSourceMappings::accept_now(MappingDefinition mapping) {
  const auto known = mappings_.find(mapping.id);
  if (known == mappings_.end()) {
    add(std::move(mapping), std::nullopt).start();
  } else if (known->second->definition() == mapping) {
    return;
  } else {
    known->second->change(std::move(mapping), std::nullopt);
  }
  report_change();
}

void EventSourceMappings::drop(const std::string& id) {
  mappings_.erase(id);
  if (shards_) shards_->forget(id);
  report_change();
}

// Removes all of it that this daemon itself has stored.
std::vector<WriteInput> EventSourceMappings::own_positions(const std::string& id) const {
  std::vector<WriteInput> writes = position_removals(id);
  if (!shards_) return writes;
  const auto more = is_shared() ? shards_->own_removals(id) : shards_->removals(id);
  writes.insert(writes.end(), more.begin(), more.end());
  return writes;
}

Async<bool> EventSourceMappings::forget_now(std::string id) {
  if (!mappings_.contains(id)) co_return false;
  drop(id);
  std::vector<WriteInput> writes = own_positions(id);
  co_await write_together(parts_.tables, std::move(writes));  // After an error, some small items are left.
  co_return true;
}

Async<Result<void>> EventSourceMappings::write(std::string id, std::vector<WriteInput> writes) {
  if (definitions_) return definitions_->write(mapping_by_id(std::move(id)), std::move(writes));
  return write_alone(parts_.tables, std::move(writes));
}

Async<Result<std::string>> EventSourceMappings::put(MappingDefinition mapping) {
  return changes_.run<Result<std::string>>([this, mapping = std::move(mapping)] { return put_now(mapping); });
}

Async<Result<std::string>> EventSourceMappings::create(MappingDefinition mapping, Check check) {
  return changes_.run<Result<std::string>>(
      [this, mapping = std::move(mapping), check = std::move(check)] { return create_now(mapping, check); });
}

Async<Result<std::string>> EventSourceMappings::create_now(MappingDefinition mapping, Check check) {
  if (mapping.id.empty()) mapping.id = random_.uuid();
  if (auto may = check(); !may) co_return fail(std::move(may.error()));
  co_return co_await put_now(std::move(mapping), true);
}

Async<Result<std::string>> EventSourceMappings::change(std::string id, Change change) {
  return changes_.run<Result<std::string>>(
      [this, id = std::move(id), change = std::move(change)] { return change_now(id, change); });
}

Async<Result<std::string>> EventSourceMappings::change_now(std::string id, Change change) {
  const auto known = mappings_.find(id);
  if (known == mappings_.end())
    co_return fail(ErrorCode::kResourceNotFound, "The resource you requested does not exist.");
  MappingDefinition mapping = known->second->definition();
  if (auto changed = change(mapping); !changed) co_return fail(std::move(changed.error()));
  auto put = co_await put_now(std::move(mapping));
  co_return put;
}

Async<Result<std::string>> EventSourceMappings::put_now(MappingDefinition mapping, bool begins) {
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
  if (is_shared() && mapping.enabled) {
    auto provided = co_await provide_positions();
    if (!provided) co_return fail(std::move(provided.error()));
  }
  if (is_shared() && begins) {
    MappingDefinition copy = mapping;
    auto begun = co_await begin_for_all(std::move(copy));
    if (!begun) co_return fail(std::move(begun.error()));
  }
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
  std::string written_id = id;
  auto written = co_await write(std::move(written_id), std::move(writes));
  if (!written) co_return written;
  if (first.stream) shards_->started(first.stream);
  if (const auto known = mappings_.find(id); known != mappings_.end()) {
    known->second->change(std::move(mapping), std::move(first.position));
  } else {
    add(std::move(mapping), std::move(first.position)).start();
  }
  report_change();
  co_return Result<void>();
}

Async<Result<void>> EventSourceMappings::remove(std::string id, Positions positions) {
  return changes_.run<Result<void>>([this, id = std::move(id), positions] { return remove_now(id, positions); });
}

Async<Result<void>> EventSourceMappings::remove_now(std::string id, Positions positions) {
  const auto known = mappings_.find(id);
  if (known == mappings_.end()) {
    co_return fail(ErrorCode::kNotFound, fmt::format("There is no event source mapping \"{}\"", id));
  }
  MappingDefinition mapping = known->second->definition();
  std::vector<WriteInput> writes = own_positions(id);
  writes.emplace_back(delete_system_item(kMappingKind, id));
  std::string written_id = id;
  auto written = co_await write(std::move(written_id), std::move(writes));
  if (written) drop(id);
  if (positions == Positions::kGo) remove_positions_later(std::move(mapping));
  co_return written;
}

Async<Result<void>> EventSourceMappings::begin_for_all(MappingDefinition mapping) {
  ShardReader reader{mapping.id, mapping.table};
  co_return co_await shards_->begin_for_all(std::move(reader), mapping.starting_position == StartingPosition::kLatest);
}

Async<Result<void>> EventSourceMappings::provide_positions() {
  if (!is_shared()) return Result<void>();
  return provide_positions_table(parts_.tables);
}

Async<Result<void>> EventSourceMappings::bring_positions(MappingDefinition mapping) {
  ShardReader reader{mapping.id, mapping.table};
  if (!is_shared() || !shards_->has_own(reader)) co_return Result<void>();
  auto provided = co_await provide_positions();
  if (!provided) co_return provided;
  co_return co_await shards_->bring_for_all(std::move(reader));
}

void EventSourceMappings::remove_positions_later(MappingDefinition mapping) {
  if (is_shared()) removals_.spawn(remove_positions(std::move(mapping)));
}

// A daemon that still ran it would begin anew without its positions, and deliver changes again.
Async<void> EventSourceMappings::remove_positions(MappingDefinition mapping) {
  co_await sleep_for(parts_.scheduler, kRemovedEverywhere);
  GetItemInput get = get_system_item(kMappingKind, mapping.id);
  get.table = kDefinitionsTable;
  get.consistent = true;
  const auto there = co_await parts_.tables.get_item(std::move(get));
  if (!there || *there) co_return;  // It was made, although the answer was lost.
  ShardReader reader{mapping.id, mapping.table};
  co_await shards_->remove_for_all(std::move(reader));  // After an error, some small items are left.
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
  removals_.clear();
  mappings_.clear();
  if (shards_) shards_->clear();
}

}  // namespace freshet
