#include "tables/engine/read.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "base/limits.h"
#include "base/points.h"
#include "tables/engine/cost.h"
#include "tables/engine/keys.h"
#include "tables/engine/request_checks.h"

namespace freshet {
namespace {

// The table or index that a query or scan walks through.
struct Source {
  const Table* table = nullptr;
  const SecondaryIndex* index = nullptr;  // Null for the table itself.
  const OrderedItems* items = nullptr;
  PagePlaces* places = nullptr;
  const KeySchema& keys() const { return items->keys(); }
};

// How a walk filters, shapes and counts its entries.
struct Shape {
  BoundCondition filter;
  BoundProjection projection;
  uint32_t limit = 0;
  bool count_only = false;
  std::optional<std::string> partition;       // Entries of other partitions in the range are skipped.
  std::vector<std::string> held;              // The attributes that the index holds, sorted; empty for all.
  std::vector<std::string> index_attributes;  // The attributes returned without a projection; empty for all.
  std::vector<std::string> filter_view;       // The attributes that the filter sees; empty for all.
  size_t weight = 0;                          // The most operands and paths that are looked for in an item.
  bool fetches = false;                       // True if the index lacks some of them: the table is read, too.
  bool measure = false;
};

struct Range {
  OrderedItems::Iterator begin;
  OrderedItems::Iterator end;
};

Result<Source> find_source(const Catalog& catalog, PagePlaces& places, const std::string& name,
                           const std::string& index, bool consistent) {
  auto table = catalog.find(name);
  if (!table) return fail(table.error());
  Source source{*table, nullptr, &(*table)->items(), &places};
  if (index.empty()) return source;
  const IndexDefinition* definition = (*table)->definition().index(index);
  if (!definition) return invalid("The table does not have the specified index: " + index);
  if (consistent && !definition->local) {
    return invalid("Consistent reads are not supported on global secondary indexes");
  }
  source.index = (*table)->index(index);
  if (!source.index) return invalid("Cannot read from backfilling global secondary index: " + index);
  source.items = &source.index->items;
  return source;
}

void add_unique(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

bool holds(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool hold_all(const std::vector<std::string>& names, const std::vector<std::string_view>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view name) { return holds(names, name); });
}

// Attributes that a local index lacks come from the table, as on the service.
void fetch_rest(Shape& shape, bool all_attributes, bool filter_sees_all) {
  shape.fetches = all_attributes || !hold_all(shape.held, top_level_attributes(shape.projection)) ||
                  (filter_sees_all && !hold_all(shape.held, top_level_attributes(shape.filter)));
  if (all_attributes || shape.projection) shape.index_attributes.clear();
}

// A global index must hold all requested attributes.
Result<void> check_projected(const Source& source, const Shape& shape) {
  if (shape.held.empty() || !shape.projection || source.index->definition.local) return {};
  for (const auto name : top_level_attributes(shape.projection)) {
    if (std::find(shape.index_attributes.begin(), shape.index_attributes.end(), name) == shape.index_attributes.end()) {
      return invalid("One or more parameter values were invalid: Global secondary index " +
                     source.index->definition.name + " does not project [" + std::string(name) + "]");
    }
  }
  return {};
}

// A query of a global index must not filter by attributes that the index lacks.
Result<void> check_filter_attributes(const Source& source, const Shape& shape) {
  if (shape.index_attributes.empty() || !shape.filter || source.index->definition.local) return {};
  for (const auto name : top_level_attributes(shape.filter)) {
    if (!holds(shape.index_attributes, name)) {
      return invalid("One or more parameter values were invalid: Global secondary index " +
                     source.index->definition.name + " does not project " + std::string(name));
    }
  }
  return {};
}

// Hides from the filter the attributes that the index lacks: its entries are whole items.
void limit_filter(Shape& shape) {
  if (shape.index_attributes.empty() || !shape.filter) return;
  const auto names = top_level_attributes(shape.filter);
  const bool all = std::all_of(names.begin(), names.end(),
                               [&](std::string_view name) { return holds(shape.index_attributes, name); });
  if (!all) shape.filter_view = shape.index_attributes;
}

template <class Input>
Result<Shape> make_shape(Expressions& expressions, const Source& source, const Input& input) {
  Shape shape;
  auto filter = expressions.filter(input.filter);
  if (!filter) return fail(filter.error());
  auto projection = expressions.projection(input.projection);
  if (!projection) return fail(projection.error());
  if (auto ok = expressions.finish(); !ok) return fail(ok.error());
  const TableDefinition& definition = source.table->definition();
  if (auto ok = check_keys(*filter, definition); !ok) return fail(ok.error());
  if (auto ok = check_keys(*projection, definition); !ok) return fail(ok.error());
  if (input.count_only && *projection) {
    return invalid("Cannot specify the ProjectionExpression when choosing to get only the Count");
  }
  shape.filter = std::move(*filter);
  shape.projection = std::move(*projection);
  shape.limit = input.limit;
  shape.count_only = input.count_only;
  if (source.index) shape.held = held_attributes(definition, source.index->definition);
  std::sort(shape.held.begin(), shape.held.end());
  shape.index_attributes = shape.held;
  shape.measure = input.measure;
  constexpr bool kIsQuery = std::is_same_v<Input, QueryInput>;
  const bool local = source.index && source.index->definition.local;
  if (input.by_statement || (!kIsQuery && !local)) limit_filter(shape);
  if (!shape.held.empty() && local) {
    fetch_rest(shape, input.all_attributes, !input.by_statement);
  }
  if (auto ok = check_projected(source, shape); !ok) return fail(ok.error());
  if (kIsQuery && !input.by_statement) {
    if (auto ok = check_filter_attributes(source, shape); !ok) return fail(ok.error());
  }
  shape.weight = weight(shape.filter) + weight(shape.projection) + shape.held.size() + shape.filter_view.size();
  return shape;
}

ItemRef only(const ItemRef& item, const std::vector<std::string>& names) {
  Item out;
  for (const auto& name : names) {
    if (const auto value = item.find(name)) out.set(name, value->decode());
  }
  return ItemRef::encode(out);
}

ItemRef shaped(const ItemRef& item, const Shape& shape) {
  if (shape.projection) return ItemRef::encode(project(shape.projection, item));
  return shape.index_attributes.empty() ? item : only(item, shape.index_attributes);
}

Item continuation_key(const ItemRef& item, const Source& source) {
  Item key = keys_only(item, source.table->definition().keys);
  if (!source.index) return key;
  for (const auto* part : source.keys().attributes()) key.set(part->name, item.find(part->name)->decode());
  return key;
}

// Walks the range in one direction and fills a page.
class PageBuilder {
 public:
  PageBuilder(const Source& source, const Shape& shape) : source_(source), shape_(shape), filter_(shape.filter) {
    constexpr uint32_t kReserved = 100;
    if (!shape.count_only) page_.items.reserve(std::min(shape.limit, kReserved));
  }

