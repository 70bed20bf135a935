// The queries of OwnedTables: corrected by what this process has written, and with pages of a moment ago.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/points.h"
#include "tables/owned/owned_tables.h"

namespace freshet {

namespace {

Item key_of(const ItemRef& item, const KeySchema& keys) {
  Item key;
  for (const KeyAttribute* one : keys.attributes()) {
    if (const auto value = item.find(one->name)) key.set(one->name, value->decode());
  }
  return key;
}

}  // namespace

std::optional<Page> OwnedTables::known_page(const QueryInput& query) {
  const auto* kept = pages_.find(query, now());
  if (kept == nullptr) return std::nullopt;
  if (FRESHET_PLANTED("fleet-own-writes-not-in-page")) return kept->page;
  size_t masked = 0;
  Page page = recent_.corrected(query, kept->page, kept->asked, masked);
  for (auto& doubt : recent_.take_doubts()) scope_.spawn(look_at_lag(std::move(doubt)));
  if (page.items.size() < query.limit && !page.last_evaluated_key.empty()) return std::nullopt;
  FRESHET_REACHED("a take used the page of another one");
  page.scanned_bytes = page.billed_bytes = 0;
  page.is_old = true;
  return page;
}

std::optional<ItemRef> OwnedTables::remembered(const std::string& table, const Item& key) const {
  if (recent_.cause_of_unsure(table, key)) return std::nullopt;
  return recent_.find(table, key);
}

// The current items with these keys, null for one that is gone: those that are remembered, and the others by a read.
// Sets `has_waited` if it reads any.
Async<Result<std::vector<ItemRef>>> OwnedTables::current_items(std::string table, std::vector<Item> keys,
                                                               bool& has_waited) {
  std::vector<ItemRef> items(keys.size());
  std::vector<size_t> asked;
  std::vector<GetItemInput> reads;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (const auto known = remembered(table, keys[i])) {
      items[i] = *known;
      continue;
    }
    GetItemInput get;
    get.table = table;
    get.key = keys[i];
    get.consistent = true;
    asked.push_back(i);
    reads.push_back(std::move(get));
  }
  if (reads.empty()) co_return items;
  has_waited = true;
  const auto answers = co_await read_many(std::move(reads));
  for (size_t n = 0; n < asked.size(); ++n) {
    if (!answers[n]) co_return fail(answers[n].error());
    items[asked[n]] = answers[n]->item;
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    if (const auto known = remembered(table, keys[i])) items[i] = *known;  // Perhaps written during the read.
  }
  co_return items;
}

// A page of an index whose items are to come whole and as they are now. Pure.
class OwnedTables::NarrowPage {
 public:
  NarrowPage(const IndexDefinition& index, const QueryInput& query, const std::vector<ItemRef>& items)
      : index_(index),
        is_exact_(index.projection == Projection::kAll && !query.filter.empty()),
        up_to_(query.whole_up_to),
        items_(items) {}
  bool must_be_whole(size_t i) const {
    const auto sort = index_.keys.sort ? items_[i].find(index_.keys.sort->name) : std::nullopt;
    if (!up_to_ || !sort || sort->type() != Type::kNumber) return true;
    return sort->number().floor_int64() <= *up_to_;
  }
  // True if the index would show the item as it shows the i-th.
  bool shows(size_t i, const ItemRef& now) const {
    if (!now) return false;
    if (is_exact_) return items_[i].decode() == now.decode();
    const auto attributes = index_.keys.attributes();
    return std::all_of(attributes.begin(), attributes.end(),
                       [&](const KeyAttribute* one) { return is_same(i, now, one->name); }) &&
           std::all_of(index_.included.begin(), index_.included.end(),
                       [&](const std::string& name) { return is_same(i, now, name); });
  }
  // False if the items before and behind `end` have the same sort key: the engine may order those in its own way, so a
  // page does not end between them.
  bool may_end(size_t end) const {
    return end == items_.size() ||
           (end > 0 && index_.keys.sort && !is_same(end - 1, items_[end], index_.keys.sort->name));
  }

 private:
  bool is_same(size_t i, const ItemRef& other, const std::string& name) const {
    const auto left = items_[i].find(name);
    const auto right = other.find(name);
    return left && right ? left->decode() == right->decode() : !left && !right;
  }
  const IndexDefinition index_;
  const bool is_exact_;  // A filter may have looked at any attribute.
  const std::optional<int64_t> up_to_;
  const std::vector<ItemRef>& items_;
};

