#include "functions/queue/shell/table.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "base/points.h"
#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"
#include "functions/table_built.h"
#include "tables/index_difference.h"
#include "tables/traits.h"

namespace freshet {

namespace {

constexpr std::string_view kOwnPrefix = "freshet-";
// The time between two looks at a table whose index is being built.
constexpr milliseconds kBuildingLook{50};
constexpr seconds kPlacedAgain{10};  // The time after which a task that has not got its place is written again.
constexpr size_t kMostPlacing = 10'000;
constexpr uint32_t kScannedAtOnce = 1000;
// A take on an engine may miss a task that others have put within this time.
constexpr milliseconds kMayBeOld{250};
constexpr seconds kFirstTakes{3};            // Indexes seldom lag by more.
constexpr seconds kBuildingLookAtEngine{2};  // Each look is a request, and building takes minutes there.

// How the indexes of a queue are made, and which ones it can use.
struct IndexKind {
  bool makes_narrow = false;    // New ones have only what the queue's filters need: an engine bills the rest.
  bool accepts_narrow = false;  // The queue can use narrow ones.
};
IndexKind index_kind(const TaskLayout& layout, const StoreTraits& traits) {
  return {layout.has_places && traits.whole_items, traits.whole_items};
}

IndexDefinition queue_index(std::string_view name, std::string_view partition, std::string_view sort,
                            bool is_narrow = false) {
  KeySchema keys{{std::string(partition), Type::kString}, KeyAttribute{std::string(sort), Type::kNumber}};
  IndexDefinition index{std::string(name), std::move(keys), false, Projection::kAll, {}};
  if (!is_narrow) return index;
  index.projection = Projection::kInclude;
  for (const std::string_view attribute : {attribute::kDeadline, attribute::kCreated, attribute::kStatus}) {
    if (attribute != partition && attribute != sort) index.included.emplace_back(attribute);
  }
  return index;
}

// True if the queue can use the index instead of `wanted`.
bool serves(const IndexDefinition& there, const IndexDefinition& wanted, IndexKind kind) {
  if (there.keys != wanted.keys || there.local) return false;
  if (there.projection == Projection::kAll) return true;
  if (!kind.accepts_narrow) return false;
  const auto has = [&](std::string_view attribute) {
    return std::find(there.included.begin(), there.included.end(), attribute) != there.included.end();
  };
  const KeySchema& keys = wanted.keys;
  const IndexDefinition narrow = queue_index(wanted.name, keys.partition.name, keys.sort->name, true);
  return std::all_of(narrow.included.begin(), narrow.included.end(), has);
}

// An index that a client made under one of our names is replaced as a whole, unless it serves.
void add_sparse_index(TableDefinition& definition, std::string_view name, std::string_view partition,
                      std::string_view sort, IndexKind kind) {
  IndexDefinition wanted = queue_index(name, partition, sort, kind.makes_narrow);
  for (IndexDefinition& there : definition.indexes) {
    if (there.name != name) continue;
    if (!serves(there, wanted, kind)) there = std::move(wanted);
    return;
  }
  definition.indexes.push_back(std::move(wanted));
}

bool is_state_index(const IndexDefinition& index, const TaskLayout& layout) {
  return index.keys == queue_index(index.name, layout.partition, layout.sort).keys;
}

// Adds what a queue needs to the definition. `follows_stream`: the queue reads the table's stream (Follower).
TableDefinition as_queue(TableDefinition definition, bool follows_stream, const TaskLayout& layout, IndexKind kind) {
  if (follows_stream && !definition.stream) definition.stream = StreamView::kKeysOnly;
  if (!definition.books) definition.books = BooksDefinition{};
  const bool any = std::any_of(definition.indexes.begin(), definition.indexes.end(),
                               [&](const IndexDefinition& index) { return is_state_index(index, layout); });
  if (layout.has_places) {
    add_sparse_index(definition, layout.index, layout.partition, layout.sort, kind);
  } else if (!any && !definition.index(layout.index)) {
    definition.indexes.push_back(queue_index(layout.index, layout.partition, layout.sort));
  }
  add_sparse_index(definition, "freshet-delayed-index", attribute::kStatus, attribute::kNotBefore, kind);
  add_sparse_index(definition, layout.deadline_index, layout.partition, attribute::kDeadline, kind);
  add_sparse_index(definition, "freshet-lane-index", attribute::kLane, attribute::kCreated, kind);
  add_sparse_index(definition, "freshet-key-index", attribute::kLiveKey, attribute::kCreated, kind);
  // A queue that is older than this index may have no room for it, and works without it.
  const auto globals = std::count_if(definition.indexes.begin(), definition.indexes.end(),
                                     [](const IndexDefinition& index) { return !index.local; });
  if (definition.index(kLaneDeadlineIndex) || static_cast<size_t>(globals) < limits::kMaxGlobalIndexes) {
    add_sparse_index(definition, kLaneDeadlineIndex, attribute::kLane, attribute::kDeadline, kind);
  }
  return definition;
}

// Requires traits that tables.h alone does not promise. docs/lifecycle.md, "What holds on which store", says what is
// weaker without the other traits.
Result<void> fits(const Tables& tables, const std::string& table) {
  return require_traits(tables.traits(), "queue '" + table + "'",
                        {Trait::kExactIndex, Trait::kBooks, Trait::kTransactions});
}

}  // namespace

QueueTable::QueueTable(QueueBase& base, QueueParts& parts, Prepared prepared)
    : QueuePart(base, parts),
      definition_(std::move(prepared.definition)),
      index_(std::move(prepared.index)),
      id_(std::move(prepared.id)) {
  update_core();
}

void QueueTable::update_core() {
  core_.table_is(definition_.ttl_in_milliseconds, definition_.index(kLaneDeadlineIndex) != nullptr);
}

Result<std::string> QueueTable::state_index(const TableDefinition& definition, const TaskLayout& layout,
                                            const StoreTraits& traits) {
  std::string short_one;
  const IndexKind kind = index_kind(layout, traits);
  for (const auto& index : definition.indexes) {
    if (!is_state_index(index, layout)) continue;
    if (serves(index, queue_index(index.name, layout.partition, layout.sort), kind)) return index.name;
    short_one = index.name;
  }
  if (short_one.empty()) {
    const IndexDefinition* other = definition.index(layout.index);
    const IndexDefinition wanted = queue_index(layout.index, layout.partition, layout.sort);
    return invalid("queue '" + definition.name + "': an index on " + std::string(layout.partition) + ", " +
                   std::string(layout.sort) + " is missing" +
                   (other ? "; '" + other->name + "' has " + index_difference(*other, wanted) : ""));
  }
  return invalid("queue '" + definition.name + "': index '" + short_one + "' must project ALL attributes");
}

Async<Result<QueueTable::Prepared>> QueueTable::prepare(Services& services, EventLog log, std::string table,
                                                        Layout wanted_layout) {
  const TaskLayout& layout = task_layout(wanted_layout, services.tables.traits());
  if (auto ok = fits(services.tables, table); !ok) co_return fail(ok.error());
  auto described = co_await services.tables.describe_table(table);
  if (!described) co_return fail(described.error());
  TableDefinition definition = std::move(described->definition);
  if (definition.keys.partition.name != attribute::kId || definition.keys.partition.type != Type::kString ||
      definition.keys.sort) {
    co_return invalid("table '" + table + "' cannot be a queue: its key must be taskId (S) alone");
  }
  const bool follows_stream = Follower::can_follow(services.tables.traits());
  TableDefinition wanted = as_queue(definition, follows_stream, layout, index_kind(layout, services.tables.traits()));
  if (wanted != definition) {
    TableDefinition change = wanted;
    auto altered = co_await services.tables.alter_table(std::move(change));
    if (!altered) co_return fail(altered.error());
  }
  auto index = state_index(wanted, layout, services.tables.traits());
  if (!index) co_return fail(index.error());
  std::string name = wanted.name;
  co_await table_built(services, log, std::move(name));
  co_return Prepared{std::move(wanted), std::move(*index), std::move(described->id)};
}

// A client may delete the table and create it again at any time. Until it can be a queue's table again, all requests
// are answered with the reason.
Async<void> QueueTable::look_for_table() {
  const bool was_mending = is_mending_;  // If so, the answer may be from before the end of the mending.
  auto described = co_await services_.tables.describe_table(table_);
  if (!described && described.error().code != ErrorCode::kResourceNotFound) co_return;
  const bool is_same = described && described->id == id_;
  if (!is_same) {
    lose_table(
        fail(ErrorCode::kResourceNotFound,
             "the table of queue '" + table_ + "' has been deleted; it is a queue again when it is created again")
            .value());
  }
  if (described && !was_mending && !is_mending_) scope_.spawn(mend(std::move(*described)));
}

Async<void> QueueTable::mend(TableDescription there) {
  is_mending_ = true;
  const bool is_same = there.id == id_ && !gone_;  // An engine may have reported for a moment that there is no table.
  auto work = is_same ? mend_table(std::move(there)) : become_queue_again();
  co_await work;
  is_mending_ = false;
}

Async<void> QueueTable::become_queue_again() {
  auto prepared = co_await prepare(services_, log_, table_, settings_.layout);
  if (!prepared) {
    // The next look around tries again.
    if (prepared.error().code != ErrorCode::kResourceNotFound) lose_table(prepared.error());
    co_return;
  }
  definition_ = std::move(prepared->definition);
  index_ = std::move(prepared->index);
  id_ = std::move(prepared->id);
  update_core();
  parts_.sheds.log().count_for(id_);
  gone_.reset();
  log_.info("QUEUE_TABLE_BACK", {{"queue", table_}});
  scope_.spawn(parts_.adoption.adopt_all());
  if (layout_.has_places) scope_.spawn(parts_.adoption.search_again());
  parts_.timer.start_soon(nanoseconds(0));
}

// Clients may drop an index that the queue needs, or replace it by one of another kind. The index is made again at
// once. The queue can do without a stream for a while, so that a client can switch one off and another one on.
Async<void> QueueTable::mend_table(TableDescription there) {
  TableDefinition wanted = as_queue(there.definition, false, layout_, index_kind(layout_, services_.tables.traits()));
  wanted.stream = there.definition.stream;
  if (wanted != there.definition && !FRESHET_PLANTED("dropped-index-stays")) {
    const std::string lost = lacking(wanted, there.definition);
    auto altered = co_await alter(std::move(wanted), lost);
    if (gone_) co_return;
    if (!altered) co_return cannot_mend("lacks " + lost + ", and cannot have it again: " + altered.error().message);
    if (!broken_) log_.warn("QUEUE_INDEX_LOST", {{"queue", table_}, {"lost", lost}});
    there = std::move(*altered);
  }
  auto index = state_index(there.definition, layout_, services_.tables.traits());
  if (!index) co_return cannot_mend("is not one of a queue any more: " + index.error().message);
  definition_ = std::move(there.definition);
  update_core();
  index_ = std::move(*index);
  const auto building = std::find_if(there.indexes.begin(), there.indexes.end(), [this](const IndexState& state) {
    return state.building && (state.name == index_ || state.name.starts_with(kOwnPrefix));
  });
  if (building != there.indexes.end()) {
    broken_ = trouble("has lost its index '" + building->name + "', which is built again: try again in a moment");
    const bool is_immediate = services_.tables.traits().has(Trait::kImmediate);
    core_.agenda.look_by(boot() + (is_immediate ? kBuildingLook : milliseconds(kBuildingLookAtEngine)));
    if (!core_.agenda.is_ticking()) parts_.timer.arm();
  } else if (broken_) {
    broken_.reset();
    log_.info("QUEUE_TABLE_MENDED", {{"queue", table_}});
    core_.delays.index_mended(wall());
    core_.shedder.index_mended(wall());
    parts_.takes.wake_all();
    parts_.timer.start_soon(nanoseconds(0));
  }
}

Async<Result<TableDescription>> QueueTable::alter(TableDefinition wanted, const std::string& lost) {
  auto work = services_.tables.alter_table(std::move(wanted));
  if (!work.is_ready() && !broken_) {
    broken_ = trouble("has lost " + lost + ", and it is made again: try again when it is there");
    log_.warn("QUEUE_INDEX_LOST", {{"queue", table_}, {"lost", lost}});
  }
  return work;
}

Error QueueTable::trouble(const std::string& what) const {
  return {ErrorCode::kUnavailable, "the table of queue '" + table_ + "' " + what, nullptr};
}

// The next look around tries again.
void QueueTable::cannot_mend(const std::string& what) {
  Error why = trouble(what);
  if (!broken_ || broken_->message != why.message) {
    log_.error("QUEUE_TABLE_BROKEN", {{"queue", table_}, {"message", why.message}});
  }
  broken_ = std::move(why);
}

// Reads a page of the table or an index for a query of the queue's own. If the store finds the query wrong, the index
// has changed.
Async<Result<Page>> QueueTable::read_index(QueryInput input) {
  input.whole_items = is_narrow(input.index);
  return read_places(std::move(input));
}

Async<Result<Page>> QueueTable::read_places(QueryInput input) {
  auto page = services_.tables.query(std::move(input));
  if (!page.is_ready()) return when_read(std::move(page));
  return as_read(page.take());
}

bool QueueTable::is_narrow(const std::string& index) const {
  const IndexDefinition* found = definition_.index(index);
  return found != nullptr && found->projection != Projection::kAll;
}

Async<std::vector<Result<ReadOutput>>> QueueTable::read_tasks(const std::vector<std::string>& ids) {
  std::vector<GetItemInput> reads;
  reads.reserve(ids.size());
  for (const auto& id : ids) {
    GetItemInput get;
    get.table = table_;
    get.key.set(attribute::kId, Value(id));
    reads.push_back(std::move(get));
  }
  return services_.tables.read_many(std::move(reads));
}

Async<Result<Page>> QueueTable::when_read(Async<Result<Page>> work) {
  auto page = co_await work;
  co_return as_read(std::move(page));
}

Result<Page> QueueTable::as_read(Result<Page> page) {
  if (page || page.error().code != ErrorCode::kValidation) return page;
  if (broken_) return fail(*broken_);
  core_.agenda.look_by(boot());
  parts_.timer.request_tick();
  return fail(trouble("has lost an index, which is looked for: try again in a moment (" + page.error().message + ")"));
}

void QueueTable::lose_table(const Error& why) {
  broken_.reset();
  if (gone_ && gone_->message == why.message) return;
  log_.warn("QUEUE_TABLE_GONE", {{"queue", table_}, {"message", why.message}});
  gone_ = why;
  core_.table_lost();
  parts_.takes.wake_all();  // Waiting takes are refused.
}

// The newest creation time that Freshet itself gave to a task. Times that clients wrote do not count.
Async<Result<void>> QueueTable::recover_created() {
  for (auto status : state::kAll) {
    if (!layout_.indexes(status)) continue;
    QueryInput query = in_state(status);
    query.forward = false;
    query.limit = 10;
    auto page = co_await services_.tables.query(std::move(query));
    if (!page) co_return fail(page.error());
    for (const auto& task : page->items) {
      if (!has(task, attribute::kAttempt)) continue;
      auto created = WallTime(milliseconds(std::max<int64_t>(int_of(task, attribute::kCreated, 0), 0)));
      core_.times.recovered(created);
      if (layout_.has_places) parts_.creation.ranks().recovered(task);
    }
  }
  co_return Result<void>();
}

Async<Result<WriteOutput>> QueueTable::edit(EditItemInput input, std::string_view end) {
  std::vector<EditItemInput> one;
  one.push_back(std::move(input));
  SureWrites::Ends ends;
  if (!end.empty()) ends.push_back(end);
  auto answers = co_await sure_.edit(std::move(one), std::move(ends));
  co_return std::move(answers.front());
}

WallTime QueueTable::created_bound() const {
  return core_.times.bound(wall());
}

QueryInput QueueTable::in_state(std::string_view status) const {
  QueryInput query;
  query.table = table_;
  query.index = index_;
  query.key_condition = layout_.in_state;
  query.whole_items = is_narrow(index_);
  query.placeholders.values.append_sorted(":s", Value(status));
  return query;
}

QueryInput QueueTable::created_by(std::string_view status, WallTime until) const {
  QueryInput query = in_state(status);
  query.key_condition = layout_.created_by;
  query.placeholders.values.append_sorted(":t", Value::number(epoch_ms(until) + layout_.bound));
  return query;
}

QueryInput QueueTable::created_after(std::string_view status, WallTime until) const {
  QueryInput query = in_state(status);
  query.key_condition = layout_.created_after;
  query.placeholders.values.append_sorted(":t", Value::number(epoch_ms(until) + layout_.bound));
  return query;
}

Async<Result<Page>> QueueTable::read_state(QueryInput query) {
  if (!layout_.has_places) return read_index(std::move(query));
  const Value& status = *query.placeholders.values.find(":s");
  if (layout_.indexes(*status.get_if<std::string>())) return in_place(read_index(std::move(query)));
  return scan_state(std::move(query));
}

// Most tasks that it reads may be in other states, so it reads many at once.
Async<Result<Page>> QueueTable::scan_state(QueryInput query) {
  ScanInput scan;
  scan.table = table_;
  const bool is_bounded = query.key_condition == layout_.created_by;
  scan.filter = is_bounded ? "taskStatus = :s AND taskCreated < :t" : "taskStatus = :s";
  scan.placeholders = std::move(query.placeholders);
  scan.limit = std::max(query.limit, kScannedAtOnce);
  scan.exclusive_start_key = std::move(query.exclusive_start_key);
  return services_.tables.scan(std::move(scan));
}

Async<Result<Page>> QueueTable::heads(std::string_view status, uint32_t limit, bool forward, Item start) {
  QueryInput input = status == state::kPending ? created_by(status, created_bound()) : in_state(status);
  input.forward = forward != FRESHET_PLANTED("oldest-taken");
  input.limit = limit;
  input.exclusive_start_key = std::move(start);
  auto page = read_index(std::move(input));
  return layout_.has_places ? in_place(std::move(page)) : std::move(page);
}

Async<Result<Page>> QueueTable::next_to_take(uint32_t limit, bool forward, Item start) {
  if (services_.tables.traits().immediate || FRESHET_PLANTED("oldest-taken")) {
    return heads(state::kPending, limit, forward, std::move(start));
  }
  return shared_heads(limit, forward, std::move(start));
}

bool QueueTable::may_follow_another() {
  if (!first_take_) first_take_ = boot();
  return boot() - *first_take_ < kFirstTakes;
}

Async<Result<Page>> QueueTable::shared_heads(uint32_t limit, bool forward, Item start) {
  const WallTime bound = created_bound();
  // So that calls of the same moment are the same query.
  const auto rounded = (bound.time_since_epoch() / kMayBeOld + 1) * kMayBeOld;
  QueryInput input = created_by(state::kPending, WallTime(rounded));
  input.forward = forward;
  input.limit = limit;
  input.exclusive_start_key = std::move(start);
  input.may_be_old = kMayBeOld;
  input.current_items = may_follow_another();
  auto reading = read_index(std::move(input));
  auto placing = layout_.has_places ? in_place(std::move(reading)) : std::move(reading);
  auto page = co_await placing;
  if (!page) co_return page;
  std::erase_if(page->items,
                [&](const ItemRef& task) { return int_of(task, attribute::kCreated, 0) > epoch_ms(bound); });
  const bool is_short = page->items.size() < limit && page->last_evaluated_key.empty();
  if (page->is_old && is_short && !std::exchange(looks_soon_, true)) scope_.spawn(look_soon());
  co_return page;
}

// A take that found too little in an old page may wait for a task that the index has shown since.
Async<void> QueueTable::look_soon() {
  co_await sleep_for(services_.scheduler, kMayBeOld);
  looks_soon_ = false;
  if (!core_.agenda.given_up()) parts_.takes.wake();
}

// Without the tasks that a client, or a daemon with the other layout, has moved to another state. Whatever is not in
// its place gets it.
Async<Result<Page>> QueueTable::in_place(Async<Result<Page>> reading) {
  auto page = co_await reading;
  if (!page) co_return page;
  std::vector<ItemRef> misplaced;
  for (const auto& task : page->items) {
    if (layout_.is_misplaced(task) && may_place(task)) misplaced.push_back(task);
  }
  std::erase_if(page->items, [this](const ItemRef& task) { return !layout_.has_its_place(task); });
  if (!misplaced.empty()) scope_.spawn(parts_.adoption.place(std::move(misplaced)));
  co_return page;
}

// Each read may find the same tasks. A task whose write is refused must not be written again at once.
bool QueueTable::may_place(const ItemRef& task) {
  const BootTime now = boot();
  if (placing_.size() >= kMostPlacing && now >= placing_swept_ + kPlacedAgain) {
    placing_swept_ = now;
    std::erase_if(placing_, [now](const auto& one) { return one.second <= now; });
  }
  if (placing_.size() >= kMostPlacing) return false;  // The next search finds it.
  BootTime& next = placing_[std::string(text_of(task, attribute::kId))];
  if (next > now) return false;
  next = now + kPlacedAgain;
  return true;
}

}  // namespace freshet