  // True when the page is full, or its filter has failed.
  bool add(const OrderedItems::Entry& entry) {
    if (shape_.partition && !source_.items->holds(entry, *shape_.partition)) return false;
    const ItemRef& item = entry.item;
    ++page_.scanned;
    count_bytes(item);
    work_ += shape_.weight * (1 + item.encoded().size() / 256);
    if (passes(item)) {
      ++page_.count;
      if (!shape_.count_only) page_.items.push_back(shaped(item, shape_));
    }
    const bool full = (shape_.limit != 0 && page_.scanned >= shape_.limit) ||
                      page_.scanned_bytes >= limits::kMaxPageBytes || work_ >= limits::kMaxPageWork ||
                      FRESHET_OFTEN("a page of items ends early");
    if (full) end_at(item);
    return full || failed_;
  }
  Result<Page> take() {
    if (failed_) return too_much_effort(ExpressionKind::kFilter);
    return std::move(page_);
  }

 private:
  void end_at(const ItemRef& item) {
    page_.last_evaluated_key = continuation_key(item, source_);
    if (source_.items->kind() != OrderedItems::Kind::kByArrival) return;
    const Table& table = *source_.table;
    source_.places->note(table.number(), key_of(item, table.definition().keys), item.creation());
  }

  bool passes(const ItemRef& item) {
    if (!shape_.filter) return true;
    Effort effort(kMostItemEffort);
    const bool holds = filter_.holds(shape_.filter_view.empty() ? item : only(item, shape_.filter_view), effort);
    failed_ = effort.is_spent();
    return holds && !failed_;
  }