// The whole items of a page, if the query asks for them, and its index does not have them or is not trusted. Counts
// those that it leaves out because they have changed. The page ends early after about a megabyte, or before the first
// items that cannot be read; `last_evaluated_key` then says where. If the index has all attributes, items that cannot
// be read come as it shows them. `query` and `work` outlive the Async.
Async<Result<Page>> OwnedTables::complete(const QueryInput& query, Page page, PageWork& work) {
  constexpr size_t kFirstPortion = 16;
  constexpr size_t kLargestPortion = 100;
  constexpr size_t kMostBytes = 1u << 20;
  if (!(query.whole_items || query.current_items) || page.items.empty()) co_return page;
  const TableDefinition* table = recent_.definition(query.table);
  const IndexDefinition* index = table == nullptr ? nullptr : table->index(query.index);
  if (!index && !query.whole_items) co_return page;
  if (!index) co_return fail(ErrorCode::kUnavailable, "index '" + query.index + "' cannot be looked at: try again");
  const bool is_wide = index->projection == Projection::kAll;
  if (is_wide && !query.current_items) co_return page;
  const KeySchema index_keys = index->keys;
  const KeySchema table_keys = table->keys;
  const NarrowPage narrow(*index, query, page.items);
  std::vector<ItemRef> items(page.items.size());
  size_t bytes = 0;
  size_t end = 0;
  std::optional<Error> failed;
  while (end < items.size() && !failed && !(bytes >= kMostBytes && narrow.may_end(end))) {
    const size_t fit = end == 0 ? kFirstPortion : (kMostBytes - std::min(bytes, kMostBytes)) * end / (bytes + 1) + 1;
    const size_t stop = end + std::min({fit, kLargestPortion, items.size() - end});
    std::vector<size_t> places;
    std::vector<Item> keys;
    for (size_t i = end; i < stop; ++i) {
      items[i] = page.items[i];
      if (!narrow.must_be_whole(i)) continue;
      places.push_back(i);
      keys.push_back(key_of(page.items[i], table_keys));
    }
    std::vector<Item> asked = keys;
    std::string name = query.table;
    const uint64_t call = recent_.begin_call();
    auto current = co_await current_items(std::move(name), std::move(asked), work.has_waited);
    if (!current) failed = std::move(current.error());
    for (size_t n = 0; n < places.size() && !failed; ++n) {
      ItemRef& now = (*current)[n];
      bytes += now ? now.encoded().size() : 0;
      const bool is_there = narrow.shows(places[n], now);
      items[places[n]] = is_there ? now : ItemRef();
      work.gone += is_there ? 0 : 1;
      if (!is_there) has_moved(query.table, keys[n], std::move(now), call);
    }
    if (!failed) end = stop;
  }
  if (failed && is_wide) {
    const auto unread = static_cast<ptrdiff_t>(std::exchange(end, items.size()));
    std::copy(page.items.begin() + unread, page.items.end(), items.begin() + unread);
    failed.reset();
  }
  while (end > 0 && !narrow.may_end(end)) --end;
  if (end == 0 && failed) co_return fail(std::move(*failed));
  if (end < items.size()) page.last_evaluated_key = place_in(index_keys, page.items[end - 1], query.table);
  items.resize(end);
  std::erase_if(items, [](const ItemRef& item) { return !item; });
  page.items = std::move(items);
  page.count = page.items.size();
  co_return page;
}

// Writes may have been answered while the rest of the page was read.
void OwnedTables::drop_moved(const QueryInput& query, Page& page) {
  const TableDefinition* table = recent_.definition(query.table);
  const IndexDefinition* index = table == nullptr ? nullptr : table->index(query.index);
  if (!index) return;
  std::vector<ItemRef> items(page.items.size());
  const NarrowPage shown(*index, query, page.items);
  for (size_t i = 0; i < items.size(); ++i) {
    const auto known = remembered(query.table, key_of(page.items[i], table->keys));
    items[i] = !known ? page.items[i] : shown.shows(i, *known) ? *known : ItemRef();
  }
  std::erase_if(items, [](const ItemRef& item) { return !item; });
  page.items = std::move(items);
  page.count = page.items.size();
}