  void count_bytes(const ItemRef& item) {
    page_.scanned_bytes += shape_.held.empty() || shape_.fetches ? item.encoded().size() : held_size(item);
    if (!shape_.measure) return;
    page_.billed_bytes += shape_.held.empty() ? billed_bytes(item) : billed_bytes(item, shape_.held);
    if (shape_.fetches) page_.fetched_units += read_units_of(billed_bytes(item));
  }
  // The size of the item's attributes that the index holds.
  size_t held_size(const ItemRef& item) {
    values_.assign(shape_.held.size(), {});
    item.pick(shape_.held, values_.data());
    size_t bytes = 0;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!values_[i].empty()) bytes += shape_.held[i].size() + values_[i].size();
    }
    return bytes;
  }

  const Source& source_;
  const Shape& shape_;
  Evaluator filter_;
  bool failed_ = false;
  Page page_;
  size_t work_ = 0;
  std::vector<std::string_view> values_;  // Room for held_size().
};

// The entries of the range from its near end on, fetched ahead: the items are spread over memory, and loading one while
// another is read costs next to nothing.
template <class Next>
void walk_ahead(PageBuilder& builder, uint32_t limit, const Next& next) {
  constexpr size_t kAhead = 16;
  std::array<const OrderedItems::Entry*, kAhead> ahead;
  const size_t most = limit != 0 ? std::min<size_t>(limit, kAhead) : kAhead;
  for (;;) {
    size_t count = 0;
    while (count < most && (ahead[count] = next()) != nullptr) ahead[count++]->item.prefetch();
    for (size_t i = 0; i < count; ++i) {
      if (builder.add(*ahead[i])) return;
    }
    if (count < most) return;
  }
}

Result<Page> walk(const Source& source, const Shape& shape, Range range, bool forward) {
  PageBuilder builder(source, shape);
  if (forward) {
    walk_ahead(builder, shape.limit, [&] { return range.begin == range.end ? nullptr : &*range.begin++; });
  } else {
    walk_ahead(builder, shape.limit, [&] { return range.begin == range.end ? nullptr : &*--range.end; });
  }
  return builder.take();
}

// The service reports the fault of a start key in different words, depending on where it finds it.
constexpr const char* kWrongStart = "The provided starting key is invalid";
constexpr const char* kWrongElement = "The provided key element does not match the schema";

bool has_types(const Item& item, const KeySchema& keys) {
  const auto fits = [&](const KeyAttribute& key) {
    const Value* value = item.find(key.name);
    return value && value->is(key.type);
  };
  const auto attributes = keys.attributes();
  return std::all_of(attributes.begin(), attributes.end(), [&](const auto* key) { return fits(*key); });
}

// A start key has the key attributes of the table and of the index, and no others.
Result<void> check_start_key(const Source& source, const Item& start, bool scan) {
  const std::string wrong_in_table = std::string(kWrongStart) + ": " + kWrongElement;
  std::vector<std::string> names;
  const KeySchema& main = source.table->definition().keys;
  for (const KeySchema* keys : {&main, &source.keys()}) {
    for (const auto* key : keys->attributes()) add_unique(names, key->name);
  }
  const bool named = names.size() == start.size() &&
                     std::all_of(names.begin(), names.end(), [&](const auto& name) { return start.contains(name); });
  if (!named) return invalid(scan && !source.index ? wrong_in_table : kWrongStart);
  if (!has_types(start, source.keys())) return invalid(scan && !source.index ? wrong_in_table : kWrongElement);
  if (!has_types(start, main)) return invalid(wrong_in_table);
  return {};
}