// A read has shown that an index is behind, or that somebody else has written the item: the next pages are right, and
// the table is counted again. A write under way knows more.
void OwnedTables::has_moved(const std::string& table, const Item& key, ItemRef now, uint64_t call) {
  const KeptBooks* books = books_of(table);
  if (books && books->in_flight(hash_of(key)) > 0) return;
  if (recent_.find(table, key) || recent_.cause_of_unsure(table, key)) return;
  const size_t room = RecentWrites::room_of(now ? now.encoded().size() : 0);
  if (recent_.make_room(this->now(), room)) recent_.refused(table, key, std::move(now), call, this->now());
  doubt_books(table);
}

// The start key of a page that goes on behind the item.
Item OwnedTables::place_in(const KeySchema& index, const ItemRef& item, const std::string& table) const {
  Item place = key_in(item.decode(), table);
  for (const KeyAttribute* attribute : index.attributes()) {
    if (const auto value = item.find(attribute->name)) place.set(attribute->name, value->decode());
  }
  return place;
}

Async<Result<Page>> OwnedTables::query(QueryInput input) {
  if (input.index.empty() || input.count_only || !input.projection.empty() ||
      FRESHET_PLANTED("fleet-own-writes-forgotten")) {
    auto work = store_.query(std::move(input));
    co_return co_await work;
  }
  std::vector<std::string> tables{input.table};
  co_await know_tables(std::move(tables));
  recent_.expire(now());
  QueryInput asked;  // As far as drop_moved() needs it.
  asked.table = input.table;
  asked.index = input.index;
  asked.filter = input.filter;
  PageWork work;
  auto page = co_await read_pages(std::move(input), work);
  if (page && work.has_waited) drop_moved(asked, *page);
  co_return page;
}

// Reads further pages if items of a page turn out to have moved: a caller that wants ten items gets ten.
Async<Result<Page>> OwnedTables::read_pages(QueryInput input, PageWork& work) {
  constexpr int kMostPages = 4;
  const uint32_t limit = input.limit;
  const bool keeps_page =
      input.may_be_old.count() > 0 && limit > 0 && input.exclusive_start_key.empty() && recent_.can_correct(input);
  if (keeps_page) {
    if (auto known = known_page(input)) {
      auto whole = co_await complete(input, std::move(*known), work);
      if (!whole || work.gone == 0) co_return whole;
    }
  }
  Page out;
  for (int pages = 1;; ++pages) {
    QueryInput sent = input;
    const bool is_kept = keeps_page && pages == 1;
    if (is_kept) sent.limit = pages_.wide_limit(input.table, limit);
    const uint64_t generation = pages_.generation(input.table);
    const BootTime asked = now();  // The store may repeat the request for seconds.
    auto page = co_await store_.query(std::move(sent));
    if (!page && !out.items.empty()) co_return out;
    if (!page) co_return page;
    if (is_kept) pages_.keep(input, *page, asked, generation);
    size_t masked = 0;
    if (FRESHET_PLANTED("fleet-tasks-of-others-hidden")) {
      std::erase_if(page->items, [&](const ItemRef& item) {
        return !recent_.find(input.table, key_in(item.decode(), input.table));
      });
    }
    Page right = recent_.corrected(input, std::move(*page), asked, masked);
    for (auto& doubt : recent_.take_doubts()) scope_.spawn(look_at_lag(std::move(doubt)));
    end_lags();
    work.gone = masked;
    auto whole = co_await complete(input, std::move(right), work);
    if (!whole && !out.items.empty()) co_return out;
    if (!whole) co_return whole;
    right = std::move(*whole);
    std::move(right.items.begin(), right.items.end(), std::back_inserter(out.items));
    out.count += right.count;
    out.scanned += right.scanned;
    out.scanned_bytes += right.scanned_bytes;
    out.billed_bytes += right.billed_bytes;
    out.last_evaluated_key = std::move(right.last_evaluated_key);
    const bool is_short = limit != 0 && out.items.size() < limit && work.gone > 0;
    if (!is_short || out.last_evaluated_key.empty() || pages == kMostPages) co_return out;
    work.has_waited = true;
    input.limit = limit - static_cast<uint32_t>(out.items.size());
    input.exclusive_start_key = out.last_evaluated_key;
  }
}

}  // namespace freshet