// The position at which a page of an index by arrival ended, which the start key does not tell: the creation number of
// its item. Empty if the item is gone and its position is not remembered.
std::optional<uint64_t> arrival_of(const Source& source, const Item& start) {
  const ItemKey main_key(start, source.table->definition().keys);
  if (const auto noted = source.places->find(source.table->number(), main_key.view())) return noted;
  // An item that left the index and came back keeps its creation number.
  const ItemRef* item = source.table->find(main_key.view());
  return item ? std::optional(item->creation()) : std::nullopt;
}

// The place of a start key: just after it going forward, just before it going back, even if the item no longer
// exists.
OrderedItems::Iterator after_start(const Source& source, const Item& start, bool forward) {
  using Tie = OrderedItems::Probe::Tie;
  const ItemKey key(start, source.keys());
  const ItemKey main_key(start, source.table->definition().keys);
  OrderedItems::Probe place = source.items->probe(key.view(), Tie::kAt);
  if (source.items->kind() == OrderedItems::Kind::kByArrival) {
    const auto creation = arrival_of(source, start);
    place.creation = creation.value_or(0);
    // Repeats all equal keys, because none may be skipped.
    if (!creation) place.tie = forward ? Tie::kBefore : Tie::kAfter;
  } else {
    place.beside = main_key.view();
  }
  return forward ? source.items->after(place) : source.items->at(place);
}

// Cuts a range by a start key inside it.
void resume(const Source& source, const Item& start, bool forward, Range& range) {
  (forward ? range.begin : range.end) = after_start(source, start, forward);
}

// The least string above all that start with `prefix`; empty if there is none.
std::string successor(std::string prefix) {
  while (!prefix.empty()) {
    if (static_cast<uint8_t>(prefix.back()) != 0xff) {
      ++prefix.back();
      return prefix;
    }
    prefix.pop_back();
  }
  return prefix;
}

std::string partition_of(const KeyRange& range, const KeySchema& keys) {
  const KeyBytes first(range.partition);
  if (keys.more_partition.empty()) return std::string(first.view());
  std::string joined;
  append_joined(joined, keys.partition.type, first.view());
  for (size_t i = 0; i < range.more_partition.size(); ++i) {
    append_joined(joined, keys.more_partition[i].type, KeyBytes(range.more_partition[i]).view());
  }
  return joined;
}

// The range of an index whose sort key has several attributes: all conditions are begins of the joined bytes.
Range joined_range_of(const OrderedItems& items, const KeyRange& range, const std::string& partition) {
  const uint64_t hash = items.hash(partition);
  const auto attributes = items.keys().sort_attributes();
  std::string begin;
  for (size_t i = 0; i < range.first_sort.size(); ++i) {
    append_joined(begin, attributes[i]->type, KeyBytes(range.first_sort[i]).view());
  }
  const auto joined = [&](const Value& value) {
    std::string out = begin;
    append_joined(out, attributes[range.first_sort.size()]->type, KeyBytes(value).view());
    return out;
  };
  const auto at = [&](const std::string& bytes) { return items.at(items.probe({partition, bytes})); };
  const auto behind = [&](const std::string& bytes) {
    const std::string next = successor(bytes);
    return next.empty() ? items.at(OrderedItems::after_hash(hash)) : at(next);
  };
  if (range.prefix) append_joined_begin(begin, KeyBytes(*range.prefix).view());
  Range out{begin.empty() ? items.at(OrderedItems::before_hash(hash)) : at(begin), behind(begin)};
  if (range.lower)
    out.begin = range.lower->inclusive ? at(joined(range.lower->value)) : behind(joined(range.lower->value));
  if (range.upper)
    out.end = range.upper->inclusive ? behind(joined(range.upper->value)) : at(joined(range.upper->value));
  return out;
}

Range key_range_of(const Source& source, const KeyRange& range, const std::string& partition) {
  const OrderedItems& items = *source.items;
  if (!items.keys().more_sort.empty()) return joined_range_of(items, range, partition);
  const uint64_t hash = items.hash(partition);
  const auto at = [&](std::string_view sort, bool after) {
    using Tie = OrderedItems::Probe::Tie;
    const auto place = items.probe({partition, sort}, after ? Tie::kAfter : Tie::kBefore);
    return after ? items.after(place) : items.at(place);
  };
  Range out{items.at(OrderedItems::before_hash(hash)), items.at(OrderedItems::after_hash(hash))};
  if (range.prefix) {
    const KeyBytes prefix(*range.prefix);
    const std::string next = successor(std::string(prefix.view()));
    out.begin = at(prefix.view(), false);
    if (!next.empty()) out.end = at(next, false);
    return out;
  }
  if (range.lower) out.begin = at(KeyBytes(range.lower->value).view(), !range.lower->inclusive);
  if (range.upper) out.end = at(KeyBytes(range.upper->value).view(), range.upper->inclusive);
  return out;
}

bool is_empty(const KeyRange& range) {
  if (!range.lower || !range.upper) return false;
  const auto order = compare(range.lower->value, range.upper->value);
  if (order == std::partial_ordering::equivalent) return !range.lower->inclusive || !range.upper->inclusive;
  return order == std::partial_ordering::greater;
}

// A value in a key condition may not be longer than a key.
Result<void> check_sizes(const KeyRange& range, const KeySchema& keys) {
  if (auto ok = check_partition_size(keys.partition, range.partition); !ok) return ok;
  const auto size = [](const Value& value) { return KeyBytes(value).view().size(); };
  const auto sum = [&](const std::vector<Value>& values) {
    size_t bytes = 0;
    for (const auto& value : values) bytes += size(value);
    return bytes;
  };
  if (!range.more_partition.empty()) {
    if (auto ok = check_part_size(size(range.partition) + sum(range.more_partition), true); !ok) return ok;
  }
  size_t longest = 0;
  if (range.lower) longest = size(range.lower->value);
  if (range.upper) longest = std::max(longest, size(range.upper->value));
  if (range.prefix) longest = std::max(longest, size(*range.prefix));
  return check_part_size(sum(range.first_sort) + longest, false);
}

Result<void> check_query_start(const Source& source, const KeyRange& range, const Item& start) {
  if (auto ok = check_start_key(source, start, false); !ok) return ok;
  const KeySchema& keys = source.keys();
  if (range.contains(start, keys)) return {};
  if (keys.sort && !keys.is_composite() && !range.contains(*start.find(keys.sort->name))) {
    return invalid("The provided starting key does not match the range key predicate");
  }
  return invalid("The provided starting key is outside query boundaries based on provided conditions");
}

// Writes the whole item to `whole`, if that is not null.
Result<ItemRef> read_one(const Catalog& catalog, const GetItemInput& input, const BoundProjection& projection,
                         ItemRef* whole) {
  auto table = catalog.find(input.table);
  if (!table) return fail(table.error());
  const TableDefinition& definition = (*table)->definition();
  const KeySchema& keys = definition.keys;
  if (auto ok = check_key(input.key, keys); !ok) return fail(ok.error());
  if (auto ok = check_keys(projection, definition); !ok) return fail(ok.error());
  const ItemKey key(input.key, keys);
  const ItemRef* found = (*table)->find(key.view());
  if (!found) return ItemRef{};
  if (whole) *whole = *found;
  return projection ? ItemRef::encode(project(projection, *found)) : *found;
}

Result<Page> query_page(const Catalog& catalog, ExpressionCache& cache, PagePlaces& places, const QueryInput& input) {
  auto source = find_source(catalog, places, input.table, input.index, input.consistent);
  if (!source) return fail(source.error());
  Expressions expressions(cache, input.placeholders);
  auto condition = expressions.key_condition(input.key_condition);
  if (!condition) return fail(condition.error());
  auto shape = make_shape(expressions, *source, input);
  if (!shape) return fail(shape.error());
  auto range = key_range(*condition, source->keys());
  if (!range) return fail(range.error());
  if (auto ok = check_sizes(*range, source->keys()); !ok) return fail(ok.error());
  if (!input.by_statement) {
    if (auto ok = check_filter(shape->filter, source->keys()); !ok) return fail(ok.error());
  }
  if (!input.exclusive_start_key.empty()) {
    if (auto ok = check_query_start(*source, *range, input.exclusive_start_key); !ok) return fail(ok.error());
  }
  if (is_empty(*range)) return Page{};
  shape->partition = partition_of(*range, source->keys());
  Range walked = key_range_of(*source, *range, *shape->partition);
  if (!input.exclusive_start_key.empty()) resume(*source, input.exclusive_start_key, input.forward, walked);
  return walk(*source, *shape, walked, input.forward);
}

Result<Page> scan_page(const Catalog& catalog, ExpressionCache& cache, PagePlaces& places, const ScanInput& input) {
  if (input.total_segments == 0 || input.total_segments > 1'000'000) {
    return invalid("1 validation error detected: Value '" + std::to_string(input.total_segments) +
                   "' at 'totalSegments' failed to satisfy constraint: Member must have value between 1 and 1000000");
  }
  if (input.segment >= input.total_segments) {
    return invalid("The Segment parameter is zero-based and must be less than parameter TotalSegments: Segment: " +
                   std::to_string(input.segment) +
                   " is not less than TotalSegments: " + std::to_string(input.total_segments));
  }
  auto source = find_source(catalog, places, input.table, input.index, input.consistent);
  if (!source) return fail(source.error());
  Expressions expressions(cache, input.placeholders);
  auto shape = make_shape(expressions, *source, input);
  if (!shape) return fail(shape.error());

  const uint64_t share = UINT64_MAX / input.total_segments;
  const auto first_hash = [&](uint64_t segment) { return segment * share; };
  const OrderedItems& items = *source->items;
  const uint64_t low = first_hash(input.segment);
  Range range{items.at(OrderedItems::before_hash(low)), items.end()};
  const bool last = input.segment + 1 == input.total_segments;
  if (!last) range.end = items.at(OrderedItems::before_hash(first_hash(input.segment + 1)));
  if (!input.exclusive_start_key.empty()) {
    if (auto ok = check_start_key(*source, input.exclusive_start_key, true); !ok) return fail(ok.error());
    const uint64_t hash = items.hash(ItemKey(input.exclusive_start_key, source->keys()).view().partition);
    if (hash < low || (!last && hash >= first_hash(input.segment + 1))) {
      return invalid(std::string(kWrongStart) +
                     ": Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. TotalSegments: " +
                     std::to_string(input.total_segments) + " Segment: " + std::to_string(input.segment));
    }
    resume(*source, input.exclusive_start_key, true, range);
  }
  return walk(*source, *shape, range, true);
}

}  // namespace

Result<BoundProjection> bind_projection(ExpressionCache& cache, const GetItemInput& input) {
  Expressions expressions(cache, input.placeholders);
  auto projection = expressions.projection(input.projection);
  if (!projection) return projection;
  if (auto ok = expressions.finish(); !ok) return fail(ok.error());
  return projection;
}

Result<ItemRef> read_item(const Catalog& catalog, ExpressionCache& cache, const GetItemInput& input) {
  const auto projection = bind_projection(cache, input);
  if (!projection) return fail(projection.error());
  return read_one(catalog, input, *projection, nullptr);
}

Result<ReadOutput> read_measured(const Catalog& catalog, ExpressionCache& cache, const GetItemInput& input) {
  const auto projection = bind_projection(cache, input);
  if (!projection) return fail(projection.error());
  return read_measured(catalog, input, *projection);
}

Result<ReadOutput> read_measured(const Catalog& catalog, const GetItemInput& input, const BoundProjection& projection) {
  ItemRef whole;
  auto item = read_one(catalog, input, projection, &whole);
  if (!item) return fail(item.error());
  return ReadOutput{std::move(*item), billed_bytes(whole)};
}

Result<Page> read_query(const Catalog& catalog, ExpressionCache& cache, PagePlaces& places, const QueryInput& input) {
  auto page = query_page(catalog, cache, places, input);
  if (!page) return fail(first_fault(cache, input, std::move(page.error())));
  return page;
}

Result<Page> read_scan(const Catalog& catalog, ExpressionCache& cache, PagePlaces& places, const ScanInput& input) {
  auto page = scan_page(catalog, cache, places, input);
  if (!page) return fail(first_fault(cache, input, std::move(page.error())));
  return page;
}

}  // namespace freshet
